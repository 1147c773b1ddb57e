import { abortable, type Call, toolOf } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import { toFailure, toolError, ToolError } from "../core/error.ts";
import { type Signature, signatureOf } from "../core/signature.ts";
import type { MaybePromise } from "../core/stage.ts";
import { type AnyTool, ToolPermission } from "../core/tool.ts";

/** What a verdict needs beside the input: the call, if there is one, and what a tool returned promises of. */
export interface ToolAnswers {
  call?: ApprovedCall;
  signature?: { value: Signature | undefined; failed: boolean };
  permission?: { value: ToolPermission | undefined };
}

/** Synchronous code needs a value that the tool promised: `withAnswers` awaits it and runs the code again. */
class AnswerPending extends TypeError {
  readonly #store: (answers: ToolAnswers) => Promise<void>;

  constructor(tool: AnyTool, what: "signature" | "permission", store: (answers: ToolAnswers) => Promise<void>) {
    super(`"${tool.name}" returns a promise of its ${what}, which cannot be awaited here.`);
    this.#store = store;
  }

  store(answers: ToolAnswers): Promise<void> {
    return this.#store(answers);
  }
}

export function isAnswerPending(thrown: unknown): boolean {
  return thrown instanceof AnswerPending;
}

/** The parts of a call that a tool may decide by, beside the input. */
type ApprovedCall = Pick<Call, "id" | "host">;

/** Runs `judge`. If it needs a value of which the tool returned a promise, awaits that and runs `judge` again. */
export function withAnswers<T>(judge: (answers: ToolAnswers | undefined) => T, call?: ApprovedCall): MaybePromise<T> {
  const known: ToolAnswers | undefined = call && { call };
  try {
    return judge(known);
  } catch (thrown) {
    if (!(thrown instanceof AnswerPending)) throw thrown;
    return judgeAgain(thrown, judge, known);
  }
}

async function judgeAgain<T>(
  first: AnswerPending,
  judge: (answers: ToolAnswers) => T,
  answers: ToolAnswers = {},
): Promise<T> {
  // Ends: each round stores one of the two answers.
  for (let pending = first; ;) {
    await pending.store(answers);
    try {
      return judge(answers);
    } catch (thrown) {
      if (!(thrown instanceof AnswerPending)) throw thrown;
      pending = thrown;
    }
  }
}

/** Throws if the tool's function does; `AnswerPending` if it returns a promise and `answers` has no value of it. */
export function readSignature(tool: AnyTool, input: unknown, answers?: ToolAnswers): Signature | undefined {
  const known = answers?.signature;
  if (known?.failed) throw new Error("The tool's signature failed.");
  if (known) return known.value;
  const signature = signatureOf(tool, input);
  if (!(signature instanceof Promise)) return signature;
  const stored = signature.then(
    (value) => ({ value, failed: false }),
    () => ({ value: undefined, failed: true }),
  );
  throw new AnswerPending(tool, "signature", async (into) => void (into.signature = await stored));
}

/** As `readSignature`. Undefined if the tool does not say. */
export function readPermission(tool: AnyTool, input: unknown, answers?: ToolAnswers): ToolPermission | undefined {
  if (answers?.permission) return answers.permission.value;
  const permission = askTool(tool, "permission", () => permissionWith(tool, input, answers?.call));
  if (!(permission instanceof Promise)) return permission;
  const settled = Promise.allSettled([permission]);
  throw new AnswerPending(tool, "permission", async (into) => {
    const [outcome] = await settled;
    if (outcome.status === "rejected") throw outcome.reason;
    into.permission = { value: outcome.value };
  });
}

/** A tool that decides by data of the host asks where there are none: in an explanation, or a trial of rules. */
function permissionWith(
  tool: AnyTool,
  input: unknown,
  { id, host }: ApprovedCall = { id: "", host: undefined },
): ReturnType<AnyTool["permission"]> {
  // Functions that were written for the AI SDK read the other two.
  const context = { host, callId: id, toolCallId: id, experimental_context: host };
  if (!tool.contextSchema || host !== undefined) return tool.permission(input, context);
  try {
    const permission = tool.permission(input, context);
    return permission instanceof Promise ? permission.catch(() => ToolPermission.CONFIRM) : permission;
  } catch {
    return ToolPermission.CONFIRM;
  }
}

/** Calls a function of a tool that decides about a call. If it throws, the error names the function. */
export function askTool<T>(tool: AnyTool, name: "permission" | "locks", ask: () => MaybePromise<T>): MaybePromise<T> {
  // A tool error already says what is wrong.
  const named = (thrown: unknown): unknown =>
    thrown instanceof ToolError
      ? thrown
      : toolError("failed", `${name} of "${tool.name}" threw: ${toFailure(thrown).message}`, { cause: thrown });
  try {
    const answer = ask();
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((thrown: unknown) => {
      throw named(thrown);
    });
  } catch (thrown) {
    throw named(thrown);
  }
}

/** Whether the tool is known not to ask about this input. False if that is known only later. */
export function isAutoNow(tool: AnyTool, input: unknown): boolean {
  const permission = tool.permission(input);
  if (permission instanceof Promise) permission.catch(() => undefined);
  return permission === "auto";
}

/** A tool in another process may never answer. */
const MAX_ANSWER_MS = 30_000;

/** Waits for what a tool says about its call, until the call is aborted, and not longer than 30 seconds. */
export function answerInTime<T>(call: Call, clock: Clock, answer: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = clock.after(MAX_ANSWER_MS, () => reject(unanswered(call)));
  });
  return abortable(call, Promise.race([answer, tooLate])).finally(() => timer?.cancel());
}

function unanswered(call: Call): Error {
  const { name } = toolOf(call);
  return toolError("timeout", `"${name}" did not report within ${MAX_ANSWER_MS / 1000} s what the call needs`, {
    next: "Call again later.",
  });
}
