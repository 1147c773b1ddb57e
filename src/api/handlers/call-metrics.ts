import { failedState } from "../../core/error.ts";
import type { ToolEvent } from "../../core/events.ts";
import type { ToolStatistics } from "../../core/registry.ts";

import type { ToolNumbers } from "../../contracts/basics.ts";
import type { StatisticsInfo } from "../../contracts/statistics.ts";

export interface StatisticsQuery {
  from: number;
  to: number;
  buckets: number;
}

const MINUTE = 60_000;
const MAX_MINUTES = 24 * 60;
/** Of one minute: enough for percentiles with an error of a few hundredths. */
const MAX_SAMPLES = 256;

interface Minute {
  at: number;
  count: number;
  failures: number;
  denials: number;
  samples: number[];
}

/** The calls of this process by minute, for the last day and in bounded memory, and the denials of each tool. */
export class CallMetrics {
  readonly #minutes: Minute[] = [];
  readonly #denials = new Map<string, number>();

  note(event: ToolEvent): void {
    if (event.type !== "tool_call_completed" && event.type !== "tool_call_failed") return;
    const minute = this.#minuteOf(event.at);
    minute.count++;
    if (minute.samples.length < MAX_SAMPLES) minute.samples.push(event.durationMs);
    else if (Math.random() * minute.count < MAX_SAMPLES) {
      minute.samples[Math.floor(Math.random() * MAX_SAMPLES)] = event.durationMs;
    }
    if (event.type === "tool_call_completed") return;
    const state = failedState(event.error.code);
    if (state === "failed") minute.failures++;
    if (state !== "denied") return;
    minute.denials++;
    this.#denials.set(event.toolName, (this.#denials.get(event.toolName) ?? 0) + 1);
  }

  ofTool(tool: string, statistics: ToolStatistics): ToolNumbers {
    const { count, failures, avgDuration: avgMs, p50: p50Ms, p95: p95Ms, bytes } = statistics;
    return { count, failures, denials: this.#denials.get(tool) ?? 0, avgMs, p50Ms, p95Ms, bytes };
  }

  /** The figures of tools are since the start of the process; the buckets are of the requested time. */
  show({ from, to, buckets }: StatisticsQuery, byTool: Readonly<Record<string, ToolStatistics>>): StatisticsInfo {
    const bucketMs = Math.max(MINUTE, Math.ceil((to - from) / buckets / MINUTE) * MINUTE);
    const first = Math.floor(from / bucketMs) * bucketMs;
    const merged = new Map<number, Minute>();
    for (let at = first; at < to; at += bucketMs) merged.set(at, emptyMinute(at));
    for (const minute of this.#minutes) {
      const bucket = merged.get(Math.floor(minute.at / bucketMs) * bucketMs);
      if (!bucket) continue;
      bucket.count += minute.count;
      bucket.failures += minute.failures;
      bucket.denials += minute.denials;
      bucket.samples.push(...minute.samples);
    }
    return {
      from,
      to,
      bucketMs,
      // The events do not tell how long calls waited.
      tools: Object.entries(byTool).map(([tool, statistics]) => ({
        tool,
        ...this.ofTool(tool, statistics),
        waitedMs: 0,
      })),
      callers: [],
      buckets: Array.from(merged.values(), ({ at, count, failures, denials, samples }) => {
        const sorted = samples.sort((a, b) => a - b);
        const [p50Ms, p95Ms] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
        return { at, count, failures, denials, p50Ms, p95Ms, waitedMs: 0 };
      }),
    };
  }

  #minuteOf(time: number): Minute {
    const at = Math.floor(time / MINUTE) * MINUTE;
    const last = this.#minutes.at(-1);
    // The wall clock may be set back: then the last minute is used.
    if (last && last.at >= at) return last;
    const minute = emptyMinute(at);
    this.#minutes.push(minute);
    if (this.#minutes.length > MAX_MINUTES) this.#minutes.shift();
    return minute;
  }
}

function emptyMinute(at: number): Minute {
  return { at, count: 0, failures: 0, denials: 0, samples: [] };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
