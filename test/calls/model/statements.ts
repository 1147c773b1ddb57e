// The statements that change a call's row. Each is one atomic step in the database: `UPDATE calls SET … WHERE id = … AND
// <conditions>`. It returns whether the row was changed. A test can leave out conditions, to see that the model notices.

export type Outcome = "completed" | "failed" | "denied" | "expired" | "cancelled" | "changed" | "unknown";

/** Outcomes that say: the call did not happen. */
export const NOT_RUN: readonly string[] = ["denied", "expired", "cancelled", "changed"] satisfies Outcome[];

export const NOBODY = -1;

export interface Row {
  state: "waiting" | "approved" | "running" | "ended";
  outcome: Outcome | "";
  /** Whether it occupies the key of the call: the same call id finds this row. */
  hasKey: boolean;
  /** How many questions it replaces. */
  round: number;
  /** The version of the files that the question shows. */
  shown: number;
  /** The process whose caller waits, and whether the time that it promised to wait is over. */
  holder: number;
  isHoldOver: boolean;
  isDeadlineOver: boolean;
  /** The process that runs it, or ran it last, and how often it was started. */
  owner: number;
  epoch: number;
  /** How often its process disappeared. */
  lost: number;
  isCancelRequested: boolean;
  /** It runs in the background: its holder is the process whose worker took it. */
  isJob: boolean;
  /** The epoch that wrote the result. */
  result: number;
  /** The row that replaced it, because what was shown had changed. */
  replacedBy: number;
}

/** What a statement requires, or a process does, and what a test can leave out. */
export type Condition =
  | "may claim: holder"
  | "ask: the key is free"
  | "approve: by question"
  | "approve: state"
  | "approve: deadline"
  | "deny: state"
  | "claim: by row"
  | "claim: state"
  | "claim: deadline"
  | "claim: after verification"
  | "end: owner and epoch"
  | "end: state"
  | "give back: its own start"
  | "enqueue: its own start"
  | "take: nobody has it"
  | "claim: the worker that took it"
  | "claim: no request to stop it"
  | "requeue: its own start"
  | "requeue: a start that began counts"
  | "lose taken: holder"
  | "cancel: nobody has the job"
  | "change: state"
  | "change: epoch"
  | "release: state"
  | "hold: state"
  | "cancel: state"
  | "expire: state"
  | "expire: deadline"
  | "lose: state"
  | "lose: owner"
  | "restart: state"
  | "not run: only at epoch 0"
  | "key: kept after unknown"
  | "key: kept after completed"
  | "key: kept after denied"
  | "key: released if it did not happen";

/** A call whose processes disappear more often is not started again. In the product: 5. */
const MAX_LOST = 2;
/** In the product: 5. */
const MAX_ROUNDS = 2;

const NOT_STARTED: readonly string[] = ["waiting", "approved"] satisfies Row["state"][];

export class Statements {
  readonly #leftOut: readonly Condition[];

  constructor(leftOut: readonly Condition[]) {
    this.#leftOut = leftOut;
  }

  has(condition: Condition): boolean {
    return !this.#leftOut.includes(condition);
  }

  /** Nobody else has a caller that waits. This chooses who runs the call, not whether it runs once. */
  mayClaim({ holder, isHoldOver }: Row, me: number, deemedDead: readonly boolean[]): boolean {
    if (!this.has("may claim: holder")) return true;
    return holder === NOBODY || holder === me || isHoldOver || deemedDead[holder] === true;
  }

  approve(row: Row): boolean {
    if (row.state !== "waiting" && this.has("approve: state")) return false;
    if (row.isDeadlineOver && this.has("approve: deadline")) return false;
    row.state = "approved";
    return true;
  }

  /** A denial counts until the call starts. */
  deny(row: Row): boolean {
    if (!NOT_STARTED.includes(row.state) && this.has("deny: state")) return false;
    if (row.isDeadlineOver) return false;
    this.#endWithoutRun(row, "denied");
    return true;
  }

