import { setImmediate } from "node:timers/promises";
import type { ToolNumbers } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import type { QuestionStatistics, statistics, StatisticsInfo, TokenReport } from "../../contracts/statistics.ts";
import type { Caller } from "../../core/call.ts";
import { failedState } from "../../core/error.ts";
import { groupBy } from "../../core/bounded-map.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type AuditCounts, type AuditEntry, type AuditLog, pagesOf } from "../../gate/audit-log.ts";
import type { Haft } from "../../runtime.ts";
import { compactDeclaration, definitionText } from "../../tools/discovery/definition-cost.ts";
import type { StatisticsQuery } from "./call-metrics.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const DEFAULT_BUCKETS = 60;
const PAGE = 500;
/** If there are more, the buckets are longer and the counters are read. */
const MAX_ENTRIES = 5000;

/** Figures of calls, from memory or from the audit log. */
export type ReadStatistics = (query: StatisticsQuery) => MaybePromise<StatisticsInfo>;

/** Without a store there is no record of questions. */
export type ReadQuestions = (
  query: { from: number; to: number },
  request: Parameters<Handlers<typeof statistics>["questions"]>[0],
) => Promise<QuestionStatistics>;

export function createStatisticsApi(
  haft: Haft,
  read: ReadStatistics,
  readQuestions?: ReadQuestions,
): Handlers<typeof statistics> {
  const tokens = new TokenReporter(haft);
  const { clock } = haft.settings;
  const show = (query: StatisticsQuery): MaybePromise<StatisticsInfo> => {
    if (query.from >= query.to) throw new ApiError("bad_request", '"from" must be before "to"');
    return read(query);
  };
  return {
    show: ({ query: { to = clock.now(), from = to - HOUR, buckets = DEFAULT_BUCKETS } }) => show({ from, to, buckets }),
    questions(request) {
      const { to = clock.now(), from = to - WEEK } = request.query;
      if (from >= to) throw new ApiError("bad_request", '"from" must be before "to"');
      if (!readQuestions) throw new ApiError("not_here", "Questions are counted in the log of a store");
      return readQuestions({ from, to }, request);
    },
    tokens: async ({ query: { to = clock.now(), from = to - DAY }, identity }) =>
      tokens.report(await show({ from, to, buckets: 1 }), { user: identity.name }),
  };
}

