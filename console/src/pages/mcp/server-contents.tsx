import { useState } from "react";
import { Link } from "wouter";
import type { ToolResult } from "../../../../src/contracts/basics.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { ResultView } from "../../parts/result-view.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  none: ["It has none.", "没有。"],
  read: ["Read", "读取"],
  template: ["template", "模板"],
  prompt: ["prompt", "提示"],
  waits: ["It waits for your answer:", "等待许可："],
  answer: ["Answer it", "去处理"],
});

/** Resources and prompts of a server. */
export function ServerContents({ server }: { server: string }) {
  const w = useWords(words);
  const listed = useApi("mcp", "resources", [server]);
  const prompts = useApi("mcp", "prompts", [server]).data?.items ?? [];
  const [result, setResult] = useState<ToolResult>();
  const [failure, act] = useAction();
  const mayRead = useScope("call");
  const { resources = [], templates = [] } = listed.data ?? {};
  const read = (uri: string): void => act(api.mcp.read(server, { uri }), setResult);
  if (listed.error) return <Failure error={listed.error} again={() => void listed.refetch()} />;
  return (
    <div className="stack">
      {listed.data && resources.length + templates.length + prompts.length === 0 ? <p>{w.none}</p> : null}
      <ul className="stack switches">
        {resources.map(({ uri, title, name, description }) => (
          <li key={uri} className="row">
            <span className="grow">
              <VisibleText className="mono" text={uri} />{" "}
              <VisibleText className="muted small" text={description ?? title ?? name} />
            </span>
            {mayRead ? <Button look="small" text={w.read} onClick={() => read(uri)} /> : null}
          </li>
        ))}
        {templates.map(({ uriTemplate, title, name }) => (
          <li key={uriTemplate} className="row">
            <VisibleText className="grow mono" text={uriTemplate} />
            <VisibleText className="muted small" text={title ?? name} />
            <span className="badge">{w.template}</span>
          </li>
        ))}
        {prompts.map(({ name, description, arguments: given }) => (
          <li key={name} className="row">
            <span className="grow">
              <VisibleText className="mono" text={`${name}(${given.map((each) => each.name).join(", ")})`} />{" "}
              <VisibleText className="muted small" text={description ?? ""} />
            </span>
            <span className="badge">{w.prompt}</span>
          </li>
        ))}
      </ul>
      {failure}
      {result?.status === "pending" ? (
        <p className="notice warn">
          {w.waits} <Link href={`/approvals/${encodeURIComponent(result.pending.id)}`}>{w.answer}</Link>
        </p>
      ) : result ? (
        <ResultView result={result} />
      ) : null}
    </div>
  );
}
