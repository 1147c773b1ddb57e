import type { Call } from "../../../core/call.ts";
import type { ToolResult } from "../../../core/result.ts";
import { isObject } from "../../../schema/json-schema.ts";
import type { Hook, HookEvent, OnFailure } from "./hook-settings.ts";
import { BLOCKED, type HookHost, hookInputOf, type HookOutcome, runHook } from "./run-hook.ts";

/** `allow` has no effect: a hook can only restrict. `defer` means `ask`. */
const DECISIONS = ["deny", "defer", "ask", "allow"] as const;
type HookDecision = (typeof DECISIONS)[number];

/** A hook's parsed answer. */
interface HookAnswer {
  decision?: HookDecision;
  reason?: string;
  updatedInput?: Record<string, unknown>;
  additionalContext?: string;
  /** Present if the hook replaces the result. */
  updatedToolOutput?: { value: unknown };
  /** A message for the person. */
  systemMessage?: string;
  /** The hook reported an error: by contract that does not block the call, except if the file says so. */
  error?: string;
  /** Why there is no valid answer. */
  noAnswer?: string;
}

/** Max characters of one hook's context that the model gets. */
const MAX_CONTEXT_CHARACTERS = 10_000;

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
      // This exit code means deny, also if the output says allow.
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
    return { noAnswer: "its answer is not JSON" };
  }
  return isObject(parsed) ? readJson(parsed, event) : {};
}

function readJson(parsed: Record<string, unknown>, event: HookEvent): HookAnswer {
  const specific = parsed["hookSpecificOutput"];
  if (specific !== undefined && !isObject(specific)) return { noAnswer: "its hookSpecificOutput is not an object" };
  const more = specific ?? {};
  const verdict = event === "PermissionRequest" ? readRequest(more) : readDecision(parsed, more);
  if (verdict.noAnswer !== undefined) return verdict;
  const { additionalContext, updatedToolOutput } = more;
  const { systemMessage } = parsed;
  // The hook stops the agent, and with it this call.
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

/** The current and the deprecated form (`decision: "block"`). */
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
  if (!isObject(decision)) return { noAnswer: "its decision is not an object" };
  const { behavior } = decision;
  const reason = asText(decision["message"]);
  if (behavior === "deny") return { decision: "deny", reason };
  return behavior === "allow" ? { decision: "allow" } : { noAnswer: "its behavior is neither allow nor deny" };
}

function readInput(updatedInput: unknown): HookAnswer {
  if (updatedInput === undefined || updatedInput === null) return {};
  return isObject(updatedInput) ? { updatedInput } : { noAnswer: "its updatedInput is not an object" };
}

function isDecision(value: unknown): value is HookDecision {
  return (DECISIONS as readonly unknown[]).includes(value);
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? cut(value.trim()) : undefined;
}

function cut(text: string): string {
  return text.length > MAX_CONTEXT_CHARACTERS ? `${text.slice(0, MAX_CONTEXT_CHARACTERS)}…` : text;
}

/** A hook and its answer. */
export interface HookResult {
  hook: Hook;
  answer: HookAnswer;
  /** Set if the hook failed: what happens to the call then. */
  failed?: { why: string; onFailure: OnFailure };
}

/** What hooks are asked about. */
export interface HookedCall {
  event: HookEvent;
  call: Call;
  /** Of a call that has run. */
  result?: ToolResult;
}

/** Runs all hooks at the same time, each once; answers are in the order of the files. */
export function runHooks(
  hooks: readonly Hook[],
  { event, call, result }: HookedCall,
  { host, signal }: { host: HookHost; signal: AbortSignal },
): Promise<HookResult[]> {
  const text = JSON.stringify(hookInputOf(call, event, host.workspace, result));
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
 * Without an answer the call is blocked: a mistyped path would otherwise switch the hook off unnoticed. An exit code that the
 * contract calls harmless does not block, nor does a hook after the call; a file can change this for each hook.
 */
function onFailureOf({ spec, event }: Hook, { noAnswer }: HookAnswer): OnFailure {
  return spec.onFailure ?? (event !== "PostToolUse" && noAnswer !== undefined ? "block" : "ignore");
}

function withoutDoubles(hooks: readonly Hook[]): Hook[] {
  const first = new Map<string, Hook>();
  for (const hook of hooks) {
    const key = JSON.stringify(hook.spec);
    if (!first.has(key)) first.set(key, hook);
  }
  return [...first.values()];
}
