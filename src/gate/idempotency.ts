import type { ChangeEntry } from "../calls/call-store.ts";
import { type Calls, callKey, keyConflict } from "../calls/calls.ts";
import { refusedGrant } from "../calls/grants.ts";
import { isFirstRace } from "../calls/limits.ts";
import { cancelledJob } from "../calls/job.ts";
import type { StoredCall } from "../calls/stored-call.ts";
import { outcomeOf, refusalOf, storedResult } from "../calls/stored-result.ts";
import { abortable, type Call, type CallIn, type SecondPass, toolOf } from "../core/call.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import { failed, fromThrown, type PendingResult, type ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { AnyTool } from "../core/tool.ts";
import type { CallLog } from "./audit-log.ts";
import { isCharged, writeAhead } from "./record.ts";
import type { ResultCache } from "./result-cache.ts";

/** How often the process that runs the same call is checked: it may have ended. */
const LIVENESS_MS = 500;

/**
 * `first` looks up the id of a call and answers it from its row, before anything else is looked at; `known` does so for what
 * `first` cannot compare, and answers from the cache. `claim` takes what was approved or queued for this process. `begin` is the
 * last stage before the tool: it writes the call's row and the log's entry, together. Permission is between `known` and
 * `claim`: a known result needs none, and nothing is claimed that may still be refused.
 */
export function idempotencyStages(options: IdempotencyOptions): {
  first: Stage;
  known: Stage;
  claim: Stage;
  begin: Stage;
} {
  const claim = new ClaimStage(options);
  const begin = writeAhead((call) => claim.begin(call));
  const { started = (_call, start) => start() } = options;
  const rows = new WeakMap<Call, FoundRow>();
  return {
    first: new FirstStage(options, rows),
    known: new KnownStage(options, rows),
    claim,
    begin: { name: begin.name, enter: (call) => started(call, () => begin.enter?.(call)) },
  };
}

interface IdempotencyOptions {
  calls: Calls;
  cache: ResultCache;
  log: CallLog;
  registry: Pick<ToolRegistry, "get">;
  /** Whether an earlier call with the same key had other data of the host. */
  hasOtherData?(call: Call): boolean;
  /** Judges a call again that this grant, if any, does not cover any more. A result, such as a question, ends the call. */
  permitAgain?(call: Call, refusedBy: string | undefined): MaybePromise<ToolResult | undefined>;
  /** Starts a call; a call that a limit has no room for waits, without its slot. */
  started?(
    call: Call,
    start: () => MaybePromise<ToolResult | undefined | void>,
  ): MaybePromise<ToolResult | undefined | void>;
  /** Labels a result for which most stages are not entered. */
  replayed?(call: Call, result: ToolResult): MaybePromise<ToolResult>;
}

/** The row of an earlier call with the same key. */
interface FoundRow {
  row: StoredCall;
  /** Whether the earlier call is known to be the same. Otherwise that is compared once the input was read. */
  isSame: boolean;
}

/**
 * Whoever repeats an id learns what became of it, also if the tool is gone, its process cannot start or the policy has changed
 * since. And a call whose row goes on without it is never told to call again.
 */
class FirstStage implements Stage {
  readonly name = "first";
  /** A call that comes during a shutdown may be one that goes on. */
  readonly isAlwaysEntered = true;
  readonly #calls: Calls;
  readonly #options: IdempotencyOptions;
  readonly #rows: WeakMap<Call, FoundRow>;

