import { type Call, toolOf } from "../core/call.ts";
import { canonicalJson } from "../core/canonical-json.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { toPlainData } from "../core/plain-data.ts";
import type { ToolOutput } from "../core/result.ts";
import type { Update } from "../core/event.ts";
import type { Middleware } from "../core/stage.ts";
import { readLineFile } from "../files/line-file.ts";
import { compareInput, describeDifferences, type InputDifference } from "./compare-input.ts";
import { definitionOf, hideSecretsIn, parseRecording, type RecordedCall } from "./recording.ts";

export interface ReplayOptions {
  /**
   * Each recorded call answers once, not before those that had ended when it began, and only a tool whose definition is
   * the recorded one. Otherwise the last of equal calls answers again and again, and order and definitions are reported.
   */
  strict?: boolean;
  /** `recorded`: updates and answers take the time that they took. */
  pace?: "at_once" | "recorded";
  clock?: Clock;
}

export interface DifferingCall {
  callId: string;
  tool: string;
  input: unknown;
  why: string;
  /** The recorded call that is most like it. */
  nearest?: { callId: string; input: unknown; differences: InputDifference[] };
}

export interface ReplayReport {
  used: RecordedCall[];
  unused: RecordedCall[];
  differing: DifferingCall[];
  outOfOrder: RecordedCall[];
  /** Tools that are defined otherwise than when they were recorded. */
  changedTools: string[];
  /** The recording ends in the middle of a line: its process was killed. */
  isTorn: boolean;
}

export interface Replay {
  /** For `createHaft({ middleware })`. Every stage of the gate stays; only the tools' own code does not run. */
  readonly middleware: readonly Middleware[];
  report(): ReplayReport;
}

/** Answers calls from a recording. What is denied stays denied; what was not recorded fails and is never run. */
export function createReplay(file: string, options: ReplayOptions = {}): Replay {
  const { strict = false, pace = "at_once", clock = systemClock } = options;
  const { lines, isTorn } = readLineFile(file);
  const { header, tools, calls } = parseRecording(lines, file);
  // A tool that is replayed calls no others, and what was refused before it ran is refused again.
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
    differing.push({ callId: call.id, tool, input, why, ...(nearest && { nearest }) });
    const like = nearest
      ? ` The nearest recorded call is "${nearest.callId}"${nearest.differences.length > 0 ? ` (${describeDifferences(nearest.differences)})` : ""}.`
      : ` No call of "${tool}" was recorded.`;
    return toolError("replay_mismatch", `Not replayed: ${why}.${like}`, {
      next: "Make the recorded call, or record the session again.",
      data: { file, ...(nearest && { nearest }) },
    });
  };

  const find = (call: Call): RecordedCall => {
    const tool = toolOf(call);
    const plain = toPlainData(call.accepted).value;
    const input = header.redacted ? hideSecretsIn(plain) : plain;
    const isSameTool = tools.get(tool.name)?.definition === definitionOf(tool);
    if (tools.has(tool.name) && !isSameTool) {
      changedTools.add(tool.name);
      if (strict) throw differs(call, input, `"${tool.name}" is defined otherwise than when it was recorded`);
    }
    const equal = waiting.get(keyOf(tool.name, input)) ?? [];
    const next = equal.find((one) => !isUsed.has(one)) ?? (strict ? undefined : equal.at(-1));
    if (!next) {
      const why =
        equal.length > 0 ? "this call was recorded fewer times than it is made" : "no recorded call has this input";
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
    // In place of the tool's code, and nowhere else: validation, permission, limits and the record stand before it.
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

/** As a tool that streams: the gate passes its updates on as it does those of any other. */
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
  // The gate puts this message before what such a tool said; it does so again.
  const isRepeated =
    result.status === "failed" &&
    result.error.code === "bad_output" &&
    first?.type === "text" &&
    first.text === result.error.message;
  return structuredClone({
    content: isRepeated ? rest : result.content,
    display: result.display,
    ...(result.details !== undefined && { details: result.details }),
    metadata: { ...metadata, known: "replay", replayOf: callId },
    ...(result.status === "failed" && { error: result.error }),
    ...(result.status === "pending" && { pending: result.pending }),
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
