import { withDefaults } from "../core/with-defaults.ts";
import { canonicalJson } from "../core/json.ts";
import type { Call, CallToContinue, Caller } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import { CodeThreads } from "./code-thread.ts";
import { MemoryProgramStore, type ProgramStore } from "./program-store.ts";
import { DEFAULT_PROGRAM_LIMITS, ProgramBudget, type ProgramLimits } from "./program-budget.ts";
import { type ProgramEnd, type ProgramHost, type ProgramStart, runProgram } from "./run-program.ts";

export interface CodeRunnerOptions {
  store?: ProgramStore;
  clock?: Clock;
  /** Of a program and everything that it calls. */
  limits?: Partial<ProgramLimits>;
  /** Makes the second pass of a call. */
  continueCall(call: CallToContinue, approvalId: string): Promise<ToolResult>;
  /** Whether the approval is pending. */
  isOpen(approvalId: string): Promise<boolean>;
  /** Whether the call has ended and its result is recorded. */
  isDone(call: CallToContinue): Promise<boolean>;
}

export interface ProgramToRun {
  call: CallToContinue;
  source: string;
  language?: "javascript" | "typescript";
  /** The call in the gate. The calls below it share its budget. */
  runs: Call;
}

/** A snapshot is an image of the virtual machine. Only the same engine can restore it. */
const ENGINE = "quickjs-wasi/3.6";

export type CodeRunner = ReturnType<typeof createCodeRunner>;

/** Runs programs, and resumes those that waited for a person, also those of an earlier process. */
export function createCodeRunner(options: CodeRunnerOptions) {
  const { store = new MemoryProgramStore(), clock = systemClock, continueCall, isOpen, isDone } = options;
  const limits = withDefaults(DEFAULT_PROGRAM_LIMITS, options.limits);
  const threads = new CodeThreads({ clock });
  /** Claimed by `resume` for the call that it makes next. */
  const claimed = new Set<string>();
  const underWay = new Set<string>();

  return { run, stage: stage(), answered, recover, close: () => threads.close() };

  async function run(
    { call, source, language, runs }: ProgramToRun,
    host: Omit<ProgramHost, "save">,
  ): Promise<ProgramEnd> {
    const { id = "", idempotencyKey, caller = {} } = call.options;
    const key = keyOf(caller, idempotencyKey || id);
    const isResumed = claimed.delete(key);
    // A call with a key has a row, and who has the row runs the program. Others may hold it to make this call too.
    const isOurs = isResumed || runs.idempotencyKey !== undefined;
    const stored = await (isOurs ? store.takeOver(key) : store.claim(key));
    if (!stored && (await store.list()).some((one) => one.key === key)) throw runsElsewhere();
    if (stored && stored.engine !== ENGINE) throw writtenByAnother();
    const start: ProgramStart = stored ? { state: stored.state } : { source, language };
    const save: ProgramHost["save"] = async (state) =>
      store.save({ key, call, state, engine: ENGINE, savedAt: clock.now() });
    const budget = runs.budget instanceof ProgramBudget ? runs.budget : new ProgramBudget(limits, stored?.state.spent);
    runs.budget = budget;
    budget.addProgram(runs);
    const thread = await threads.take();
    underWay.add(key);
    try {
      return await runProgram(start, { thread, budget, host: { ...host, save } });
    } finally {
      thread.release();
      underWay.delete(key);
    }
  }

  /** Left last: a program is removed only after its result was recorded and reported. */
  function stage(): Stage {
    return {
      name: "programs",
      leave(call, result) {
        if (call.tool?.name !== "run_code") return result;
        return leaveProgram(call, result).then(() => result);
      },
    };
  }

  async function leaveProgram(call: Call, result: ToolResult): Promise<void> {
    const key = keyOf(call.caller, call.stepKey);
    // If removing fails, the program is not run again: the journal has its result.
    try {
      if (result.status === "pending") {
        await store.release(key);
        // It may have been answered while the rest was still running.
        resumeIfAnswered(key).catch(() => undefined);
      } else if (result.status === "completed" || !isPassing(result.error.code)) await store.remove(key);
      else await store.release(key);
    } catch {
      return;
    }
  }

  /** A person has answered, and the call was made or refused: resumes the program. */
  async function answered(approvalId: string): Promise<void> {
    const waiting = (await store.list()).find(({ approvals }) => approvals.includes(approvalId));
    if (waiting) await resume(waiting.key, approvalId);
  }

  /** Resumes programs whose process ended after the answer. */
  async function recover(): Promise<void> {
    for (const { key } of await store.list()) await resumeIfAnswered(key);
  }

  async function resumeIfAnswered(key: string): Promise<void> {
    const approvals = (await store.list()).find((one) => one.key === key)?.approvals ?? [];
    for (const id of approvals) if (!(await isOpen(id))) return resume(key, id);
  }

  async function resume(key: string, approvalId: string): Promise<void> {
    if (underWay.has(key)) return;
    const program = await store.claim(key);
    if (!program) return;
    // Its process ended after the call: the result was reported already.
    if (await isDone(program.call)) return store.remove(key);
    claimed.add(key);
    await continueCall(program.call, approvalId);
    // It was refused before it ran.
    if (claimed.delete(key)) await store.release(key);
  }
}

function keyOf({ session, agent, user }: Partial<Caller>, key: string): string {
  return canonicalJson([session, agent, user, key]);
}

/** Failures after which the same call may be repeated. */
function isPassing(code: string): boolean {
  return code === "shutdown" || code === "busy" || code === "not_recorded";
}

function runsElsewhere() {
  return toolError("busy", "This program is being run by another process", {
    next: "Wait for its result instead of running it again.",
  });
}

function writtenByAnother() {
  return toolError(
    "unknown_outcome",
    "The program was saved by another version of Haft, and only that version can resume it",
    {
      next: "Check which of its calls were made, then write a program for the rest.",
    },
  );
}
