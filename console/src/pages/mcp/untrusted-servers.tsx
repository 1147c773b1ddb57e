import { ShieldCheck, Trash2 } from "lucide-react";
import type { McpServerEntry } from "../../../../src/contracts/mcp.ts";
import { api } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Sentence } from "../../parts/localized.tsx";
import { Panel } from "../../parts/panel.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Not trusted yet", "尚未信任"],
  lead: [
    "These servers come from files of this folder. They start after you review and trust them.",
    "这些服务器写在此文件夹的文件中。请先查看它们会运行什么，信任后才会启动。",
  ],
  trust: ["Trust and start", "信任并启动"],
  remove: ["Remove", "删除"],
  terminal: [
    "Trusting them needs the scope admin. In a terminal: haft trust",
    "信任需要 admin 权限，或在终端：haft trust",
  ],
  command: ["Starts", "启动"],
  address: ["Connects to", "连接到"],
  env: ["With the variables", "使用变量"],
  limits: ["How it runs", "运行方式"],
  all: ["Everything that you trust, as it is in the file", "你所信任的全部内容，与文件中一致"],
});

/** Servers of configuration files that a person must look at before they run. */
export function UntrustedServers(props: { entries: readonly McpServerEntry[]; canTrust: boolean }) {
  const w = useWords(words);
  const [failure, act] = useAction("mcp");
  const waiting = props.entries.filter(({ isTrusted }) => !isTrusted);
  if (waiting.length === 0) return null;
  return (
    <Panel title={w.title}>
      <p className="muted">{w.lead}</p>
      {props.canTrust ? null : <p className="muted">{w.terminal}</p>}
      {failure}
      {waiting.map(({ name, what, file, line, digest, canRemove }) => (
        <div key={`${file} ${name}`} className="stack untrusted">
          <div className="row">
            <div className="grow">
              <VisibleText as="strong" className="mono" text={name} />{" "}
              <span className="small muted mono" title={file}>
                {`${file.split(/[\\/]/).at(-1)}${line === undefined ? "" : `:${line}`}`}
              </span>
            </div>
            {props.canTrust ? (
              <>
                {canRemove ? (
                  <Button look="small danger" icon={Trash2} text={w.remove} onClick={() => act(api.mcp.remove(name))} />
                ) : null}
                <Button look="small primary" icon={ShieldCheck} onClick={() => act(api.mcp.trust(name, { digest }))}>
                  {w.trust}
                </Button>
              </>
            ) : null}
          </div>
          <ServerStart name={name} what={what} />
        </div>
      ))}
    </Panel>
  );
}

/** What would start, each setting on a line of its own. The whole text stays there: trust is given for all of it. */
function ServerStart({ name, what }: { name: string; what: string }) {
  const w = useWords(words);
  const read = readStart(name, what);
  if (!read) return <VisibleText as="pre" className="code" text={what} />;
  const { command, args, url, env, ...rest } = read.fields;
  const line = [command, args].flat().filter((word) => word !== undefined);
  const others = Object.entries(rest).map(([key, value]): [string, React.ReactNode, string] => [
    key,
    <VisibleText text={textOf(value)} />,
    "mono words",
  ]);
  return (
    <>
      <Facts
        facts={[
          [w.command, line.length > 0 && <VisibleText text={line.map(wordOf).join(" ")} />, "mono words"],
          [w.address, url !== undefined && <VisibleText text={textOf(url)} />, "mono words"],
          [w.env, env !== undefined && <VisibleText text={variablesOf(env)} />, "mono words"],
          ...others,
          [w.limits, read.limits !== "" && <Sentence text={read.limits} />],
        ]}
      />
      <details>
        <summary className="muted small">{w.all}</summary>
        <VisibleText as="pre" className="code" text={what} />
      </details>
    </>
  );
}

/** A word with blanks is quoted: it is one word of the command. */
function wordOf(word: unknown): string {
  const text = textOf(word);
  return /^[^\s"'\\]+$/.test(text) ? text : JSON.stringify(text);
}

/** With their values, of which secrets are hidden: some decide what runs. */
function variablesOf(env: unknown): string {
  return Object.entries(Object(env) as Record<string, unknown>)
    .map(([name, value]) => `${name}=${wordOf(value)}`)
    .join(" ");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `MCP server "name": {…} (limits)`. Undefined for anything else, which is then shown as it is. */
function readStart(name: string, what: string): { fields: Record<string, unknown>; limits: string } | undefined {
  const start = `MCP server "${name}": `;
  const end = what.lastIndexOf("} (");
  const json = what.slice(start.length, end < 0 ? undefined : end + 1);
  if (!what.startsWith(`${start}{`)) return undefined;
  try {
    const fields = JSON.parse(json) as Record<string, unknown>;
    return { fields, limits: end < 0 ? "" : what.slice(end + 3, -1) };
  } catch {
    return undefined;
  }
}
