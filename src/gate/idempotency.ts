import type { ChangeEntry } from "../calls/call-store.ts";
import { type Calls, callKey, keyConflict } from "../calls/calls.ts";
import type { CallOutcome, StoredCall } from "../calls/stored-call.ts";
import { refusalOf } from "../calls/stored-result.ts";
import { abortable, type Call, toolOf } from "../core/call.ts";
import { failed, fromThrown, type ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import { Given } from "../core/tool.ts";
import type { CallLog } from "./audit-log.ts";
import type { ResultCache } from "./result-cache.ts";

/** How often the process that runs the same call is checked: it may have ended. */
const LIVENESS_MS = 500;

/**
 * `known` answers a call that was made before, `claim` marks one as made. Permission is between them: a known result
 * needs none, and nothing is claimed that may still be refused.
 */
export function idempotencyStages(
  calls: Calls,
  cache: ResultCache,
  log?: Pick<CallLog, "endEntry">,
): { known: Stage; claim: Stage } {
  return { known: new KnownStage(calls, cache), claim: new ClaimStage(calls, log) };
}

class KnownStage implements Stage {
  readonly name = "known";
  readonly #calls: Calls;
  readonly #cache: ResultCache;

  constructor(calls: Calls, cache: ResultCache) {
    this.#calls = calls;
    this.#cache = cache;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    const cached = this.#cache.find(call);
    if (cached) return repeatResult(call, cached, "cache");
    const key = keyOf(call);
    // The run of a stored call has its row already.
    if (key === undefined || this.#calls.storedIdOf(call) !== undefined) return undefined;
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
    // The permit stage joins a question that is open, or asks another one.
    if (row.state === "waiting" || row.state === "approved") return undefined;
    if (!this.#calls.isSame(row, call)) return fromThrown(call, keyConflict(call));
    if (row.state === "ended") return endedResult(call, row);
    if (row.state === "suspended" && row.result) {
      // Its job runs it now, or has to.
      return call.secondPass?.kind === "job" ? undefined : repeatResult(call, row.result, "replay");
    }
    return abortable(call, followRun(this.#calls, row)).then((now) => now && this.#answer(call, now));
  }
}

function nothing(): void {}

/** What a call that started left for its end. */
interface Started {
  row: StoredCall;
  /** Whether the tool's code has ended. */
  hasEnded: boolean;
  removeLater: boolean;
}

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

class ClaimStage implements Stage {
  readonly name = "claim";
  readonly #calls: Calls;
  readonly #log: Pick<CallLog, "endEntry"> | undefined;

  constructor(calls: Calls, log: Pick<CallLog, "endEntry"> | undefined) {
    this.#calls = calls;
    this.#log = log;
  }

  enter(call: Call): MaybePromise<ToolResult | undefined> {
    const claimed = this.#calls.takeClaimed(call);
    if (claimed) return this.#start(call, claimed);
    const asked = askedIdOf(call);
    if (asked !== undefined) return this.#resume(call, asked);
    const key = keyOf(call);
    return key === undefined ? undefined : this.#begin(call, key);
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
    const asked = askedIdOf(call);
    // The job was cancelled before it ran.
    if (!started && asked !== undefined && call.aborted?.code === "cancelled")
      this.#calls.cancel(asked, call.aborted.message).catch(() => undefined);
    if (!started) return;
    started.hasEnded = true;
    if (started.removeLater) void this.#remove(started.row);
  }

  /** The outcome came after the caller was answered. */
  late(call: Call, result: ToolResult): MaybePromise<void> {
    const started = StartedCall.of(call);
    if (!started) return;
    const ended = { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result) };
    try {
      const written = this.#calls.end(started.row, ended, this.#log?.endEntry?.(call, result, true));
      // If it cannot be written now, `Calls` writes it later.
      if (written instanceof Promise) return written.then(nothing, nothing);
    } catch {
      // As above.
    }
  }

  #start(call: Call, row: StoredCall): undefined {
    void new StartedCall(call, { row, hasEnded: false, removeLater: false });
    return undefined;
  }

  /** The job of an approved call. Its row has the result if a worker ended before it could report that. */
  async #resume(call: Call, id: string): Promise<ToolResult | undefined> {
    const key = keyOf(call);
    const row = await this.#calls.get(id);
    // A job that somebody tries again after its end is another run.
    const isRetried = call.idempotencyKey?.startsWith(`job:${call.secondPass?.id}#`);
    if (!row || isRetried || row.state === "waiting" || row.state === "approved")
      return key === undefined ? undefined : this.#begin(call, key);
    const now = row.state === "running" ? await abortable(call, followRun(this.#calls, row)) : row;
    const known = now?.state === "ended" ? endedResult(call, now) : undefined;
    if (known) return known;
    const started = now && ((await this.#calls.resume(now)) ?? (await this.#calls.restart(now)));
    return started ? this.#start(call, started) : this.#resume(call, id);
  }

  #begin(call: Call, key: string): MaybePromise<ToolResult | undefined> {
    const begun = this.#calls.begin(call, key);
    if (begun instanceof Promise) return begun.then((inserted) => this.#begun(call, key, inserted));
    return this.#begun(call, key, begun);
  }

  #begun(call: Call, key: string, inserted: Awaited<ReturnType<Calls["begin"]>>): MaybePromise<ToolResult | undefined> {
    if (inserted.outcome === "full") throw new Error("A call without a question has no limit.");
    if (inserted.outcome === "inserted") return this.#start(call, inserted.row);
    return this.#join(call, key, inserted.row);
  }

  /** The same call was made before, or is being made. */
  async #join(call: Call, key: string, row: StoredCall): Promise<ToolResult | undefined> {
    if (!this.#calls.isSame(row, call)) return fromThrown(call, keyConflict(call));
    if (row.state === "waiting" || row.state === "approved") {
      await this.#calls.cancel(row.id, "the call is allowed by now");
      return this.#begin(call, key);
    }
    if (row.state === "suspended" && row.result) return repeatResult(call, row.result, "replay");
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
    const entry = result.status === "pending" ? undefined : this.#log?.endEntry?.(call, result, false);
    if (row.question) return endAsked(this.#calls, call, row, result, entry);
    if (isFinal(call, result))
      return this.#calls.end(row, { outcome: outcomeOf(result), result, releasesKey: false }, entry);
    if (!started.hasEnded && isHandedOver(call, result)) {
      started.removeLater = true;
      return undefined;
    }
    return this.#calls.remove(row);
  }

  /** If that cannot be written, the call counts as running until this process ends. */
  async #remove(row: StoredCall): Promise<void> {
    try {
      await this.#calls.remove(row);
    } catch {
      // See above.
    }
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
  if (result.status === "pending" && result.pending.kind === "job") return calls.suspend(row, result, call.began);
  // Another attempt follows, or another worker takes the job over.
  if (row.result && call.secondPass?.again?.(call, result)) return calls.suspend(row, row.result, call.began);
  const isStopped = result.status === "failed" && result.error.code === "shutdown" && !call.began;
  if (isStopped) return calls.giveBack(row);
  return calls.end(row, { outcome: outcomeOf(result), result, releasesKey: !isFinal(call, result) }, entry);
}

/** The question that was answered before the call became a job. */
function askedIdOf({ secondPass }: Call): string | undefined {
  return secondPass?.kind === "job" ? secondPass.verdict.approvalId : undefined;
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

function keyOf(call: Call): string | undefined {
  return call.idempotencyKey === undefined ? undefined : callKey(call.caller, call.idempotencyKey);
}

/** A worker that closes hands the job over. Until the tool's code has ended here, it must not start elsewhere. */
function isHandedOver(call: Call, result: ToolResult): boolean {
  return call.secondPass?.kind === "job" && result.status === "failed" && result.error.code === "shutdown";
}

/** A pending call has not happened. One that failed for a passing reason may be made again if that does no harm. */
function isFinal(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  if (result.status === "completed") return true;
  // Refused or cancelled before it started: nothing has happened.
  if (!call.began) return false;
  return !(result.error.retryable && toolOf(call).idempotent);
}

function outcomeOf(result: ToolResult): CallOutcome {
  if (result.status !== "failed") return "completed";
  if (result.error.code === "unknown_outcome") return "unknown";
  return result.error.code === "cancelled" ? "cancelled" : "failed";
}
