import { FlaskConical } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import type { ParsedAnswer, ParseRequest, TextFormatInfo } from "../../../../src/contracts/playground.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { countOf } from "../../parts/format.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Select } from "../../parts/select.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { PlayedCall } from "./played-call.tsx";

const words = defineWords({
  title: ["Playground", "演练场"],
  lead: [
    "Find out why a model's call was not understood, or was refused: paste what the model wrote, in any format. Nothing runs before you say so.",
    "查明模型的调用为何没有被识别或被拒绝：粘贴模型的输出，任何格式都可以。未经你同意不会运行任何内容。",
  ],
  text: ["What the model said", "模型的输出"],
  format: ["Format", "格式"],
  auto: ["recognise it", "自动识别"],
  reasoning: ["It begins in the middle of reasoning", "开头处在推理之中"],
  example: ["Example", "示例"],
  read: ["Read", "解析"],
  warnings: ["For the model", "给模型的提醒"],
  said: ["Text for a person", "给人看的文本"],
  thought: ["Reasoning", "推理"],
  calls: (count: number) => [countOf(count, "call"), `${count} 个调用`],
  none: ["No calls found", "没有调用"],
  noneLead: [
    "Everything was read as text. If you know the model's format, choose it: auto does not guess.",
    "全部内容都被当作文本。如果知道模型的格式，请选择它：自动识别不会猜测。",
  ],
});

type Format = NonNullable<ParseRequest["format"]>;
const NO_FORMATS: readonly TextFormatInfo[] = [];

function formatOf(name: string | null, formats: readonly TextFormatInfo[]): Format {
  return formats.find((format) => format.name === name)?.name ?? "auto";
}

export default function PlaygroundView() {
  const w = useWords(words);
  const query = useApi("playground", "formats", []);
  const formats = query.data?.items ?? NO_FORMATS;
  const [params, setParams] = useSearchParams();
  const format = formatOf(params.get("format"), formats);
  const [edited, setText] = useState<string>();
  const example = (formats.find(({ name }) => name === format) ?? formats[0])?.example ?? "";
  const text = edited ?? example;
  const detected = edited === undefined || edited === example;
  const [startsInReasoning, setStartsInReasoning] = useState(false);
  const [parsed, setParsed] = useState<ParsedAnswer & { round: number }>();
  const latest = useRef(0);
  const [failure, act] = useAction();
  const read = (from: string): void => {
    const request: ParseRequest = { text: from, format, startsInReasoning };
    const round = ++latest.current;
    act(api.playground.parse(request), (answer) => void (round === latest.current && setParsed({ ...answer, round })));
  };
  // The example is read at once, so the page shows what it is for. Reading runs nothing.
  useEffect(() => {
    if (example !== "" && edited === undefined) read(example);
  }, [example]);
  const choose = (name: string): void => setParams(name === "auto" ? {} : { format: name }, { replace: true });
  const showExample = (): void => {
    setText(undefined);
    read(example);
  };
  return (
    <PageFrame title={w.title} lead={w.lead}>
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault();
          read(text);
        }}
      >
        <div className="body">
          <div className="row">
            <h2 className="grow">{w.text}</h2>
            {detected && formats.length > 0 ? (
              <span className="badge">
                {w.example}: {formats.find(({ name }) => name === format)?.name ?? formats[0]?.name}
              </span>
            ) : null}
          </div>
          <Loaded query={query} lines={4}>
            {() => null}
          </Loaded>
          <textarea
            className="textarea tall"
            aria-label={w.text}
            placeholder={w.text}
            spellCheck={false}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <div className="row">
            <Select
              label={w.format}
              value={format}
              options={[["auto", `auto: ${w.auto}`], ...formats.map(({ name }) => name)]}
              onChoose={choose}
            />
            <label className="inline check">
              <input
                type="checkbox"
                checked={startsInReasoning}
                onChange={({ target }) => setStartsInReasoning(target.checked)}
              />
              <span className="small">{w.reasoning}</span>
            </label>
            <span className="grow" />
            <Button text={w.example} disabled={formats.length === 0} onClick={showExample} />
            <Button look="primary" type="submit" text={w.read} disabled={text.trim() === ""} />
          </div>
          {failure}
        </div>
      </form>
      {parsed ? <Parsed key={parsed.round} parsed={parsed} /> : null}
    </PageFrame>
  );
}

function Parsed({ parsed: { calls, text, reasoning, warnings } }: { parsed: ParsedAnswer }) {
  const w = useWords(words);
  return (
    <>
      {warnings.length > 0 ? (
        <div className="notice warn">
          <div className="grow">
            <strong>{w.warnings}</strong>
            {warnings.map((warning) => (
              <VisibleText key={warning} as="p" className="small" text={warning} />
            ))}
          </div>
        </div>
      ) : null}
      <p className="sr-only" role="status">
        {w.calls(calls.length)}
      </p>
      {calls.length === 0 ? (
        <Empty icon={FlaskConical} title={w.none} lead={w.noneLead} />
      ) : (
        calls.map((call) => <PlayedCall key={call.id} call={call} />)
      )}
      <TextPanel title={w.thought} text={reasoning} />
      <TextPanel title={w.said} text={text} />
    </>
  );
}

function TextPanel({ title, text }: { title: string; text: string }) {
  if (text.trim() === "") return null;
  return (
    <Panel title={title}>
      <VisibleText as="pre" className="code" text={text} />
    </Panel>
  );
}
