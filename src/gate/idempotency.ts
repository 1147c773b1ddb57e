import type { ChangeEntry } from "../calls/call-store.ts";
import { type Calls, callKey, keyConflict } from "../calls/calls.ts";
import { cancelledJob } from "../calls/job.ts";
import type { StoredCall } from "../calls/stored-call.ts";
import { outcomeOf, refusalOf, storedResult } from "../calls/stored-result.ts";
import { abortable, type Call, type SecondPass, toolOf } from "../core/call.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { failed, fromThrown, type PendingResult, type ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { CallLog } from "./audit-log.ts";
import { writeAhead } from "./record.ts";
import type { ResultCache } from "./result-cache.ts";

/** How often the process that runs the same call is checked: it may have ended. */
const LIVENESS_MS = 500;

/**
 * `known` answers a call that was made before. `claim` takes what was approved or queued for this process. `begin` is the
 * last stage before the tool: it writes the call's row and the log's entry, together. Permission is between the first two: a
 * known result needs none, and nothing is claimed that may still be refused.
 */
export function idempotencyStages(
  calls: Calls,
  cache: ResultCache,
  log: CallLog,
  hasOtherData: (call: Call) => boolean = () => false,
): { known: Stage; claim: Stage; begin: Stage } {
  const claim = new ClaimStage(calls, log);
  return { known: new KnownStage(calls, cache, hasOtherData), claim, begin: writeAhead((call) => claim.begin(call)) };
}

class KnownStage implements Stage {
  readonly name = "known";
  readonly #calls: Calls;
  readonly #cache: ResultCache;
  readonly #hasOtherData: (call: Call) => boolean;