  claim(row: Row, me: number, deemedDead: readonly boolean[]): boolean {
    if (row.state !== "approved" && this.has("claim: state")) return false;
    if (row.isDeadlineOver && this.has("claim: deadline")) return false;
    if (!row.isJob && !this.mayClaim(row, me, deemedDead)) return false;
    if (row.isJob && row.holder !== me && this.has("claim: the worker that took it")) return false;
    if (row.isJob && row.isCancelRequested && this.has("claim: no request to stop it")) return false;
    start(row, me);
    return true;
  }

  /** An approved call that this process started becomes a job. */
  enqueue(row: Row, me: number, epoch: number): boolean {
    if (!isOwnStart(row, me, epoch) && this.has("enqueue: its own start")) return false;
    row.state = "approved";
    row.outcome = "";
    row.isJob = true;
    row.owner = row.holder = NOBODY;
    row.isHoldOver = row.isDeadlineOver = false;
    row.epoch = epoch - 1;
    return true;
  }

  /** A worker takes a job. Until it claims the call, nothing has happened. */
  take(row: Row, me: number): boolean {
    if (!row.isJob || row.state !== "approved") return false;
    if (row.holder !== NOBODY && this.has("take: nobody has it")) return false;
    row.holder = me;
    return true;
  }

  /** The worker that took it ends it without a start: somebody wants it to stop. */
  refuse(row: Row, me: number): boolean {
    if (!row.isJob || row.state !== "approved" || row.holder !== me) return false;
    this.#endWithoutRun(row, "cancelled");
    return true;
  }

  /** A job that its worker started is tried again, or given to another worker. */
  requeue(row: Row, me: number, start: { epoch: number; began: boolean }): boolean {
    if (!isOwnStart(row, me, start.epoch) && this.has("requeue: its own start")) return false;
    const ownStarts = start.began && this.has("requeue: a start that began counts") ? 0 : 1;
    if (row.isCancelRequested) {
      this.#endWithoutRun(row, "cancelled", ownStarts);
      return true;
    }
    row.state = "approved";
    row.outcome = "";
    row.owner = row.holder = NOBODY;
    row.epoch = start.epoch - ownStarts;
    return true;
  }

  /** The process that took the job, and had not started it, has disappeared. */
  loseTaken(row: Row, deemedDead: readonly boolean[]): boolean {
    if (!row.isJob || row.state !== "approved" || row.holder === NOBODY) return false;
    if (deemedDead[row.holder] !== true && this.has("lose taken: holder")) return false;
    if (row.isCancelRequested || row.lost >= MAX_LOST) this.#endWithoutRun(row, "cancelled");
    else {
      row.holder = NOBODY;
      row.lost++;
    }
    return true;
  }

  /** Also replaces `unknown` by what happened, if the same start of the call reports it late. */
  end(row: Row, me: number, epoch: number, outcome: "completed" | "failed" | "cancelled"): boolean {
    const isOpen = row.state === "running" || row.outcome === "unknown";
    if (!isOpen && this.has("end: state")) return false;
    if ((row.owner !== me || row.epoch !== epoch) && this.has("end: owner and epoch")) return false;
    // This start did nothing. An earlier one may have.
    if (outcome === "cancelled") this.#endWithoutRun(row, outcome, 1);
    else this.#finish(row, outcome);
    row.result = epoch;
    return true;
  }

  /** Its owner has not begun it and ends: another process may start it. */
  giveBack(row: Row, me: number, epoch: number): boolean {
    const isOwn = row.state === "running" && row.owner === me && row.epoch === epoch;
    if (!isOwn && this.has("give back: its own start")) return false;
    row.state = "approved";
    row.outcome = "";
    row.owner = NOBODY;
    row.epoch = epoch - 1;
    row.isDeadlineOver = false;
    return true;
  }

  /** What was shown is no longer true. */
  change(row: Row, me: number, deemedDead: readonly boolean[]): boolean {
    if (!NOT_STARTED.includes(row.state) && this.has("change: state")) return false;
    if (row.state === "approved" && !this.mayClaim(row, me, deemedDead)) return false;
    this.#endWithoutRun(row, "changed");
    return true;
  }

