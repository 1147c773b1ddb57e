import { type Call, type Caller, type CallMode, toolOf, type Verdict } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import { errorMessage, toolError, ToolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { answerInTime } from "../tool-answers.ts";

/** A call that `decide` of a runtime judges. Its input is valid. */
export interface DecidableCall {
  /** The tool that the call resolved to. */
  readonly tool: AnyTool;
  /** The validated input, as the tool gets it. Do not change it. */
  readonly input: unknown;
  /** On whose behalf it is made. */
  readonly caller: Readonly<Partial<Caller>>;
  /** The mode that the call chose. */
  readonly mode: CallMode | undefined;
  /** The data of the host, as the tool gets them in `context.host`. */
  readonly host: unknown;
}

type Decision = Verdict["decision"];

/** Undefined: the host does not decide. */
export type HostDecision = Decision | { decision: Decision; reason?: string } | undefined;

/**
 * The host's own judgement of a call. Deny and ask apply whatever rules allow. Allow takes the place of the default question
 * about a tool that does not say whether it asks; it beats no deny and no ask. A call may be judged more than once.
 */
// Without `void`, a function that decides only in some branches would need a `return undefined`.
export type Decide = (call: DecidableCall) => MaybePromise<HostDecision | void>;

const REASONS: Record<Decision, string> = {
  allow: "The host allows this call.",
  ask: "The host wants a person to decide.",
  deny: "The host denies this call.",
};

/** The verdict of the host, or undefined. A function that fails stops the call before any effect. */
export function hostVerdict(decide: Decide, call: Call, clock: Clock): MaybePromise<Verdict | undefined> {
  const { input, caller, host, options } = call;
  const decided = askHost(decide, { tool: toolOf(call), input, caller, mode: options.mode, host });
  return decided instanceof Promise ? answerInTime(call, clock, decided) : decided;
}

export function askHost(decide: Decide, call: DecidableCall): MaybePromise<Verdict | undefined> {
  const { name } = call.tool;
  try {
    // The input itself: a copy of an instance would be judged differently from what runs.
    const decided = decide(Object.freeze({ ...call, caller: Object.freeze({ ...call.caller }) }));
    if (!(decided instanceof Promise)) return readDecision(decided, name);
    return decided.then(
      (answer) => readDecision(answer, name),
      (thrown: unknown) => {
        throw broken(name, errorMessage(thrown), thrown);
      },
    );
  } catch (thrown) {
    throw thrown instanceof ToolError ? thrown : broken(name, errorMessage(thrown), thrown);
  }
}

function readDecision(decided: unknown, tool: string): Verdict | undefined {
  if (decided === undefined) return undefined;
  const given = (typeof decided === "string" ? { decision: decided } : decided) as {
    decision?: unknown;
    reason?: unknown;
  };
  const { decision, reason } = given ?? {};
  if (typeof decision !== "string" || !Object.hasOwn(REASONS, decision)) {
    throw broken(tool, 'it returned neither "allow", "ask", "deny" nor undefined');
  }
  const known = decision as Decision;
  const said = typeof reason === "string" && reason.trim() !== "" ? reason : REASONS[known];
  return { decision: known, by: "policy", reason: said, origin: "decide" };
}

function broken(tool: string, why: string, cause?: unknown): Error {
  return toolError("unavailable", `decide failed for "${tool}": ${why}`, {
    next: "Nothing was done. Correct the function in createHaft.",
    cause,
  });
}
