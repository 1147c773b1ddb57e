import type { HaftClient } from "../client/create-client.ts";
import type { AgentSessionDetail, AgentSessionInfo, SessionEntry, SessionState } from "../http/wire.ts";
import { type Output, safe, safeLine, type Style } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showTime } from "./show-time.ts";
import { UsageError } from "./usage-error.ts";

const STYLES: Readonly<Record<SessionState, Style>> = {
  idle: "dim",
  running: "cyan",
  waiting: "yellow",
  stopped: "dim",
  failed: "red",
};

export function showSessions(sessions: readonly AgentSessionInfo[], { paint, columns }: Output): string[] {
  return showColumns(
    sessions.map(({ key, label = "", state, turns, updatedAt, lastText, error }) => [
      safeLine(key),
      state,
      safeLine(label),
      `${turns} turns`,
      showTime(updatedAt),
      safeLine(error ?? lastText ?? ""),
    ]),
    { paint, columns, styles: ["bold"], styleOf: (cell, at) => (at === 1 ? STYLES[cell as SessionState] : undefined) },
  );
}

export function* showSession(session: AgentSessionDetail): Iterable<string> {
  const { key, label, state, turns, usage, waiting, pending, children, error } = session;
  yield `${safeLine(key)}${label === undefined ? "" : `  ${safeLine(label)}`}  ${state}`;
  yield `${turns} turns, ${usage.inputTokens} tokens in, ${usage.outputTokens} out, begun ${showTime(session.createdAt)}`;
  if (error !== undefined) yield `its last turn failed: ${safe(error)}`;
  if (waiting > 0) yield `${waiting} messages wait for it`;
  for (const { name, pending: wait } of pending)
    yield `waits for ${safeLine(name)} (${wait.kind} ${safeLine(wait.id)})`;
  for (const child of children) yield `spawned ${safeLine(child.label ?? child.key)}  ${child.state}`;
}

export function* showEntry({ seq, at, message, end }: SessionEntry): Iterable<string> {
  const head = `${showTime(at)}  #${seq}`;
  if (end && end.stop !== "done")
    yield `${head}  the turn ended: ${end.stop}${end.error ? `, ${safe(end.error)}` : ""}`;
  if (!message) return;
  if (message.role === "tool") {
    for (const { toolName, callId, status, display } of message.results) {
      yield `${head}  ${safeLine(toolName)} (${safeLine(callId)}) ${status}: ${safeLine(display)}`;
    }
    return;
  }
  const parts =
    typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content;
  for (const part of parts) {
    if (part.type === "text") yield `${head}  ${message.role}: ${safe(part.text)}`;
    else if (part.type === "tool_call")
      yield `${head}  calls ${safeLine(part.name)} ${safeLine(JSON.stringify(part.input) ?? "")}`;
  }
}

/** By key, or by a label that one session alone has. */
export async function findSession(client: HaftClient, wanted: string): Promise<string> {
  const { items } = await client.sessions.list({ limit: 500 });
  if (items.some(({ key }) => key === wanted)) return wanted;
  const labelled = items.filter(({ label }) => label === wanted);
  if (labelled.length > 1)
    throw new UsageError(`${labelled.length} sessions are called "${wanted}".`, "Name one by its key.");
  return labelled[0]?.key ?? wanted;
}
