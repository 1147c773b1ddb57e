import { LogIn, RotateCw, Unplug } from "lucide-react";
import { useState } from "react";
import type { McpActionRequest, McpServerInfo } from "../../../../src/contracts/mcp.ts";
import { api, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { formatDuration } from "../../parts/format.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { ServerContents } from "./server-contents.tsx";
import { ToolSwitches } from "./tool-switches.tsx";

const words = defineWords({
  en: {
    states: {
      connecting: "connecting",
      ready: "ready",
      unavailable: "unavailable",
      needs_sign_in: "needs sign-in",
      needs_approval: "start command changed",
      stopped: "stopped",
    },
    era: { legacy: "2025 protocol", modern: "2026 protocol" },
    trusted: "annotations believed",
    untrusted: "not trusted: every tool asks",
    from: "from",
    reconnect: "Reconnect",
    disconnect: "Disconnect",
    signIn: "Sign in",
    signInMore: "Sign in for more rights",
    byHand: "or in a terminal:",
    log: "What it logged",
    approveLaunch: "Approve the new start command",
    stderr: "What it printed to stderr",
    faults: (count: number) => `Faults that harmed nobody (${count})`,
  },
  zh: {
    states: {
      connecting: "连接中",
      ready: "就绪",
      unavailable: "不可用",
      needs_sign_in: "需要登录",
      needs_approval: "启动命令已更改",
      stopped: "已停止",
    },
    era: { legacy: "2025 协议", modern: "2026 协议" },
    trusted: "采信其标注",
    untrusted: "未信任：每个工具都会询问",
    from: "来自",
    reconnect: "重新连接",
    disconnect: "断开",
    signIn: "登录",
    signInMore: "登录以获得更多权限",
    byHand: "或在终端：",
    log: "它的日志",
    approveLaunch: "批准新的启动命令",
    stderr: "它在 stderr 的输出",
    faults: (count: number) => `无害的错误（${count}）`,
  },
});

const TONES = {
  connecting: "accent pulse",
  ready: "ok",
  unavailable: "bad",
  needs_sign_in: "warn",
  needs_approval: "warn",
  stopped: "",
};

export function ServerCard({ server }: { server: McpServerInfo }) {
  const w = useWords(words);
  const [problem, setProblem] = useState<Error>();
  const act = (request: McpActionRequest): void => {
    setProblem(undefined);
    api.mcp
      .act(server.name, request)
      .catch(setProblem)
      .finally(() => void queries.invalidateQueries({ queryKey: ["mcp"] }));
  };
  /** Opens the sign-in page, which redirects back to the console. */
  const signIn = (): void => {
    setProblem(undefined);
    api.mcp
      .act(server.name, { action: "sign_in" })
      .then(({ signInPage }) => {
        if (signInPage && /^https?:/.test(signInPage)) location.assign(signInPage);
        else void queries.invalidateQueries({ queryKey: ["mcp"] });
      })
      .catch(setProblem);
  };
  return (
    <section className="panel" aria-label={server.name}>
      <header>
        <h2 className="mono grow">{server.name}</h2>
        <span className={`badge ${TONES[server.state]}`}>{w.states[server.state]}</span>
        {server.era ? <span className="badge">{w.era[server.era]}</span> : null}
        <span className="badge">{server.transport}</span>
        {server.latencyMs === undefined ? null : (
          <span className="muted mono small">{formatDuration(server.latencyMs)}</span>
        )}
        {server.state === "needs_approval" ? (
          <button
            className="button small"
            onClick={() => act({ action: "approve_launch", ...(server.launchHash ? { hash: server.launchHash } : {}) })}
          >
            {w.approveLaunch}
          </button>
        ) : null}
        <button className="button small" onClick={() => act({ action: "reconnect" })}>
          <RotateCw size={14} aria-hidden /> {w.reconnect}
        </button>
        {server.state === "stopped" ? null : (
          <button className="button small" onClick={() => act({ action: "disconnect" })}>
            <Unplug size={14} aria-hidden /> {w.disconnect}
          </button>
        )}
      </header>
      <div className="body">
        {problem ? <Failure error={problem} /> : null}
        {server.state === "needs_sign_in" || server.signInPage ? (
          <p className="row">
            <button className="button primary small" onClick={signIn}>
              <LogIn size={14} aria-hidden /> {server.state === "ready" ? w.signInMore : w.signIn}
            </button>
            <span className="muted small">
              {w.byHand} <code>haft mcp login {server.name}</code>
            </span>
          </p>
        ) : null}
        {server.error ? (
          <p className="notice bad lines">
            <VisibleText text={server.error} />
          </p>
        ) : null}
        {server.launch ? (
          <pre className="code">
            <VisibleText text={server.launch} />
          </pre>
        ) : null}
        <p className="row small muted">
          <span>{server.trusted ? w.trusted : w.untrusted}</span>
          {server.server ? <span>{`${server.server.name} ${server.server.version}`}</span> : null}
          {server.origin ? (
            <span>
              {w.from} <span className="mono">{server.origin}</span>
            </span>
          ) : null}
        </p>
        {server.tools.length > 0 ? <ToolSwitches tools={server.tools} onAct={act} /> : null}
        {server.state === "ready" ? <ServerContents server={server.name} /> : null}
        {server.stderr.length > 0 ? (
          <details>
            <summary className="muted">{w.stderr}</summary>
            <pre className="code">
              <VisibleText text={server.stderr.join("\n")} />
            </pre>
          </details>
        ) : null}
        {server.log.length > 0 ? (
          <details>
            <summary className="muted">{w.log}</summary>
            <pre className="code">
              <VisibleText text={server.log.join("\n")} />
            </pre>
          </details>
        ) : null}
        {server.faultCount > 0 ? (
          <details>
            <summary className="muted">{w.faults(server.faultCount)}</summary>
            <pre className="code">
              <VisibleText text={server.faults.join("\n")} />
            </pre>
          </details>
        ) : null}
      </div>
    </section>
  );
}
