import { abortable, type Call, type CallIn, note, toolOf, type Verdict } from "../../../core/call.ts";
import { type Content, firstLine, text } from "../../../core/content.ts";
import { errorMessage, failureOf, type ToolError, ToolPermissionError } from "../../../core/error.ts";
import { canonicalJson } from "../../../core/json.ts";
import { failed, type ToolResult } from "../../../core/result.ts";
import type { MaybePromise, Stage } from "../../../core/stage.ts";
import type { AnyTool } from "../../../core/tool.ts";
import type { HookedCall, HookResult } from "./hook-answer.ts";
import { createMatcher, type Hook, type HookEvent, type HookSource, readHookSettings } from "./hook-settings.ts";
import type { HookHost } from "./run-hook.ts";

export interface HooksOptions extends HookHost {
  /** Validates `call.input` again after a hook has replaced it; throws if it is invalid. */
  revalidate(call: Call): MaybePromise<unknown>;
}

export interface Hooks {
  /** PreToolUse: between `known` and `permit`. */
  readonly before: Stage;
  /** PostToolUse: the last stage, because the hooks' output is what is shortened, stored and replayed. */
  readonly after: Stage;
  /** Reads changed settings. `apply` uses them from the next call on; plans of calls must be compiled again. */
  prepare(sources: readonly HookSource[]): { warnings: readonly string[]; apply(): void };
  /** Whether a PreToolUse hook sees calls of this tool. */
  judges(tool: AnyTool): boolean;
  /** The PreToolUse verdict: ask, or undefined. A deny has already ended the call. */
  verdictOf(call: Call): Verdict | undefined;
  /** PermissionRequest: before a person is asked. Deny, or undefined; a hook's allow has no effect. */
  beforeApproval(call: Call): MaybePromise<Verdict | undefined>;
  readonly warnings: readonly string[];
}

interface CallState {
  hookResults: readonly HookResult[];
  verdict: Verdict | undefined;
}

