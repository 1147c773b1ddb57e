import type { MaybePromise } from "../core/stage.ts";
import type { TaintMark, TaintStore } from "../gate/permit/taint.ts";
import { after, type StoreModule } from "./table.ts";
import type { Migrations } from "./migrations.ts";
import type { SqlDatabase } from "./database.ts";

const TAINT_MIGRATIONS: Migrations = {
  name: "taint",
  versions: [
    [
      `CREATE TABLE taint_marks (
         session TEXT NOT NULL,
         label TEXT NOT NULL,
         call_id TEXT NOT NULL,
         tool_name TEXT NOT NULL,
         seen_at BIGINT NOT NULL,
         PRIMARY KEY (session, label, call_id)
       )`,
    ],
  ],
};

export const taintModule: StoreModule<TaintStore> = {
  migrations: TAINT_MIGRATIONS,
  open: ({ database }) => createSqlTaintStore(database),
};

interface Row {
  label: TaintMark["label"];
  call_id: string;
  tool_name: string;
  seen_at: number;
}

/** What sessions have seen, in a database that several processes share. */
export function createSqlTaintStore(database: SqlDatabase): TaintStore {
  return {
    marks: (session) =>
      after(
        database.all<Row>(
          "SELECT label, call_id, tool_name, seen_at FROM taint_marks WHERE session = ? " +
            "ORDER BY seen_at, call_id, label",
          [keyOf(session)],
        ),
        (rows) =>
          rows.map((row) => ({
            label: row.label,
            callId: nameOf(row.call_id),
            toolName: row.tool_name,
            at: row.seen_at,
          })),
      ),
    add: addEach,
    forget: (session) =>
      after(database.run("DELETE FROM taint_marks WHERE session = ?", [keyOf(session)]), () => undefined),
  };

  function addEach(session: string, marks: readonly TaintMark[], max: number): MaybePromise<void> {
    const [mark, ...others] = marks;
    return mark ? after(addOne(session, mark, max), () => addEach(session, others, max)) : undefined;
  }

  /** Counted in the same statement: two processes may at worst keep one more. */
  function addOne(session: string, { label, callId, toolName, at }: TaintMark, max: number): MaybePromise<unknown> {
    const key = keyOf(session);
    return database.run(
      `INSERT INTO taint_marks (session, label, call_id, tool_name, seen_at)
       SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
       WHERE (SELECT COUNT(*) FROM taint_marks WHERE session = ? AND label = ?) < ?
       ON CONFLICT (session, label, call_id) DO NOTHING`,
      [key, label, keyOf(callId), toolName, at, key, label, max],
    );
  }
}

/** Names come from outside, and PostgreSQL's TEXT holds no NUL: as JSON every name has a spelling. */
function keyOf(name: string): string {
  return JSON.stringify(name);
}

function nameOf(key: string): string {
  return JSON.parse(key) as string;
}
