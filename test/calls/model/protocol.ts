// The life of one call id across processes, as a model: callers that make the call, people who answer in processes of their
// own, and hosts (servers, workers) that recover calls. Each database statement is one step, and any time may pass between
// two steps. A process can be killed before any step, or be taken for dead while it lives. Timers run out at any moment.
//
// What must hold in every schedule: the call runs at most once, only after an approval, only if what the person saw is still
// true, and within its deadline; every report is true and agrees with the row; nobody waits for ever.
//
// A job is taken by a worker before it is claimed. Not modelled: the order of jobs, wake-ups (a host looks at any time), the
// audit log (written in the same transactions), suspended programs (see suspension.ts), rules that an
// approval adds, and more than one change of the files.
import type { Model, Step } from "./explore.ts";
import { type Condition, NOBODY, NOT_RUN, type Outcome, type Row, Statements } from "./statements.ts";

export interface Configuration {
  /** `ask`: a person must approve. `allow`: the caller's process runs it at once. `background`: a host runs it later. */
  permission: "ask" | "allow" | "background";
  /** A second process makes the call with the same id, at any time. */
  hasDuplicate?: boolean;
  answerers?: 1 | 2;
  /** In addition to the host that is never killed. */
  hasMortalHost?: boolean;
  isRepeatable?: boolean;
  /** Once it is approved, it runs as a job. */
  becomesJob?: boolean;
  /** Their processes do not have the tool. */
  answerersCannotRun?: boolean;
  /** The same for hosts. So an approved call may not be started before its deadline. */
  hostsCannotRun?: boolean;
  /** How often each of them happens at most. */
  faults?: Partial<Faults>;
}

interface Faults {
  kills: number;
  /** A process is taken for dead although it lives. */
  lostLeases: number;
  /** What the preview shows changes. */
  changes: number;
  cancels: number;
  /** The tool fails. */
  failures: number;
  /** A process that has started the call is told to end before it begins. */
  shutdowns: number;
  /** An attempt of a repeatable job fails after its effect, and is made again. */
  retries: number;
}

/** With what only an observer outside knows. */
interface ObservedRow extends Row {
  /** The version of the files that the approving person saw. */
  approvedFor: number;
  effects: number;
  /** Whether an attempt began and did not report an end. */
  isRetried: boolean;
}

interface Party {
  /**
   * What it does next. `start`: make the preview · `ask`: insert the row · `join`: hold the row that it found · `look`: answer
   * a question · `follow`: wait for the row · `claim` or `change`: the result of its verification · `run`: the effect ·
   * `end`: write the outcome · `idle`: a host without work · `done`: it has reported.
   */
  at: "start" | "ask" | "join" | "look" | "follow" | "claim" | "change" | "run" | "end" | "idle" | "done" | "dead";
  row: number;
  /** The version of the files that it saw last. */
  seen: number;
  /** Of its claim. */
  epoch: number;
  ending: "completed" | "failed" | "cancelled" | "";
  /** What it told its caller or the person, and the epoch whose result that is. */
  report: Outcome | "pending" | "";
  result: number;
}

export interface CallState {
  rows: ObservedRow[];
  parties: Party[];
  /** By party. */
  deemedDead: boolean[];
  /** The version of the files. */
  files: number;
  left: Faults;
  violation: string;
}

interface Member {
  name: string;
  role: "caller" | "answerer" | "host";
  isMortal: boolean;
}

type Change = (to: CallState) => unknown;
type AddStep = (label: string, change: Change, isFault?: boolean) => void;

/** The steps before which a kill makes a difference. */
const AT_WORK: readonly string[] = ["join", "follow", "claim", "change", "run", "end"] satisfies Party["at"][];

export class CallProtocol implements Model<CallState> {
  readonly start: CallState;
  readonly #configuration: Configuration;
  readonly #faults: Faults;
  readonly #members: readonly Member[];
  readonly #statements: Statements;