/** The user's programs and services that see calls and may deny them, ask, or change them. They never allow more. */
export function createHooks(sources: readonly HookSource[], options: HooksOptions): Hooks {
  const read = readHookSettings(sources);
  let matching = createSelection(read.hooks);
  const states = new WeakMap<Call, CallState>();

  const before: Stage = {
    name: "hooks",
    compile(tool) {
      return matching("PreToolUse", tool).length === 0 ? {} : { enter: this.enter };
    },
    enter(call) {
      const requested = matching("PreToolUse", toolOf(call));
      return requested.length === 0 ? undefined : whileNeeded(call, (signal) => judge(call, requested, signal));
    },
  };

  const after: Stage = {
    name: "hooked",
    compile(tool) {
      const isHooked = matching("PreToolUse", tool).length + matching("PostToolUse", tool).length > 0;
      return isHooked ? { leave: this.leave } : {};
    },
    leave(call, result) {
      if (result.status === "pending") return result;
      const requested = matching("PostToolUse", toolOf(call));
      const hookResults = states.get(call)?.hookResults ?? [];
      if (requested.length > 0) return review(call, result, requested);
      return hookResults.some(({ answer }) => answer.additionalContext)
        ? changeResult(call, result, hookResults, [])
        : result;
    },
  };

  return {
    before,
    after,
    prepare(changed) {
      const next = readHookSettings(changed);
      const selection = createSelection(next.hooks);
      return { warnings: next.warnings, apply: () => void (matching = selection) };
    },
    judges: (tool) => matching("PreToolUse", tool).length > 0,
    verdictOf: (call) => states.get(call)?.verdict,
    warnings: read.warnings,
    beforeApproval(call) {
      const requested = matching("PermissionRequest", toolOf(call));
      if (requested.length === 0) return undefined;
      return whileNeeded(call, async (signal) => {
        const hookResults = await ask(requested, { event: "PermissionRequest", call }, signal);
        noteHooks(call, hookResults);
        const verdict = verdictFrom(hookResults);
        return verdict?.decision === "deny" ? verdict : undefined;
      });
    },
  };

  /** What runs hooks is loaded with the first call that has one. */
  async function ask(hooks: readonly Hook[], about: HookedCall, signal: AbortSignal): Promise<HookResult[]> {
    const { runHooks } = await import("./hook-answer.ts");
    return runHooks(hooks, about, { host: options, signal });
  }

  async function judge(call: CallIn<"hooks">, requested: readonly Hook[], signal: AbortSignal): Promise<undefined> {
    const hookResults = await ask(requested, { event: "PreToolUse", call }, signal);
    noteHooks(call, hookResults);
    const verdict = verdictFrom(hookResults);
    states.set(call, { hookResults, verdict });
    if (verdict?.decision === "deny") {
      call.verdict = verdict;
      throw refused(call, verdict);
    }
    const rewriting = hookResults.filter(({ answer }) => answer.updatedInput);
    if (rewriting.length === 0) return undefined;
    call.sent = call.accepted;
    await rewrite(call, rewriting);
    return undefined;
  }

  /** Every hook saw the original input, so two different new inputs cannot be combined. */
  async function rewrite(call: CallIn<"hooks">, rewriting: readonly HookResult[]): Promise<void> {
    const [first, ...others] = rewriting;
    const wanted = first!.answer.updatedInput;
    if (others.some(({ answer }) => canonicalJson(answer.updatedInput) !== canonicalJson(wanted))) {
      const names = rewriting.map(({ hook }) => `"${hook.name}" of ${hook.origin}`).join(" and ");
      throw broken(call, `the hooks ${names} want different inputs`);
    }
    call.input = wanted;
    try {
      await options.revalidate(call);
    } catch (thrown) {
      const { hook } = first!;
      const why = errorMessage(thrown);
      throw broken(
        call,
        `the hook "${hook.name}" of ${hook.origin} changed its input to one that is not valid: ${why}`,
      );
    }
  }

  async function review(call: Call, result: ToolResult, requested: readonly Hook[]): Promise<ToolResult> {
    const signal = call.options.signal ?? new AbortController().signal;
    const hookResults = await ask(requested, { event: "PostToolUse", call, result }, signal);
    return changeResult(call, result, states.get(call)?.hookResults ?? [], hookResults);
  }
}

/** The hooks of an event that match a tool, cached per tool. */
function createSelection(hooks: readonly Hook[]): (event: HookEvent, tool: AnyTool) => readonly Hook[] {
  const matchers = hooks.map((hook) => ({ hook, means: createMatcher(hook) }));
  const known = new WeakMap<AnyTool, Map<HookEvent, readonly Hook[]>>();
  return (event, tool) => {
    let ofTool = known.get(tool);
    if (!ofTool) known.set(tool, (ofTool = new Map()));
    let found = ofTool.get(event);
    if (!found) {
      found = matchers.filter(({ hook, means }) => hook.event === event && means(tool)).map(({ hook }) => hook);
      ofTool.set(event, found);
    }
    return found;
  };
}

/** Aborts the hooks when the call is aborted. */
async function whileNeeded<T>(call: Call, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  try {
    return await abortable(call, work(controller.signal));
  } finally {
    controller.abort();
  }
}

/** The strictest decision, the first of equals; a failure that blocks means deny. */
function strictest(
  hookResults: readonly HookResult[],
): { hook: Hook; decision: "deny" | "ask"; reason: string } | undefined {
  for (const wanted of ["deny", "defer", "ask"] as const) {
    for (const { hook, answer, failed } of hookResults) {
      if (answer.decision === wanted) {
        return { hook, decision: wanted === "deny" ? "deny" : "ask", reason: answer.reason ?? "it gave no reason" };
      }
      if (wanted === "deny" && failed?.onFailure === "block") {
        return { hook, decision: "deny", reason: `the hook failed (${failed.why}), and a failed hook blocks the call` };
      }
    }
  }
  return undefined;
}

