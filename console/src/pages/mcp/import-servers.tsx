import { Download } from "lucide-react";
import { useState } from "react";
import type { McpImportRequest, McpImportSource } from "../../../../src/contracts/mcp.ts";
import { api, useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Import from another client", "从其他客户端导入"],
  lead: [
    "Values of variables are not copied. Servers are written to .mcp.json of this folder and trusted.",
    "不会复制变量的值。服务器会写入此文件夹的 .mcp.json 并受信任。",
  ],
  none: [
    "No configuration of another client was found on this machine. Paste one:",
    "本机上没有找到其他客户端的配置。请粘贴：",
  ],
  paste: ["Or paste a configuration (JSON of any client)", "或粘贴配置（任何客户端的 JSON）"],
  read: ["Read", "读取"],
  choose: ["Choose the servers", "选择服务器"],
  replaces: ["replaces the one of this name", "会替换同名的服务器"],
  off: ["disabled there", "在那里已停用"],
  cancel: ["Cancel", "取消"],
  start: (count: number) => [`Trust and start ${count}`, `信任并启动 ${count} 个`],
});

/** The servers of other clients: found on this machine, or in a pasted text. */
export function ImportServers({ onDone }: { onDone: () => void }) {
  const w = useWords(words);
  const query = useApi("mcp", "importSources", []);
  const [text, setText] = useState("");
  const [pasted, setPasted] = useState<{ request: McpImportRequest; source: McpImportSource }>();
  const [failure, act] = useAction();
  const read = (): void => {
    const request = { text };
    act(api.mcp.importPreview(request), (source) => setPasted({ request, source }));
  };
  return (
    <Panel title={w.title} actions={<Button look="small" text={w.cancel} onClick={onDone} />}>
      <p className="muted">{w.lead}</p>
      <Loaded query={query}>
        {({ items }) => (
          <>
            {items.length === 0 ? <p>{w.none}</p> : null}
            {items.map((source) => (
              <ImportSource key={source.file} source={source} request={{ file: source.file }} onDone={onDone} />
            ))}
          </>
        )}
      </Loaded>
      <label className="stack">
        {w.paste}
        <textarea
          className="textarea"
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
          placeholder='{ "mcpServers": { … } }'
        />
      </label>
      <div className="row end">
        <Button text={w.read} disabled={text.trim() === ""} onClick={read} />
      </div>
      {failure}
      {pasted ? <ImportSource source={pasted.source} request={pasted.request} onDone={onDone} /> : null}
    </Panel>
  );
}

function ImportSource(props: { source: McpImportSource; request: McpImportRequest; onDone: () => void }) {
  const { source } = props;
  const w = useWords(words);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [failure, act] = useAction("mcp");
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  const start = (): void => {
    // The badge says which of them replace another one. What is there by now and was not shown is a conflict.
    const replace = source.servers.flatMap(({ name, replaces }) => (replaces === undefined ? [] : [name]));
    const names = { names: [...chosen], replace: replace.filter((name) => chosen.has(name)) };
    act(api.mcp.import({ ...props.request, ...names }), props.onDone);
  };
  return (
    <fieldset className="mcp-import stack">
      <legend>
        <strong>{source.client}</strong> <span className="mono small muted">{source.file ?? ""}</span>
      </legend>
      {source.servers.map(({ name, launch, replaces, isDisabled }) => (
        <label key={name} className="mcp-import-server">
          <input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} />
          <span className="stack">
            <span className="row">
              <VisibleText as="strong" className="mono" text={name} />
              {replaces === undefined ? null : <span className="badge warn">{w.replaces}</span>}
              {isDisabled ? <span className="badge">{w.off}</span> : null}
            </span>
            <VisibleText as="pre" className="small" text={launch} />
          </span>
        </label>
      ))}
      {source.notes.map((note) => (
        <VisibleText key={note} as="p" className="small muted" text={note} />
      ))}
      {failure}
      {source.servers.length > 0 ? (
        <div className="row end">
          <Button look="primary" icon={Download} disabled={chosen.size === 0} onClick={start}>
            {w.start(chosen.size)}
          </Button>
        </div>
      ) : null}
    </fieldset>
  );
}
