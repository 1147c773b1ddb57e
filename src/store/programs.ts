import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { ProgramStore, StoredProgram } from "../code/program-store.ts";
import type { Migrations } from "./migrations.ts";
import type { StoreContext, StoreModule } from "./table.ts";

const MIGRATIONS: Migrations = {
  name: "programs",
  versions: [
    [
      `CREATE TABLE programs (
         key TEXT PRIMARY KEY,
         owner TEXT,
         approvals TEXT NOT NULL,
         program TEXT NOT NULL,
         snapshot BLOB NOT NULL,
         saved_at BIGINT NOT NULL
       )`,
    ],
  ],
};

export const programsModule: StoreModule<ProgramStore> = {
  migrations: MIGRATIONS,
  open: (context) => createSqlProgramStore(context),
};

const pack = promisify(gzip);
const unpack = promisify(gunzip);

interface Row {
  owner: string | null;
  program: string;
  snapshot: Uint8Array;
}

/** Programs that wait, in a database that several processes share. */
export function createSqlProgramStore({ database, owners }: StoreContext): ProgramStore {
  return {
    async save({ key, state: { snapshot, ...state }, ...rest }) {
      const approvals = JSON.stringify(state.approvals);
      const program = JSON.stringify({ ...rest, state });
      // An image of a machine is mostly zeros: the quickest packing does.
      const packed = await pack(snapshot, { level: 1 });
      await database.transaction(
        (tx) =>
          tx.run(
            `INSERT INTO programs (key, owner, approvals, program, snapshot, saved_at) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, approvals = excluded.approvals,
               program = excluded.program, snapshot = excluded.snapshot, saved_at = excluded.saved_at`,
            [keyText(key), owners.id, approvals, program, packed, rest.savedAt],
          ),
        { synced: true },
      );
    },
    async claim(key) {
      const name = keyText(key);
      const [row] = await database.all<Row>("SELECT owner, program, snapshot FROM programs WHERE key = ?", [name]);
      if (!row || (row.owner !== null && (await owners.isAlive(row.owner)))) return undefined;
      const { changes } = await database.run(
        "UPDATE programs SET owner = ? WHERE key = ? AND COALESCE(owner, '') = ?",
        [owners.id, name, row.owner ?? ""],
      );
      if (changes === 0) return undefined;
      const program = JSON.parse(row.program) as Omit<StoredProgram, "key">;
      return { ...program, key, state: { ...program.state, snapshot: await unpack(row.snapshot) } };
    },
    async release(key) {
      await database.run("UPDATE programs SET owner = NULL WHERE key = ? AND owner = ?", [keyText(key), owners.id]);
    },
    async list() {
      const rows = await database.all<{ key: string; approvals: string }>("SELECT key, approvals FROM programs");
      return rows.map((row) => ({
        key: JSON.parse(row.key) as string,
        approvals: JSON.parse(row.approvals) as string[],
      }));
    },
    async remove(key) {
      await database.run("DELETE FROM programs WHERE key = ?", [keyText(key)]);
    },
  };
}

/** Names come from outside, and PostgreSQL's TEXT holds no NUL: as JSON every name has a spelling. */
function keyText(key: string): string {
  return JSON.stringify(key);
}