/** The hooks' part of a call's record. */
function recordOf({ hook, answer, failed }: HookResult): Record<string, unknown> {
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

function verdictFrom(hookResults: readonly HookResult[]): Verdict | undefined {
  const found = strictest(hookResults);
  return (
    found && {
      decision: found.decision,
      by: "hook",
      reason: found.reason,
      rule: found.hook.name,
      origin: found.hook.origin,
    }
  );
}

function noteHooks(call: Call, hookResults: readonly HookResult[]): void {
  note(call, "hooks", [...listOf(call.facts?.["hooks"]), ...hookResults.map(recordOf)]);
}

function refused(call: Call, { reason, origin }: Verdict): ToolError {
  return new ToolPermissionError(
    toolOf(call).name,
    `a hook of ${origin} refused this call: ${reason}`,
    "Do not repeat it unchanged; follow the reason.",
    "denied",
    { data: { decidedBy: "hook" } },
  );
}

/** Not the model's fault, so the message does not ask it to correct the call. */
function broken(call: Call, what: string): ToolError {
  return new ToolPermissionError(
    toolOf(call).name,
    `the call has not run: ${what}`,
    "These hooks are broken; only the user can repair them.",
  );
}

/** The result for the model: replaced, annotated, or withheld if a required hook failed. */
function changeResult(
  call: Call,
  result: ToolResult,
  before: readonly HookResult[],
  after: readonly HookResult[],
): ToolResult {
  const withheld = after.find(({ failed }) => failed?.onFailure === "block");
  const replaced = after.findLast(({ answer }) => answer.updatedToolOutput);
  const kept = withheld ? withhold(call, withheld) : replaced ? replace(result, replaced) : result;
  const notes = [...before, ...after].flatMap(notesOf);
  const records = after.map(recordOf);
  const known = listOf(result.metadata["hooks"]);
  return {
    ...kept,
    content: [...kept.content, ...notes.map((note) => text(note))],
    metadata: { ...result.metadata, ...(records.length > 0 ? { hooks: [...known, ...records] } : {}) },
  };
}

function notesOf({ hook, answer }: HookResult): string[] {
  const { additionalContext, decision, reason } = answer;
  return [
    ...(additionalContext === undefined ? [] : [`A hook (${hook.origin}) adds: ${additionalContext}`]),
    // The effect has happened; only the answer can change.
    ...(hook.event === "PostToolUse" && decision === "deny"
      ? [`A hook (${hook.origin}) objects: ${reason ?? ""}`]
      : []),
  ];
}

/** Removes all of the old output, for the model and for programs. */
function replace(result: ToolResult, { answer }: HookResult): ToolResult {
  const value = answer.updatedToolOutput?.value;
  const { details: _details, ...rest } = result;
  const content = contentOf(value);
  const shown = content.find((one) => one.type === "text")?.text ?? "";
  const isData = typeof value === "object" && value !== null && !Array.isArray(value);
  return {
    ...rest,
    content,
    display: firstLine(shown),
    ...(isData ? { details: value } : {}),
    ...(rest.status === "failed" ? { error: failureOf(rest.error.code, shown, { name: rest.error.name }) } : {}),
  } as ToolResult;
}

function contentOf(value: unknown): Content[] {
  if (typeof value === "string") return [text(value)];
  const isContent = Array.isArray(value) && value.length > 0 && value.every(isTextContent);
  return isContent ? value.map((one) => text(one.text)) : [text(JSON.stringify(value, null, 2) ?? "")];
}

function isTextContent(value: unknown): value is { type: "text"; text: string } {
  const { type, text: words } = (value ?? {}) as { type?: unknown; text?: unknown };
  return type === "text" && typeof words === "string";
}

function withhold(call: Call, { hook, failed: failure }: HookResult): ToolResult {
  const message =
    `The tool has run, but its output is withheld: the hook "${hook.name}" of ${hook.origin} failed ` +
    `(${failure?.why})`;
  const next = "Do not repeat the call; only the user can repair the hook.";
  return failed(call, failureOf("denied", message, { name: "ToolPermissionError", next }));
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
