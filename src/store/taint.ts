import type { TaintMark, TaintStore } from "../gate/permit/taint.ts";
import type { SqlDatabase } from "./database.ts";
import { integer, json, type StoreModule, table, text } from "./table.ts";

const taintMarks = table(
  "taint_marks",
  {
    session: json<string>(),
    label: text<TaintMark["label"]>(),
    callId: json<string>(),
    toolName: text(),
    seenAt: integer(),
  },
  "PRIMARY KEY (session, label, call_id)",
);

export const taintModule: StoreModule<TaintStore> = {
  migrations: { name: "taint", versions: [[taintMarks.create]] },
  open: ({ database }) => new SqlTaintStore(database),
};

/** What sessions have seen, in a database that several processes share. */
export class SqlTaintStore implements TaintStore {
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  async marks(session: string): Promise<TaintMark[]> {
    const rows = await taintMarks.select(
      this.#db,
      ["label", "callId", "toolName", "seenAt"],
      "WHERE session = ? ORDER BY seen_at, call_id, label",
      [taintMarks.toSql("session", session)],
    );
    return rows.map(({ seenAt, ...mark }) => ({ ...mark, at: seenAt }));
  }

  async add(session: string, marks: readonly TaintMark[], max: number): Promise<void> {
    const key = taintMarks.toSql("session", session);
    for (const { label, callId, toolName, at } of marks) {
      // The count is in the same statement: two processes may store one mark too many, not more.
      await this.#db.run(
        `INSERT INTO taint_marks (session, label, call_id, tool_name, seen_at)
         SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
         WHERE (SELECT COUNT(*) FROM taint_marks WHERE session = ? AND label = ?) < ?
         ON CONFLICT (session, label, call_id) DO NOTHING`,
        [key, label, taintMarks.toSql("callId", callId), toolName, at, key, label, max],
      );
    }
  }

  async forget(session: string): Promise<void> {
    await this.#db.run("DELETE FROM taint_marks WHERE session = ?", [taintMarks.toSql("session", session)]);
  }
}
