import { ChevronDown, ChevronRight, LogIn, RotateCw, Trash2, Unplug } from "lucide-react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { McpActionRequest, McpServerInfo } from "../../../../src/contracts/mcp.ts";
import { api, useScope } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button, SureButton } from "../../parts/button.tsx";
import { countOf, formatDuration } from "../../parts/format.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { OneLine, VisibleText } from "../../parts/visible-text.tsx";
import { ProtocolLog } from "./protocol-log.tsx";
import { ServerContents } from "./server-contents.tsx";
import { ServerProblem } from "./server-problem.tsx";
import { ToolSwitches } from "./tool-switches.tsx";

const words = defineWords({
  states: {
    connecting: ["connecting", "连接中"],
    ready: ["ready", "就绪"],
    unavailable: ["unavailable", "不可用"],
    needs_sign_in: ["needs sign-in", "需要登录"],
    needs_approval: ["start command changed", "启动命令已更改"],
    stopped: ["stopped", "已停止"],
  },
  era: { legacy: ["2025 protocol", "2025 协议"], modern: ["2026 protocol", "2026 协议"] },
  trusted: ["Trusted: the policy relies on what it says about its tools.", "受信任：策略采信它对工具的说明。"],
  untrusted: [
    "Not trusted: the policy ignores what it says about its tools, and every call needs approval.",
    "未受信任：策略忽略它对工具的说明，每次调用都需要批准。",
  ],
  from: ["from", "来自"],
  tools: (count: number) => [countOf(count, "tool"), `${count} 个工具`],
  changed: (count: number) => [countOf(count, "tool changed", "tools changed"), `${count} 个工具已更改`],
  reconnect: ["Reconnect", "重新连接"],
  disconnect: ["Disconnect", "断开"],
  remove: ["Remove", "删除"],
  sure: ["Really remove?", "确定删除？"],
  signIn: ["Sign in", "登录"],
  signInMore: ["Sign in for more rights", "登录以获得更多权限"],
  byHand: ["or in a terminal:", "或在终端："],
  approveLaunch: ["Approve the new start command", "批准新的启动命令"],
  views: ["What to show", "显示内容"],
  tabs: {
    tools: ["Tools", "工具"],
    contents: ["Resources and prompts", "资源与提示"],
    protocol: ["Protocol", "协议"],
    output: ["Output", "输出"],
  },
  log: ["What it logged", "它的日志"],
  stderr: ["What it printed to stderr", "它在 stderr 的输出"],
  faults: (count: number) => [`Protocol errors without consequences (${count})`, `没有影响的协议错误（${count}）`],
  silent: ["It has printed nothing.", "它没有输出。"],
  notReady: ["Its resources and prompts are shown when it is ready.", "就绪后显示其资源与提示。"],
  latency: ["How long the last list of tools took", "上次获取工具列表的用时"],
});

const TONES = {
  connecting: "accent",
  ready: "ok",
  unavailable: "bad",
  needs_sign_in: "warn",
  needs_approval: "warn",
  stopped: "",
};

const TABS = ["tools", "contents", "protocol", "output"] as const;
type Tab = (typeof TABS)[number];