  constructor(calls: Calls, cache: ResultCache, hasOtherData: (call: Call) => boolean) {
    this.#calls = calls;
    this.#cache = cache;
    this.#hasOtherData = hasOtherData;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    const cached = this.#cache.find(call);
    if (cached) return repeatResult(call, cached, "cache");
    const key = keyOf(call);
    // The run of a stored call, of a job or of a program has its row already.
    const hasRow = this.#calls.storedIdOf(call) !== undefined || isJob(call) || isContinued(call);
    if (key === undefined || hasRow) return undefined;
    const row = this.#calls.find(key);
    if (row instanceof Promise) return row.then((found) => found && this.#answer(call, found));
    return row && this.#answer(call, row);
  }

  leave(call: Call, result: ToolResult): ToolResult {
    try {
      this.#cache.store(call, result);
    } catch {
      // The tool cannot say what its result depends on, so the result is not cached.
    }
    return result;
  }

  /** A write that continued after its caller was answered changes things only now. */
  ended(call: Call): void {
    if (call.answered) this.#cache.drop(call);
  }

  #answer(call: Call, row: StoredCall): MaybePromise<ToolResult | undefined> {
    // Also while the question is open: its yes is about the data of the first call.
    if (this.#hasOtherData(call)) return fromThrown(call, keyConflict(call, "other data of the host"));
    const isOpenJob = row.job !== undefined && row.state !== "ended";
    // The permit stage joins a question that is open, or asks another one. A job that nobody was asked about is joined later.
    if (isOpenJob ? !row.question : row.state === "waiting" || row.state === "approved") return undefined;
    if (!this.#calls.isSame(row, call)) return fromThrown(call, keyConflict(call));
    if (row.state === "ended") return endedResult(call, row);
    if (isOpenJob) return repeatResult(call, storedResult(row), "replay");
    // A program that waits is continued here.
    if (row.state === "suspended") return undefined;
    return abortable(call, followRun(this.#calls, row)).then((now) => now && this.#answer(call, now));
  }
}

function nothing(): undefined {
  return undefined;
}

/** What a call that started left for its end. */
interface Started {
  row: StoredCall;
  /** Whether the tool's code has ended. */
  hasEnded: boolean;
  /** To be done when it has. */
  later?: () => MaybePromise<unknown>;
}

/** A base class whose constructor returns its argument: subclasses add private fields to an existing object. */
const Given = function (object: object) {
  return object;
} as unknown as new (object: object) => object;

/** In a private field of the call: the garbage collector needs several microseconds for each entry of a WeakMap. */
class StartedCall extends Given {
  readonly #started: Started;

  constructor(call: Call, started: Started) {
    super(call);
    this.#started = started;
  }

  static of(call: Call): Started | undefined {
    return #started in call ? call.#started : undefined;
  }
}

/** The row that a call has started for, as it was last written here. */
export function startedRowOf(call: Call): StoredCall | undefined {
  return StartedCall.of(call)?.row;
}

/** The same. A program without a key gets its row when it is first saved. */
export async function ensureRow(calls: Calls, call: Call): Promise<StoredCall> {
  const known = startedRowOf(call);
  if (known) return known;
  const row = await calls.beginProgram(call);
  void new StartedCall(call, { row, hasEnded: false });
  return row;
}

/** The program of this call was saved, and waits as the result says. */
export async function programSaved(calls: Calls, call: Call, result: PendingResult): Promise<void> {
  const started = StartedCall.of(call);
  const saved = started && (await calls.saveProgram(started.row, result));
  if (saved) started.row = saved;
}

class ClaimStage implements Stage {
  readonly name = "claim";
  readonly #calls: Calls;
  readonly #log: CallLog;

  constructor(calls: Calls, log: CallLog) {
    this.#calls = calls;
    this.#log = log;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    const claimed = this.#calls.takeClaimed(call);
    if (claimed) return this.#start(call, claimed);
    if (isJob(call)) return this.#claimJob(call, call.secondPass.id);
    if (isContinued(call)) return this.#continue(call, call.secondPass.id);
    return undefined;
  }

  /** Writes the record before the effect. A result if the same call was made before, or is being made. */
  begin(call: Call): MaybePromise<ToolResult | undefined | void> {
    const key = StartedCall.of(call) ? undefined : keyOf(call);
    return key === undefined ? this.#log.begun(call) : this.#begin(call, key);
  }

  leave(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const started = StartedCall.of(call);
    if (!started) return result;
    try {
      const written = this.#end(call, started, result);
      // What happened has happened, also if that cannot be written now.
      if (written instanceof Promise)
        return written.then(
          () => result,
          () => result,
        );
    } catch {
      // As above: `Calls` writes it later.
    }
    return result;
  }

  ended(call: Call): void {
    const started = StartedCall.of(call);
    if (!started) return;
    started.hasEnded = true;
    void started.later?.();
  }

  /** The outcome came after the caller was answered. */
  late(call: Call, result: ToolResult): MaybePromise<void> {
    const started = StartedCall.of(call);
    if (!started) return;
    const ended = { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result) };
    try {
      const written = this.#calls.end(started.row, ended, this.#log.endEntry?.(call, result, true));
      // If it cannot be written now, `Calls` writes it later.
      if (written instanceof Promise) return written.then(nothing, nothing);
    } catch {
      // As above.
    }
  }

  #start(call: Call, row: StoredCall): undefined {
    void new StartedCall(call, { row, hasEnded: false });
    return undefined;
  }

  /** Continues the program of this row here, or returns what it has done elsewhere. */
  async #continue(call: Call, id: string): Promise<ToolResult | undefined> {
    const resumed = await this.#calls.resume(id);
    if (resumed) return this.#start(call, resumed);
    const row = await this.#calls.get(id);
    const now = row?.state === "running" ? await abortable(call, followRun(this.#calls, row)) : row;
    if (now?.state === "suspended" && row?.state !== "suspended") return this.#continue(call, id);
    return now && repeatResult(call, storedResult(now), "replay");
  }

  /** Starts the call of a job that a worker of this process took. */
  async #claimJob(call: Call, jobId: string): Promise<ToolResult | undefined> {
    // A read-only call runs even if its start cannot be written.
    const isStopped = (): boolean => call.aborted !== undefined || toolOf(call).isReadOnly;
    const claimed = await this.#calls.claimJob(jobId, isStopped);
    if (claimed) return this.#start(call, claimed);
    const now = await this.#calls.job(jobId);
    if (now?.state === "ended") return repeatResult(call, storedResult(now), "replay");
    const { cancel } = now?.job ?? {};
    return fromThrown(call, cancel ? cancelledJob(jobId, cancel.reason) : takenElsewhere(jobId));
  }

  #begin(call: Call, key: string): MaybePromise<ToolResult | undefined> {
    const begun = this.#calls.begin(call, key, this.#log.beginEntry?.(call));
    if (begun instanceof Promise) return begun.then((inserted) => this.#begun(call, key, inserted));
    return this.#begun(call, key, begun);
  }

  #begun(call: Call, key: string, inserted: Awaited<ReturnType<Calls["begin"]>>): MaybePromise<ToolResult | undefined> {
    if (inserted.outcome === "full") throw new Error("A call without a question has no limit.");
    if (inserted.outcome === "inserted") {
      this.#start(call, inserted.row);
      // A store in memory does not write the entry.
      const begun = this.#log.begun(call);
      return begun instanceof Promise ? begun.then(nothing) : undefined;
    }
    return this.#join(call, key, inserted.row);
  }

  /** The same call was made before, or is being made. */
  async #join(call: Call, key: string, row: StoredCall): Promise<ToolResult | undefined> {
    if (!this.#calls.isSame(row, call)) return fromThrown(call, keyConflict(call));
    if (row.job && row.state !== "ended") return repeatResult(call, storedResult(row), "replay");
    if (row.state === "waiting" || row.state === "approved") {
      await this.#calls.cancel(row.id, "the call is allowed by now");
      return this.#begin(call, key);
    }
    if (row.state === "suspended") {
      const resumed = await this.#calls.resume(row.id);
      if (resumed) return this.#start(call, resumed);
      return this.#join(call, key, (await this.#calls.get(row.id)) ?? row);
    }
    if (row.state !== "ended") {
      const now = await abortable(call, followRun(this.#calls, row));
      return now ? this.#join(call, key, now) : this.#begin(call, key);
    }
    const known = endedResult(call, row);
    if (known) return known;
    const restarted = await this.#calls.restart(row);
    return restarted ? this.#start(call, restarted) : this.#begin(call, key);
  }

  #end(call: Call, started: Started, result: ToolResult): MaybePromise<unknown> {
    const { row } = started;
    const waiting = waitingProgram(row, result);
    if (waiting) return this.#calls.suspend(row, waiting);
    const entry = result.status === "pending" ? undefined : this.#log.endEntry?.(call, result, false);
    if (row.job) return this.#endJob(call, started, result, entry);
    if (row.question) return endAsked(this.#calls, call, row, result, entry);
    if (isFinal(call, result))
      return this.#calls.end(row, { outcome: outcomeOf(result), result, releasesKey: false }, entry);
    return this.#calls.remove(row);
  }

  #endJob(call: Call, started: Started, result: ToolResult, entry: ChangeEntry | undefined): MaybePromise<unknown> {
    const { row } = started;
    const plan = call.secondPass?.again?.(call, result);
    const ended = { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result) };
    if (!plan) return this.#calls.end(row, ended, entry);
    const { epoch, begunAt } = row;
    const requeue = () => this.#calls.requeue(row, { ...plan, start: { epoch, began: call.began, begunAt } });
    // A worker that closes hands the job over. Until the tool's code has ended here, it must not start elsewhere.
    if (started.hasEnded || !isStopped(result)) return requeue();
    started.later = () => Promise.resolve(requeue()).catch(() => undefined);
  }
}

/** Writes how a call that a person was asked about ended here. */
export function endAsked(
  calls: Calls,
  call: Call,
  row: StoredCall,
  result: ToolResult,
  entry?: ChangeEntry,
): MaybePromise<StoredCall | undefined> {
  if (isStopped(result) && !call.began) return calls.giveBack(row);
  return calls.end(row, { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result) }, entry);
}

