import { fromThrown, type ToolResult } from "../core/result.ts";
import { abortable, type Call, type Caller, toolOf } from "../core/call.ts";
import { canonicalJson } from "../core/json.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { CallJournal, JournalEntry } from "../calls/call-journal.ts";
import type { ResultCache } from "./result-cache.ts";

/**
 * `known` answers a call that was made before, `claim` marks one as made. Permission is between them: a known result
 * needs none, and nothing is claimed that may still be refused.
 */
export function idempotencyStages(journal: CallJournal, cache: ResultCache): { known: Stage; claim: Stage } {
  /** Calls of this process that are being made, for those who make the same one meanwhile. */
  const running = new Map<string, Promise<ToolResult>>();
  const finish = new WeakMap<Call, Begun>();

  const known: Stage = {
    name: "known",
    enter(call) {
      const cached = cache.find(call);
      if (cached) return answerAgain(call, cached, "cache");
      const key = keyOf(call);
      if (key === undefined) return undefined;
      const entry = journal.find(key, fingerprintOf(call));
      return entry instanceof Promise ? entry.then((found) => answer(call, key, found)) : answer(call, key, entry);
    },
    leave(call, result) {
      try {
        cache.store(call, result);
      } catch {
        // The tool cannot say what its answer depends on: it is not kept, and stays an answer.
      }
      return result;
    },
    /** A write that went on after its caller was answered changes things only now. */
    ended(call) {
      if (call.answered) cache.drop(call);
    },
  };

  const claim: Stage = {
    name: "claim",
    enter(call) {
      const key = keyOf(call);
      if (key === undefined) return undefined;
      // Somebody else may have begun the same call while this one was waiting for permission.
      const meanwhile = running.get(key);
      if (meanwhile) return join(call, meanwhile);
      running.set(key, new Promise((resolve) => finish.set(call, { key, resolve, hasEnded: false })));
      const begin = () => journal.begin(key, fingerprintOf(call), { again: toolOf(call).idempotent });
      return settleThen(begin, (error, entry) => {
        if (error === undefined && !entry) return undefined;
        const answered = error === undefined ? answerOf(call, entry) : fromThrown(call, error);
        settle(call, answered);
        return answered;
      });
    },
    leave(call, result) {
      const begun = finish.get(call);
      if (!begun) return result;
      const write = (): MaybePromise<void> => {
        if (isFinal(call, result)) return journal.end(begun.key, result);
        if (begun.hasEnded || !isHandedOver(call, result)) return journal.forget(begun.key);
        begun.forgetLater = true;
      };
      // What happened has happened, also where that cannot be written down. Until it is, others find the call running.
      return settleThen(write, () => {
        settle(call, result);
        return result;
      });
    },
    ended(call) {
      const begun = finish.get(call);
      if (!begun) return;
      begun.hasEnded = true;
      if (!begun.forgetLater) return;
      // Where that cannot be written, it counts as running until this process ends.
      void settleThen(
        () => journal.forget(begun.key),
        () => finish.delete(call),
      );
    },
  };
  return { known, claim };

  function answer(call: Call, key: string, entry: JournalEntry | undefined): MaybePromise<ToolResult | undefined> {
    if (!entry) return undefined;
    const joined = running.get(key);
    if (entry.state === "running" && joined) return join(call, joined);
    if (isOrphaned(entry) && toolOf(call).idempotent) return undefined;
    return answerOf(call, entry);
  }

  function settle(call: Call, result: ToolResult): void {
    const begun = finish.get(call);
    if (!begun) return;
    if (!begun.forgetLater) finish.delete(call);
    running.delete(begun.key);
    begun.resolve(result);
  }
}

interface Begun {
  key: string;
  resolve(result: ToolResult): void;
  /** Whether the tool's code has. */
  hasEnded: boolean;
  forgetLater?: boolean;
}

/** A job whose worker closes is somebody else's from now on; until the tool's code here has ended, it is not to begin there. */
function isHandedOver(call: Call, result: ToolResult): boolean {
  return call.secondPass?.kind === "job" && result.status === "failed" && result.error.code === "shutdown";
}

/** Waits for the same call, made before. */
function join(call: Call, running: Promise<ToolResult>): Promise<ToolResult> {
  return abortable(
    call,
    running.then((result) => answerAgain(call, result, "replay")),
  );
}

function settleThen<W, T>(write: () => MaybePromise<W>, then: (error: unknown, written?: W) => T): MaybePromise<T> {
  let written: MaybePromise<W>;
  try {
    written = write();
  } catch (error) {
    return then(error);
  }
  return written instanceof Promise ? written.then((value) => then(undefined, value), then) : then(undefined, written);
}

/** Begun, and nobody is there who could end it. */
function isOrphaned(entry: JournalEntry): boolean {
  return entry.state === "unknown" || (entry.state === "running" && !entry.elsewhere);
}

/** What a call that is not to run gets instead. */
function answerOf(call: Call, entry: JournalEntry | undefined): ToolResult {
  if (entry?.state === "done") return answerAgain(call, entry.result, "replay");
  if (entry?.state === "other") return fromThrown(call, conflicting(call));
  if (entry && !isOrphaned(entry)) return fromThrown(call, runningElsewhere());
  return fromThrown(call, unknownOutcome());
}

function answerAgain(call: Call, result: ToolResult, how: "replay" | "cache"): ToolResult {
  // What was repaired then was in another input than this one.
  const { repairs: _repairs, ...metadata } = result.metadata;
  const again = { ...result, callId: call.id, startedAt: call.startedAt, metadata: { ...metadata, known: how } };
  return structuredClone(again);
}

/** The same key from another caller is another call. */
export function journalKey({ session, agent, user }: Partial<Caller>, idempotencyKey: string): string {
  return JSON.stringify([session, agent, user, idempotencyKey]);
}

function keyOf(call: Call): string | undefined {
  return call.idempotencyKey === undefined ? undefined : journalKey(call.caller, call.idempotencyKey);
}

/** Of the input as it was sent: a schema may turn it into an instance that looks like any other. */
function fingerprintOf(call: Call): string {
  const tool = toolOf(call);
  return canonicalJson([tool.name, tool.version, call.sent ?? call.accepted]);
}

/** A pending call has not happened; one that failed for a passing reason may be made again where that does no harm. */
function isFinal(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  if (result.status === "completed") return true;
  // Refused while it waited, or cancelled before its turn: nothing has happened.
  if (!call.began) return false;
  return !(result.error.retryable && toolOf(call).idempotent);
}

function conflicting(call: Call): ToolError {
  return toolError("conflict", `Call id "${call.idempotencyKey}" was used before with another tool or other input`, {
    next: "Give every call its own id.",
  });
}

function runningElsewhere(): ToolError {
  return toolError("busy", "The same call is being made by another process", {
    next: "Call again with the same id in a moment: its result is given then.",
  });
}

function unknownOutcome(): ToolError {
  return toolError(
    "unknown_outcome",
    "This call had begun when the runtime ended, and it is not known whether it happened",
    {
      next: "Check its effect first; to make it again, use a new call id.",
    },
  );
}
