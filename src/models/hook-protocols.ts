/**
 * The hook protocols of other agents: an event comes in, an answer goes out. A table entry per agent, without I/O. Sources and
 * versions are in docs/guides/hooks.md.
 *
 * No answer here ever says "allow": a call that passes gets no decision, so the agent's own rules still decide about it.
 */
import { attempt, toolError } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";

export const AGENT_NAMES = ["claude", "codex", "gemini", "cursor", "copilot", "opencode", "pi"] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

export function isAgentName(name: string): name is AgentName {
  return (AGENT_NAMES as readonly string[]).includes(name);
}

/** Where these agents say which project they were started in. */
export const PROJECT_VARIABLES: Partial<Record<AgentName, string>> = {
  claude: "CLAUDE_PROJECT_DIR",
  gemini: "GEMINI_PROJECT_DIR",
  cursor: "CURSOR_PROJECT_DIR",
};

/** A call that the agent wants to make, or has made, with its own tool. */
export interface AgentCall {
  /** The agent's name of its tool. */
  name: string;
  input: Readonly<Record<string, unknown>>;
  /** The agent's id of the call, if it has one. */
  id?: string;
  cwd?: string;
}

/** An event of an agent. `session`: the agent's id of the conversation. */
export type AgentEvent =
  | { type: "call"; session: string; call: AgentCall }
  | { type: "end"; session: string; call: AgentCall; output: string; failed: boolean }
  | { type: "prompt"; session: string; text: string }
  /** The agent's turn or session is over: calls that have not been reported will not be. */
  | { type: "idle"; session: string }
  /** Known, and nothing to decide. */
  | { type: "other"; session: string };

/** What the hook's process writes, and ends with. */
export interface HookAnswer {
  exitCode: 0 | 2;
  stdout: string;
  stderr: string;
}

type Fields = Readonly<Record<string, unknown>>;
type EventKind = "call" | "end" | "failed" | "prompt" | "idle" | "other";

interface Protocol {
  /** The field with the name of the event. Without one the event is known by its fields. */
  nameOf(event: Fields): string | undefined;
  events: Readonly<Record<string, EventKind>>;
  sessionOf(event: Fields): unknown;
  callOf(event: Fields, name: string): AgentCall;
  outputOf(event: Fields): unknown;
  /** The body of an answer that denies. `event`: undefined if the event could not be read. */
  deny(reason: string, event: string | undefined): HookAnswer;
  /** An answer without a decision. */
  pass: string;
}

const exitWith2 = (reason: string): HookAnswer => ({ exitCode: 2, stdout: "", stderr: `${reason}\n` });
const printed = (value: unknown): HookAnswer => ({ exitCode: 0, stdout: `${JSON.stringify(value)}\n`, stderr: "" });

/** Claude Code and Codex: only this form is honoured by both. */
const denyToolUse: Protocol["deny"] = (reason, event) =>
  event === "PreToolUse"
    ? printed({
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "deny",
          permissionDecisionReason: reason,
        },
      })
    : exitWith2(reason);

/** The names of events by what they mean here. */
function eventsOf(named: Partial<Record<EventKind, string>>): Protocol["events"] {
  const kinds = Object.entries(named) as [EventKind, string][];
  return Object.fromEntries(kinds.flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind] as const)));
}

const claude: Protocol = {
  nameOf: (event) => textOf(event["hook_event_name"]),
  events: eventsOf({
    call: "PreToolUse",
    end: "PostToolUse",
    failed: "PostToolUseFailure",
    prompt: "UserPromptSubmit",
    idle: "Stop SessionEnd",
    other: "SessionStart SubagentStart SubagentStop PermissionRequest Notification PreCompact PostCompact",
  }),
  sessionOf: (event) => event["session_id"],
  callOf: (event) => toolUseOf(event),
  outputOf: (event) => event["tool_response"] ?? event["error"],
  deny: denyToolUse,
  pass: "",
};

