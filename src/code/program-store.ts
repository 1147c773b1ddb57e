import type { CallData } from "../core/call.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { ProgramState } from "./run-program.ts";

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
