/** The tables of earlier versions for approvals and call ids, and how their content becomes rows of `calls`. */
import type { Approval } from "../calls/approval.ts";
import type { CallOutcome, CallState, StoredCall } from "../calls/stored-call.ts";
import { type EarlierCallData, readCallData } from "../core/call.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { calls, toRow } from "./calls.ts";
import type { SqlDatabase, SqlTransaction } from "./database.ts";
import type { Migrations, MigrationStep } from "./migrations.ts";
import { findLiveOwners } from "./process-owners.ts";
import { integer, json, optional, type RowOf, table, text } from "./table.ts";

/** An approval as an earlier version stored it. */
type EarlierApproval = Omit<Approval, "made" | "state" | "call"> & { made: EarlierCallData };

type EarlierState = "pending" | "approved" | "denied" | "expired" | "void" | "used";

const approvals = table("approvals", {
  id: text("NOT NULL PRIMARY KEY"),
  callKey: text(),
  state: text<EarlierState>(),
  session: json<string | null>(),
  askedAt: integer(),
  record: json<EarlierApproval>(),
});

const journal = table("journal", {
  keyHash: text("PRIMARY KEY"),
  fingerprint: text(),
  owner: text(),
  begunAt: integer(),
  endedAt: optional(integer()),
  result: optional(json<ToolResult>()),
});

/** Applied before those of `calls`. */
export const EARLIER_MIGRATIONS: readonly Migrations[] = [
  {
    name: "approvals",
    versions: [
      [
        approvals.create,
        "CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('open', 'approved', 'declined')",
        "CREATE INDEX approvals_by_state ON approvals (state, asked_at)",
      ],
      [
        "DROP INDEX approvals_current",
        "UPDATE approvals SET state = 'pending' WHERE state = 'open'",
        "UPDATE approvals SET state = 'denied' WHERE state = 'declined'",
        "CREATE UNIQUE INDEX approvals_current ON approvals (call_key) WHERE state IN ('pending', 'approved', 'denied')",
      ],
      // An earlier Haft refuses a store with this version. Its content is in `calls`.
      [],
    ],
  },
  { name: "journal", versions: [[journal.create], []] },
];

/** A process that has the earlier tables open would lose them. */
export async function refuseEarlierProcesses(database: SqlDatabase, now: number): Promise<void> {
  if (!(await database.hasTable("approvals")) && !(await database.hasTable("jobs"))) return;
  const live = await findLiveOwners(database, now);
  if (live.length === 0) return;
  const processes = live.map(({ pid, host }) => `${pid} on ${host.split(" ")[0]}`).join(", ");
  throw toolError("conflict", `An earlier version of Haft has this store open (process ${processes})`, {
    next: "Stop it, then start this version again. Nothing was changed.",
  });
}

/** Converts the content of the earlier tables and removes them. */
const adoptEarlierCalls: MigrationStep = {
  name: "adopt approvals and journal",
  async run(tx) {
    await adoptApprovals(tx);
    await adoptJournal(tx);
    await tx.run("DROP TABLE approvals");
    await tx.run("DROP TABLE journal");
  },
};

/** Applied after those of `calls`. */
export const ADOPTION: Migrations = { name: "calls_adopted", versions: [[adoptEarlierCalls]] };

async function adoptApprovals(tx: SqlTransaction): Promise<void> {
  const rows = approvals.read(
    ["state", "record"],
    await tx.all("SELECT state, record FROM approvals WHERE state IN ('pending', 'approved', 'denied')"),
  );
  for (const { state, record } of rows) await calls.insert(tx, toRow(adoptApproval(state, record), 1));
}

function adoptApproval(state: EarlierState, record: EarlierApproval): StoredCall {
  const { toolVersion, input, reason, verdict, preview, suggestedRules, hash } = record;
  const made = readCallData(record.made, record);
  // The caller and its limits are read from `made`. What the session had set was bound with the whole environment.
  const { tool, input: inputHash, preview: previewHash, cwd } = record.binding;
  const binding = { tool, input: inputHash, preview: previewHash, cwd, environment: "", limits: "", policy: "" };
  const states: Record<string, CallState> = { pending: "waiting", approved: "approved" };
  return {
    id: record.id,
    callId: record.callId,
    fingerprint: "",
    toolName: record.toolName,
    caller: record.caller,
    state: states[state] ?? "ended",
    outcome: state === "denied" ? ("denied" satisfies CallOutcome) : undefined,
    question: { toolVersion, input, reason, verdict, preview, suggestedRules, binding, hash, made, round: 1 },
    answer:
      state === "pending"
        ? undefined
        : {
            approved: state === "approved",
            by: record.answeredBy,
            via: record.answeredVia,
            reason: record.note,
            scope: record.scope,
            rules: record.rules,
          },
    epoch: 0,
    lost: 0,
    deadline: record.expiresAt,
    repeatable: false,
    createdAt: record.askedAt,
    answeredAt: record.answeredAt,
    endedAt: state === "denied" ? record.answeredAt : undefined,
  };
}

async function adoptJournal(tx: SqlTransaction): Promise<void> {
  const rows: RowOf<typeof journal>[] = journal.read(
    journal.keys as never,
    await tx.all("SELECT * FROM journal"),
  ) as RowOf<typeof journal>[];
  for (const { keyHash, fingerprint, begunAt, endedAt, result } of rows) {
    const outcome: CallOutcome = !result ? "unknown" : result.status === "completed" ? "completed" : "failed";
    const call: StoredCall = {
      id: `earlier_${keyHash}`,
      callId: result?.callId ?? "",
      key: keyHash,
      fingerprint,
      toolName: result?.toolName ?? "",
      caller: { depth: 0 },
      state: "ended",
      outcome,
      result,
      epoch: 1,
      lost: 0,
      repeatable: false,
      createdAt: begunAt,
      begunAt,
      endedAt: endedAt ?? begunAt,
    };
    await calls.insert(tx, toRow(call, 1), "ON CONFLICT DO NOTHING");
  }
}
