import type { CallToContinue } from "../core/call.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { ProgramState } from "./run-program.ts";

/** A program that waits for a person, with its call. */
export interface StoredProgram {
  /** Key of the call and its caller. */
  key: string;
  call: CallToContinue;
  state: ProgramState;
  /** The engine that wrote the state. Another one cannot read it. */
  engine: string;
  savedAt: number;
}

/**
 * Waiting programs, shared by all processes of a store. The process that saves or claims one holds it until it releases it
 * or dies.
 */
export interface ProgramStore {
  /** Replaces what was saved under the key. */
  save(program: StoredProgram): MaybePromise<void>;
  /** Takes a program to resume it. Undefined if there is none, or if a live process holds it. */
  claim(key: string): MaybePromise<StoredProgram | undefined>;
  /** Takes it, whoever holds it. For a process that runs the call of the program, which only one does at a time. */
  takeOver(key: string): MaybePromise<StoredProgram | undefined>;
  release(key: string): MaybePromise<void>;
  /** The keys of the programs and the approvals that they wait for. */
  list(): MaybePromise<readonly { key: string; approvals: readonly string[] }[]>;
  remove(key: string): MaybePromise<void>;
}

export class MemoryProgramStore implements ProgramStore {
  readonly #programs = new Map<string, { program: StoredProgram; isHeld: boolean }>();

  save(program: StoredProgram): void {
    this.#programs.set(program.key, { program, isHeld: true });
  }

  claim(key: string): StoredProgram | undefined {
    const one = this.#programs.get(key);
    if (!one || one.isHeld) return undefined;
    one.isHeld = true;
    return one.program;
  }

  takeOver(key: string): StoredProgram | undefined {
    this.release(key);
    return this.claim(key);
  }

  release(key: string): void {
    const one = this.#programs.get(key);
    if (one) one.isHeld = false;
  }

  list(): { key: string; approvals: readonly string[] }[] {
    return [...this.#programs.values()].map(({ program: { key, state } }) => ({ key, approvals: state.approvals }));
  }

  remove(key: string): void {
    this.#programs.delete(key);
  }
}
