import type { Call, CallBudget } from "../core/call.ts";
import { toolError, type ToolError } from "../core/error.ts";

export interface ProgramLimits {
  /** CPU time, without the time of its calls. Default: 5000. */
  cpuMs: number;
  /** Default: 1000. */
  maxCalls: number;
  /** Default: 64 KiB. */
  maxPrintedBytes: number;
  /** Of the virtual machine. Default: 64 MiB. */
  memoryBytes: number;
}

export const DEFAULT_PROGRAM_LIMITS: ProgramLimits = {
  cpuMs: 5000,
  maxCalls: 1000,
  maxPrintedBytes: 64 * 1024,
  memoryBytes: 64 * 1024 * 1024,
};

/** What a program and everything that it calls have used. */
export interface Spent {
  calls: number;
  cpuMs: number;
  printedBytes: number;
}

/** The limits of a program. What it calls shares them: otherwise each level would multiply them. */
export class ProgramBudget implements CallBudget {
  readonly #limits: ProgramLimits;
  readonly #spent: Spent;
  /** The calls of programs, which count the calls that they make themselves. */
  readonly #programs = new WeakSet<Call>();
  /** The size of each machine that exists. */
  readonly #machines = new Map<object, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: ProgramLimits, spent: Spent = { calls: 0, cpuMs: 0, printedBytes: 0 }) {
    this.#limits = limits;
    this.#spent = { ...spent };
  }

  get spent(): Spent {
    return { ...this.#spent };
  }

  get maxCalls(): number {
    return this.#limits.maxCalls;
  }

  get cpuMsLeft(): number {
    return this.#limits.cpuMs - this.#spent.cpuMs;
  }

  get printedBytesLeft(): number {
    return this.#limits.maxPrintedBytes - this.#spent.printedBytes;
  }

  /** `call` runs a program. */
  addProgram(call: Call): void {
    this.#programs.add(call);
  }

  take(parent: Call): ToolError | undefined {
    return this.#programs.has(parent) ? undefined : this.takeCall();
  }

  takeCall(): ToolError | undefined {
    const { maxCalls } = this.#limits;
    if (++this.#spent.calls <= maxCalls) return undefined;
    return toolError("failed", `A program and everything that it calls may make at most ${maxCalls} calls.`);
  }

  takePrinted(bytes: number): void {
    this.#spent.printedBytes += bytes;
  }

  /** One machine computes at a time, so together they use no more than the time and memory of one. */
  compute<T extends { cpuMs: number; memoryBytes: number }>(
    machine: object,
    work: (left: { cpuMs: number; memoryBytes: number; printBytes: number }) => Promise<T>,
  ): Promise<T> {
    const turn = this.#last.then(async () => {
      let others = 0;
      for (const [other, bytes] of this.#machines) if (other !== machine) others += bytes;
      const answer = await work({
        cpuMs: Math.max(1, this.cpuMsLeft),
        memoryBytes: Math.max(1, this.#limits.memoryBytes - others),
        printBytes: Math.max(0, this.printedBytesLeft),
      });
      this.#spent.cpuMs += answer.cpuMs;
      this.#machines.set(machine, answer.memoryBytes);
      return answer;
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** The machine no longer exists. */
  release(machine: object): void {
    this.#machines.delete(machine);
  }
}
