import { ERROR_CODES, isErrorCode } from "../../core/error.ts";
import type { AuditEntry, AuditLog } from "../../gate/audit-log.ts";
import type { HostCapabilities, StatisticsQuery } from "../host-parts.ts";
import type { StatisticsInfo, ToolNumbers } from "../wire.ts";

const PAGE = 500;
/** Beyond them the newest speak for all: a chart needs no more, and reading must end. */
const MAX_ENTRIES = 50_000;

interface AnsweredCall {
  at: number;
  tool: string;
  ms: number;
  failed: boolean;
  denied: boolean;
  bytes: number;
}

/** Numbers of all processes that share a store, from the audit log. */
export function statisticsCapability(log: AuditLog): NonNullable<HostCapabilities["statistics"]> {
  return {
    async show({ from, to, buckets }: StatisticsQuery): Promise<StatisticsInfo> {
      const answered = await readAnswered(log, from, to);
      const bucketMs = Math.max(1, Math.ceil((to - from) / buckets));
      const byTool = groupBy(answered, ({ tool }) => tool);
      const byBucket = groupBy(answered, ({ at }) => Math.floor((at - from) / bucketMs));
      return {
        from,
        to,
        bucketMs,
        tools: Array.from(byTool, ([tool, calls]) => ({ tool, ...numbersOf(calls) })).sort((a, b) => b.count - a.count),
        buckets: Array.from({ length: Math.ceil((to - from) / bucketMs) }, (_, index) => {
          const { count, failures, denials, p50Ms, p95Ms } = numbersOf(byBucket.get(index) ?? []);
          return { at: from + index * bucketMs, count, failures, denials, p50Ms, p95Ms };
        }),
      };
    },
  };
}

async function readAnswered(log: AuditLog, since: number, until: number): Promise<AnsweredCall[]> {
  const answered: AnsweredCall[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.query({
      kind: ["call_ended", "call_refused"],
      since,
      until,
      limit: PAGE,
      cursor,
    });
    answered.push(...page.entries.map(answeredOf));
    cursor = page.cursor;
  } while (cursor !== undefined && answered.length < MAX_ENTRIES);
  return answered;
}

function answeredOf({ at, toolName = "", status, data }: AuditEntry): AnsweredCall {
  const { durationMs, contentBytes, error } = data;
  const { code } = Object(error) as { code?: unknown };
  return {
    at,
    tool: toolName,
    ms: typeof durationMs === "number" ? durationMs : 0,
    failed: status === "failed",
    denied: isErrorCode(code) && ERROR_CODES[code].actor === "policy",
    bytes: typeof contentBytes === "number" ? contentBytes : 0,
  };
}

function numbersOf(calls: readonly AnsweredCall[]): ToolNumbers {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const sum = (value: (call: AnsweredCall) => number): number => calls.reduce((total, call) => total + value(call), 0);
  return {
    count: calls.length,
    failures: sum(({ failed }) => Number(failed)),
    denials: sum(({ denied }) => Number(denied)),
    avgMs: calls.length === 0 ? 0 : sum(({ ms }) => ms) / calls.length,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    bytes: sum(({ bytes }) => bytes),
  };
}

function groupBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
