import type { ProvenanceStore } from "../gate/permit/provenance/provenance.ts";
import type { SqlDatabase } from "./database.ts";
import { integer, json, type StoreModule, table, text } from "./table.ts";

const entries = table(
  "provenance",
  {
    session: json<string>(),
    seq: integer(),
    entry: text(),
  },
  "PRIMARY KEY (session, seq)",
);

export const provenanceModule: StoreModule<ProvenanceStore> = {
  migrations: { name: "provenance", versions: [[entries.create]] },
  open: ({ database }) => new SqlProvenanceStore(database),
};

/** Who said what in sessions, as keyed hashes, in a database that several processes share. */
export class SqlProvenanceStore implements ProvenanceStore {
  readonly #db: SqlDatabase;

  constructor(db: SqlDatabase) {
    this.#db = db;
  }

  async after(session: string, seq: number): Promise<string[]> {
    const key = entries.toSql("session", session);
    const rows = await entries.select(this.#db, ["entry"], "WHERE session = ? AND (seq = 1 OR seq > ?) ORDER BY seq", [
      key,
      seq,
    ]);
    return rows.map(({ entry }) => entry);
  }

  async add(session: string, seq: number, entry: string): Promise<boolean> {
    const { changes } = await this.#db.run(
      "INSERT INTO provenance (session, seq, entry) VALUES (?, ?, ?) ON CONFLICT (session, seq) DO NOTHING",
      [entries.toSql("session", session), seq, entry],
    );
    return changes > 0;
  }

  async forget(session: string): Promise<void> {
    await this.#db.run("DELETE FROM provenance WHERE session = ?", [entries.toSql("session", session)]);
  }
}
