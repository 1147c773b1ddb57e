import { ShieldCheck } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { McpServerPreview, McpServerRequest } from "../../../../src/contracts/mcp.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Select } from "../../parts/select.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";
import { splitWords } from "./split-words.ts";

const words = defineWords({
  title: ["Add an MCP server", "添加 MCP 服务器"],
  name: ["Name", "名称"],
  way: ["How it is reached", "连接方式"],
  program: ["A program on this machine", "本机上的程序"],
  address: ["An address", "一个地址"],
  command: ["Command line", "命令行"],
  env: ["Environment, one NAME=VALUE a line", "环境变量，每行一个 NAME=VALUE"],
  envHint: [
    "Write secrets as ${NAME}: Haft reads them from its environment, and the file does not contain them.",
    "密钥请写成 ${NAME}：会从 Haft 的环境读取，不写入文件。",
  ],
  network: ["Network", "网络"],
  networks: {
    all: ["all hosts", "所有主机"],
    none: ["no network", "无网络"],
    hosts: ["only these hosts", "仅限这些主机"],
  },
  hosts: ["Hosts, separated by spaces", "主机，用空格分隔"],
  unconfined: ["Run it without a sandbox, with all permissions of your user", "不使用沙箱，以你的用户的全部权限运行"],
  url: ["Address", "地址"],
  headers: ["Headers, one NAME=VALUE a line", "请求头，每行一个 NAME=VALUE"],
  preview: ["Look at it", "查看"],
  cancel: ["Cancel", "取消"],
  edit: ["Change", "修改"],
  willRun: ["This will run", "将会运行"],
  willReach: ["Haft will connect to", "Haft 将连接到"],
  replaces: ["It replaces", "它会替换"],
  trust: [
    "It is added to .mcp.json of this folder and trusted. Its tools need approval until you allow them.",
    "它会写入此文件夹的 .mcp.json 并受信任。在你允许之前，它的工具每次调用都需要批准。",
  ],
  add: ["Trust and start", "信任并启动"],
  badPair: (line: string) => [`"${line}" is not NAME=VALUE.`, `“${line}” 不是 NAME=VALUE。`],
  badQuote: ["A quote in the command line is not closed.", "命令行中的引号没有闭合。"],
});

type Way = "program" | "address";
type Network = "all" | "none" | "hosts";

/** Two steps: fill in, then read what would run, and trust it. */
export function AddServer({ onDone }: { onDone: () => void }) {
  const w = useWords(words);
  const [way, setWay] = useState<Way>("program");
  const [network, setNetwork] = useState<Network>("all");
  const [seen, setSeen] = useState<{ request: McpServerRequest; preview: McpServerPreview }>();
  const [problem, setProblem] = useState<Error>();
  const look = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const valueOf = (field: string): string => {
      const value = fields.get(field);
      return typeof value === "string" ? value.trim() : "";
    };
    setProblem(undefined);
    try {
      const request = way === "program" ? programOf(valueOf, network, w) : addressOf(valueOf, w);
      api.mcp.preview(valueOf("name"), request).then((preview) => setSeen({ request, preview }), setProblem);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  const add = (): void => {
    if (!seen) return;
    setProblem(undefined);
    api.mcp
      .add(seen.preview.name, seen.request)
      .then(onDone, setProblem)
      .finally(() => void queries.invalidateQueries({ queryKey: ["mcp"] }));
  };
  return (
    <Panel
      title={w.title}
      isBare
      actions={
        <Tabs
          label={w.way}
          tabs={{ program: w.program, address: w.address }}
          chosen={way}
          onChoose={(chosen: Way) => {
            setWay(chosen);
            setSeen(undefined);
          }}
        />
      }
    >
      {/* Hidden, not removed: what was entered stays. */}
      <form className="body stack fields" hidden={seen !== undefined} onSubmit={look}>
        {problem ? <Failure error={problem} /> : null}
        <label className="stack">
          {w.name}
          <input className="input mono" name="name" required maxLength={64} autoFocus spellCheck={false} />
        </label>
        {way === "program" ? (
          <>
            <label className="stack">
              {w.command}
              <input
                className="input mono"
                name="command"
                required
                spellCheck={false}
                placeholder="npx -y @modelcontextprotocol/server-filesystem ."
              />
            </label>
            <label className="stack">
              {w.env}
              <textarea className="textarea short" name="env" spellCheck={false} />
              <span className="small muted">{w.envHint}</span>
            </label>
            <label className="stack">
              {w.network}
              <Select
                className=""
                value={network}
                options={(["all", "none", "hosts"] as const).map((each) => [each, w.networks[each]] as const)}
                onChoose={setNetwork}
              />
            </label>
            {network === "hosts" ? (
              <label className="stack">
                {w.hosts}
                <input className="input mono" name="hosts" required spellCheck={false} />
              </label>
            ) : null}
            <label className="row">
              <input type="checkbox" name="unconfined" /> {w.unconfined}
            </label>
          </>
        ) : (
          <>
            <label className="stack">
              {w.url}
              <input className="input mono" name="url" required spellCheck={false} placeholder="https://…/mcp" />
            </label>
            <label className="stack">
              {w.headers}
              <textarea className="textarea short" name="headers" spellCheck={false} />
              <span className="small muted">{w.envHint}</span>
            </label>
          </>
        )}
        <div className="row end">
          <Button text={w.cancel} onClick={onDone} />
          <Button look="primary" type="submit" text={w.preview} />
        </div>
      </form>
      {seen ? (
        <div className="body" role="status">
          {problem ? <Failure error={problem} /> : null}
          <h3>{way === "program" ? w.willRun : w.willReach}</h3>
          <VisibleText
            as="pre"
            className={`code ${seen.request.sandbox === false ? "mcp-unconfined" : ""}`}
            text={seen.preview.launch}
          />
          {seen.preview.replaces === undefined ? null : (
            <>
              <h3>{w.replaces}</h3>
              <VisibleText as="pre" className="code" text={seen.preview.replaces} />
            </>
          )}
          {seen.preview.notes.map((note) => (
            <VisibleText key={note} as="p" className="small" text={note} />
          ))}
          <p className="muted">{w.trust}</p>
          <div className="row end">
            <Button text={w.edit} onClick={() => setSeen(undefined)} />
            <Button look="primary" icon={ShieldCheck} text={w.add} onClick={add} />
          </div>
        </div>
      ) : null}
    </Panel>
  );
}

type Texts = (typeof words)["en"];

function programOf(valueOf: (field: string) => string, network: Network, w: Texts): McpServerRequest {
  const found = splitWords(valueOf("command"));
  if (!found) throw new Error(w.badQuote);
  const [command = "", ...args] = found;
  return {
    command,
    args: args.length > 0 ? args : undefined,
    env: pairsOf(valueOf("env"), w),
    network: network === "all" ? undefined : network === "none" ? "none" : valueOf("hosts").split(/[\s,]+/),
    sandbox: valueOf("unconfined") === "on" ? false : undefined,
  };
}

function addressOf(valueOf: (field: string) => string, w: Texts): McpServerRequest {
  const url = valueOf("url");
  return { url, type: /^wss?:/i.test(url) ? "ws" : "http", headers: pairsOf(valueOf("headers"), w) };
}

function pairsOf(text: string, w: Texts): Record<string, string> | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(w.badPair(line));
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}
