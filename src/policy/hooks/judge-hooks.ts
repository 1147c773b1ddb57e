import { type HookHost, runHook } from "./ask-hook.ts";
import type { HookInput } from "./hook-input.ts";
import type { Hook, OnFailure } from "./hook-settings.ts";
import { DECISIONS, type HookAnswer, readHookAnswer } from "./read-hook-answer.ts";

/** A hook and what it said. */
export interface HookResult {
  hook: Hook;
  answer: HookAnswer;
  /** Set where it failed: what becomes of the call then. */
  failed?: { why: string; onFailure: OnFailure };
}

/** All at the same time, each once; answers in the order of the files. */
export function runHooks(
  hooks: readonly Hook[],
  input: HookInput,
  { host, signal }: { host: HookHost; signal: AbortSignal },
): Promise<HookResult[]> {
  const text = JSON.stringify(input);
  return Promise.all(
    withoutDoubles(hooks).map(async (hook): Promise<HookResult> => {
      const answer = readHookAnswer(await runHook(hook, text, host, signal), hook.event);
      const why = answer.noAnswer ?? answer.error;
      return why === undefined
        ? { hook, answer }
        : { hook, answer, failed: { why, onFailure: onFailureOf(hook, answer) } };
    }),
  );
}

/**
 * A gate that does not answer is shut: a mistyped path would otherwise open it unnoticed. A code that the contract
 * calls harmless stays so, and after the fact there is nothing left to stop; a file may say otherwise for each hook.
 */
function onFailureOf({ spec, event }: Hook, { noAnswer }: HookAnswer): OnFailure {
  return spec.onFailure ?? (event !== "PostToolUse" && noAnswer !== undefined ? "block" : "ignore");
}

/** The strictest that was said, the first of equals; a failure that blocks is a no. */
export function strictest(
  hookResults: readonly HookResult[],
): { hook: Hook; decision: "deny" | "ask"; reason: string } | undefined {
  for (const wanted of DECISIONS) {
    if (wanted === "allow") return undefined;
    for (const { hook, answer, failed } of hookResults) {
      if (answer.decision === wanted) {
        return { hook, decision: wanted === "deny" ? "deny" : "ask", reason: answer.reason ?? "it gave no reason" };
      }
      if (wanted === "deny" && failed?.onFailure === "block") {
        return { hook, decision: "deny", reason: `the hook failed (${failed.why}), and then nothing may pass it` };
      }
    }
  }
  return undefined;
}

/** What the record of a call keeps of its hooks. */
export function recordOf({ hook, answer, failed }: HookResult): Record<string, unknown> {
  return {
    hook: hook.name,
    origin: hook.origin,
    ...(answer.decision === undefined ? {} : { decision: answer.decision }),
    ...(answer.reason === undefined ? {} : { reason: answer.reason }),
    ...(answer.updatedInput ? { updatedInput: true } : {}),
    ...(answer.updatedToolOutput ? { updatedToolOutput: true } : {}),
    ...(answer.systemMessage === undefined ? {} : { systemMessage: answer.systemMessage }),
    ...(failed ? { failed: failed.why } : {}),
  };
}

function withoutDoubles(hooks: readonly Hook[]): Hook[] {
  const first = new Map<string, Hook>();
  for (const hook of hooks) {
    const key = JSON.stringify(hook.spec);
    if (!first.has(key)) first.set(key, hook);
  }
  return [...first.values()];
}