  constructor(options: IdempotencyOptions, rows: WeakMap<Call, FoundRow>) {
    this.#calls = options.calls;
    this.#options = options;
    this.#rows = rows;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    // The run of a stored call, of a job or of a program has its row already.
    if (call.idempotencyKey === undefined || call.secondPass || this.#calls.storedIdOf(call) !== undefined)
      return undefined;
    // Its options are wrong, or its caller has left.
    if (call.aborted && call.aborted.code !== "shutdown") return undefined;
    const tool = call.tool ?? (call.scope ?? this.#options.registry).get(call.requestedName);
    if (isReadOnly(call, tool)) return undefined;
    const row = this.#calls.find(callKey(call.caller, call.idempotencyKey));
    if (row instanceof Promise) return row.then((found) => found && this.#answer(call, found, tool));
    return row && this.#answer(call, row, tool);
  }

  leave(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    if (result.status !== "failed" || !result.error.retryable || call.began || call.secondPass) return result;
    const found = this.#rows.get(call);
    const stored = this.#calls.storedIdOf(call);
    const isStop = result.error.code === "shutdown";
    // Who approves a call learns why it does not start here.
    const own = stored === undefined ? call.verdict?.approvalId : isStop ? stored : undefined;
    const id = own ?? (found?.isSame ? found.row.id : undefined);
    if (id === undefined) return result;
    // Without the store nobody knows more than the result says.
    return this.#calls.get(id).then(
      (row) => (row ? instead(call, row, result) : result),
      () => result,
    );
  }

  #answer(call: Call, row: StoredCall, tool: AnyTool | undefined): MaybePromise<ToolResult | undefined> {
    const isNamed = tool
      ? tool.redirect === undefined && tool.name === row.toolName && call.requestedName === tool.name
      : call.requestedName === row.toolName;
    const found = { row, isSame: isNamed && this.#calls.isSameInput(row, tool?.version, readInput(call.input)) };
    this.#rows.set(call, found);
    // Its data of the host are compared later.
    if (!found.isSame || tool?.contextSchema) return undefined;
    if (row.state === "running" && !row.job)
      return abortable(call, followRun(this.#calls, row)).then((now) => now && this.#ended(call, now, tool));
    return this.#ended(call, row, tool);
  }

  #ended(call: CallIn<"resolve">, row: StoredCall, tool: AnyTool | undefined): MaybePromise<ToolResult | undefined> {
    if (row.state !== "ended") return undefined;
    call.tool ??= tool;
    const result = endedResult(call, row);
    return result && (this.#options.replayed?.(call, result) ?? result);
  }
}

/** What a call gets that could not go on here, if its row does, or has ended. */
function instead(call: Call, row: StoredCall, result: ToolResult): ToolResult {
  // Given back by a try that did nothing: nobody tries again before the next call with this id.
  if (row.state === "approved" && row.result) return result;
  if (row.state === "ended") return row.result ? repeatResult(call, row.result, "replay") : result;
  return { ...storedResult(row), callId: call.id, startedAt: call.startedAt };
}

/** The input as `validate` reads it; undefined if it refuses it. */
function readInput(input: unknown): unknown {
  try {
    return typeof input === "string" ? parseJson(input) : input;
  } catch {
    return undefined;
  }
}

class KnownStage implements Stage {
  readonly name = "known";
  readonly #calls: Calls;
  readonly #cache: ResultCache;
  readonly #rows: WeakMap<Call, FoundRow>;
  readonly #hasOtherData: IdempotencyOptions["hasOtherData"];

  constructor({ calls, cache, hasOtherData }: IdempotencyOptions, rows: WeakMap<Call, FoundRow>) {
    this.#calls = calls;
    this.#cache = cache;
    this.#rows = rows;
    this.#hasOtherData = hasOtherData;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    const cached = this.#cache.find(call);
    if (cached) return repeatResult(call, cached, "cache");
    // If there was none then, `begin` and the question find one that was written since.
    const key = this.#rows.has(call) ? keyOf(call) : undefined;
    const row = key === undefined ? undefined : this.#calls.find(key);
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
    if (this.#hasOtherData?.(call)) return fromThrown(call, keyConflict(call, "other data of the host"));
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
  readonly #permitAgain: IdempotencyOptions["permitAgain"];

  constructor({ calls, log, permitAgain }: IdempotencyOptions) {
    this.#calls = calls;
    this.#log = log;
    this.#permitAgain = permitAgain;
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
    // What takes from a grant needs a row, so that it takes once.
    const key = StartedCall.of(call) ? undefined : (keyOf(call) ?? chargedKeyOf(call));
    if (key === undefined) return this.#log.begun(call);
    if (!isCharged(call)) return this.#begin(call, key);
    return this.#beginCharged(call, key);
  }

  /** Between the verdict and the charge a grant may have ended, or a limit may be reached: then the call is judged again. */
  async #beginCharged(call: Call, key: string): Promise<ToolResult | undefined | void> {
    try {
      return await this.#begin(call, key);
    } catch (error) {
      const refusedBy = refusedGrant(error);
      if (!this.#permitAgain || (refusedBy === undefined && !isFirstRace(call, error))) throw error;
      let result: ToolResult | undefined;
      try {
        result = await this.#permitAgain(call, refusedBy);
      } catch (refusal) {
        return fromThrown(call, refusal);
      }
      if (result) return result;
      const claimed = this.#calls.takeClaimed(call);
      if (claimed) this.#start(call, claimed);
      return this.begin(call);
    }
  }

  leave(call: Call, result: ToolResult): MaybePromise<ToolResult> {
    const started = StartedCall.of(call);
    if (!started) return result;
    // A program that was stopped with its process continues in another one.
    const waiting = waitingProgram(started.row, result);
    const answer = waiting ? { ...waiting, callId: call.id, startedAt: call.startedAt } : result;
    try {
      const written = this.#end(call, started, result);
      // What happened has happened, also if that cannot be written now.
      if (written instanceof Promise)
        return written.then(
          () => answer,
          () => answer,
        );
    } catch {
      // As above: `Calls` writes it later.
    }
    return answer;
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
    const claimed = await this.#calls.claimJob(jobId, call, isStopped);
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
    const restarted = await this.#calls.restart(row, this.#calls.chargesOf(call));
    return restarted ? this.#start(call, restarted) : this.#begin(call, key);
  }

  #end(call: Call, started: Started, result: ToolResult): MaybePromise<unknown> {
    const { row } = started;
    const waiting = waitingProgram(row, result);
    if (waiting) return this.#calls.suspend(row, waiting);
    const entry = result.status === "pending" ? undefined : this.#log.endEntry?.(call, result, false);
    if (row.job) return this.#endJob(call, started, result, entry);
    if (row.question) return endAsked(this.#calls, call, row, result, entry);
    const releasesKey = !isFinal(call, result);
    // What began may have taken effect: with its row, the charge would be given back.
    const staysCharged = result.status === "failed" && call.began && (row.charges?.length ?? 0) > 0;
    // The client runs it from now on, and reports that in a call of its own.
    const isHandedOver = result.status === "pending" && result.pending.kind === "client";
    if (releasesKey && !staysCharged) return this.#calls.remove(row, isHandedOver);
    return this.#calls.end(row, { outcome: outcomeOf(result), result, releasesKey }, entry);
  }

  #endJob(call: Call, started: Started, result: ToolResult, entry: ChangeEntry | undefined): MaybePromise<unknown> {
    const { row } = started;
    const plan = call.secondPass?.again?.(call, result);
    const releasesKey = !isFinal(call, result);
    const ended = { outcome: outcomeOf(result), result, releasesKey, began: call.began };
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
  // Another process runs it. After another failure that passes, the next call with this id does.
  const isPassing = result.status === "failed" && result.error.retryable;
  if (isPassing && !call.began) return calls.giveBack(row, isStopped(result) ? undefined : result);
  const ended = { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result), began: call.began };
  return calls.end(row, ended, entry);
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
  if (row.outcome === "unknown" && (call.tool?.idempotent ?? row.repeatable)) return undefined;
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

/** Whether it has no row: see `keyOf`. */
function isReadOnly({ parent }: Call, tool: AnyTool | undefined): boolean {
  return tool?.isReadOnly === true && !parent;
}

/** Reading again does no harm, so a read-only call has no row. A step of a program has one: it must not change. */
function keyOf(call: Call): string | undefined {
  if (isReadOnly(call, call.tool)) return undefined;
  return call.idempotencyKey === undefined ? undefined : callKey(call.caller, call.idempotencyKey);
}

function chargedKeyOf(call: Call): string | undefined {
  return isCharged(call) ? callKey(call.caller, call.stepKey) : undefined;
}

/** A pending call has not happened. One that failed for a passing reason may be made again if that does no harm. */
function isFinal(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  if (result.status === "completed") return true;
  // Refused or cancelled before it started: nothing has happened.
  if (!call.began) return false;
  return !(result.error.retryable && toolOf(call).idempotent);
}
