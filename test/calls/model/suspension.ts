// A program that makes two calls, and is suspended while both wait for a person. The end of a call wakes it. A model of the
// question whether a wake-up can be lost between "I have read that nothing has ended" and "I am suspended".
import type { Model, Step } from "./explore.ts";

export interface ProgramState {
  program: "running" | "suspended" | "approved" | "ended";
  /** Its process lives. */
  isAlive: boolean;
  at: "read" | "decide";
  /** How many calls have woken it, and how many had when it read them. */
  wakes: number;
  seenWakes: number;
  hasEnded: boolean[];
  /** The calls whose end it has read. */
  hasRead: boolean[];
  killsLeft: number;
}

export class SuspendedProgram implements Model<ProgramState> {
  readonly start: ProgramState = {
    program: "running",
    isAlive: true,
    at: "read",
    wakes: 0,
    seenWakes: 0,
    hasEnded: [false, false],
    hasRead: [false, false],
    killsLeft: 2,
  };
  readonly #countsWakes: boolean;

  /** `countsWakes`: whether `suspend` requires that nothing woke the program since it read its calls. */
  constructor(countsWakes: boolean) {
    this.#countsWakes = countsWakes;
  }

  steps(state: ProgramState): Step<ProgramState>[] {
    const { program, isAlive, at, wakes, seenWakes, hasEnded, hasRead, killsLeft } = state;
    const steps: Step<ProgramState>[] = [];
    const add = (label: string, changes: Partial<ProgramState>, isFault = false): void => {
      steps.push({ label, to: { ...state, ...changes }, isFault });
    };
    // One transaction: end the call, count the wake-up, and let a suspended program continue.
    for (const [call, isOver] of hasEnded.entries()) {
      const woken = program === "suspended" ? "approved" : program;
      if (!isOver)
        add(`call ${call + 1} ends`, { hasEnded: hasEnded.with(call, true), wakes: wakes + 1, program: woken });
    }
    if (program === "approved") add("the program is claimed", { program: "running", at: "read" });
    if (program !== "running") return steps;
    if (!isAlive) {
      // It was saved before its first question, so it runs again from there and finds its calls by their ids.
      add("a host gives the program back", { program: "approved", isAlive: true, hasRead: [false, false] });
      return steps;
    }
    if (killsLeft > 0) add("the process of the program is killed", { isAlive: false, killsLeft: killsLeft - 1 }, true);
    const wasWoken = this.#countsWakes && wakes !== seenWakes;
    if (at === "read") add("the program reads its calls", { at: "decide", seenWakes: wakes, hasRead: hasEnded });
    else if (hasRead.every(Boolean)) add("the program ends", { program: "ended" });
    else add("the program suspends", { program: wasWoken ? "approved" : "suspended" });
    return steps;
  }

  violationIn(): undefined {
    return undefined;
  }

  violationAtEnd({ program }: ProgramState): string | undefined {
    return program === "ended" ? undefined : `stuck: the program stays ${program} for ever`;
  }

  describeEnd({ program }: ProgramState): string {
    return program;
  }
}
