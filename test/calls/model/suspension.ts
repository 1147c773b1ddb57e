// A program (`run_code`) that makes two calls and is suspended while they wait for a person. Two processes, either of which may
// be killed and started again. Can the program stay suspended for ever, or run in both processes at once?
import type { Model, Step } from "./explore.ts";

type Position = "idle" | "reads" | "decides" | "saves" | "suspends";

export interface ProgramState {
  row: "running" | "suspended" | "ended" | "unknown";
  owner: number;
  epoch: number;
  /** The program was saved: another process can continue it. The calls that it waited for then. */
  saved: boolean;
  waitsFor: boolean[];
  /** The calls that have ended. */
  hasEnded: boolean[];
  processes: ProcessState[];
  killsLeft: number;
}

interface ProcessState {
  isAlive: boolean;
  at: Position;
  /** The start that it runs. */
  epoch: number;
  hasRead: boolean[];
}

/** Conditions that a mutant leaves out. */
export type SuspensionCondition =
  /** `resume` applies to a suspended row only. */
  | "resume only if suspended"
  /** Hosts look at suspended programs again and again, not only at the moment when a call ends. */
  | "hosts look again"
  /** A saved program whose process has died is suspended, not over. */
  | "a lost program is suspended"
  /** The program is saved before its row says so. */
  | "save before suspend";

const NOBODY = -1;
const IDLE: ProcessState = { isAlive: true, at: "idle", epoch: 0, hasRead: [false, false] };

export class SuspendedProgram implements Model<ProgramState> {
  readonly start: ProgramState = {
    row: "running",
    owner: 0,
    epoch: 1,
    saved: false,
    waitsFor: [false, false],
    hasEnded: [false, false],
    processes: [{ ...IDLE, at: "reads", epoch: 1 }, IDLE],
    killsLeft: 2,
  };
  readonly #without: SuspensionCondition | undefined;

  constructor(without?: SuspensionCondition) {
    this.#without = without;
  }

  steps(state: ProgramState): Step<ProgramState>[] {
    const steps: Step<ProgramState>[] = [];
    const add = (label: string, to: ProgramState, isFault = false): void => void steps.push({ label, to, isFault });
    for (const [call, isOver] of state.hasEnded.entries()) {
      if (isOver) continue;
      const ended = { ...state, hasEnded: state.hasEnded.with(call, true) };
      add(`call ${call + 1} ends`, this.#has("hosts look again") ? ended : this.#look(ended, 1));
    }
    for (const [index, process] of state.processes.entries()) {
      if (!process.isAlive) {
        add(`process ${index} starts again`, this.#with(state, index, IDLE));
        continue;
      }
      this.#addHost(state, index, add);
      this.#addRun(state, index, add);
      if (state.killsLeft > 0) {
        const dead = { ...IDLE, isAlive: false };
        add(`process ${index} is killed`, { ...this.#with(state, index, dead), killsLeft: state.killsLeft - 1 }, true);
      }
    }
    return steps;
  }

  violationIn({ processes, row, epoch }: ProgramState): string | undefined {
    const running = processes.filter(({ at, epoch: own }) => at !== "idle" && own === epoch);
    const all = processes.filter(({ at }) => at !== "idle");
    if (running.length > 1 || (row === "running" && all.length > 1)) return "twice: two processes run the program";
    return undefined;
  }

  violationAtEnd({ row, saved }: ProgramState): string | undefined {
    if (row === "ended") return undefined;
    if (row === "unknown") return saved ? "lost: the program was saved, and nobody continued it" : undefined;
    return `stuck: the program stays ${row} for ever`;
  }

  describeEnd({ row }: ProgramState): string {
    return row;
  }

  /** What any live process does for rows that nobody takes care of. */
  #addHost(state: ProgramState, index: number, add: (label: string, to: ProgramState) => void): void {
    if (state.processes[index]?.at !== "idle") return;
    const { row, owner, saved } = state;
    const isLost = row === "running" && (owner === NOBODY || !this.#runs(state, owner));
    if (isLost) {
      const continues = saved && this.#has("a lost program is suspended");
      add(`process ${index} finds the program lost`, {
        ...state,
        row: continues ? "suspended" : "unknown",
        owner: NOBODY,
      });
    }
    if (!this.#has("hosts look again")) return;
    const looked = this.#look(state, index);
    if (looked !== state) add(`process ${index} resumes the program`, looked);
  }

  /** Resumes the program here if a call that it waits for has ended. */
  #look(state: ProgramState, index: number): ProgramState {
    const { row, waitsFor, hasEnded, epoch, saved } = state;
    const process = state.processes[index];
    const isAnswered = waitsFor.some((waits, call) => waits && hasEnded[call]);
    const mayResume = row === "suspended" || (row === "running" && !this.#has("resume only if suspended"));
    if (!process?.isAlive || process.at !== "idle" || !isAnswered || !mayResume || !saved) return state;
    const started = { ...process, at: "reads" as const, epoch: epoch + 1 };
    return { ...this.#with(state, index, started), row: "running", owner: index, epoch: epoch + 1 };
  }

  #addRun(state: ProgramState, index: number, add: (label: string, to: ProgramState) => void): void {
    const process = state.processes[index];
    if (!process || process.at === "idle") return;
    const { epoch, hasRead } = process;
    const mine = state.owner === index && state.epoch === epoch && state.row === "running";
    const go = (changes: Partial<ProcessState>): ProgramState => this.#with(state, index, { ...process, ...changes });
    const waitsFor = hasRead.map((isRead) => !isRead);
    switch (process.at) {
      case "reads":
        return add("the program reads its calls", go({ at: "decides", hasRead: state.hasEnded }));
      case "decides":
        if (hasRead.every(Boolean))
          return add("the program ends", { ...go({ at: "idle" }), row: mine ? "ended" : state.row });
        return add("the program must wait", go({ at: this.#has("save before suspend") ? "saves" : "suspends" }));
      case "saves":
        return add("the program is saved", { ...go({ at: "suspends" }), saved: true, waitsFor });
      case "suspends":
        return add("the program suspends", { ...go({ at: "idle" }), row: mine ? "suspended" : state.row });
    }
  }

  #runs({ processes, epoch }: ProgramState, index: number): boolean {
    const process = processes[index];
    return !!process?.isAlive && process.at !== "idle" && process.epoch === epoch;
  }

  #with(state: ProgramState, index: number, process: ProcessState): ProgramState {
    return { ...state, processes: state.processes.with(index, process) };
  }

  #has(condition: SuspensionCondition): boolean {
    return this.#without !== condition;
  }
}
