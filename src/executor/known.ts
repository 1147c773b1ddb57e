import { type Call, toolOf } from "../core/call.ts";
import { canonicalJson } from "../core/canonical-json.ts";
import { toolError, type ToolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { CallJournal, JournalEntry } from "./call-journal.ts";
import type { ResultCache } from "./result-cache.ts";

/**
 * `known` answers a call that was made before, `claim` marks one as made. Between them stands permission: a known result
 * needs none, and nothing is claimed that may still be refused.
 */
export function knownAndClaim(journal: CallJournal, cache: ResultCache): { known: Stage; claim: Stage } {
  /** Calls of this process that are being made, for those who make the same one meanwhile. */
  const running = new Map<string, Promise<ToolResult>>();
  const finish = new WeakMap<Call, { key: string; resolve: (result: ToolResult) => void }>();

  const known: Stage = {
    name: "known",
    enter(call) {
      const cached = cache.find(call);
      if (cached) return answerAgain(call, cached, "cache");
      const key = keyOf(call);
      if (key === undefined) return undefined;
      const entry = journal.find(key);
      return entry instanceof Promise ? entry.then((found) => answer(call, key, found)) : answer(call, key, entry);
    },
    leave(call, result) {
      cache.keep(call, result);
      return result;
    },
  };

  const claim: Stage = {
    name: "claim",
    enter(call) {
      const key = keyOf(call);
      if (key === undefined) return undefined;
      // Somebody else may have begun the same call while this one was waiting for permission.
      const meanwhile = running.get(key);
      if (meanwhile) return meanwhile.then((result) => answerAgain(call, result, "replay"));
      running.set(key, new Promise((resolve) => finish.set(call, { key, resolve })));
      return journal.begin(key, fingerprintOf(call)) as MaybePromise<undefined>;
    },
    leave(call, result) {
      const begun = finish.get(call);
      if (!begun) return result;
      running.delete(begun.key);
      begun.resolve(result);
      const written = isFinal(call, result) ? journal.end(begun.key, result) : journal.forget(begun.key);
      return written instanceof Promise ? written.then(() => result) : result;
    },
  };
  return { known, claim };

  function answer(call: Call, key: string, entry: JournalEntry | undefined): MaybePromise<ToolResult | undefined> {
    if (!entry) return undefined;
    if (entry.fingerprint !== fingerprintOf(call)) throw conflicting(call);
    if (entry.state === "done") return answerAgain(call, entry.result, "replay");
    const joined = running.get(key);
    if (entry.state === "running" && joined) return joined.then((result) => answerAgain(call, result, "replay"));
    if (toolOf(call).idempotent) return undefined;
    throw unknownOutcome();
  }
}

function answerAgain(call: Call, result: ToolResult, how: "replay" | "cache"): ToolResult {
  return { ...structuredClone(result), callId: call.id, metadata: { ...result.metadata, known: how } };
}

/** The same key from another caller is another call. */
function keyOf(call: Call): string | undefined {
  if (call.idempotencyKey === undefined) return undefined;
  const { session, agent, user } = call.caller;
  return canonicalJson([session, agent, user, call.idempotencyKey]);
}

function fingerprintOf(call: Call): string {
  const tool = toolOf(call);
  return canonicalJson([tool.name, tool.version, call.input]);
}

/** A pending call has not happened; one that failed for a passing reason may be made again where that does no harm. */
function isFinal(call: Call, result: ToolResult): boolean {
  if (result.status === "pending") return false;
  return result.status === "completed" || !(result.error.retryable && toolOf(call).idempotent);
}

function conflicting(call: Call): ToolError {
  return toolError("conflict", `Call id "${call.idempotencyKey}" was used before with another tool or other input`, {
    next: "Give every call an id of its own.",
  });
}

function unknownOutcome(): ToolError {
  return toolError("unknown_outcome", "This call had begun when the runtime ended, and it is not known whether it happened", {
    next: "Check its effect first; to make it again, use a new call id.",
  });
}
