import { withDefaults } from "../core/options.ts";
import type { Call, CallData, CallIn } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import { pending, type PendingResult, type ToolResult } from "../core/result.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { CodeThreads } from "./code-thread.ts";
import { DEFAULT_PROGRAM_LIMITS, ProgramBudget, type ProgramLimits } from "./program-budget.ts";
import type { CodeHost, ProgramEnd, ProgramHost, ProgramStart, ProgramState } from "./run-program.ts";

/** What a program that waits for a person has saved. */
export interface StoredProgram {
  /** Of the row of its call, which says who runs the program. */
  id: string;
  call: CallData;
  state: ProgramState;
  /** The engine that wrote the state. Another one cannot read it. */
  engine: string;
  savedAt: number;
}

/** Waiting programs, shared by all processes of a store. Only the process that has the row of the call saves or removes one. */
export interface ProgramStore {
  /** Replaces what was saved under the id. */
  save(program: StoredProgram): MaybePromise<void>;
  get(id: string): MaybePromise<StoredProgram | undefined>;
  /** The programs and the approvals that they wait for. */
  list(): MaybePromise<readonly { id: string; approvals: readonly string[] }[]>;
  remove(id: string): MaybePromise<void>;
}

export class MemoryProgramStore implements ProgramStore {
  readonly #programs = new Map<string, StoredProgram>();

  save(program: StoredProgram): void {
    this.#programs.set(program.id, program);
  }

  get(id: string): StoredProgram | undefined {
    return this.#programs.get(id);
  }

  list(): { id: string; approvals: readonly string[] }[] {
    return [...this.#programs.values()].map(({ id, state }) => ({ id, approvals: state.approvals }));
  }

  remove(id: string): void {
    this.#programs.delete(id);
  }
}

/** Who runs a program: the process that has the row of its call. */
export interface ProgramRows {
  /** The row that this call runs for, if it has one. */
  idOf(call: Call): string | undefined;
  /** The same; the row is inserted if there is none. */
  ensure(call: Call): Promise<string>;
  /** The program of this call was saved: if this process ends now, another one continues it. */
  saved(call: Call, result: PendingResult): Promise<void>;
  stateOf(id: string): Promise<string | undefined>;
  /** Continues a suspended program in this process. If another one has it by now, returns its result. */
  continueCall(call: CallData, id: string): Promise<ToolResult>;
  /** Ends a suspended program that was refused when it should continue. */
  refuse(id: string, result: ToolResult): Promise<void>;
}

export interface CodeRunnerOptions {
  store?: ProgramStore;
  clock?: Clock;
  /** Of a program and everything that it calls. */
  limits?: Partial<ProgramLimits>;
  rows: ProgramRows;
  /** Whether the approval is pending. */
  isOpen(approvalId: string): Promise<boolean>;
}

export interface ProgramToRun {
  call: CallData;
  source: string;
  language?: "javascript" | "typescript";
  /** The call in the gate. The calls below it share its budget. */
  runs: Call;
}

/** A snapshot is an image of the virtual machine. Only the same engine can restore it. */
const ENGINE = "quickjs-wasi/3.6";
const WAITS = "The program waits for a person, and continues by itself after the answer. Do not run it again.";

export type CodeRunner = ReturnType<typeof createCodeRunner>;

/** Runs programs, and resumes those that waited for a person, also those of an earlier process. */
export function createCodeRunner(options: CodeRunnerOptions) {
  const { store = new MemoryProgramStore(), clock = systemClock, rows, isOpen } = options;
  const limits = withDefaults(DEFAULT_PROGRAM_LIMITS, options.limits);
  /** Opened by the first program. */
  let threads: CodeThreads | undefined;

  return { run, stage: stage(), answered, recover, close: () => threads?.close() };

  async function run({ call, source, language, runs }: ProgramToRun, host: CodeHost): Promise<ProgramEnd> {
    const known = rows.idOf(runs);
    const stored = known === undefined ? undefined : await store.get(known);
    if (stored && stored.engine !== ENGINE) throw writtenByAnother();
    const start: ProgramStart = stored ? { state: stored.state } : { source, language };
    const save: ProgramHost["save"] = async (state) => {
      // In this order: a row never promises a program that was not saved.
      const id = await rows.ensure(runs);
      await store.save({ id, call, state, engine: ENGINE, savedAt: clock.now() });
      await rows.saved(runs, pending(runs, { kind: "approval", id: state.approvals[0] ?? "" }, WAITS));
    };
    const budget = runs.budget instanceof ProgramBudget ? runs.budget : new ProgramBudget(limits, stored?.state.spent);
    const own: CallIn<"nested"> = runs;
    own.budget = budget;
    budget.addProgram(runs);
    const [{ CodeThreads }, { runProgram }] = await Promise.all([
      import("./code-thread.ts"),
      import("./run-program.ts"),
    ]);
    threads ??= new CodeThreads({ clock });
    const thread = await threads.take();
    try {
      return await runProgram(start, { thread, budget, host: { ...host, save } });
    } finally {
      thread.release();
    }
  }

  /** Left last: a program is removed only after its result was recorded and reported. */
  function stage(): Stage {
    return {
      name: "programs",
      compile: (tool) => (tool.name === "run_code" ? undefined : {}),
      leave(call, result) {
        if (call.tool?.name !== "run_code") return result;
        return leaveProgram(call, result).then(() => result);
      },
    };
  }

  async function leaveProgram(call: Call, result: ToolResult): Promise<void> {
    const { secondPass } = call;
    const id = rows.idOf(call) ?? (secondPass?.kind === "code" ? secondPass.id : undefined);
    if (id === undefined) return;
    // If removing fails, the program is not run again: its row has ended.
    try {
      // It may have been answered while the rest was still running.
      if (result.status === "pending") return void resumeIfAnswered(id).catch(() => undefined);
      if (result.status === "failed" && isPassing(result.error.code)) return;
      await rows.refuse(id, result);
      await store.remove(id);
    } catch {
      return;
    }
  }

  /** A person has answered, and the call was made or refused: resumes the program. */
  async function answered(approvalId: string): Promise<void> {
    const waiting = (await store.list()).filter(({ approvals }) => approvals.includes(approvalId));
    // A program inside another one: the outer one may continue the inner one, which is then over.
    for (const { id } of waiting) await resume(id);
  }

  /** Resumes programs whose process ended after the answer. */
  async function recover(): Promise<void> {
    for (const { id } of await store.list()) await resumeIfAnswered(id);
  }

  async function resumeIfAnswered(id: string): Promise<void> {
    const approvals = (await store.list()).find((one) => one.id === id)?.approvals ?? [];
    for (const approval of approvals) if (!(await isOpen(approval))) return resume(id);
  }

  async function resume(id: string): Promise<void> {
    const state = await rows.stateOf(id);
    // Its process ended after the call: the result was reported already.
    if (state === "ended" || state === undefined) return store.remove(id);
    if (state !== "suspended") return;
    const program = await store.get(id);
    if (program) await rows.continueCall(program.call, id);
  }
}

/** Failures after which the same call may be repeated. */
function isPassing(code: string): boolean {
  return code === "shutdown" || code === "busy" || code === "not_recorded";
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
