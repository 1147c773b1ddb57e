import type { MaybePromise } from "../../core/stage.ts";
import type { ServerQuestion, ServerQuestionState } from "./server-question.ts";

export type ServerQuestionChanges = Partial<Omit<ServerQuestion, "id">> & { state: ServerQuestionState };

/** Where the questions of servers are kept. Several processes may share one: each method is one step for all of them. */
export interface ServerQuestionStore {
  /** Whether others than this process may write to it. */
  readonly shared: boolean;
  /** False where `mostOpen` are open already. */
  add(question: ServerQuestion, maxOpen: number): MaybePromise<boolean>;
  get(id: string): MaybePromise<ServerQuestion | undefined>;
  /** The newest so many, oldest first. An open one whose asker's process is gone is cancelled. */
  list(state: ServerQuestionState | undefined, max: number): MaybePromise<ServerQuestion[]>;
  /** Only where the state is still `from`; undefined where it is not. A key that is given as undefined is dropped. */
  change(
    id: string,
    from: ServerQuestionState,
    changes: ServerQuestionChanges,
  ): MaybePromise<ServerQuestion | undefined>;
  /** Drops what was asked before that time. */
  prune(before: number): MaybePromise<void>;
}

/** Nothing outlives this process. */
export class MemoryServerQuestionStore implements ServerQuestionStore {
  readonly shared = false;
  readonly #questions = new Map<string, ServerQuestion>();

  add(question: ServerQuestion, maxOpen: number): boolean {
    let open = 0;
    for (const { state } of this.#questions.values()) if (state === "open") open++;
    if (open >= maxOpen) return false;
    this.#questions.set(question.id, structuredClone(question));
    return true;
  }

  get(id: string): ServerQuestion | undefined {
    return structuredClone(this.#questions.get(id));
  }

  list(state: ServerQuestionState | undefined, max: number): ServerQuestion[] {
    const all = [...this.#questions.values()].filter((question) => state === undefined || question.state === state);
    return structuredClone(all.slice(-max));
  }

  change(id: string, from: ServerQuestionState, changes: ServerQuestionChanges): ServerQuestion | undefined {
    const question = this.#questions.get(id);
    if (question?.state !== from) return undefined;
    const changed = withChanges(question, changes);
    this.#questions.set(id, changed);
    return structuredClone(changed);
  }

  prune(before: number): void {
    for (const { id, askedAt } of this.#questions.values()) if (askedAt < before) this.#questions.delete(id);
  }
}

function withChanges(question: ServerQuestion, changes: ServerQuestionChanges): ServerQuestion {
  const entries = Object.entries({ ...question, ...structuredClone(changes) });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as unknown as ServerQuestion;
}