  constructor(configuration: Configuration, leftOut: readonly Condition[] = []) {
    this.#configuration = configuration;
    this.#faults = {
      kills: 0,
      lostLeases: 0,
      changes: 0,
      cancels: 0,
      failures: 0,
      shutdowns: 0,
      retries: 0,
      ...configuration.faults,
    };
    this.#members = membersOf(configuration);
    this.#statements = new Statements(leftOut);
    const caller = configuration.permission === "ask" ? "start" : "ask";
    const first = { caller, answerer: "look", host: "idle" } as const;
    this.start = {
      rows: [],
      parties: this.#members.map(({ role }) => partyAt(first[role])),
      deemedDead: this.#members.map(() => false),
      files: 0,
      left: this.#faults,
      violation: "",
    };
  }

  steps(state: CallState): Step<CallState>[] {
    const steps: Step<CallState>[] = [];
    const add: AddStep = (label, change, isFault = false) => {
      const to = copyOf(state);
      change(to);
      steps.push({ label, to, isFault });
    };
    this.#addTimers(state, add);
    this.#addFaults(state, add);
    for (const [me, { name }] of this.#members.entries()) {
      this.#addSteps(state, me, (label, change) => add(`${name}: ${label}`, change));
    }
    return steps;
  }

  violationIn({ violation }: CallState): string | undefined {
    return violation === "" ? undefined : violation;
  }

  violationAtEnd(state: CallState): string | undefined {
    const { rows, parties } = state;
    for (const [me, { at }] of parties.entries()) {
      const isUnasked = at === "look" && rows.length === 0;
      if (at !== "idle" && at !== "done" && at !== "dead" && !isUnasked)
        return `stuck: ${this.#nameOf(me)} waits for ever at "${at}"`;
    }
    for (const [id, row] of rows.entries()) {
      const violation = this.#violationInRow(row, state) ?? violationInReports(id, row, parties);
      if (violation !== undefined) return violation;
    }
    return undefined;
  }

  describeEnd({ rows }: CallState): string {
    return rows
      .map(({ outcome, owner }) => (outcome === "completed" ? `completed by ${this.#nameOf(owner)}` : outcome))
      .join(", ");
  }

  #violationInRow(row: ObservedRow, { deemedDead, left, files }: CallState): string | undefined {
    const { state, outcome, effects, approvedFor, isRetried } = row;
    if (state !== "ended") return `stuck: the call stays ${state} for ever`;
    if (outcome === "completed" && effects === 0) return "false report: completed without an effect";
    if (NOT_RUN.includes(outcome) && effects > 0) return `false report: ${outcome}, and it happened`;
    if (outcome === "changed" && files === 0) return "not what was shown: changed, although nothing changed";
    if (outcome === "unknown" && !deemedDead.includes(true) && !isRetried)
      return "false report: unknown, although nobody was lost";
    const { hostsCannotRun } = this.#configuration;
    const hadFault = Object.entries(this.#faults).some(([fault, count]) => left[fault as keyof Faults] < count);
    if (approvedFor === NOBODY || hadFault || hostsCannotRun || outcome === "completed" || outcome === "denied")
      return undefined;
    return `false report: approved, nothing went wrong, and it ends as ${outcome}`;
  }

  #addTimers({ rows }: CallState, add: AddStep): void {
    const { permission, hostsCannotRun } = this.#configuration;
    for (const [id, { state, holder, isHoldOver, isDeadlineOver, isJob }] of rows.entries()) {
      // A worker has a job for as long as it lives, and a job has no deadline.
      if (state === "ended" || isJob) continue;
      if (holder !== NOBODY && !isHoldOver)
        add("the time that the holder waits is over", (to) => (rowOf(to, id).isHoldOver = true));
      // In the other configurations a host starts an approved call in time.
      if (permission === "ask" && !isDeadlineOver && (state === "waiting" || hostsCannotRun))
        add("the deadline passes", (to) => (rowOf(to, id).isDeadlineOver = true));
    }
  }

  #addFaults({ rows, parties, deemedDead, left }: CallState, add: AddStep): void {
    const addFault = (kind: keyof Faults, label: string, change: Change): void => {
      if (left[kind] === 0) return;
      add(label, (to) => ((to.left = { ...left, [kind]: left[kind] - 1 }), change(to)), true);
    };
    addFault("changes", "what the preview shows changes", (to) => to.files++);
    for (const [id, { state }] of rows.entries()) {
      if (state !== "ended") addFault("cancels", "somebody cancels", (to) => this.#statements.cancel(rowOf(to, id)));
    }
    for (const [me, { name, isMortal }] of this.#members.entries()) {
      const at = parties[me]?.at ?? "done";
      if (isMortal && AT_WORK.includes(at))
        addFault("kills", `${name} is killed before "${at}"`, (to) => (to.parties[me] = partyAt("dead")));
      if (isMortal && at === "run")
        addFault("shutdowns", `${name} gives it back and ends`, (to) => {
          const { row: id, epoch } = partyOf(to, me);
          const row = rowOf(to, id);
          if (row.isJob) this.#statements.requeue(row, me, { epoch, began: false });
          else this.#statements.giveBack(row, me, epoch);
          to.parties[me] = partyAt("dead");
        });
      if (at === "end" && this.#configuration.isRepeatable && rowOf({ rows } as CallState, parties[me]?.row ?? 0).isJob)
        addFault("retries", `${name}: the attempt fails, and is made again`, (to) => {
          const { row: id, epoch } = partyOf(to, me);
          const row = rowOf(to, id);
          if (this.#statements.requeue(row, me, { epoch, began: true })) row.isRetried = true;
          this.#goBack(to, me);
        });
      if (at === "run") addFault("failures", `${name}: the tool fails`, (to) => willEnd(to, me, "failed"));
      if (deemedDead[me] || !rows.some((row) => isLeasedBy(row, me))) continue;
      const deemDead: Change = (to) => (to.deemedDead[me] = true);
      if (at === "dead") add(`${name} is found dead`, deemDead);
      else if (isMortal) addFault("lostLeases", `${name} is taken for dead, although it lives`, deemDead);
    }
  }

  #addSteps(state: CallState, me: number, add: AddStep): void {
    const { at, row, ending } = partyOf(state, me);
    switch (at) {
      case "start":
        return add("makes the preview", (to) => (to.parties[me] = { ...partyAt("ask"), seen: to.files }));
      case "ask":
        return add("asks", (to) => this.#ask(to, me));
      case "join":
        return add("joins", (to) => this.#join(to, me));
      case "look":
        return this.#addAnswers(state, me, add);
      case "follow":
        return this.#addFollowSteps(state, me, add);
      case "claim":
        return add("claims", (to) => this.#claim(to, me));
      case "change":
        return this.#addChangeSteps(state, me, add);
      case "run":
        if (this.#configuration.becomesJob && !rowOf(state, row).isJob)
          return add("queues it as a job", (to) => {
            const { epoch } = partyOf(to, me);
            this.#statements.enqueue(rowOf(to, row), me, epoch);
            this.#goBack(to, me);
          });
        add("THE EFFECT", (to) => this.#run(to, me));
        if (rowOf(state, row).isCancelRequested) add("stops before the effect", (to) => willEnd(to, me, "cancelled"));
        return;
      case "end":
        return add(`ends it as ${ending}`, (to) => this.#end(to, me));
      case "idle":
        return this.#addHostSteps(state, me, add);
      case "done":
      case "dead":
    }
  }

  /** Reading a question and answering it are one step: the question of a row never changes, and the statement checks the rest. */
  #addAnswers({ rows }: CallState, me: number, add: AddStep): void {
    for (const [id, { shown }] of rows.entries()) {
      add(`approves question ${id + 1}`, (to) => {
        to.parties[me] = partyAt("follow", id);
        const row = to.rows[this.#statements.has("approve: by question") ? id : keyOwner(to)];
        if (!row || !this.#statements.approve(row)) return;
        row.approvedFor = shown;
        if (row.isDeadlineOver) to.violation = "wrong deadline: an approval counts after the deadline that was shown";
      });
      add(`denies question ${id + 1}`, (to) => {
        to.parties[me] = partyAt("follow", id);
        this.#statements.deny(rowOf(to, id));
      });
    }
  }

  #addFollowSteps(state: CallState, me: number, add: AddStep): void {
    const { row: id } = partyOf(state, me);
    const row = rowOf(state, id);
    if (row.state === "ended") {
      add(`reads "${row.outcome}"`, (to) => this.#report(to, me));
      if (row.replacedBy !== NOBODY && this.#roleOf(me) === "caller")
        add("goes on with the new question", (to) => joinReplacement(to, me, row.replacedBy));
      return;
    }
    if (!row.isJob) this.#addVerification(state, me, id, add);
    if (row.holder !== me) return add("waits no longer", (to) => this.#report(to, me));
    if (row.isHoldOver && this.#statements.release({ ...row }, me))
      add("releases the question", (to) => (this.#statements.release(rowOf(to, id), me), this.#report(to, me)));
  }

  #addHostSteps(state: CallState, me: number, add: AddStep): void {
    const { isRepeatable = false, permission } = this.#configuration;
    const canRunAgain = isRepeatable && permission !== "allow";
    for (const [id, row] of state.rows.entries()) {
      if (row.owner !== me && this.#statements.lose({ ...row }, state.deemedDead, canRunAgain)) {
        const lose: Change = (to) => this.#statements.lose(rowOf(to, id), to.deemedDead, canRunAgain);
        add("recovers the call of a lost process", lose);
      }
      if (this.#statements.expire({ ...row }))
        add("expires it", (to) => {
          this.#statements.expire(rowOf(to, id));
          if (!row.isDeadlineOver) to.violation = "wrong deadline: it expires before the deadline that was shown";
        });
      if (row.isJob) this.#addJobSteps(state, me, id, add);
      else this.#addVerification(state, me, id, add);
    }
  }

  #addJobSteps({ rows, deemedDead }: CallState, me: number, id: number, add: AddStep): void {
    const row = rowOf({ rows } as CallState, id);
    if (row.holder !== me && this.#statements.loseTaken({ ...row }, deemedDead))
      add("gives the job of a lost worker to others", (to) => this.#statements.loseTaken(rowOf(to, id), to.deemedDead));
    if (!this.#canRun(me) || !this.#statements.take({ ...row }, me)) return;
    add("takes the job", (to) => {
      this.#statements.take(rowOf(to, id), me);
      to.parties[me] = partyAt("claim", id);
    });
  }

  /** Before a claim: is what the person saw still true? A holder may also notice a change while the question waits. */
  #addVerification(state: CallState, me: number, id: number, add: AddStep): void {
    const { files, deemedDead } = state;
    const row = rowOf(state, id);
    const isUnchanged = row.shown === files || this.#configuration.permission !== "ask";
    const isDue = row.state === "approved" || (row.state === "waiting" && row.holder === me && !isUnchanged);
    if (!isDue || row.isDeadlineOver || !this.#canRun(me)) return;
    if (!this.#statements.mayClaim(row, me, deemedDead)) return;
    const next = isUnchanged || !this.#statements.has("claim: after verification") ? "claim" : "change";
    add(`verifies it: ${next}`, (to) => (to.parties[me] = { ...partyAt(next, id), seen: files }));
  }

  /** A caller asks anew. A process without a caller may do so, too. */
  #addChangeSteps(state: CallState, me: number, add: AddStep): void {
    const canReplace = this.#statements.canReplace(rowOf(state, partyOf(state, me).row));
    if (canReplace) add("asks anew, because what was shown has changed", (to) => this.#change(to, me, true));
    if (!canReplace || this.#roleOf(me) !== "caller")
      add("ends it, because what was shown has changed", (to) => this.#change(to, me, false));
  }

  /** INSERT … ON CONFLICT (key) DO NOTHING. A caller that finds the key joins that call. */
  #ask(to: CallState, me: number): void {
    const known = keyOwner(to);
    if (known === NOBODY || !this.#statements.has("ask: the key is free"))
      this.#insert(to, me, partyOf(to, me).seen, 0);
    else to.parties[me] = { ...partyOf(to, me), at: "join", row: known };
  }

  #insert(to: CallState, me: number, shown: number, round: number): void {
    const { permission } = this.#configuration;
    if (permission === "ask") checkQuestion(to);
    const isRunning = permission === "allow";
    const isCaller = this.#roleOf(me) === "caller";
    const id = to.rows.push({
      state: ({ ask: "waiting", allow: "running", background: "approved" } as const)[permission],
      outcome: "",
      hasKey: true,
      round,
      shown,
      holder: permission === "ask" && isCaller ? me : NOBODY,
      isHoldOver: false,
      isDeadlineOver: false,
      owner: isRunning ? me : NOBODY,
      epoch: isRunning ? 1 : 0,
      lost: 0,
      isCancelRequested: false,
      isJob: permission === "background",
      result: 0,
      replacedBy: NOBODY,
      approvedFor: NOBODY,
      effects: 0,
      isRetried: false,
    });
    if (isRunning) to.parties[me] = { ...partyAt("run", id - 1), epoch: 1 };
    else if (isCaller) to.parties[me] = partyAt("follow", id - 1);
  }

  /** A caller whose own preview differs from the question asks anew. */
  #join(to: CallState, me: number): void {
    const { permission, isRepeatable } = this.#configuration;
    const { row: id, seen } = partyOf(to, me);
    const row = rowOf(to, id);
    to.parties[me] = partyAt("follow", id);
    if (permission === "ask") {
      if (row.state !== "ended" && row.state !== "running" && row.shown !== seen)
        to.parties[me] = { ...partyAt("change", id), seen };
      else this.#statements.hold(row, me, to.deemedDead);
    }
    if (permission === "allow" && isRepeatable && this.#statements.restart(row, me))
      to.parties[me] = { ...partyAt("run", id), epoch: row.epoch };
  }

  #claim(to: CallState, me: number): void {
    const { seen, row: verified } = partyOf(to, me);
    const id = this.#statements.has("claim: by row") ? verified : keyOwner(to);
    const row = to.rows[id];
    if (!row || !this.#statements.claim(row, me, to.deemedDead)) {
      // Somebody wants it to stop.
      if (row?.isCancelRequested) this.#statements.refuse(row, me);
      return this.#goBack(to, me);
    }
    to.parties[me] = { ...partyAt("run", id), seen, epoch: row.epoch };
    if (row.isDeadlineOver) to.violation = "wrong deadline: it starts after its deadline";
  }

  /** The old row ends. A new row with a new question is inserted in the same transaction. */
  #change(to: CallState, me: number, isReplaced: boolean): void {
    const { seen, row: id } = partyOf(to, me);
    const row = rowOf(to, id);
    const { round } = row;
    this.#goBack(to, me);
    if (!this.#statements.change(row, me, to.deemedDead) || !isReplaced) return;
    row.replacedBy = to.rows.length;
    this.#insert(to, me, seen, round + 1);
  }

  #run(to: CallState, me: number): void {
    const { isRepeatable, permission } = this.#configuration;
    const { row: id, seen } = partyOf(to, me);
    const row = rowOf(to, id);
    row.effects++;
    willEnd(to, me, "completed");
    const wrong = to.parties.find((party) => party.row === id && NOT_RUN.includes(party.report));
    if (wrong) to.violation = `false report: one party reported "${wrong.report}", and it happens afterwards`;
    if (permission === "ask" && !row.isJob && seen !== row.approvedFor)
      to.violation = "not what was shown: it runs on an approval of something else";
    if (permission === "ask" && row.approvedFor === NOBODY) to.violation = "runs unapproved";
    const effects = to.rows.reduce((sum, { effects }) => sum + effects, 0);
    if (effects > 1 && !isRepeatable) to.violation = "runs twice";
  }

  #end(to: CallState, me: number): void {
    const { row, epoch, ending } = partyOf(to, me);
    if (ending !== "" && this.#statements.end(rowOf(to, row), me, epoch, ending)) this.#report(to, me);
    else this.#goBack(to, me);
  }

  /** Reads the row and tells the caller or the person. */
  #report(to: CallState, me: number): void {
    const { row: id } = partyOf(to, me);
    const { outcome, effects, result, isRetried } = rowOf(to, id);
    if (outcome === "unknown" && !to.deemedDead.includes(true) && !isRetried)
      to.violation = "false report: unknown, although nobody was lost";
    if (this.#roleOf(me) === "host") to.parties[me] = partyAt("idle");
    else if (outcome === "") to.parties[me] = { ...partyAt("done"), report: "pending" };
    else {
      to.parties[me] = { ...partyAt("done", id), report: outcome, result: outcome === "completed" ? result : 0 };
      if (outcome === "completed" && effects === 0) to.violation = "false report: completed, and nothing has happened";
      if (NOT_RUN.includes(outcome) && effects > 0) to.violation = `false report: ${outcome}, and it has happened`;
    }
  }

  #goBack(to: CallState, me: number): void {
    to.parties[me] = this.#roleOf(me) === "host" ? partyAt("idle") : partyAt("follow", partyOf(to, me).row);
  }

  #canRun(me: number): boolean {
    const { permission, answerersCannotRun = false, hostsCannotRun = false } = this.#configuration;
    const role = this.#roleOf(me);
    if (role === "caller") return permission === "ask";
    return role === "host" ? !hostsCannotRun : !answerersCannotRun;
  }

  #nameOf(me: number): string {
    return this.#members[me]?.name ?? "nobody";
  }

  #roleOf(me: number): Member["role"] | undefined {
    return this.#members[me]?.role;
  }
}

function membersOf({ permission, hasDuplicate, answerers = 1, hasMortalHost }: Configuration): Member[] {
  const members: Member[] = [{ name: "asker", role: "caller", isMortal: true }];
  if (hasDuplicate) members.push({ name: "duplicate", role: "caller", isMortal: true });
  for (let n = 1; permission === "ask" && n <= answerers; n++)
    members.push({ name: `answerer ${n}`, role: "answerer", isMortal: true });
  if (hasMortalHost) members.push({ name: "mortal host", role: "host", isMortal: true });
  return [...members, { name: "host", role: "host", isMortal: false }];
}

/** A report is final, except `unknown`: the process that ran the call may still write what happened. */
function violationInReports(id: number, row: Row, parties: readonly Party[]): string | undefined {
  for (const { report, row: of, result } of parties) {
    if (of !== id || report === "" || report === "unknown") continue;
    if (report !== row.outcome) return `false report: one party reported "${report}", the row says "${row.outcome}"`;
    if (report === "completed" && result !== row.result) return "false report: two parties report different results";
  }
  return undefined;
}

/** May a person be asked about this call id? */
function checkQuestion(to: CallState): void {
  if (to.rows.some(({ effects, outcome }) => effects > 0 || outcome === "unknown"))
    to.violation = "false report: a person is asked about a call that has or may have happened";
  if (to.rows.some(({ outcome }) => outcome === "denied"))
    to.violation = "false report: a person is asked again after a denial";
}

function partyAt(at: Party["at"], row = NOBODY): Party {
  return { at, row, seen: 0, epoch: 0, ending: "", report: "", result: 0 };
}

function willEnd(to: CallState, me: number, ending: Party["ending"]): void {
  const { row, epoch } = partyOf(to, me);
  to.parties[me] = { ...partyAt("end", row), epoch, ending };
}

function joinReplacement(to: CallState, me: number, id: number): void {
  to.parties[me] = { ...partyAt("join", id), seen: rowOf(to, id).shown };
}

function isLeasedBy({ state, holder, owner }: Row, me: number): boolean {
  return state === "running" ? owner === me : holder === me;
}

/** The row that the call id finds. */
function keyOwner({ rows }: CallState): number {
  return rows.findIndex(({ hasKey }) => hasKey);
}

function rowOf({ rows }: CallState, id: number): ObservedRow {
  const row = rows[id];
  if (!row) throw new RangeError(`There is no row ${id}.`);
  return row;
}

function partyOf({ parties }: CallState, me: number): Party {
  const party = parties[me];
  if (!party) throw new RangeError(`There is no party ${me}.`);
  return party;
}

/** Steps change rows in place, and replace parties and `left`. */
function copyOf(state: CallState): CallState {
  const { rows, parties, deemedDead } = state;
  return { ...state, rows: rows.map((row) => ({ ...row })), parties: [...parties], deemedDead: [...deemedDead] };
}
