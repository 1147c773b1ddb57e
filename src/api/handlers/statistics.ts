import { setImmediate } from "node:timers/promises";
import type { ToolNumbers } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { statistics, StatisticsInfo, TokenReport } from "../../contracts/statistics.ts";
import type { Caller } from "../../core/call.ts";
import { ERROR_CODES, isErrorCode } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { estimatedTokens } from "../../core/token-counter.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { AuditEntry, AuditLog } from "../../gate/audit-log.ts";
import type { Haft } from "../../runtime.ts";
import { compactDeclaration, definitionText } from "../../tools/discovery/definition-cost.ts";
import type { StatisticsQuery } from "./call-metrics.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DEFAULT_BUCKETS = 60;
const PAGE = 500;
/** If there are more, only the newest are read: a chart needs no more, and reading must end. */
const MAX_ENTRIES = 50_000;

/** Figures of calls, from memory or from the audit log. */
export type ReadStatistics = (query: StatisticsQuery) => MaybePromise<StatisticsInfo>;

export function createStatisticsApi(haft: Haft, read: ReadStatistics): Handlers<typeof statistics> {
  const tokens = new TokenReporter(haft);
  const { clock } = haft;
  const show = (query: StatisticsQuery): MaybePromise<StatisticsInfo> => {
    if (query.from >= query.to) throw new ApiError("bad_request", '"from" must be before "to"');
    return read(query);
  };
  return {
    show: ({ query: { to = clock.now(), from = to - HOUR, buckets = DEFAULT_BUCKETS } }) => show({ from, to, buckets }),
    tokens: async ({ query: { to = clock.now(), from = to - DAY }, identity }) =>
      tokens.report(await show({ from, to, buckets: 1 }), { user: identity.name }),
  };
}

/** The number of tools that are counted before other work gets its turn. */
const SLICE = 50;
/** The size of results is known in bytes only. */
const BYTES_PER_TOKEN = 1000 / estimatedTokens.count("x".repeat(1000));

interface Cost {
  definitionTokens: number;
  compactTokens: number;
}

/** How much of a model's context each tool uses: by its definition, and by its results. */
class TokenReporter {
  readonly #haft: Haft;
  readonly #costs = new WeakMap<AnyTool, Cost>();

  constructor(haft: Haft) {
    this.#haft = haft;
  }

  async report(numbers: StatisticsInfo, caller: Partial<Caller>): Promise<TokenReport> {
    const { tools: shown, deferred } = this.#haft.shownTools({ caller });
    const calls = new Map(numbers.tools.map((tool) => [tool.tool, tool]));
    const tools: TokenReport["tools"] = [];
    for (const [at, tool] of [...shown, ...deferred].entries()) {
      if (at % SLICE === SLICE - 1) await setImmediate();
      const { count = 0, bytes = 0 } = calls.get(tool.name) ?? {};
      const resultTokens = Math.round(bytes / BYTES_PER_TOKEN);
      tools.push({ tool: tool.name, ...this.#costOf(tool), isShown: at < shown.length, calls: count, resultTokens });
    }
    const total = (of: (tool: (typeof tools)[number]) => number): number =>
      tools.reduce((sum, tool) => sum + of(tool), 0);
    return {
      from: numbers.from,
      to: numbers.to,
      counter: this.#haft.tokens.name,
      allTokens: total(({ definitionTokens }) => definitionTokens),
      shownTokens: total(({ isShown, definitionTokens }) => (isShown ? definitionTokens : 0)),
      resultTokens: total(({ resultTokens }) => resultTokens),
      tools: tools.toSorted((a, b) => weight(b) - weight(a)),
    };
  }

  #costOf(tool: AnyTool): Cost {
    let cost = this.#costs.get(tool);
    if (!cost) {
      const { tokens } = this.#haft;
      const { name, description, parameters } = compactDeclaration(tool);
      cost = {
        definitionTokens: tokens.count(definitionText(tool)),
        compactTokens: tokens.count(JSON.stringify({ name, description, parameters })),
      };
      this.#costs.set(tool, cost);
    }
    return cost;
  }
}

function weight({ isShown, definitionTokens, resultTokens }: TokenReport["tools"][number]): number {
  return (isShown ? definitionTokens : 0) + resultTokens;
}

interface AnsweredCall {
  at: number;
  tool: string;
  ms: number;
  failed: boolean;
  denied: boolean;
  bytes: number;
}

/** The calls of all processes that share the store. */
export async function auditStatistics(log: AuditLog, { from, to, buckets }: StatisticsQuery): Promise<StatisticsInfo> {
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
  const code = isObject(error) ? error["code"] : undefined;
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
