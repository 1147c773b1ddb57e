import type { CallToContinue } from "../core/call.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { ProgramState } from "./run-program.ts";

/** A program that waits for a person, with the call that it belongs to. */
export interface StoredProgram {
  /** Of the call, whoever made it. */
  key: string;
  call: CallToContinue;
  state: ProgramState;
  /** Which engine wrote the state: another one cannot read it. */
  engine: string;
  savedAt: number;
}

/** Where programs wait, shared by all processes of one store. Who saves or claims one holds it until it releases it or dies. */
export interface ProgramStore {
  /** In the place of what was kept under that key. */
  save(program: StoredProgram): MaybePromise<void>;
  /** Takes a program to go on with it; nothing where there is none, or somebody who lives holds it. */
  claim(key: string): MaybePromise<StoredProgram | undefined>;
  release(key: string): MaybePromise<void>;
  /** Who waits for what. */
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
