import { sha256 } from "../calls/approval-binding.ts";
import { type Call, type Caller, toolOf } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { definitionHash } from "../core/definition.ts";
import { failureText, toolError, type ToolError } from "../core/error.ts";
import type { ToolEvent, Update } from "../core/events.ts";
import { canonicalJson, toPlainData } from "../core/json.ts";
import { hideSecretsIn } from "../core/secrets/mask-secrets.ts";
import type { ToolOutput, ToolResult } from "../core/result.ts";
import type { Middleware } from "../core/stage.ts";
import { createLineFile, readLineFile } from "../io/files/own-folders.ts";

export interface RecorderOptions {
  /** Masks secrets, found by name and shape, in inputs, results and updates. */
  redact?: boolean;
  /** Replaces an existing recording. */
  overwrite?: boolean;
  /** Only calls of this session. Default: all. */
  session?: string;
  /** Versions for the header, in addition to Node's: of the agent, of the model. */
  versions?: Record<string, string>;
  clock?: Clock;
}

/** Writes calls to a file for `createReplay`. */
export interface Recorder {
  /** For `createHaft({ middleware })`. */
  readonly middleware: readonly Middleware[];
  /** For `haft.on("tool_call_updated", …)`: without it a recording has no updates. */
  onEvent(event: ToolEvent): void;
  /** How many calls were recorded. */
  readonly calls: number;
  /** Throws if a line could not be written; calls do not fail because of that. */
  close(): void;
}

interface Begun {
  began: number;
  updates: RecordedCall["updates"];
}

/** Writes every call to a file, also refused calls: one line when the call has ended. */
export function createRecorder(file: string, options: RecorderOptions = {}): Recorder {
  const { redact = false, session, clock = systemClock } = options;
  const lines = createLineFile(file, options);
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const underWay = new Map<Call, Begun>();
  const byId = new Map<string, Begun>();
  const tools = new Set<string>();
  let moment = 0;
  let written = 0;
  let failure: unknown;

  const write = (line: RecordingLine): void => {
    if (failure !== undefined) return;
    try {
      lines.append(JSON.stringify(line));
    } catch (error) {
      // Calls do not fail if the file cannot be written; `close` throws the reason.
      failure = error;
    }
  };
  const kept = <T>(value: T): T => (redact ? (hideSecretsIn(value) as T) : value);
  write({
    type: "header",
    format: "haft-recording",
    version: 1,
    startedAt,
    redacted: redact,
    versions: { node: process.version, ...options.versions },
  });

  const writeTool = (call: Call): void => {
    if (!call.tool || tools.has(call.tool.name)) return;
    const { name, version } = toolOf(call);
    tools.add(name);
    write({ type: "tool", name, version, definition: definitionHash(call.tool, sha256) });
  };

  const writeCall = (call: Call, result: ToolResult, { began, updates }: Begun): void => {
    writeTool(call);
    written += 1;
    write({
      type: "call",
      callId: call.id,
      parentId: call.parent?.id,
      tool: result.toolName,
      input: kept(toPlainData(call.accepted ?? call.input).value),
      caller: call.caller,
      began,
      ended: ++moment,
      atMs: call.startedMonotonic - startedMonotonic,
      durationMs: clock.monotonic() - call.startedMonotonic,
      ran: call.began,
      updates: kept(updates),
      result: kept(result),
    });
  };

  const middleware: Middleware = {
    name: "recorder",
    after: "record",
    enter(call) {
      if (session !== undefined && call.caller.session !== session) return;
      const begun = { began: ++moment, updates: [] };
      underWay.set(call, begun);
      byId.set(call.id, begun);
    },
    leave(call, result) {
      const begun = underWay.get(call);
      if (!begun) return result;
      underWay.delete(call);
      if (byId.get(call.id) === begun) byId.delete(call.id);
      writeCall(call, result, begun);
      return result;
    },
  };

  return {
    middleware: [middleware],
    onEvent(event) {
      if (event.type !== "tool_call_updated") return;
      byId.get(event.callId)?.updates.push({ atMs: event.at - startedAt, update: event.update });
    },
    get calls() {
      return written;
    },
    close() {
      lines.close();
      if (failure !== undefined) {
        throw new Error(`${file} is not complete: a line of the recording could not be written.`, { cause: failure });
      }
    },
  };
}

export interface ReplayOptions {
  /**
   * Each recorded call answers once, not before the calls that had ended when it started, and only if the tool's definition is
   * the recorded one. Otherwise the last of equal calls answers repeatedly, and differences in order and definition are reported.
   */
  strict?: boolean;
  /** `recorded`: updates and answers come with the recorded delays. */
  pace?: "at_once" | "recorded";
  clock?: Clock;
}

