import type { MaybePromise } from "../core/stage.ts";
import type {
  AddedApproval,
  Approval,
  ApprovalChanges,
  ApprovalState,
  ApprovalStore,
  OpenLimits,
} from "../calls/approval.ts";
import { after, type StoreModule } from "./table.ts";
import { failPoint } from "./fail-point.ts";
import type { Migrations } from "./migrations.ts";
import type { SqlDatabase, SqlRunner } from "./database.ts";

const APPROVALS_MIGRATIONS: Migrations = {
  name: "approvals",
  versions: [
    [
      `CREATE TABLE approvals (
        id TEXT NOT NULL PRIMARY KEY,
        call_key TEXT NOT NULL,
        state TEXT NOT NULL,
        session TEXT NOT NULL,
        asked_at BIGINT NOT NULL,
        record TEXT NOT NULL
      )`,
      // One question of a call counts at a time, whoever asks it.
      `CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('open', 'approved', 'declined')`,
      `CREATE INDEX approvals_by_state ON approvals (state, asked_at)`,
    ],
    // The states were called open and declined. The column decides: a record may still have the old word.
    [
      "DROP INDEX approvals_current",
      "UPDATE approvals SET state = 'pending' WHERE state = 'open'",
      "UPDATE approvals SET state = 'denied' WHERE state = 'declined'",
      `CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('pending', 'approved', 'denied')`,
    ],
  ],
};

export const approvalsModule: StoreModule<ApprovalStore> = {
  migrations: APPROVALS_MIGRATIONS,
  open: ({ database }) => new SqlApprovals(database),
};

interface Row {
  state: ApprovalState;
  record: string;
}

/** Questions and answers in a database that several processes may share. */
class SqlApprovals implements ApprovalStore {
  readonly shared = true;
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  add(approval: Approval, limits: OpenLimits): MaybePromise<AddedApproval> {
    const added = this.#db.transaction<AddedApproval>((tx) =>
      after(tx.lock("approvals"), () =>
        after(readCurrent(tx, approval.callKey), (known) => {
          if (known) return { outcome: "known", approval: known };
          return after(countOpen(tx, approval), ({ open, session }) => {
            if (open >= limits.maxOpen) return { outcome: "full", open };
            if (session >= limits.maxOpenOfSession) return { outcome: "full", open: session };
            return after(insert(tx, approval), () => ({ outcome: "added", approval }));
          });
        }),
      ),
    );
    return after(added, (outcome) => {
      if (outcome.outcome === "added") failPoint("asked");
      return outcome;
    });
  }

  get(id: string): MaybePromise<Approval | undefined> {
    return after(this.#db.all<Row>("SELECT state, record FROM approvals WHERE id = ?", [id]), first);
  }

  current(callKey: string): MaybePromise<Approval | undefined> {
    return readCurrent(this.#db, callKey);
  }

  list(state?: ApprovalState, max: number = Number.MAX_SAFE_INTEGER): MaybePromise<Approval[]> {
    const newest = "ORDER BY asked_at DESC, id DESC LIMIT ?";
    const rows =
      state === undefined
        ? this.#db.all<Row>(`SELECT state, record FROM approvals ${newest}`, [max])
        : this.#db.all<Row>(`SELECT state, record FROM approvals WHERE state = ? ${newest}`, [state, max]);
    return after(rows, (all) => all.map(readRow).reverse());
  }

  change(id: string, from: ApprovalState, changes: ApprovalChanges): MaybePromise<Approval | undefined> {
    if (changes.state === "used") failPoint("before take");
    const changed = this.#db.transaction<Approval | undefined>(
      (tx) =>
        after(tx.all<Row>("SELECT state, record FROM approvals WHERE id = ? AND state = ?", [id, from]), ([row]) => {
          if (!row) return undefined;
          const approval = { ...readRow(row), ...changes };
          const written = tx.run("UPDATE approvals SET state = ?, record = ? WHERE id = ? AND state = ?", [
            approval.state,
            JSON.stringify(approval),
            id,
            from,
          ]);
          // Of two who read the same row, the second finds another state when its turn has come.
          return after(written, ({ changes: rows }) => (rows === 1 ? approval : undefined));
        }),
      { synced: true },
    );
    return after(changed, (approval) => {
      if (approval?.state === "approved" || approval?.state === "denied") failPoint("answered");
      if (approval?.state === "used") failPoint("after take");
      return approval;
    });
  }

  prune(before: number): MaybePromise<void> {
    const pruned = this.#db.run("DELETE FROM approvals WHERE state NOT IN ('pending', 'approved') AND asked_at < ?", [
      before,
    ]);
    return after(pruned, () => undefined);
  }
}

function readCurrent(db: SqlRunner, callKey: string): MaybePromise<Approval | undefined> {
  const rows = db.all<Row>(
    "SELECT state, record FROM approvals WHERE call_key = ? AND state IN ('pending', 'approved', 'denied')",
    [callKey],
  );
  return after(rows, first);
}

function countOpen(tx: SqlRunner, { caller }: Approval): MaybePromise<{ open: number; session: number }> {
  const rows = tx.all<{ open: number; session: number | null }>(
    `SELECT count(*) AS open, sum(CASE WHEN session = ? THEN 1 ELSE 0 END) AS session
      FROM approvals WHERE state = 'pending'`,
    [sessionKey(caller.session)],
  );
  return after(rows, ([row]) => ({ open: row?.open ?? 0, session: row?.session ?? 0 }));
}

function insert(tx: SqlRunner, approval: Approval): MaybePromise<unknown> {
  const { id, callKey, state, caller, askedAt } = approval;
  return tx.run("INSERT INTO approvals (id, call_key, state, session, asked_at, record) VALUES (?, ?, ?, ?, ?, ?)", [
    id,
    callKey,
    state,
    sessionKey(caller.session),
    askedAt,
    JSON.stringify(approval),
  ]);
}

/** As JSON: a name from outside may hold what TEXT cannot. */
function sessionKey(session: string | undefined): string {
  return JSON.stringify(session ?? null);
}

function first(rows: readonly Row[]): Approval | undefined {
  return rows[0] && readRow(rows[0]);
}

function readRow({ state, record }: Row): Approval {
  return { ...(JSON.parse(record) as Approval), state };
}
