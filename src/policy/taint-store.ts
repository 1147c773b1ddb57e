import type { MaybePromise } from "../core/stage.ts";

/** What a result may bring into a session. The third label, an effect on the outside, is what a call does. */
export type ResultLabel = "untrusted_input" | "sensitive_data";

/** Which call brought it. */
export interface TaintMark {
  label: ResultLabel;
  callId: string;
  toolName: string;
  at: number;
}

/** What sessions have seen. Never forgotten by itself: a session that has seen something has seen it. */
export interface TaintStore {
  /** Oldest first. */
  marks(session: string): MaybePromise<readonly TaintMark[]>;
  /** Of each label the first `most` stay; one label of one call is kept once. */
  add(session: string, marks: readonly TaintMark[], max: number): MaybePromise<void>;
  /** The session is gone. */
  forget(session: string): MaybePromise<void>;
}

export class MemoryTaintStore implements TaintStore {
  readonly #sessions = new Map<string, TaintMark[]>();

  marks(session: string): readonly TaintMark[] {
    return [...(this.#sessions.get(session) ?? [])];
  }

  add(session: string, marks: readonly TaintMark[], max: number): void {
    const kept = this.#sessions.get(session) ?? [];
    for (const mark of marks) {
      const ofLabel = kept.filter(({ label }) => label === mark.label);
      if (ofLabel.length < max && !ofLabel.some(({ callId }) => callId === mark.callId)) kept.push({ ...mark });
    }
    this.#sessions.set(session, kept);
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }
}
