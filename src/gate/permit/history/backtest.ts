import { setImmediate } from "node:timers/promises";
import type { Verdict } from "../../../core/call.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { isAnswerPending } from "../../tool-answers.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { answersFor, judgeDigest, type RecordedCall, type Unjudged, unjudgedBy } from "./call-digest.ts";

/** A page of the record, newest first. */
export interface RecordedPage<Recorded extends RecordedCall = RecordedCall> {
  calls: Recorded[];
  /** Entries in the page, and in the whole record. */
  entries: number;
  of: number;
}

/** A recorded call that another policy decides in another way. */
export interface ChangedCall {
  call: RecordedCall;
  tool: AnyTool;
  before: Verdict;
  after: Verdict;
}

/** What a policy would have decided about recorded calls. */
export interface BacktestReport {
  judged: number;
  /** Calls that cannot be judged again, by the reason. */
  unjudged: Partial<Record<Unjudged, number>>;
  /** Calls with another decision, by the new one. */
  newly: Record<Verdict["decision"], number>;
  /** By tool, the most changes first. */
  tools: { tool: string; before: Verdict["decision"]; after: Verdict["decision"]; count: number }[];
  /** The newest, up to `maxChanged`. */
  changed: ChangedCall[];
}

export interface BacktestOptions {
  before: RuleSet;
  after: RuleSet;
  cwd: string;
  toolOf(name: string): AnyTool | undefined;
  /** What must ask in spite of the rules: as for real calls. */
  required?(tool: AnyTool, verdict: Verdict): Verdict;
  /** How many calls, newest first. Default: all. */
  maxCalls?: number | undefined;
  maxChanged?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Other work of the process goes on between two slices. */
const SLICE_MS = 10;
const DEFAULT_MAX_CHANGED = 200;

/** Judges recorded calls by two policies, with the judge of the gate. Yields its progress after each page. */
export async function* backtest(
  pages: AsyncIterable<RecordedPage>,
  options: BacktestOptions,
): AsyncGenerator<{ looked: number; of: number }, BacktestReport> {
  const { maxCalls = Infinity, maxChanged = DEFAULT_MAX_CHANGED, signal } = options;
  const report: BacktestReport = {
    judged: 0,
    unjudged: {},
    newly: { allow: 0, ask: 0, deny: 0 },
    tools: [],
    changed: [],
  };
  const counts = new Map<string, BacktestReport["tools"][number]>();
  let looked = 0;
  let taken = 0;
  let sliceEnd = performance.now() + SLICE_MS;
  for await (const page of pages) {
    for (const call of page.calls.slice(0, maxCalls - taken)) {
      taken++;
      const found = judgeTwice(call, options);
      if (typeof found === "string") report.unjudged[found] = (report.unjudged[found] ?? 0) + 1;
      else report.judged++;
      if (typeof found === "object" && found.before.decision !== found.after.decision) {
        const { before, after } = found;
        report.newly[after.decision]++;
        const key = [call.toolName, before.decision, after.decision].join("\0");
        const count = counts.get(key);
        if (count) count.count++;
        else counts.set(key, { tool: call.toolName, before: before.decision, after: after.decision, count: 1 });
        if (report.changed.length < maxChanged) report.changed.push({ call, ...found });
      }
      if (performance.now() < sliceEnd) continue;
      await setImmediate();
      sliceEnd = performance.now() + SLICE_MS;
    }
    looked += page.entries;
    if (signal?.aborted || taken >= maxCalls) break;
    yield { looked, of: Math.max(page.of, looked) };
  }
  report.tools = [...counts.values()].sort((one, other) => other.count - one.count);
  return report;
}

/** The verdicts of both policies, or why there is none. */
export function judgeTwice(
  call: Pick<RecordedCall, "toolName" | "digest">,
  { before, after, cwd, toolOf, required = (_tool, verdict) => verdict }: BacktestOptions,
): Omit<ChangedCall, "call"> | Unjudged {
  const { digest, toolName } = call;
  const tool = toolOf(toolName);
  if (!tool) return "no_tool";
  const unjudged = unjudgedBy(before, tool, digest) ?? unjudgedBy(after, tool, digest);
  if (unjudged !== undefined || !digest) return unjudged ?? "no_digest";
  try {
    const recorded = { tool, digest, cwd, answers: answersFor(tool, digest) };
    const judge = (rules: RuleSet): Verdict => required(tool, judgeDigest(rules, recorded));
    const was = judge(before);
    return { tool, before: was, after: before === after ? was : judge(after) };
  } catch (error) {
    // The tool has changed: it needs a promise now, or fails on what was recorded.
    return isAnswerPending(error) ? "asynchronous" : "failed";
  }
}
