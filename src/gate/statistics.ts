import { Buffer } from "node:buffer";
import type { Call } from "../core/call.ts";
import { failedState } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { BUCKETS, bucketOf, middleOf } from "../core/clock.ts";
import type { CallStatistics, ToolStatistics } from "../core/registry.ts";

const UNKNOWN = "(unknown)";

class Tally {
  count = 0;
  failures = 0;
  total = 0;
  bytes = 0;
  late = 0;
  readonly durations = new Uint32Array(BUCKETS);
  byArm: Map<string, { count: number; failures: number; total: number }> | undefined = undefined;
}

/** Counts by tool, in constant memory. */
export class Statistics implements CallStatistics {
  readonly #tallies = new Map<string, Tally>();

  count(call: Call, result: ToolResult, durationMs: number): void {
    const tally = this.#tallyOf(call);
    tally.count++;
    tally.total += durationMs;
    const isFailure = result.status === "failed" && failedState(result.error.code) !== "denied";
    if (isFailure) tally.failures++;
    tally.durations[bucketOf(durationMs)]!++;
    for (const block of result.content) if (block.type === "text") tally.bytes += Buffer.byteLength(block.text);
    const { arm } = result.metadata;
    if (arm !== undefined) countArm(tally, arm, isFailure, durationMs);
  }

  late(call: Call): void {
    this.#tallyOf(call).late++;
  }

  byTool(): Record<string, ToolStatistics> {
    return Object.fromEntries(Array.from(this.#tallies, ([name, tally]) => [name, summarise(tally)]));
  }

  #tallyOf(call: Call): Tally {
    // Models invent any number of names; unknown names share one counter.
    const name = call.tool?.name ?? UNKNOWN;
    let tally = this.#tallies.get(name);
    if (!tally) this.#tallies.set(name, (tally = new Tally()));
    return tally;
  }
}

function countArm(tally: Tally, arm: string, isFailure: boolean, durationMs: number): void {
  const arms = (tally.byArm ??= new Map());
  const counted = arms.get(arm) ?? { count: 0, failures: 0, total: 0 };
  counted.count++;
  counted.total += durationMs;
  if (isFailure) counted.failures++;
  arms.set(arm, counted);
}

function summarise(tally: Tally): ToolStatistics {
  return {
    count: tally.count,
    failures: tally.failures,
    avgDuration: tally.count === 0 ? 0 : tally.total / tally.count,
    p50: percentile(tally, 0.5),
    p95: percentile(tally, 0.95),
    bytes: tally.bytes,
    late: tally.late,
    ...(tally.byArm
      ? {
          byArm: Object.fromEntries(
            Array.from(tally.byArm, ([arm, { count, failures, total }]) => [
              arm,
              { count, failures, avgDuration: total / count },
            ]),
          ),
        }
      : {}),
  };
}

/** The middle of the bucket that contains the quantile. */
function percentile(tally: Tally, share: number): number {
  let left = Math.ceil(tally.count * share);
  if (left === 0) return 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    left -= tally.durations[bucket]!;
    if (left <= 0) return middleOf(bucket);
  }
  return 0;
}