/** A server: always its state and, if it does not work, the reason. `isOpen`: everything else too. */
export function ServerCard(props: { server: McpServerInfo; isOpen: boolean; canRemove: boolean }) {
  const { server, isOpen } = props;
  const w = useWords(words);
  const [, go] = useLocation();
  const [failure, act] = useAction("mcp");
  const address = `/mcp/${encodeURIComponent(server.name)}`;
  const changed = server.tools.filter(({ review }) => review === "changed").length;
  const ask = (request: McpActionRequest): void => act(api.mcp.act(server.name, request));
  const remove = (): void => act(api.mcp.remove(server.name), () => go("/mcp"));
  /** Opens the sign-in page, which redirects back to the console. */
  const signIn = (): void =>
    act(api.mcp.act(server.name, { action: "sign_in" }), ({ signInPage }) => {
      if (signInPage && /^https?:/.test(signInPage)) location.assign(signInPage);
    });
  const mayAct = useScope("approve");
  const Arrow = isOpen ? ChevronDown : ChevronRight;
  return (
    <section className="panel card mcp-server" aria-label={server.name}>
      <header>
        <h2 className="mono grow">
          <Link data-row className="inline mcp-name" href={isOpen ? "/mcp" : address} aria-expanded={isOpen}>
            <Arrow size={16} aria-hidden /> <OneLine text={server.name} />
          </Link>
        </h2>
        <span className={`badge ${TONES[server.state]}`}>{w.states[server.state]}</span>
        {changed > 0 ? <span className="badge warn">{w.changed(changed)}</span> : null}
        <span className="muted small">{w.tools(server.tools.length)}</span>
        {server.era ? <span className="badge">{w.era[server.era]}</span> : null}
        <span className="badge">{server.transport}</span>
        {server.latencyMs === undefined ? null : (
          <span className="muted mono small" title={w.latency}>
            {formatDuration(server.latencyMs)}
          </span>
        )}
        {mayAct ? (
          <Button look="small" icon={RotateCw} text={w.reconnect} onClick={() => ask({ action: "reconnect" })} />
        ) : null}
        {server.state === "stopped" || !mayAct ? null : (
          <Button look="small" icon={Unplug} text={w.disconnect} onClick={() => ask({ action: "disconnect" })} />
        )}
        {props.canRemove ? (
          <SureButton look="small danger" icon={Trash2} text={w.remove} sure={w.sure} onSure={remove} />
        ) : null}
      </header>
      <div className="body">
        {failure}
        <ServerProblem server={server} />
        {server.state === "needs_approval" && mayAct ? (
          <Button look="primary mcp-start" onClick={() => ask({ action: "approve_launch", hash: server.launchHash })}>
            {w.approveLaunch}
          </Button>
        ) : null}
        {server.state === "needs_sign_in" || server.signInPage ? (
          <p className="row">
            {mayAct ? (
              <Button look="primary small" icon={LogIn} onClick={signIn}>
                {server.state === "ready" ? w.signInMore : w.signIn}
              </Button>
            ) : null}
            <span className="muted small">
              {w.byHand} <code>haft mcp login {server.name}</code>
            </span>
          </p>
        ) : null}
        {server.launch && (isOpen || server.state === "needs_approval") ? (
          <VisibleText as="pre" className="code" text={server.launch} />
        ) : null}
        {isOpen ? (
          <>
            <p className="row small muted">
              <span>{server.trusted ? w.trusted : w.untrusted}</span>
              {server.server ? <span>{`${server.server.name} ${server.server.version}`}</span> : null}
              {server.origin ? (
                <span>
                  {w.from} <span className="mono">{server.origin}</span>
                </span>
              ) : null}
            </p>
            <ServerTabs server={server} onAct={ask} />
          </>
        ) : null}
      </div>
    </section>
  );
}

function ServerTabs({ server, onAct }: { server: McpServerInfo; onAct: (request: McpActionRequest) => void }) {
  const w = useWords(words);
  const [search, setSearch] = useSearchParams();
  const tab = TABS.find((each) => each === search.get("tab")) ?? "tools";
  return (
    <>
      <Tabs
        label={w.views}
        tabs={w.tabs}
        chosen={tab}
        onChoose={(each: Tab) => setSearch(each === "tools" ? {} : { tab: each }, { replace: true })}
      />
      {tab === "tools" ? <ToolSwitches server={server} onAct={onAct} /> : null}
      {tab === "contents" ? (
        server.state === "ready" ? (
          <ServerContents server={server.name} />
        ) : (
          <p className="muted">{w.notReady}</p>
        )
      ) : null}
      {tab === "protocol" ? <ProtocolLog server={server.name} /> : null}
      {tab === "output" ? <ServerOutput server={server} /> : null}
    </>
  );
}

function ServerOutput({ server }: { server: McpServerInfo }) {
  const w = useWords(words);
  const parts = [
    [w.stderr, server.stderr],
    [w.log, server.log],
    [w.faults(server.faultCount), server.faults],
  ] as const;
  const filled = parts.filter(([, lines]) => lines.length > 0);
  if (filled.length === 0) return <p className="muted">{w.silent}</p>;
  return filled.map(([title, lines]) => (
    <div key={title} className="stack">
      <h3>{title}</h3>
      <VisibleText as="pre" className="code" text={lines.join("\n")} />
    </div>
  ));
}