  /** Whether `change` may insert a row with a new question, in the same transaction. Read before it. */
  canReplace({ epoch, round }: Row): boolean {
    if (epoch > 0 && this.has("change: epoch")) return false;
    return round + 1 < MAX_ROUNDS;
  }

  /** The caller does not wait any longer, and the question stays. If it was answered, the holder goes on. */
  release(row: Row, me: number): boolean {
    if (!NOT_STARTED.includes(row.state) || row.holder !== me) return false;
    if (row.state !== "waiting" && this.has("release: state")) return false;
    row.holder = NOBODY;
    row.isHoldOver = false;
    return true;
  }

  /** Another caller with the same call id waits. */
  hold(row: Row, me: number, deemedDead: readonly boolean[]): boolean {
    if (!NOT_STARTED.includes(row.state) && this.has("hold: state")) return false;
    if (row.isJob || !this.mayClaim(row, me, deemedDead)) return false;
    row.holder = me;
    row.isHoldOver = false;
    return true;
  }

  /** Of a running call it is a request to the owner. */
  cancel(row: Row): void {
    const isTaken = row.isJob && row.state === "approved" && row.holder !== NOBODY;
    if (isTaken && this.has("cancel: nobody has the job")) row.isCancelRequested = true;
    else if (NOT_STARTED.includes(row.state) || !this.has("cancel: state")) this.#endWithoutRun(row, "cancelled");
    else if (row.state === "running") row.isCancelRequested = true;
  }

  expire(row: Row): boolean {
    if (!NOT_STARTED.includes(row.state) && this.has("expire: state")) return false;
    if (!row.isDeadlineOver && this.has("expire: deadline")) return false;
    this.#endWithoutRun(row, "expired");
    return true;
  }

  /** The process that ran it has disappeared. */
  lose(row: Row, deemedDead: readonly boolean[], canRunAgain: boolean): boolean {
    if (row.state !== "running" && this.has("lose: state")) return false;
    if (deemedDead[row.owner] !== true && this.has("lose: owner")) return false;
    if (canRunAgain && row.lost < MAX_LOST && !(row.isJob && row.isCancelRequested)) {
      row.state = "approved";
      if (row.isJob) row.holder = NOBODY;
      row.lost++;
      row.isDeadlineOver = false;
    } else this.#finish(row, "unknown");
    return true;
  }

  /** Starts a repeatable call again whose outcome is unknown. */
  restart(row: Row, me: number): boolean {
    if ((row.state !== "ended" || row.outcome !== "unknown") && this.has("restart: state")) return false;
    row.outcome = "";
    start(row, me);
    return true;
  }

  /** If it was started before, nobody can say that it did not happen. */
  #endWithoutRun(row: Row, outcome: Outcome, ownStarts = 0): void {
    const mayHaveHappened = row.epoch > ownStarts && this.has("not run: only at epoch 0");
    this.#finish(row, mayHaveHappened ? "unknown" : outcome);
  }

  #finish(row: Row, outcome: Outcome): void {
    row.hasKey = this.#keepsKey(outcome);
    row.state = "ended";
    row.outcome = outcome;
    row.holder = NOBODY;
    // They have no effect any more; fewer values make fewer states.
    row.isHoldOver = row.isDeadlineOver = row.isCancelRequested = false;
  }

  /** If the call did not happen, the same id may be asked anew. A denial stays. */
  #keepsKey(outcome: Outcome): boolean {
    switch (outcome) {
      case "expired":
      case "cancelled":
      case "changed":
        return !this.has("key: released if it did not happen");
      case "unknown":
        return this.has("key: kept after unknown");
      case "completed":
      case "failed":
        return this.has("key: kept after completed");
      case "denied":
        return this.has("key: kept after denied");
    }
  }
}

function isOwnStart({ state, owner, epoch }: Row, me: number, started: number): boolean {
  return state === "running" && owner === me && epoch === started;
}

function start(row: Row, me: number): void {
  row.state = "running";
  row.owner = me;
  row.epoch++;
  row.holder = NOBODY;
  row.isHoldOver = false;
}
