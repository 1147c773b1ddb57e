import type {
  AddedApproval,
  Approval,
  ApprovalChanges,
  ApprovalState,
  ApprovalStore,
  OpenLimits,
} from "../calls/approval.ts";
import type { SqlDatabase, SqlRunner } from "./database.ts";
import { failPoint } from "./fail-point.ts";
import { integer, json, type RowOf, type StoreModule, table, text } from "./table.ts";

const approvals = table("approvals", {
  id: text("NOT NULL PRIMARY KEY"),
  callKey: text(),
  state: text<ApprovalState>(),
  session: json<string | null>(),
  askedAt: integer(),
  record: json<Approval>(),
});

export const approvalsModule: StoreModule<ApprovalStore> = {
  migrations: {
    name: "approvals",
    versions: [
      [
        approvals.create,
        // A call has one current approval, whichever process asks.
        "CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('open', 'approved', 'declined')",
        "CREATE INDEX approvals_by_state ON approvals (state, asked_at)",
      ],
      // The states were called open and declined. The column decides: a record may still have the old word.
      [
        "DROP INDEX approvals_current",
        "UPDATE approvals SET state = 'pending' WHERE state = 'open'",
        "UPDATE approvals SET state = 'denied' WHERE state = 'declined'",
        "CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('pending', 'approved', 'denied')",
      ],
    ],
  },
  open: ({ database }) => new SqlApprovals(database),
};

/** Approvals in a database that several processes may share. */
class SqlApprovals implements ApprovalStore {
  readonly shared = true;
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  async add(approval: Approval, limits: OpenLimits): Promise<AddedApproval> {
    const added = await this.#db.transaction<AddedApproval>(async (tx) => {
      await tx.lock("approvals");
      const known = await readCurrent(tx, approval.callKey);
      if (known) return { outcome: "known", approval: known };
      const { open, session } = await countOpen(tx, approval);
      if (open >= limits.maxOpen) return { outcome: "full", open };
      if (session >= limits.maxOpenOfSession) return { outcome: "full", open: session };
      const { id, callKey, state, caller, askedAt } = approval;
      await approvals.insert(tx, { id, callKey, state, session: caller.session ?? null, askedAt, record: approval });
      return { outcome: "added", approval };
    });
    if (added.outcome === "added") failPoint("asked");
    return added;
  }

  async get(id: string): Promise<Approval | undefined> {
    const [row] = await approvals.select(this.#db, ["state", "record"], "WHERE id = ?", [id]);
    return row && toApproval(row);
  }

  current(callKey: string): Promise<Approval | undefined> {
    return readCurrent(this.#db, callKey);
  }

  async list(state?: ApprovalState, max: number = Number.MAX_SAFE_INTEGER): Promise<Approval[]> {
    const newest = "ORDER BY asked_at DESC, id DESC LIMIT ?";
    const rows = await (state === undefined
      ? approvals.select(this.#db, ["state", "record"], newest, [max])
      : approvals.select(this.#db, ["state", "record"], `WHERE state = ? ${newest}`, [state, max]));
    return rows.map(toApproval).reverse();
  }

  async change(id: string, from: ApprovalState, changes: ApprovalChanges): Promise<Approval | undefined> {
    if (changes.state === "used") failPoint("before take");
    const changed = await this.#db.transaction<Approval | undefined>(
      async (tx) => {
        const [row] = await approvals.select(tx, ["state", "record"], "WHERE id = ? AND state = ?", [id, from]);
        if (!row) return undefined;
        const approval = { ...toApproval(row), ...changes };
        // If two processes read the same row, the second finds another state here.
        const updated = await tx.run("UPDATE approvals SET state = ?, record = ? WHERE id = ? AND state = ?", [
          approval.state,
          approvals.toSql("record", approval),
          id,
          from,
        ]);
        return updated.changes === 1 ? approval : undefined;
      },
      { synced: true },
    );
    if (changed?.state === "approved" || changed?.state === "denied") failPoint("answered");
    if (changed?.state === "used") failPoint("after take");
    return changed;
  }

  async prune(before: number): Promise<void> {
    await this.#db.run("DELETE FROM approvals WHERE state NOT IN ('pending', 'approved') AND asked_at < ?", [before]);
  }
}

async function readCurrent(db: SqlRunner, callKey: string): Promise<Approval | undefined> {
  const current = "WHERE call_key = ? AND state IN ('pending', 'approved', 'denied')";
  const [row] = await approvals.select(db, ["state", "record"], current, [callKey]);
  return row && toApproval(row);
}

async function countOpen(tx: SqlRunner, { caller }: Approval): Promise<{ open: number; session: number }> {
  const [row] = await tx.all<{ open: number; session: number | null }>(
    `SELECT count(*) AS open, sum(CASE WHEN session = ? THEN 1 ELSE 0 END) AS session
      FROM approvals WHERE state = 'pending'`,
    [approvals.toSql("session", caller.session ?? null)],
  );
  return { open: row?.open ?? 0, session: row?.session ?? 0 };
}

function toApproval({ state, record }: Pick<RowOf<typeof approvals>, "state" | "record">): Approval {
  return { ...record, state };
}
