// The design before the `calls` table: an approval (pending, approved, used, …) and a journal entry (running, done) in two
// tables, and two grace times that decide who continues an approved call. Its model shows that the checks of this folder find
// the faults that users met.
import type { Model, Step } from "./explore.ts";

export interface EarlierConfiguration {
  /** `holds`: an MCP server that keeps the request open. `waits`: a library caller that treats silence as a denial. */
  asker: "holds" | "waits";
  answerers?: 1 | 2;
  /** The answering process has another PATH, which was part of what an approval was bound to. */
  hasOtherPath?: boolean;
  /** Somebody calls the executor's second pass with a verdict of their own. */
  hasForgedVerdict?: boolean;
  kills?: number;
}

interface Process {
  /**
   * What it does next. `wait`: for the answer · `grace`: let others go first · `look`, `approve`, `deny`: answer · `journal`:
   * look for a result · `permit`: look for the approval · `take`: use it up · `begin`: write to the journal · `run`, `end`.
   */
  at:
    | "ask"
    | "wait"
    | "grace"
    | "look"
    | "approve"
    | "deny"
    | "journal"
    | "permit"
    | "take"
    | "begin"
    | "run"
    | "end"
    | "done"
    | "dead";
  report: string;
}

export interface EarlierState {
  approval: "none" | "pending" | "approved" | "denied" | "expired" | "void" | "used";
  wasApproved: boolean;
  isAskedAnew: boolean;
  journal: "none" | "running" | "done";
  /** The process that took the approval or began the call. */
  runner: number;
  processes: Process[];
  effects: number;
  killsLeft: number;
  violation: string;
}

type Changes = Partial<EarlierState>;
type AddStep = (label: string, changes: Changes, isFault?: boolean) => void;

const ASKER = 0;
const NOT_YET_RUN = "has not run, a person was asked";
const MADE_ELSEWHERE = "the same call is being made by another process";
const USED = "the approval was used: the call was made";

export class EarlierDesign implements Model<EarlierState> {
  readonly start: EarlierState;
  readonly #configuration: EarlierConfiguration;

  constructor(configuration: EarlierConfiguration) {
    this.#configuration = configuration;
    const answerers = Array.from({ length: configuration.answerers ?? 1 }, (): Process => ({ at: "look", report: "" }));
    this.start = {
      approval: "none",
      wasApproved: false,
      isAskedAnew: false,
      journal: "none",
      runner: -1,
      processes: [{ at: "ask", report: "" }, ...answerers],
      effects: 0,
      killsLeft: configuration.kills ?? 0,
      violation: "",
    };
  }

  steps(state: EarlierState): Step<EarlierState>[] {
    const steps: Step<EarlierState>[] = [];
    const add: AddStep = (label, changes, isFault = false) => {
      steps.push({ label, to: { ...state, ...changes }, isFault });
    };
    if (this.#configuration.hasForgedVerdict && state.effects === 0) {
      const violation = state.wasApproved ? "" : "runs unapproved: the second pass believes a verdict that it is given";
      add("somebody calls the second pass", { effects: 1, violation }, true);
    }
    for (const [me, { at }] of state.processes.entries()) {
      const name = nameOf(me);
      if (state.killsLeft > 0 && at !== "done" && at !== "dead")
        add(`${name} is killed before "${at}"`, { ...move(state, me, "dead"), killsLeft: state.killsLeft - 1 }, true);
      this.#addSteps(state, me, (label, changes) => add(`${name}: ${label}`, changes));
    }
    return steps;
  }

  violationIn({ violation }: EarlierState): string | undefined {
    return violation === "" ? undefined : violation;
  }

  violationAtEnd({ processes, journal, approval, effects, isAskedAnew }: EarlierState): string | undefined {
    if (approval === "approved") return "stuck: an approval that nobody uses";
    if (approval === "used" && journal === "none") return "stuck: the approval is used up, and the call was never made";
    const failed = processes.find(({ report }) => report === MADE_ELSEWHERE || report === USED);
    if (failed && journal === "done")
      return `false report: one fails with "${failed.report}", the other has the result`;
    if (isAskedAnew && effects > 0) return "false report: a second question is open for a call that was made";
    return undefined;
  }

  describeEnd({ processes }: EarlierState): string {
    return processes.map(({ report }) => report).join(", ");
  }