function isJob(call: Call): call is Call & { secondPass: SecondPass } {
  return call.secondPass?.kind === "job";
}

/** The second pass of a program. */
function isContinued(call: Call): call is Call & { secondPass: SecondPass } {
  return call.secondPass?.kind === "code";
}

/** What a saved program waits for. One that is stopped because its process ends continues in another one. */
function waitingProgram(row: StoredCall, result: ToolResult): PendingResult | undefined {
  if (row.result?.status !== "pending") return undefined;
  if (result.status === "pending") return result;
  return isStopped(result) ? row.result : undefined;
}

/** The process ends, or the worker closes. */
function isStopped(result: ToolResult): boolean {
  return result.status === "failed" && result.error.code === "shutdown";
}

function takenElsewhere(jobId: string): ToolError {
  return toolError("conflict", `Another worker has job "${jobId}"`, { next: "Ask for its result." });
}

/** The row once no process runs it any more; undefined if that call did not happen and left no row. */
async function followRun(calls: Calls, row: StoredCall): Promise<StoredCall | undefined> {
  let now: StoredCall | undefined = await calls.settleLost(row);
  while (now?.state === "running") {
    try {
      now = await calls.settleLost(await calls.wait(row.id, ({ state }) => state !== "running", { ms: LIVENESS_MS }));
    } catch {
      now = await calls.get(row.id);
    }
  }
  return now;
}

/** What a call gets that was made before. Undefined if it may run again: its outcome is unknown, and that does no harm. */
function endedResult(call: Call, row: StoredCall): ToolResult | undefined {
  if (row.outcome === "unknown" && toolOf(call).idempotent) return undefined;
  if (row.result) return repeatResult(call, row.result, "replay");
  return row.outcome === undefined ? undefined : failed(call, refusalOf(row));
}

/** A result of an earlier call, as the result of this one. */
export function repeatResult(call: Call, result: ToolResult, how: "replay" | "cache"): ToolResult {
  // Repairs belong to the input of the earlier call.
  const { repairs: _repairs, ...metadata } = result.metadata;
  const again = { ...result, callId: call.id, startedAt: call.startedAt, metadata: { ...metadata, known: how } };
  return structuredClone(again);
}

/** Reading again does no harm, so a read-only call has no row. A step of a program has one: it must not change. */
function keyOf(call: Call): string | undefined {
  if (call.tool?.isReadOnly && !call.parent) return undefined;
  return call.idempotencyKey === undefined ? undefined : callKey(call.caller, call.idempotencyKey);
}

/** A pending call has not happened. One that failed for a passing reason may be made again if that does no harm. */
function isFinal(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  if (result.status === "completed") return true;
  // Refused or cancelled before it started: nothing has happened.
  if (!call.began) return false;
  return !(result.error.retryable && toolOf(call).idempotent);
}