export interface DifferingCall {
  callId: string;
  tool: string;
  input: unknown;
  why: string;
  /** The most similar recorded call. */
  nearest?: { callId: string; input: unknown; differences: InputDifference[] };
}

export interface ReplayReport {
  used: RecordedCall[];
  unused: RecordedCall[];
  differing: DifferingCall[];
  outOfOrder: RecordedCall[];
  /** Tools whose definition differs from the recorded one. */
  changedTools: string[];
  /** The recording ends inside a line: its process was killed. */
  isTorn: boolean;
}

/** Answers calls from a recording. */
export interface Replay {
  /** For `createHaft({ middleware })`. Every stage of the gate applies; only the tools' code does not run. */
  readonly middleware: readonly Middleware[];
  /** What was replayed, and what differed. */
  report(): ReplayReport;
}

/** Answers calls from a recording. The gate's refusals stay; a call that was not recorded fails and does not run. */
export function createReplay(file: string, options: ReplayOptions = {}): Replay {
  const { strict = false, pace = "at_once", clock = systemClock } = options;
  const { lines, isTorn } = readLineFile(file);
  const { header, tools, calls } = parseRecording(lines, file);
  // A replayed tool makes no nested calls, and the gate refuses again what it refused before.
  const recorded = calls.filter((call) => call.ran && call.parentId === undefined);
  const waiting = new Map<string, RecordedCall[]>();
  for (const call of recorded) {
    const key = keyOf(call.tool, call.input);
    waiting.set(key, [...(waiting.get(key) ?? []), call]);
  }
  const used: RecordedCall[] = [];
  const isUsed = new Set<RecordedCall>();
  const differing: DifferingCall[] = [];
  const outOfOrder: RecordedCall[] = [];
  const changedTools = new Set<string>();

  const differs = (call: Call, input: unknown, why: string): ToolError => {
    const tool = toolOf(call).name;
    const nearest = nearestOf(recorded, tool, input);
    differing.push({ callId: call.id, tool, input, why, nearest });
    const like = nearest
      ? ` The nearest recorded call is "${nearest.callId}"${nearest.differences.length > 0 ? ` (${describeDifferences(nearest.differences)})` : ""}.`
      : ` No call of "${tool}" was recorded.`;
    return toolError("replay_mismatch", `Not replayed: ${why}.${like}`, {
      next: "Make the recorded call, or record the session again.",
      data: { file, nearest },
    });
  };

  const find = (call: Call): RecordedCall => {
    const tool = toolOf(call);
    const plain = toPlainData(call.accepted).value;
    const input = header.redacted ? hideSecretsIn(plain) : plain;
    const isSameTool = tools.get(tool.name)?.definition === definitionHash(tool, sha256);
    if (tools.has(tool.name) && !isSameTool) {
      changedTools.add(tool.name);
      if (strict) throw differs(call, input, `"${tool.name}" has a different definition than the recorded one`);
    }
    const equal = waiting.get(keyOf(tool.name, input)) ?? [];
    const next = equal.find((one) => !isUsed.has(one)) ?? (strict ? undefined : equal.at(-1));
    if (!next) {
      const why =
        equal.length > 0 ? "this call was made more often than it was recorded" : "no recorded call has this input";
      throw differs(call, input, why);
    }
    if (isUsed.has(next)) return next;
    const earlier = recorded.find((other) => other.ended < next.began && !isUsed.has(other));
    if (earlier && strict)
      throw differs(call, input, `recorded call "${earlier.callId}" of "${earlier.tool}" comes before it`);
    if (earlier) outOfOrder.push(next);
    isUsed.add(next);
    used.push(next);
    return next;
  };

  const middleware: Middleware = {
    name: "replay",
    after: "bound",
    // Replaces only the tool's code: validation, permission, limits and the record come before it.
    around: (call) => () => {
      const found = find(call);
      if (pace === "at_once" && found.updates.length === 0) return outputOf(found);
      return replayUpdates(found, pace === "recorded" ? clock : undefined);
    },
  };

  return {
    middleware: [middleware],
    report: () => ({
      used: [...used],
      unused: recorded.filter((call) => !isUsed.has(call)),
      differing: [...differing],
      outOfOrder: [...outOfOrder],
      changedTools: [...changedTools],
      isTorn,
    }),
  };
}

/** A streaming tool: the gate forwards its updates as for any other. */
async function* replayUpdates(call: RecordedCall, clock: Clock | undefined): AsyncGenerator<Update, ToolOutput> {
  let at = call.atMs;
  const until = (ms: number): Promise<void> | undefined => {
    const wait = ms - at;
    at = Math.max(at, ms);
    return clock && wait > 0 ? new Promise((resolve) => clock.after(wait, resolve)) : undefined;
  };
  for (const { atMs, update } of call.updates) {
    await until(atMs);
    yield update;
  }
  await until(call.atMs + call.durationMs);
  return outputOf(call);
}