  #addSteps(state: EarlierState, me: number, add: AddStep): void {
    const { approval, journal, effects } = state;
    switch (state.processes[me]?.at) {
      case "ask":
        return add("asks", { ...move(state, me, "wait"), approval: "pending" });
      case "wait":
        return this.#addWaitSteps(state, me, add);
      case "look":
        if (approval === "none") return;
        add("reads the question, and will approve", move(state, me, "approve"));
        if (approval === "pending") add("reads the question, and will deny", move(state, me, "deny"));
        return;
      case "deny":
        if (approval === "pending") return add("denies", { approval: "denied", ...report(state, me, "denied") });
        return add("denies too late", report(state, me, approval === "denied" ? "denied" : "answered otherwise"));
      case "approve":
        return this.#addApproveSteps(state, me, add);
      // Two times, of the holder and of the answerer. Each may be too short.
      case "grace":
        if (me !== ASKER && approval === "used")
          add("sees that the approval is used", report(state, me, "run elsewhere"));
        return add("has given the others time", move(state, me, "journal"));
      case "journal":
        if (journal === "none") return add("finds nothing in the journal", move(state, me, "permit"));
        return add("reads the journal", report(state, me, journalSays(state)));
      case "permit":
        return this.#addPermitSteps(state, me, add);
      case "take":
        if (approval !== "approved") return add("cannot take the approval", move(state, me, "permit"));
        return add("takes the approval", { ...move(state, me, "begin"), approval: "used", runner: me });
      case "begin":
        if (journal !== "none") return add("finds it in the journal", report(state, me, journalSays(state)));
        return add("begins in the journal", { ...move(state, me, "run"), journal: "running", runner: me });
      case "run": {
        const violation = effects > 0 ? "runs twice" : "";
        return add("THE EFFECT", { ...move(state, me, "end"), effects: effects + 1, violation });
      }
      case "end":
        return add("ends in the journal", { journal: "done", ...report(state, me, "completed") });
      case "done":
      case "dead":
      case undefined:
    }
  }

  #addWaitSteps(state: EarlierState, me: number, add: AddStep): void {
    const { approval } = state;
    const { asker } = this.#configuration;
    if (approval !== "pending")
      return add(`reads "${approval}"`, move(state, me, asker === "holds" ? "grace" : "permit"));
    if (asker === "holds") return add("waits no longer", report(state, me, NOT_YET_RUN));
    const violation = "wrong deadline: it expires long before the deadline that the question shows";
    add("waits no longer", { ...report(state, me, "expired"), approval: "expired", violation });
  }

  #addApproveSteps(state: EarlierState, me: number, add: AddStep): void {
    const { approval, journal } = state;
    const next = this.#configuration.asker === "waits" ? "grace" : "journal";
    switch (approval) {
      case "none":
      case "pending":
        return add("approves", { ...move(state, me, next), approval: "approved", wasApproved: true });
      case "approved":
        return add("gives the same answer again", move(state, me, next));
      case "used":
        return add(
          "finds it used",
          report(state, me, journal === "none" ? USED : journal === "done" ? "completed" : "run elsewhere"),
        );
      case "denied":
      case "expired":
      case "void":
        return add("approves too late", report(state, me, approval));
    }
  }

  #addPermitSteps(state: EarlierState, me: number, add: AddStep): void {
    const { approval } = state;
    const { asker, hasOtherPath } = this.#configuration;
    if (approval === "denied") return add("finds it denied", report(state, me, "denied"));
    if (approval === "approved" && hasOtherPath && me !== ASKER) {
      const violation = "not what was shown: an approval is void, although nothing that was shown changed";
      return add("hashes its own environment", {
        approval: "void",
        isAskedAnew: true,
        ...report(state, me, NOT_YET_RUN),
        violation,
      });
    }
    if (approval === "approved") return add("finds it approved", move(state, me, "take"));
    // A call that is continued, or that waited itself, knows its question. One that is made again does not.
    if (approval === "used" && (me !== ASKER || asker === "waits"))
      return add("finds it used", report(state, me, USED));
    add("finds no current question, and asks anew", { isAskedAnew: true, ...report(state, me, NOT_YET_RUN) });
  }
}

function move({ processes }: EarlierState, me: number, at: Process["at"]): { processes: Process[] } {
  return { processes: processes.with(me, { at, report: "" }) };
}

function report(state: EarlierState, me: number, text: string): Pick<EarlierState, "processes" | "violation"> {
  const { processes, effects, journal, runner } = state;
  const saysNotRun = text === NOT_YET_RUN || text === "denied" || text === "expired" || text === "void";
  const isRunnerDead = processes[runner]?.at === "dead";
  let violation = "";
  if (saysNotRun && effects > 0) violation = `false report: ${nameOf(me)} says "${text}" after the effect`;
  if (text === USED && journal === "none" && isRunnerDead)
    violation = `false report: ${nameOf(me)} says "${text}", and it never was`;
  return { processes: processes.with(me, { at: "done", report: text }), violation };
}

function journalSays({ journal, runner, processes }: EarlierState): string {
  if (journal === "done") return "completed";
  return processes[runner]?.at === "dead" ? "unknown outcome" : MADE_ELSEWHERE;
}

function nameOf(me: number): string {
  return me === ASKER ? "asker" : `answerer ${me}`;
}
