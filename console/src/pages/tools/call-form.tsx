import { Play, Square } from "lucide-react";
import { useState } from "react";
import type { ToolInfo } from "../../../../src/contracts/tools.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { isValidInput, SchemaForm } from "../../parts/schema-form.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useScope } from "../../api.ts";
import { RunningCall, useRunningCall } from "../../parts/running-call.tsx";
import { Select } from "../../parts/select.tsx";
import { NextStep } from "../welcome/next-step.tsx";
import { takeEdited } from "./edited-call.ts";

const words = defineWords({
  input: ["Input", "输入"],
  form: ["Form", "表单"],
  json: ["JSON", "JSON"],
  examples: ["Examples", "示例"],
  run: ["Run", "运行"],
  cancel: ["Cancel", "取消"],
  invalid: (why: string) => [`This is not valid JSON yet: ${why}`, `还不是有效的 JSON：${why}`],
  nothing: ["This tool takes no input.", "此工具不需要输入。"],
  notAllowed: ["Your sign-in lacks the scope call.", "当前登录没有调用工具的权限。"],
});

/** The form to call a tool, filled in from an edited call or an example. */
export function CallForm({ tool }: { tool: ToolInfo }) {
  const w = useWords(words);
  const examples = tool.description.examples ?? [];
  const [value, setValue] = useState<unknown>(() => takeEdited(tool.name) ?? firstExample(tool));
  const [view, setView] = useState<"form" | "json">("form");
  const [json, setJson] = useState("");
  const [problem, setProblem] = useState<string>();
  const running = useRunningCall();
  const takesNothing = Object.keys((tool.parameters.properties as object | undefined) ?? {}).length === 0;

  const show = (next: "form" | "json"): void => {
    if (next === "json") setJson(JSON.stringify(value ?? {}, null, 2));
    setView(next);
  };
  const edit = (text: string): void => {
    setJson(text);
    try {
      setValue(JSON.parse(text));
      setProblem(undefined);
    } catch (error) {
      setProblem(w.invalid((error as Error).message));
    }
  };
  const fill = (input: unknown): void => {
    setValue(input);
    setJson(JSON.stringify(input, null, 2));
    setProblem(undefined);
  };
  const mayCall = useScope("call");
  const run = (): void => running.start({ tool: tool.name, input: value ?? {} });
  const isBusy = running.state === "running";
  const mayRun = mayCall && problem === undefined && isValidInput(tool.parameters as object, value ?? {});

  return (
    <div className="stack">
      <div className="row">
        <h3 className="grow">{w.input}</h3>
        {examples.length > 0 ? (
          <Select
            label={w.examples}
            value=""
            options={[
              ["", w.examples],
              ...examples.map(
                ({ description, input }, at) =>
                  [String(at), description ?? JSON.stringify(input).slice(0, 60)] as const,
              ),
            ]}
            onChoose={(at) => fill(examples[Number(at)]?.input ?? {})}
          />
        ) : null}
        {takesNothing ? null : (
          <Tabs label={w.input} tabs={{ form: w.form, json: w.json }} chosen={view} onChoose={show} />
        )}
      </div>
      {takesNothing ? (
        <p className="muted">{w.nothing}</p>
      ) : view === "form" ? (
        <SchemaForm
          id={`form-${tool.name}`}
          schema={tool.parameters as object}
          value={value}
          onChange={setValue}
          onSubmit={run}
        />
      ) : (
        <textarea
          className="textarea"
          aria-label={w.json}
          rows={10}
          spellCheck={false}
          value={json}
          onChange={({ target }) => edit(target.value)}
        />
      )}
      {problem ? <p className="field-error small">{problem}</p> : null}
      <div className="row">
        <Button look="primary" icon={Play} text={w.run} disabled={!mayRun || isBusy} onClick={run} />
        {isBusy ? <Button look="danger" icon={Square} text={w.cancel} onClick={running.cancel} /> : null}
      </div>
      {mayCall ? null : <p className="small muted">{w.notAllowed}</p>}
      <RunningCall call={running} />
      {running.state === "done" ? <NextStep /> : null}
    </div>
  );
}

/** For a tool that needs input. One that needs none is best tried without. */
function firstExample({ parameters, description: { examples = [] } }: ToolInfo): unknown {
  const required = parameters["required"];
  return Array.isArray(required) && required.length > 0 ? (examples[0]?.input ?? {}) : {};
}
