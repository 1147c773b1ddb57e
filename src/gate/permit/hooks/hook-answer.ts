import type { Hook, HookEvent, OnFailure } from "./hook-settings.ts";
import { type HookHost, type HookInput, type HookOutcome, runHook } from "./run-hook.ts";

/** Strictest first. `allow` is no opinion here: a hook may tighten and never loosen. `defer` asks, as `ask` does. */
const DECISIONS = ["deny", "defer", "ask", "allow"] as const;
export type HookDecision = (typeof DECISIONS)[number];

/** What a hook had to say, understood. */
interface HookAnswer {
  decision?: HookDecision;
  reason?: string;
  updatedInput?: Record<string, unknown>;
  additionalContext?: string;
  /** Present where the result is to be replaced, whatever by. */
  updatedToolOutput?: { value: unknown };
  /** For the person. */
  systemMessage?: string;
  /** It ran and said that it failed: by contract that stops nothing, unless the file wants it to. */
  error?: string;
  /** It gave no answer that can be understood. */
  noAnswer?: string;
}

/** As much as the model is told of one hook's context. */
const MAX_CONTEXT_CHARACTERS = 10_000;
const BLOCKED = 2;

function readHookAnswer(outcome: HookOutcome, event: HookEvent): HookAnswer {
  switch (outcome.kind) {
    case "none":
      return { noAnswer: outcome.why };
    case "http": {
      const { status, body } = outcome;
      if (status < 200 || status > 299) return { noAnswer: `it answered with status ${status}` };
      return readText(body, event);
    }
    case "exit": {
      const { code, stdout, stderr } = outcome;
      // Whatever its output allows: a hook that ends so has said no.
      if (code === BLOCKED) return { decision: "deny", reason: stderr || "it gave no reason" };
      if (code !== 0) return { error: `it ended with code ${code}${stderr ? `: ${stderr}` : ""}` };
      return readText(stdout, event);
    }
  }
}

function readText(text: string, event: HookEvent): HookAnswer {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{")) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(trimmed);
  } catch {
    return { noAnswer: "its answer is no JSON" };
  }
  return readJson(parsed as Record<string, unknown>, event);
}

function readJson(parsed: Record<string, unknown>, event: HookEvent): HookAnswer {
  const specific = parsed["hookSpecificOutput"];
  if (specific !== undefined && !isObject(specific)) return { noAnswer: "its hookSpecificOutput is no object" };
  const more = specific ?? {};
  const verdict = event === "PermissionRequest" ? readRequest(more) : readDecision(parsed, more);
  if (verdict.noAnswer !== undefined) return verdict;
  const { additionalContext, updatedToolOutput } = more;
  const { systemMessage } = parsed;
  // The agent is to stop: then this call does not happen either.
  const stopped: HookAnswer | undefined =
    parsed["continue"] === false
      ? { decision: "deny", reason: asText(parsed["stopReason"]) ?? verdict.reason ?? "it stops the agent" }
      : undefined;
  return {
    ...verdict,
    ...stopped,
    additionalContext: typeof additionalContext === "string" && additionalContext ? cut(additionalContext) : undefined,
    updatedToolOutput: updatedToolOutput === undefined ? undefined : { value: updatedToolOutput },
    systemMessage: typeof systemMessage === "string" ? cut(systemMessage) : undefined,
  };
}

/** The words of today, and those of before: `decision: "block"`. */
function readDecision(parsed: Record<string, unknown>, specific: Record<string, unknown>): HookAnswer {
  const { permissionDecision, permissionDecisionReason, updatedInput } = specific;
  const isBlocked = parsed["decision"] === "block";
  const decision = permissionDecision ?? (isBlocked ? "deny" : undefined);
  if (decision !== undefined && !isDecision(decision)) {
    return { noAnswer: `its permissionDecision is ${JSON.stringify(decision).slice(0, 100)}` };
  }
  const reason = asText(permissionDecisionReason) ?? asText(parsed["reason"]);
  return {
    decision: isBlocked ? "deny" : decision,
    reason,
    ...readInput(updatedInput),
  };
}

function readRequest({ decision }: Record<string, unknown>): HookAnswer {
  if (decision === undefined) return {};
  if (!isObject(decision)) return { noAnswer: "its decision is no object" };
  const { behavior } = decision;
  const reason = asText(decision["message"]);
  if (behavior === "deny") return { decision: "deny", reason };
  return behavior === "allow" ? { decision: "allow" } : { noAnswer: "its behavior is neither allow nor deny" };
}

function readInput(updatedInput: unknown): HookAnswer {
  if (updatedInput === undefined || updatedInput === null) return {};
  return isObject(updatedInput) ? { updatedInput } : { noAnswer: "its updatedInput is no object" };
}

function isDecision(value: unknown): value is HookDecision {
  return (DECISIONS as readonly unknown[]).includes(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? cut(value.trim()) : undefined;
}

function cut(text: string): string {
  return text.length > MAX_CONTEXT_CHARACTERS ? `${text.slice(0, MAX_CONTEXT_CHARACTERS)}…` : text;
}

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
    decision: answer.decision,
    reason: answer.reason,
    updatedInput: answer.updatedInput ? true : undefined,
    updatedToolOutput: answer.updatedToolOutput ? true : undefined,
    systemMessage: answer.systemMessage,
    failed: failed?.why,
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