const PROTOCOLS: Readonly<Record<AgentName, Protocol>> = {
  claude,
  codex: claude,
  gemini: {
    ...claude,
    events: eventsOf({
      call: "BeforeTool",
      end: "AfterTool",
      prompt: "BeforeAgent",
      idle: "AfterAgent SessionEnd",
      other: "SessionStart BeforeModel AfterModel BeforeToolSelection Notification PreCompress",
    }),
    deny: (reason, event) => (event === undefined ? exitWith2(reason) : printed({ decision: "deny", reason })),
    pass: "{}\n",
  },
  cursor: {
    nameOf: (event) => textOf(event["hook_event_name"]),
    events: eventsOf({
      call: "preToolUse beforeShellExecution beforeMCPExecution beforeReadFile",
      end: "postToolUse afterShellExecution afterMCPExecution afterFileEdit",
      failed: "postToolUseFailure",
      prompt: "beforeSubmitPrompt",
      idle: "stop sessionEnd",
      other: "sessionStart subagentStart subagentStop preCompact afterAgentResponse afterAgentThought",
    }),
    sessionOf: (event) => event["conversation_id"],
    callOf(event, name) {
      const id = textOf(event["tool_use_id"]);
      const roots = event["workspace_roots"];
      const cwd = textOf(event["cwd"]) || (Array.isArray(roots) ? textOf(roots[0]) : undefined);
      if (name === "beforeShellExecution" || name === "afterShellExecution")
        return { name: "Shell", input: { command: event["command"] }, id, cwd };
      if (name === "beforeReadFile") return { name: "Read", input: { path: event["file_path"] }, id, cwd };
      if (name === "afterFileEdit") return { name: "Write", input: { path: event["file_path"] }, id, cwd };
      const tool = requiredText(event, "tool_name");
      const isMcp = name === "beforeMCPExecution" || name === "afterMCPExecution";
      const input = inputOf(event["tool_input"]);
      return { name: isMcp && !/^mcp/i.test(tool) ? `MCP:${tool}` : tool, input, id, cwd };
    },
    outputOf: (event) => event["output"] ?? event["result_json"] ?? event["tool_output"] ?? event["error_message"],
    deny: (reason, event) =>
      event === undefined
        ? exitWith2(reason)
        : printed({ permission: "deny", user_message: reason, agent_message: reason }),
    pass: "{}\n",
  },
  copilot: {
    nameOf(event) {
      const named = textOf(event["hook_event_name"]) ?? textOf(event["hookEventName"]);
      if (named !== undefined) return named[0]!.toLowerCase() + named.slice(1);
      if ("toolResult" in event) return "postToolUse";
      if ("error" in event) return "toolName" in event ? "postToolUseFailure" : "errorOccurred";
      if ("toolName" in event) return "preToolUse";
      if ("prompt" in event) return "userPromptSubmitted";
      if ("source" in event) return "sessionStart";
      return "reason" in event ? "sessionEnd" : undefined;
    },
    events: eventsOf({
      call: "preToolUse",
      end: "postToolUse",
      failed: "postToolUseFailure",
      prompt: "userPromptSubmitted",
      idle: "sessionEnd agentStop",
      other: "sessionStart errorOccurred",
    }),
    // The coding agent has none: one for each folder.
    sessionOf: (event) => event["sessionId"] ?? event["session_id"] ?? event["cwd"],
    callOf: (event) => ({
      name: requiredText(event, "toolName"),
      input: inputOf(event["toolArgs"]),
      id: textOf(event["toolCallId"]),
      cwd: textOf(event["cwd"]),
    }),
    outputOf(event) {
      const result = event["toolResult"] ?? event["error"];
      return isObject(result) ? (result["textResultForLlm"] ?? result) : result;
    },
    deny: (reason) => printed({ permissionDecision: "deny", permissionDecisionReason: reason }),
    pass: "{}\n",
  },
  opencode: plugin({ "tool.execute.before": "call", "tool.execute.after": "end", "chat.message": "prompt" }),
  pi: plugin({ tool_call: "call", tool_result: "end", input: "prompt" }),
};

