import { RotateCw, Unplug } from "lucide-react";
import { useState } from "react";
import type { McpActionRequest, McpServerInfo } from "../../../../src/http/wire.ts";
import { post, queries } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { readableTime } from "../../parts/result-view.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

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
    signIn: "Sign in with:",
    openPage: "Open the sign-in page",
    approveLaunch: "Approve the new start command",
    tools: (count: number) => `${count} tools`,
    stderr: "What it printed to stderr",
    faults: (count: number) => `Faults that harmed nobody (${count})`,
    changed: "definition changed",
    approve: "Approve",
    on: "on",
    off: "off",
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
    signIn: "登录：",
    openPage: "打开登录页面",
    approveLaunch: "批准新的启动命令",
    tools: (count: number) => `${count} 个工具`,
    stderr: "它在 stderr 的输出",
    faults: (count: number) => `无害的错误（${count}）`,
    changed: "定义已更改",
    approve: "批准",
    on: "开",
    off: "关",
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
    post(`mcp/${encodeURIComponent(server.name)}`, request)
      .catch(setProblem)
      .finally(() => void queries.invalidateQueries({ queryKey: ["mcp"] }));
  };
  return (
    <section className="panel" aria-label={server.name}>
      <header>
        <h2 className="mono grow">{server.name}</h2>
        <span className={`badge ${TONES[server.state]}`}>{w.states[server.state]}</span>
        {server.era ? <span className="badge">{w.era[server.era]}</span> : null}
        <span className="badge">{server.transport}</span>
        {server.latencyMs === undefined ? null : (
          <span className="muted mono small">{readableTime(server.latencyMs)}</span>
        )}
        {server.state === "needs_approval" ? (
          <button className="button small" onClick={() => act({ action: "approve_launch" })}>
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
        {server.state === "needs_sign_in" ? (
          <p className="notice warn">
            {w.signIn} <code>haft mcp login {server.name}</code>
          </p>
        ) : null}
        {server.error ? (
          <p className="notice bad">
            <VisibleText text={server.error} />
          </p>
        ) : null}
        {server.signInPage && /^https?:/.test(server.signInPage) ? (
          <a href={server.signInPage} target="_blank" rel="noreferrer">
            {w.openPage}
          </a>
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
        {server.tools.length > 0 ? (
          <details>
            <summary>{w.tools(server.tools.length)}</summary>
            <ul className="switches">
              {server.tools.map((tool) => (
                <li key={tool.name} className="row">
                  <label className="row grow">
                    <input
                      type="checkbox"
                      checked={tool.isEnabled}
                      onChange={() => act({ action: tool.isEnabled ? "disable_tool" : "enable_tool", tool: tool.name })}
                    />
                    <span className="mono">
                      <VisibleText text={tool.name} />
                    </span>
                  </label>
                  {tool.refused ? <span className="field-error small">{tool.refused}</span> : null}
                  {tool.review === "changed" ? (
                    <>
                      <span className="badge warn">{w.changed}</span>
                      <button className="button small" onClick={() => act({ action: "approve_tool", tool: tool.name })}>
                        {w.approve}
                      </button>
                    </>
                  ) : null}
                </li>
              ))}
            </ul>
          </details>
        ) : null}
        {server.stderr.length > 0 ? (
          <details>
            <summary className="muted">{w.stderr}</summary>
            <pre className="code">
              <VisibleText text={server.stderr.join("\n")} />
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
