/**
 * Calls in the files of other programs: transcripts of Claude Code and Codex (JSON lines), and spans of OpenTelemetry (OTLP as
 * JSON). Without I/O. Nothing of them runs, and nobody's answer is in them.
 */
import { isObject } from "../schema/json-schema.ts";

/** A call that another program made. */
export interface TranscriptCall {
  /** Whose names the tool and its parameters have. */
  agent: "claude" | "codex" | undefined;
  tool: string;
  input: Record<string, unknown>;
  session?: string;
  /** Unix milliseconds. */
  at?: number;
  /** Where the program worked, as it says. */
  cwd?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads the lines of one file, one after the other. */
export class TranscriptReader {
  /** Lines that are not JSON, and calls whose input is not known. */
  unreadable = 0;
  readonly #seen = new Set<string>();
  #session: string | undefined;
  #cwd: string | undefined;
  /** The first folder of the file: its paths are read as paths of this workspace. */
  #root: string | undefined;
  #pattern: RegExp | undefined;

  read(line: string): TranscriptCall[] {
    if (line.trim() === "") return [];
    try {
      return this.readValue(JSON.parse(line));
    } catch {
      this.unreadable++;
      return [];
    }
  }

  /** A line, or a whole document. */
  readValue(value: unknown): TranscriptCall[] {
    if (!isObject(value)) {
      this.unreadable++;
      return [];
    }
    if (Array.isArray(value["resourceSpans"])) return this.#spans(value["resourceSpans"]);
    const { type, payload, message } = value;
    if (isObject(payload)) return this.#codex(String(type), payload, value);
    if (type === "assistant" && isObject(message)) return this.#claude(message, value);
    return [];
  }

  #claude({ content }: Fields, line: Fields): TranscriptCall[] {
    this.#at(line["sessionId"], line["cwd"]);
    return listOf(content).flatMap((part) => {
      if (part["type"] !== "tool_use" || !this.#isNew(part["id"])) return [];
      return this.#call("claude", part["name"], part["input"], line["timestamp"]);
    });
  }

  /** What the model called. Its hooks know commands as `Bash`, and patches by `command`. */
  #codex(type: string, payload: Fields, { timestamp }: Fields): TranscriptCall[] {
    if (type === "session_meta") this.#at(payload["id"], payload["cwd"]);
    if (type === "turn_context") this.#at(undefined, payload["cwd"]);
    if (type !== "response_item") return [];
    const { type: kind, name, namespace } = payload;
    const isCall = kind === "function_call" || kind === "custom_tool_call" || kind === "local_shell_call";
    if (!isCall || !this.#isNew(payload["call_id"] ?? payload["id"])) return [];
    if (kind === "local_shell_call") return this.#command(payload["action"], timestamp);
    if (name === "apply_patch") {
      const patch = kind === "custom_tool_call" ? payload["input"] : objectOf(payload["arguments"])?.["input"];
      return this.#call("codex", "apply_patch", typeof patch === "string" ? { command: patch } : undefined, timestamp);
    }
    const given = kind === "custom_tool_call" ? { input: payload["input"] } : objectOf(payload["arguments"] ?? "{}");
    if (SHELLS.has(String(name))) return this.#command(given, timestamp);
    const full = typeof namespace === "string" && namespace.startsWith("mcp__") ? namespace + String(name) : name;
    return this.#call("codex", full, given, timestamp);
  }