/** The plugin files that `haft hook install` writes send this form. */
function plugin(events: Readonly<Record<string, EventKind>>): Protocol {
  return {
    nameOf: (event) => textOf(event["event"]),
    events: { ...events, idle: "idle", start: "other" },
    sessionOf: (event) => event["session"],
    callOf: (event) => ({
      name: requiredText(event, "tool"),
      input: inputOf(event["input"]),
      id: textOf(event["id"]),
      cwd: textOf(event["cwd"]),
    }),
    outputOf: (event) => event["output"],
    deny: (reason) => printed({ decision: "deny", reason }),
    pass: '{"decision":"pass"}\n',
  };
}

/** As much of a report as is recorded. */
const MAX_OUTPUT = 64 * 1024;

/** Throws if it is no text: two events with other bytes must not read the same. */
export function eventText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable("The event is not UTF-8");
  }
}

/** Reads what an agent has sent. Throws, with a sentence for the model, if it is not an event of this agent. */
export function readAgentEvent(agent: AgentName, text: string): AgentEvent {
  const protocol = PROTOCOLS[agent];
  const event = parseEvent(text);
  const name = protocol.nameOf(event);
  const kind = name !== undefined && Object.hasOwn(protocol.events, name) ? protocol.events[name] : undefined;
  if (name === undefined || kind === undefined) throw unreadable(`The event ${JSON.stringify(name)} is not known`);
  const session = textOf(protocol.sessionOf(event));
  if (session === undefined || session === "") throw unreadable("The event does not name its session");
  if (session.length > MAX_SESSION || /\p{Cc}/u.test(session))
    throw unreadable("The name of the session is too long, or has control characters");
  switch (kind) {
    case "call":
      return { type: "call", session, call: protocol.callOf(event, name) };
    case "end":
    case "failed": {
      const output = protocol.outputOf(event);
      const shown = typeof output === "string" ? output : (JSON.stringify(output) ?? "");
      const failed = kind === "failed" || isFailure(event);
      return { type: "end", session, call: protocol.callOf(event, name), output: shown.slice(0, MAX_OUTPUT), failed };
    }
    case "prompt":
      return { type: "prompt", session, text: textOf(event["prompt"]) ?? "" };
    case "idle":
    case "other":
      return { type: kind, session };
  }
}

const MAX_SESSION = 256;

/** No decision: the agent goes on as its own rules say. */
export function passAnswer(agent: AgentName): HookAnswer {
  return { exitCode: 0, stdout: PROTOCOLS[agent].pass, stderr: "" };
}

/** Denies the call of an event. An event that cannot be read is denied in the form that needs no event. */
export function denyAnswer(agent: AgentName, reason: string, text?: string): HookAnswer {
  // Codex lets a call run if the reason is empty.
  const said = reason.trim() || "Haft denies this call.";
  const name = text === undefined ? undefined : nameOf(agent, text);
  const { events, deny } = PROTOCOLS[agent];
  // There is no call to deny, and an agent that may not stop goes on forever.
  if (name !== undefined && Object.hasOwn(events, name) && events[name] !== "call")
    return { ...passAnswer(agent), stderr: `${said}\n` };
  return deny(said, name);
}

function nameOf(agent: AgentName, text: string): string | undefined {
  return attempt(() => PROTOCOLS[agent].nameOf(parseEvent(text)));
}

function parseEvent(text: string): Fields {
  let event: unknown;
  try {
    event = JSON.parse(/\d{16}|\d[eE]/.test(text) ? withAllDigits(text) : text);
  } catch {
    throw unreadable("The event is not JSON");
  }
  if (!isObject(event)) throw unreadable("The event is not an object");
  return event;
}

