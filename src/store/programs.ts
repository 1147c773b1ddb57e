import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { ProgramStore, StoredProgram } from "../code/program-store.ts";
import { bytes, integer, json, optional, type StoreContext, type StoreModule, table, text } from "./table.ts";

type ProgramRecord = Omit<StoredProgram, "key" | "state"> & { state: Omit<StoredProgram["state"], "snapshot"> };

const programs = table("programs", {
  key: json<string>("PRIMARY KEY"),
  owner: optional(text()),
  approvals: json<readonly string[]>(),
  program: json<ProgramRecord>(),
  snapshot: bytes(),
  savedAt: integer(),
});

export const programsModule: StoreModule<ProgramStore> = {
  migrations: { name: "programs", versions: [[programs.create]] },
  open: (context) => new SqlProgramStore(context),
};

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** Suspended programs, in a database that several processes share. */
export class SqlProgramStore implements ProgramStore {
  readonly #db: StoreContext["database"];
  readonly #owners: StoreContext["owners"];

  constructor({ database, owners }: StoreContext) {
    this.#db = database;
    this.#owners = owners;
  }

  async save({ key, state: { snapshot, ...state }, ...rest }: StoredProgram): Promise<void> {
    const row = {
      key,
      owner: this.#owners.id,
      approvals: state.approvals,
      program: { ...rest, state },
      // A memory image is mostly zeros: the fastest level is enough.
      snapshot: await compress(snapshot, { level: 1 }),
      savedAt: rest.savedAt,
    };
    await this.#db.transaction((tx) => programs.upsert(tx, row, ["key"]), { synced: true });
  }

  async claim(key: string): Promise<StoredProgram | undefined> {
    const id = programs.toSql("key", key);
    const [row] = await programs.select(this.#db, ["owner"], "WHERE key = ?", [id]);
    if (!row || (row.owner !== undefined && (await this.#owners.isAlive(row.owner)))) return undefined;
    const { changes } = await this.#db.run("UPDATE programs SET owner = ? WHERE key = ? AND COALESCE(owner, '') = ?", [
      this.#owners.id,
      id,
      row.owner ?? "",
    ]);
    return changes === 0 ? undefined : this.#read(key);
  }

  async takeOver(key: string): Promise<StoredProgram | undefined> {
    await this.#db.run("UPDATE programs SET owner = ? WHERE key = ?", [this.#owners.id, programs.toSql("key", key)]);
    return this.#read(key);
  }

  async release(key: string): Promise<void> {
    await this.#db.run("UPDATE programs SET owner = NULL WHERE key = ? AND owner = ?", [
      programs.toSql("key", key),
      this.#owners.id,
    ]);
  }

  list(): Promise<{ key: string; approvals: readonly string[] }[]> {
    return programs.select(this.#db, ["key", "approvals"]);
  }

  async remove(key: string): Promise<void> {
    await this.#db.run("DELETE FROM programs WHERE key = ?", [programs.toSql("key", key)]);
  }

  async #read(key: string): Promise<StoredProgram | undefined> {
    const id = programs.toSql("key", key);
    const [row] = await programs.select(this.#db, ["program", "snapshot"], "WHERE key = ?", [id]);
    if (!row) return undefined;
    const { program, snapshot } = row;
    return { ...program, key, state: { ...program.state, snapshot: await expand(snapshot) } };
  }
}