function outputOf({ callId, result }: RecordedCall): ToolOutput {
  const { known: _known, ...metadata } = result.metadata;
  const [first, ...rest] = result.content;
  // The gate prepends this message to the tool's output, and does so again on replay.
  const isRepeated =
    result.status === "failed" &&
    result.error.code === "bad_output" &&
    first?.type === "text" &&
    first.text === failureText(result.error);
  return structuredClone({
    content: isRepeated ? rest : result.content,
    display: result.display,
    details: result.details,
    metadata: { ...metadata, known: "replay", replayOf: callId },
    error: result.status === "failed" ? result.error : undefined,
    pending: result.status === "pending" ? result.pending : undefined,
  });
}

function nearestOf(recorded: readonly RecordedCall[], tool: string, input: unknown): DifferingCall["nearest"] {
  let nearest: NonNullable<DifferingCall["nearest"]> | undefined;
  for (const call of recorded) {
    if (call.tool !== tool) continue;
    const differences = compareInput(call.input, input);
    if (nearest && nearest.differences.length <= differences.length) continue;
    nearest = { callId: call.callId, input: call.input, differences };
  }
  return nearest;
}

function keyOf(tool: string, input: unknown): string {
  return canonicalJson([tool, input]);
}

/** The first line of a recording. */
export interface RecordingHeader {
  type: "header";
  format: "haft-recording";
  version: 1;
  /** Unix milliseconds; the times of calls are relative to it. */
  startedAt: number;
  /** Whether secrets were masked: then they are masked before comparing too. */
  redacted: boolean;
  versions: Record<string, string>;
}

/** A tool's definition at its first call. */
export interface RecordedTool {
  type: "tool";
  name: string;
  version: string;
  definition: string;
}

/** One call, written when it ended. */
export interface RecordedCall {
  type: "call";
  callId: string;
  parentId?: string;
  tool: string;
  input: unknown;
  caller: Caller;
  /** Positions in one sequence: they give the order of starts and ends without clocks. */
  began: number;
  ended: number;
  /** Milliseconds since the recording started, and how long the call took. */
  atMs: number;
  durationMs: number;
  /** Whether the tool's code ran: the gate itself refuses the other calls again. */
  ran: boolean;
  updates: { atMs: number; update: Update }[];
  result: ToolResult;
}

export type RecordingLine = RecordingHeader | RecordedTool | RecordedCall;

export interface Recording {
  header: RecordingHeader;
  tools: ReadonlyMap<string, RecordedTool>;
  /** In the order of their starts. */
  calls: readonly RecordedCall[];
}

function parseRecording(lines: readonly string[], file: string): Recording {
  const parsed = lines.map((line, index): RecordingLine => {
    try {
      return JSON.parse(line) as RecordingLine;
    } catch (cause) {
      throw new Error(`${file}:${index + 1} is not a line of a recording.`, { cause });
    }
  });
  const header = parsed[0];
  if (header?.type !== "header" || header.format !== "haft-recording") {
    throw new Error(`${file} is not a recording: its first line is not a header.`);
  }
  const version: number = header.version;
  if (version !== 1)
    throw new Error(`${file} was recorded in format ${version}; this Haft reads format 1. Update Haft.`);
  const tools = new Map(parsed.flatMap((line) => (line.type === "tool" ? [[line.name, line] as const] : [])));
  const calls = parsed.filter((line) => line.type === "call").sort((a, b) => a.began - b.began);
  return { header, tools, calls };
}

interface InputDifference {
  /** The path, such as `edits[0].path`; empty for the whole input. */
  at: string;
  recorded: unknown;
  now: unknown;
}

/** The places at which two inputs differ. */
function compareInput(recorded: unknown, now: unknown, at = ""): InputDifference[] {
  if (isFields(recorded) && isFields(now)) {
    const keys = new Set([...Object.keys(recorded), ...Object.keys(now)]);
    return [...keys].flatMap((key) => compareInput(recorded[key], now[key], at === "" ? key : `${at}.${key}`));
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const length = Math.max(recorded.length, now.length);
    return Array.from({ length }, (_, index) => compareInput(recorded[index], now[index], `${at}[${index}]`)).flat();
  }
  return canonicalJson(recorded) === canonicalJson(now) ? [] : [{ at, recorded, now }];
}

/** In one line, for a message. */
function describeDifferences(differences: readonly InputDifference[]): string {
  const shown = differences
    .slice(0, 5)
    .map(({ at, recorded, now }) => `${at || "the input"}: recorded ${brief(recorded)}, now ${brief(now)}`);
  return (
    shown.join("; ") + (differences.length > shown.length ? `; and ${differences.length - shown.length} more` : "")
  );
}

function brief(value: unknown): string {
  const text = value === undefined ? "nothing" : canonicalJson(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