  #command(given: unknown, at: unknown): TranscriptCall[] {
    const { command, cmd, workdir, working_directory: directory } = isObject(given) ? given : {};
    const text = commandOf(command ?? cmd);
    const folder = workdir ?? directory;
    const found = this.#call("codex", "Bash", text === undefined ? undefined : { command: text }, at);
    return found.map((call) => (typeof folder === "string" ? { ...call, cwd: this.#place(folder) } : call));
  }

  /** `gen_ai.execute_tool` spans. Most programs leave the arguments out: then the call cannot be judged. */
  #spans(resourceSpans: unknown): TranscriptCall[] {
    const scopes = listOf(resourceSpans).flatMap((resource) => listOf(resource["scopeSpans"]));
    return scopes
      .flatMap((scope) => listOf(scope["spans"]))
      .flatMap((span) => {
        const facts = new Map(listOf(span["attributes"]).map(({ key, value }) => [key, plainValue(value)]));
        const name = facts.get("gen_ai.tool.name");
        const operation = facts.get("gen_ai.operation.name");
        if (typeof name !== "string" || (operation !== undefined && operation !== "execute_tool")) return [];
        if (!this.#isNew(facts.get("gen_ai.tool.call.id") ?? span["spanId"])) return [];
        const nanos = Number(span["startTimeUnixNano"]);
        this.#session = textOf(facts.get("gen_ai.conversation.id")) ?? textOf(span["traceId"]);
        return this.#call(undefined, name, objectOf(facts.get("gen_ai.tool.call.arguments")), nanos / 1e6);
      });
  }

  #at(session: unknown, cwd: unknown): void {
    this.#session = textOf(session) ?? this.#session;
    this.#cwd = textOf(cwd) ?? this.#cwd;
    this.#root ??= this.#cwd?.replace(/(?<=.)\/+$/, "");
  }

  /** A resumed session repeats its calls. */
  #isNew(id: unknown): boolean {
    if (typeof id !== "string") return true;
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    return true;
  }

  #call(agent: TranscriptCall["agent"], tool: unknown, input: unknown, at: unknown): TranscriptCall[] {
    if (typeof tool !== "string" || tool === "" || !isObject(input)) {
      this.unreadable++;
      return [];
    }
    const time = typeof at === "string" ? Date.parse(at) : Number(at);
    const cwd = this.#cwd === undefined ? undefined : this.#place(this.#cwd);
    const placed = Object.entries(input).map(([key, value]) => [key, this.#placeIn(key, value)]);
    return [
      {
        ...{ agent, tool, input: Object.fromEntries(placed), session: this.#session, cwd },
        at: Number.isFinite(time) && time > 0 ? Math.round(time) : undefined,
      },
    ];
  }

  #placeIn(key: string, value: unknown): unknown {
    if (typeof value !== "string" || this.#root === undefined || this.#root === "/") return value;
    // In a command the folder may stand anywhere.
    if (key === "command") return value.replaceAll(this.#inCommand(this.#root), ".");
    return this.#place(value);
  }

  #inCommand(root: string): RegExp {
    return (this.#pattern ??= new RegExp(
      `(?<![\\w./-])${root.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")}(?![\\w.-])`,
      "g",
    ));
  }

  /** Inside the folder of the file: relative. */
  #place(path: string): string {
    const root = this.#root;
    if (root === undefined || root === "/") return path;
    return path === root ? "." : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  }
}

/** Codex's names of its tools for commands, by version and model. */
const SHELLS: ReadonlySet<string> = new Set("shell shell_command exec_command local_shell container.exec".split(" "));

/** A program with its words, or the script of a shell. */
function commandOf(command: unknown): string | undefined {
  if (typeof command === "string") return command;
  if (!Array.isArray(command) || command.length === 0) return undefined;
  const words = command.map(String);
  const [shell = "", option = "", script] = words;
  if (words.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(option)) return script;
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 256) : undefined;
}

/** Arguments are JSON as a text, or an object. */
function objectOf(value: unknown): Record<string, unknown> | undefined {
  if (isObject(value)) return value;
  if (typeof value !== "string") return undefined;
  try {
    const read: unknown = JSON.parse(value);
    return isObject(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

const MAX_DEPTH = 20;

/** An `AnyValue` of OTLP. */
function plainValue(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > MAX_DEPTH) return undefined;
  const { stringValue, intValue, doubleValue, boolValue, arrayValue, kvlistValue } = value;
  if (isObject(kvlistValue))
    return Object.fromEntries(
      listOf(kvlistValue["values"]).map(({ key, value: of }) => [String(key), plainValue(of, depth + 1)]),
    );
  if (isObject(arrayValue)) return listOf(arrayValue["values"]).map((of) => plainValue(of, depth + 1));
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
}