const JSON_NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A number that JavaScript would round becomes a text: what is shown, judged and approved has every digit that the agent uses. */
function withAllDigits(json: string): string {
  let written = "";
  for (let at = 0; at < json.length;) {
    const quote = json.indexOf('"', at);
    let end = quote < 0 ? json.length : quote + 1;
    written += json.slice(at, quote < 0 ? undefined : quote).replace(JSON_NUMBER, exactly);
    while (quote >= 0 && end < json.length && json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
    if (quote >= 0) written += json.slice(quote, end + 1);
    at = end + 1;
  }
  return written;
}

function exactly(value: string): string {
  const digits = value
    .replace(/[eE].*/, "")
    .replaceAll(/[-.]/g, "")
    .replaceAll(/^0+|0+$/g, "").length;
  const number = Number(value);
  const isKept = digits > 15 ? String(number) === value && Number.isSafeInteger(number) : digits === 0 || number !== 0;
  return isKept && Number.isFinite(number) ? value : JSON.stringify(value);
}

function toolUseOf(event: Fields): AgentCall {
  return {
    name: requiredText(event, "tool_name"),
    input: inputOf(event["tool_input"]),
    id: textOf(event["tool_use_id"]),
    cwd: textOf(event["cwd"]),
  };
}

/** Some agents send the arguments as text. */
function inputOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "string") return isObject(value) ? value : { value };
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? parsed : { value };
  } catch {
    return { value };
  }
}

function isFailure(event: Fields): boolean {
  const response = event["tool_response"] ?? event["toolResult"];
  if (event["failed"] === true) return true;
  if (!isObject(response)) return false;
  return (
    Boolean(response["error"]) ||
    response["is_error"] === true ||
    response["isError"] === true ||
    response["resultType"] === "failure"
  );
}

