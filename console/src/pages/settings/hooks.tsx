import { FlaskConical } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { HookProof, InstalledHook } from "../../../../src/contracts/server.ts";
import { api, useApi, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Sentence } from "../../parts/localized.tsx";
import { Panel } from "../../parts/panel.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Hooks in other agents", "其他代理中的钩子"],
  lead: [
    "Haft judges the calls of these agents. The agent runs them itself.",
    "Haft 判断这些代理的调用，由代理自己运行。",
  ],
  none: (agent: string) => [
    `Haft has not installed a hook of ${agent} for this folder. In a terminal: haft hook install ${agent}`,
    `Haft 没有为此文件夹安装 ${agent} 的钩子。在终端：haft hook install ${agent}`,
  ],
  states: {
    installed: ["as Haft wrote it", "与 Haft 写入的一致"],
    changed: ["changed since Haft wrote it", "写入后被更改"],
    missing: ["not in the file any more", "已不在文件中"],
    disabled: ["a settings file turns hooks off", "有设置文件关闭了钩子"],
    unreadable: ["the file cannot be read", "无法读取文件"],
  },
  scopes: { user: ["for all folders", "用于所有文件夹"], project: ["for one folder", "用于一个文件夹"] },
  file: ["File", "文件"],
  folder: ["Folder", "文件夹"],
  hash: ["Hash of what Haft wrote", "Haft 写入内容的哈希"],
  written: ["Written", "写入于"],
  gap: ["Not covered", "未覆盖"],
  again: (agent: string) => [`To write it again: haft hook install ${agent}`, `重新写入：haft hook install ${agent}`],
  try: ["Try it", "测试"],
  tryHint: ["Start it with a call that Haft always denies", "用一个 Haft 必定拒绝的调用启动它"],
  denies: ["It was called, and denied.", "它被调用，并且拒绝了。"],
});

/** What stands between other agents and their tools. `?hook=claude` in the address names the agent of a waiting card. */
export function Hooks() {
  const w = useWords(words);
  const [search] = useSearchParams();
  const wanted = search.get("hook");
  const items = useApi("server", "hooks", []).data?.items ?? [];
  const workspace = useApi("server", "info", []).data?.workspace;
  const covers = ({ agent, scope, folder }: InstalledHook): boolean =>
    agent === wanted && (scope === "user" || folder === workspace);
  const isMissing = wanted !== null && !items.some(covers);
  if (items.length === 0 && !isMissing) return null;
  return (
    <Panel title={w.title}>
      <p className="muted">{w.lead}</p>
      {isMissing ? <p className="notice warn">{w.none(wanted)}</p> : null}
      {items
        .toSorted((one, other) => Number(covers(other)) - Number(covers(one)))
        .map((hook) => (
          <Hook key={hook.file} hook={hook} />
        ))}
    </Panel>
  );
}

function Hook({ hook }: { hook: InstalledHook }) {
  const w = useWords(words);
  const { agent, scope, file, folder, hash, at, state, gap } = hook;
  const mayTry = useScope("admin");
  const [failure, act] = useAction();
  const [proof, setProof] = useState<HookProof>();
  return (
    <section className="stack" aria-label={agent}>
      <div className="row">
        <h3 className="grow mono">{agent}</h3>
        <span className={state === "installed" ? "badge ok" : "badge bad"}>{w.states[state]}</span>
        <span className="badge">{w.scopes[scope]}</span>
        {mayTry ? (
          <Button
            look="small"
            icon={FlaskConical}
            title={w.tryHint}
            text={w.try}
            onClick={() => act(api.server.tryHook({ file }), setProof)}
          />
        ) : null}
      </div>
      {failure}
      {proof ? (
        <p className={proof.denies ? "notice ok" : "notice bad"} role="status">
          {proof.denies ? w.denies : <Sentence text={proof.problem ?? ""} />}
        </p>
      ) : null}
      {state === "installed" ? null : <p className="notice warn">{w.again(agent)}</p>}
      <Facts
        className="settings"
        facts={[
          [w.file, <VisibleText text={file} />, "mono words"],
          [w.folder, scope === "project" && <VisibleText text={folder} />, "mono words"],
          [w.hash, <span title={hash}>{hash.slice(0, 16)}…</span>, "mono"],
          [w.written, <TimeAgo at={Date.parse(at)} />],
          [w.gap, gap !== undefined && <Sentence text={gap} />],
        ]}
      />
    </section>
  );
}
