import type { ApiClient } from "../../contracts/index.ts";
import type { AgentSessionDetail, AgentSessionInfo, SessionEntry, SessionState } from "../../contracts/sessions.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { showTime } from "../../core/clock.ts";
import { countTodos, todoLine } from "../../tools/conversation/todo.ts";
import { showColumns } from "../layout.ts";
import { type Output, safe, safeLine, type Style } from "../output.ts";

const MAX_WAIT_MS = 600_000;

const list = defineCommand({
  examples: [
    ["haft sessions list", "conversations with agents, last changed first"],
    ["haft sessions list --state waiting --json", "those that wait for a person, a job or a client"],
  ],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "Only in this state",
      oneOf: ["idle", "running", "waiting", "stopped", "failed"],
    },
    limit: { type: "number", short: "n", value: "N", range: [1, 500], about: "Max number of sessions; default: 100" },
  },
  uses: ["sessions"],
  async run({ connect, output, options: { state, limit } }) {
    const client = await connect({ only: ["sessions"] });
    const page = await client.sessions.list({ state, limit });
    output.list(page, (sessions) => showSessions(sessions, output));
    if (page.items.length === 0) output.info("No sessions. `haft sessions send --new NAME TEXT` starts one.");
    if (!page.canAnswer) output.info("No model is configured: sessions can be read, but no agent replies.");
  },
});

const show = defineCommand({
  examples: [
    ["haft sessions show research", "by its label or key: its state and its messages"],
    ["haft sessions show ses_1 --jsonl", "every entry as a line of JSON"],
  ],
  operands: [{ name: "SESSION", listedBy: "haft sessions list" }],
  uses: ["sessions"],
  async run({ connect, output, operands: [wanted = ""] }) {
    const client = await connect({ only: ["sessions"] });
    const key = await findSession(client, wanted);
    const session = await client.sessions.get(key);
    const entries: SessionEntry[] = [];
    for (let after = 0; ;) {
      const { items, next } = await client.sessions.history(key, { after });
      entries.push(...items);
      if (next === undefined) break;
      after = Number(next);
    }
    if (output.format === "jsonl") {
      for (const entry of entries) output.item(entry, showEntry);
      return;
    }
    output.data({ ...session, entries }, function* lines(shown) {
      yield* showSession(shown);
      yield "";
      for (const entry of shown.entries) yield* showEntry(entry);
    });
  },
});

const send = defineCommand({
  examples: [
    ["haft sessions send research 'Which sources did you use?'", "send a message and wait for the reply"],
    ["haft sessions send --new research 'Find out who uses this module'", "starts a session with that label"],
    [
      "haft sessions send research 'Go on' --wait 0s --url http://127.0.0.1:4117",
      "through a running server, without waiting",
    ],
  ],
  operands: [
    { name: "SESSION", listedBy: "haft sessions list" },
    { name: "TEXT", isRest: true },
  ],
  options: {
    new: { type: "flag", about: "Start a session with this label" },
    agent: { type: "text", value: "NAME", about: "For a new session: the configured agent that replies" },
    wait: { type: "duration", value: "TIME", about: "How long to wait for the reply; default: 10m" },
  },
  notes: ["Without a server the turn runs in this command: if it ends early, `haft serve` continues the turn."],
  uses: ["sessions"],
  async run({ connect, output, interrupted, operands: [wanted = "", ...words], options: { new: isNew, agent, wait } }) {
    const client = await connect();
    // Before it is created: without an agent it would be useless.
    if (isNew && !(await client.sessions.list({ limit: 1 })).canAnswer) {
      throw new UsageError(
        "No model is configured, so no agent replies in a session.",
        "Set agent.model in the configuration, for example to openai/gpt-5.",
      );
    }
    const key = isNew
      ? (await client.sessions.create({ label: wanted, agent })).key
      : await findSession(client, wanted);
    const request = { text: words.join(" "), waitMs: Math.min(wait ?? MAX_WAIT_MS, MAX_WAIT_MS) };
    const answer = await client.sessions.send(key, request, { signal: interrupted });
    output.data({ session: key, ...answer }, ({ status, reply, error }) => {
      if (reply !== undefined && reply !== "") return [safe(reply)];
      return [error === undefined ? status : safe(error)];
    });
    if (answer.status === "accepted" && request.waitMs > 0) {
      output.info("It waits for a person, a job or a client. `haft approvals list` shows what waits for you.");
    }
    if (answer.status === "timeout") output.info("There is no reply yet; it will be in the history of the session.");
    return answer.status === "ok" || answer.status === "accepted" ? EXIT.done : EXIT.toolFailed;
  },
});

const stop = defineCommand({
  examples: [["haft sessions stop research", "ends its turn, and those of the sessions that it started"]],
  operands: [{ name: "SESSION", listedBy: "haft sessions list" }],
  uses: ["sessions"],
  async run({ connect, output, operands: [wanted = ""] }) {
    const client = await connect({ only: ["sessions"] });
    const { stopped } = await client.sessions.stop(await findSession(client, wanted));
    output.data({ stopped }, () => [stopped === 0 ? "It was not running." : `Stopped: ${stopped}.`]);
  },
});

export const commands = { list, show, send, stop };

/** By key, or by a label that only one session has. */
async function findSession(client: Pick<ApiClient, "sessions">, wanted: string): Promise<string> {
  const { items } = await client.sessions.list({ limit: 500 });
  if (items.some(({ key }) => key === wanted)) return wanted;
  const labelled = items.filter(({ label }) => label === wanted);
  if (labelled.length > 1)
    throw new UsageError(`${labelled.length} sessions have the label "${wanted}".`, "Use the key of one.");
  return labelled[0]?.key ?? wanted;
}

const STYLES: Readonly<Record<SessionState, Style>> = {
  idle: "dim",
  running: "cyan",
  waiting: "yellow",
  stopped: "dim",
  failed: "red",
};

function showSessions(sessions: readonly AgentSessionInfo[], { paint, columns }: Output): string[] {
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

function* showSession(session: AgentSessionDetail): Iterable<string> {
  const { key, label, state, turns, usage, waiting, pending, children, error, todos } = session;
  yield `${safeLine(key)}${label === undefined ? "" : `  ${safeLine(label)}`}  ${state}`;
  yield `${turns} turns, ${usage.inputTokens} tokens in, ${usage.outputTokens} out, started ${showTime(session.createdAt)}`;
  if (error !== undefined) yield `its last turn failed: ${safe(error)}`;
  if (waiting > 0) yield `${waiting} messages wait for it`;
  for (const { name, pending: wait } of pending)
    yield `waits for ${safeLine(name)} (${wait.kind} ${safeLine(wait.id)})`;
  if (todos.length > 0) yield countTodos(todos);
  for (const step of todos) yield `  ${safeLine(todoLine(step))}`;
  for (const child of children) yield `started ${safeLine(child.label ?? child.key)}  ${child.state}`;
}

function* showEntry({ seq, at, message, end }: SessionEntry): Iterable<string> {
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