/** The number of tools that are counted before other work gets its turn. */
const SLICE = 50;
/** The size of results is known in bytes only: about 4 for prose and code, 2.3 for logs and JSON. */
const BYTES_PER_TOKEN = 3;

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
    const { tools: shown, deferred } = this.#haft.tools.shown({ caller });
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
      counter: this.#haft.settings.tokens.name,
      allTokens: total(({ definitionTokens }) => definitionTokens),
      shownTokens: total(({ isShown, definitionTokens }) => (isShown ? definitionTokens : 0)),
      resultTokens: total(({ resultTokens }) => resultTokens),
      tools: tools.toSorted((a, b) => weight(b) - weight(a)),
    };
  }

  #costOf(tool: AnyTool): Cost {
    let cost = this.#costs.get(tool);
    if (!cost) {
      const { tokens } = this.#haft.settings;
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

/** Equal calls: `durations` has how many of them took how long. */
interface AnsweredCalls extends Pick<AuditCounts, "at" | "count" | "durationMs" | "waitedMs" | "durations" | "bytes"> {
  tool: string;
  /** Empty if the counters do not tell it. */
  caller: string;
  /** Of what failed. */
  state: ReturnType<typeof failedState> | undefined;
}

/**
 * The calls of all processes that share the store. With buckets of a minute or longer, from counters of minutes or hours; then
 * `from` and the buckets begin with a whole minute or hour.
 */
export async function auditStatistics(log: AuditLog, query: StatisticsQuery): Promise<StatisticsInfo> {
  const wanted = Math.max(1, Math.ceil((query.to - query.from) / query.buckets));
  if (wanted < MINUTE) {
    const answered = await readAnswered(log, query.from, query.to);
    if (answered) return summarise(answered, answered, query, wanted);
  }
  const unit = wanted >= HOUR ? HOUR : MINUTE;
  const bucketMs = Math.ceil(wanted / unit) * unit;
  const from = Math.floor(query.from / unit) * unit;
  const { byTool, byCaller } = await readCounts(log, { from, to: query.to, unit });
  return summarise(byTool, byCaller, { ...query, from }, bucketMs);
}

/** Whole hours and minutes from the counters, and the last minute up to `to` from the entries. */
async function readCounts(
  log: AuditLog,
  { from, to, unit }: { from: number; to: number; unit: number },
): Promise<{ byTool: AnsweredCalls[]; byCaller: AnsweredCalls[] }> {
  const lastHour = unit === HOUR ? Math.max(from, Math.floor(to / HOUR) * HOUR) : from;
  const lastMinute = Math.max(from, Math.floor(to / MINUTE) * MINUTE);
  const last = await readAnswered(log, lastMinute, to);
  const until = last ? lastMinute - 1 : to;
  const ranges = [
    { since: from, until: lastHour - 1, by: "hour" as const },
    { since: lastHour, until, by: "minute" as const },
  ].filter((range) => range.since <= range.until);
  const counts = (await Promise.all(ranges.map((range) => log.counts(range)))).flat();
  const callers = (await Promise.all(ranges.map((range) => log.callerCounts(range)))).flat();
  const answered = counts.filter(({ kind }) => (ANSWERS as readonly string[]).includes(kind));
  return {
    byTool: [...answered.map((each) => toAnswered(each, { tool: each.toolName, caller: "" })), ...(last ?? [])],
    byCaller: [...callers.map((each) => toAnswered(each, { tool: "", caller: each.caller })), ...(last ?? [])],
  };
}

/** Each call has one of them, at its end. */
const ANSWERS = ["call_ended", "call_refused", "call_lost"] as const;

function summarise(
  answered: readonly AnsweredCalls[],
  ofCallers: readonly AnsweredCalls[],
  { from, to }: StatisticsQuery,
  bucketMs: number,
): StatisticsInfo {
  const byTool = groupBy(answered, ({ tool }) => tool);
  const byCaller = groupBy(ofCallers, ({ caller }) => caller);
  const byBucket = groupBy(answered, ({ at }) => Math.floor((at - from) / bucketMs));
  return {
    from,
    to,
    bucketMs,
    tools: Array.from(byTool, ([tool, calls]) => ({ tool, ...numbersOf(calls) })).sort((a, b) => b.count - a.count),
    callers: Array.from(byCaller, ([caller, calls]) => ({ caller, ...numbersOf(calls) })).sort(
      (a, b) => b.count - a.count,
    ),
    buckets: Array.from({ length: Math.ceil((to - from) / bucketMs) }, (_, index) => {
      const { avgMs: _avgMs, bytes: _bytes, ...numbers } = numbersOf(byBucket.get(index) ?? []);
      return { at: from + index * bucketMs, ...numbers };
    }),
  };
}

/** The entries themselves; undefined if there are too many. */
async function readAnswered(log: AuditLog, since: number, until: number): Promise<AnsweredCalls[] | undefined> {
  const answered: AnsweredCalls[] = [];
  for await (const { entries } of pagesOf(log, { kind: ANSWERS, since, until, limit: PAGE })) {
    answered.push(...entries.map(answeredOf));
    if (answered.length > MAX_ENTRIES) return undefined;
  }
  return answered;
}

function toAnswered(
  counts: Omit<AuditCounts, "kind" | "toolName">,
  of: Pick<AnsweredCalls, "tool" | "caller">,
): AnsweredCalls {
  const { at, status, errorCode, count, durationMs, waitedMs, bytes, durations } = counts;
  const state = status === "failed" ? failedState(errorCode) : undefined;
  return { ...of, at, count, durationMs, waitedMs, durations, state, bytes };
}

function answeredOf({ at, toolName = "", caller, status, data }: AuditEntry): AnsweredCalls {
  const { durationMs, queuedMs, waitedMs, contentBytes, error } = data;
  const ms = Math.max(0, (Number(durationMs) || 0) - (Number(queuedMs) || 0));
  return {
    at,
    tool: toolName,
    caller: caller?.agent ?? caller?.user ?? "",
    count: 1,
    durationMs: ms,
    waitedMs: typeof waitedMs === "number" ? waitedMs : 0,
    durations: [[ms, 1]],
    state: status === "failed" ? failedState(isObject(error) ? error["code"] : undefined) : undefined,
    bytes: typeof contentBytes === "number" ? contentBytes : 0,
  };
}

function numbersOf(calls: readonly AnsweredCalls[]): ToolNumbers & { waitedMs: number } {
  const sum = (value: (call: AnsweredCalls) => number): number => calls.reduce((total, call) => total + value(call), 0);
  const count = sum((call) => call.count);
  const sorted = calls.flatMap(({ durations }) => durations).sort(([a], [b]) => a - b);
  const at = (share: number): number => {
    let left = Math.min(count - 1, Math.floor(count * share));
    return sorted.find(([, times]) => (left -= times) < 0)?.[0] ?? 0;
  };
  return {
    count,
    failures: sum(({ state, count: each }) => (state === "failed" ? each : 0)),
    denials: sum(({ state, count: each }) => (state === "denied" ? each : 0)),
    avgMs: count === 0 ? 0 : sum(({ durationMs }) => durationMs) / count,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    bytes: sum(({ bytes }) => bytes),
    waitedMs: sum(({ waitedMs }) => waitedMs),
  };
}
