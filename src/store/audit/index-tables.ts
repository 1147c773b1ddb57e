import type { MigrationStep } from "../migrations.ts";
import { addedIn, integer, rowNumber, type RowOf, table, text } from "../table.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The span of the counters of all entries. */
export const ALL = 0;

/** One row: the last entry that is in the counters and words, and who put it there. */
export const auditIndex = table("audit_index", {
  id: rowNumber(),
  seq: integer(),
  claim: text(),
  /** Entries up to this one are in the counters already: their words are indexed again. */
  counted: addedIn(4, integer("NOT NULL DEFAULT 0")),
});

/** Entries of a minute, an hour, a day of UTC or all time (`span`) that are equal in kind, tool, status, verdict and error code. Missing values are empty. */
export const auditCounts = table(
  "audit_counts",
  {
    span: integer(),
    at: integer(),
    kind: text(),
    tool: text(),
    status: text(),
    verdict: text(),
    code: text(),
    count: integer(),
    /** Microseconds of all of them. */
    micros: integer(),
    bytes: integer(),
    /** How many took how long: see `Durations`. */
    durations: text(),
    firstSeq: integer(),
    lastSeq: integer(),
    /** Milliseconds in which they waited for a person. */
    waited: addedIn(4, integer("NOT NULL DEFAULT 0")),
  },
  "PRIMARY KEY (span, at, kind, tool, status, verdict, code)",
);
export type AuditCount = RowOf<typeof auditCounts>;

/** Results of a minute or an hour by caller: the agent, or the user if there is none. */
export const auditCallers = table(
  "audit_callers",
  {
    span: integer(),
    at: integer(),
    caller: text(),
    status: text(),
    code: text(),
    count: integer(),
    micros: integer(),
    bytes: integer(),
    durations: text(),
    firstSeq: integer(),
    lastSeq: integer(),
    waited: integer(),
  },
  "PRIMARY KEY (span, at, caller, status, code)",
);

/** One row: up to here the chain was sound. */
export const auditCheckpoint = table("audit_checkpoint", {
  id: rowNumber(),
  seq: integer(),
  hash: text(),
  at: integer(),
});

/** Of the kinds of which there are few. A query must repeat it to use the index. */
export const RARE_KINDS = "status IS NULL AND kind <> 'call_begun'";

/** Words of classes and counters of callers. The words of earlier entries are indexed again; their counters stay. */
export const CLASSES_MIGRATION: readonly MigrationStep[] = [
  ...auditIndex.addColumns(4),
  ...auditCounts.addColumns(4),
  auditCallers.create,
  {
    name: "audit_words 2",
    async run(tx, { words }) {
      await tx.run(words.clear);
      await tx.run("UPDATE audit_index SET counted = seq, seq = 0 WHERE id = 1");
    },
  },
];

export const INDEX_MIGRATION: readonly MigrationStep[] = [
  auditIndex.create,
  "INSERT INTO audit_index (id, seq, claim) VALUES (1, 0, '')",
  auditCounts.create,
  auditCheckpoint.create,
  `CREATE INDEX audit_kind ON audit (kind, seq) WHERE ${RARE_KINDS}`,
  {
    name: "audit_words 1",
    async run(tx, { words }) {
      for (const statement of words.create) await tx.run(statement);
    },
  },
];