function requiredText(event: Fields, field: string): string {
  const value = textOf(event[field]);
  if (value === undefined || value === "") throw unreadable(`The event has no ${field}`);
  return value;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unreadable(what: string): Error {
  return toolError("invalid_input", `${what}, so Haft denies the call`, {
    next: "Update Haft or the hook: `haft hook status` shows what is installed.",
  });
}

/** A call in our terms: `tool` is undefined if no tool of ours does the same. */
export interface MappedCall {
  tool: string | undefined;
  input: Record<string, unknown>;
  /** It also has parameters whose meaning is not known, which `input` does not have. */
  hasUnknown?: boolean;
}

/** Agents' names of tools that do what one of ours does, in lower case. */
const TOOLS: Readonly<Record<string, string>> = {
  bash: "exec",
  shell: "exec",
  run_shell_command: "exec",
  apply_patch: "apply_patch",
  patch: "apply_patch",
  read: "read",
  read_file: "read",
  view: "read",
  write: "write",
  write_file: "write",
  create: "write",
  edit: "edit",
  multiedit: "edit",
  strreplace: "edit",
  str_replace: "edit",
  replace: "edit",
  delete: "delete_file",
  notebookedit: "edit_notebook",
  ls: "list_files",
  list: "list_files",
  list_directory: "list_files",
  glob: "glob",
  find: "glob",
  grep: "grep",
  grep_search: "grep",
  search_file_content: "grep",
  webfetch: "web_fetch",
  web_fetch: "web_fetch",
  websearch: "web_search",
  web_search: "web_search",
  google_web_search: "web_search",
  todowrite: "todo",
  write_todos: "todo",
};

/** The parameters that say what the call does, and the agents' names of them. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  exec: {
    command: ["command", "cmd", "script"],
    working_directory: ["working_directory", "workdir", "directory", "dir_path", "cwd"],
    env: ["env"],
    stdin: ["stdin"],
    run_in_background: ["run_in_background", "is_background"],
    // Claude Code leaves its own sandbox then.
    outside_sandbox: ["dangerouslyDisableSandbox"],
  },
  apply_patch: { patch: ["command", "input", "patch", "patchText", "diff"], working_directory: ["workdir"] },
  read: { path: ["file_path", "filePath", "absolute_path", "target_file", "path"] },
  write: {
    path: ["file_path", "filePath", "target_file", "path"],
    content: ["content", "contents", "file_text", "fileText", "text"],
  },
  delete_file: { path: ["file_path", "filePath", "target_file", "path"] },
  list_files: { path: ["path", "dir_path", "directory"] },
  web_fetch: { url: ["url"] },
};

/** The agents' names of parameters that only say how. */
const HOW: Readonly<Record<string, readonly string[]>> = {
  exec: [
    ...["description", "explanation", "justification", "timeout", "timeout_ms", "timeoutMs"],
    ...["block_until_ms", "initial_wait", "sessionId", "shellId", "mode", "detach", "login"],
  ],
  read: [
    ...["offset", "limit", "pages", "start_line", "end_line", "view_range", "viewRange", "forceReadLargeFiles"],
    ...["description", "explanation", "should_read_entire_file"],
  ],
  write: ["description", "explanation", "overwrite", "modified_by_user", "ai_proposed_content"],
  delete_file: ["description", "explanation"],
  list_files: ["description", "explanation", "ignore", "depth", "limit", "offset", "respect_git_ignore"],
  web_fetch: ["prompt", "format", "timeout", "max_length", "start_index", "raw"],
};

/** The call of ours that does the same as an agent's call. */
export function mapAgentCall(agent: AgentName, { name, input }: AgentCall): MappedCall {
  const tool = Object.hasOwn(TOOLS, name.toLowerCase()) ? TOOLS[name.toLowerCase()] : undefined;
  // opencode names the tools of MCP servers so.
  const isOfServer = agent === "opencode" && name.includes("_") && name !== "apply_patch";
  if (tool === undefined || isOfServer) return { tool: undefined, input: { ...input } };
  const parameters = PARAMETERS[tool];
  if (!parameters) return { tool, input: { ...input } };
  const mapped: Record<string, unknown> = {};
  for (const [own, names] of Object.entries(parameters)) {
    const given = names.filter((candidate) => input[candidate] !== undefined && input[candidate] !== null);
    const [first] = given;
    if (first === undefined) continue;
    // Which one the agent uses is not known, so one of them could hide what the call does.
    const isSame = given.every((candidate) => JSON.stringify(input[candidate]) === JSON.stringify(input[first]));
    if (!isSame) throw unreadable(`The call of ${JSON.stringify(name)} has two values: ${given.join(" and ")}`);
    mapped[own] = input[first];
  }
  const known = new Set([...Object.values(parameters).flat(), ...(HOW[tool] ?? [])]);
  // Gemini CLI fetches the addresses that its prompt has.
  if (agent === "gemini" && tool === "web_fetch") known.delete("prompt");
  return { tool, input: mapped, hasUnknown: Object.keys(input).some((key) => !known.has(key)) };
}

/** The server of a tool that an MCP server gave to the agent, and the name that rules know it by. */
export function mcpNameOf(name: string): { server: string; tool: string } | undefined {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? /^mcp_([^_]+)_(.+)$/.exec(name) ?? [];
  if (server !== undefined && tool !== undefined) return { server, tool };
  const [, bare] = /^MCP:(.+)$/.exec(name) ?? [];
  return bare === undefined ? undefined : { server: "unnamed", tool: bare };
}

/** Every name that a rule may use for it, if it is of an MCP server: agents join the names in ways that do not show both. */
export function possibleMcpNames(name: string, servers: readonly string[]): string[] {
  const joined = name.slice(0, 120).replace(/^mcp(?:__|[_:])/i, "");
  const splits = [...joined.matchAll(/[^\w]|_+/g)].map(
    ({ 0: { length }, index }) => `mcp__${joined.slice(0, index)}__${joined.slice(index + length)}`,
  );
  return [...splits, ...(/^MCP:/i.test(name) ? servers.map((server) => `mcp__${server}__${joined}`) : [])];
}
