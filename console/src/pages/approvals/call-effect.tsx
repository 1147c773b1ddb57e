import { Download, EyeOff } from "lucide-react";
import { Fragment, useEffect, useState } from "react";
import type { ApprovalInfo, PreviewPart } from "../../../../src/contracts/approvals.ts";
import { contracts } from "../../../../src/contracts/index.ts";
import { api, endpointUrl } from "../../api.ts";
import { defineWords, useLanguage, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { ContentView } from "../../parts/content-view.tsx";
import { Counts, DiffView } from "../../parts/diff-view.tsx";
import { Failure } from "../../parts/failure.tsx";
import { countOf, formatNumber } from "../../parts/format.ts";
import { Sentence } from "../../parts/localized.tsx";
import { PreviewFacts } from "../../parts/preview-facts.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { TerminalText } from "../../parts/terminal-text.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { CommandSteps } from "./command-steps.tsx";
import { UnvouchedValues } from "./unvouched-values.tsx";

const words = defineWords({
  unseen: ["Not everything is shown here.", "这里没有显示全部内容。"],
  unseenParts: {
    preview: ["", "预览只显示了一部分："],
    effects: ["", "有些内容无法预览："],
    input: ["", "参数只显示了一部分："],
  },

  showAll: ["Show all of it", "显示全部"],
  more: (shown: string, total: string) => [
    `Show more: ${shown} of ${total} characters are shown`,
    `显示更多：已显示 ${shown} / ${total} 个字符`,
  ],
  download: ["Download it", "下载"],
  missing: (what: string) => [`Not kept, and not shown anywhere: ${what}`, `未保留，也无处可看：${what}`],
  total: ["In all", "总计"],
  files: (count: number) => [countOf(count, "file"), `${count} 个文件`],
  replaced: ["Replaced on many lines", "在多行中替换"],
  lines: (count: number) => [`on ${countOf(count, "line")}`, `${count} 行`],
  printed: ["What the command printed in the preview", "预览时命令的输出"],
});

/** What of a call is not shown. The details are an English sentence of the server: in Chinese, what kind it is comes first. */
export function Unseen({ approval: { unseen = "", preview } }: { approval: ApprovalInfo }) {
  const { unseenParts } = useWords(words);
  if (useLanguage().language === "en") return <VisibleText text={unseen} />;
  const { omitted, unshown } = preview ?? {};
  return (
    <>
      {omitted === undefined ? null : unseenParts.preview}
      {unshown === undefined ? null : unseenParts.effects}
      {omitted === undefined && unshown === undefined ? unseenParts.input : null}
      {unseen
        .replaceAll(/^Not shown: |\.$/g, "")
        .split("; ")
        .map((part) => (
          <Fragment key={part}>
            <Sentence text={part} />。
          </Fragment>
        ))}
    </>
  );
}

/** What a call would do, wherever it is approved: who chose its values, its command, its changes, what it printed, and the way to what is not shown. */
export function CallEffect({ approval }: { approval: ApprovalInfo }) {
  const w = useWords(words);
  const { id, preview, steps, unseen } = approval;
  const { content = [], counts, replacements = [], output } = preview ?? {};
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      <UnvouchedValues verdict={approval.verdict} />
      {steps ? <CommandSteps steps={steps} /> : null}
      {unseen === undefined ? null : (
        <div className="notice warn" role="alert">
          <EyeOff size={16} aria-hidden />
          <div className="grow">
            <strong>{w.unseen}</strong> <Unseen approval={approval} />
            {preview?.omitted === undefined ? null : (
              <p className="row">
                {isWhole ? null : <Button look="small" text={w.showAll} onClick={() => setWhole(true)} />}
                <DownloadLink path={contracts.approvals.previewText.path} id={id} label={w.download} />
              </p>
            )}
          </div>
        </div>
      )}
      {counts ? (
        <p className="small">
          {w.total}: {w.files(counts.files)} <Counts added={counts.added} removed={counts.removed} />
        </p>
      ) : null}
      {replacements.length > 0 ? (
        <section className="stack" aria-label={w.replaced}>
          <h3>{w.replaced}</h3>
          {replacements.map(({ before, after, lines }) => (
            <div key={`${before}\n${after}`} className="replacement mono">
              <VisibleText as="del" text={before} />
              <VisibleText as="ins" text={after} />
              <span className="muted small">{w.lines(lines)}</span>
            </div>
          ))}
        </section>
      ) : null}
      {isWhole ? <WholePreview id={id} /> : content.length > 0 ? <ContentView content={content} /> : null}
      {output === undefined || isWhole ? null : (
        <section className="stack" aria-label={w.printed}>
          <h3>{w.printed}</h3>
          <pre className="code">
            <TerminalText text={output} />
          </pre>
        </section>
      )}
      <PreviewFacts facts={preview?.facts} />
    </>
  );
}

export function DownloadLink({ path, id, label }: { path: string; id: string; label: string }) {
  return (
    <a className="button small" href={endpointUrl(path.replace("{id}", encodeURIComponent(id))).href} download>
      <Download size={14} aria-hidden /> {label}
    </a>
  );
}

/** Everything that would happen, a part at a time: it may have many megabytes. */
function WholePreview({ id }: { id: string }) {
  const w = useWords(words);
  const { language } = useLanguage();
  const [parts, setParts] = useState<readonly PreviewPart[]>([]);
  const [problem, setProblem] = useState<Error>();
  const last = parts.at(-1);
  const load = (): void => {
    setProblem(undefined);
    api.approvals.preview(id, { offset: last?.next }).then((part) => setParts([...parts, part]), setProblem);
  };
  useEffect(load, []);
  if (problem) return <Failure error={problem} again={load} />;
  if (!last) return <Skeleton lines={8} />;
  const missing = last.missing === undefined ? undefined : w.missing(last.missing);
  return (
    <>
      <DiffView text={parts.map(({ text }) => text).join("")} />
      {last.next === undefined ? null : (
        <Button text={w.more(formatNumber(last.next, language), formatNumber(last.total, language))} onClick={load} />
      )}
      {missing === undefined ? null : <VisibleText as="p" className="notice warn" text={missing} />}
    </>
  );
}
