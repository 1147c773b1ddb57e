import { createHash } from "node:crypto";
import { toolError } from "../core/error.ts";
import type { SqlDatabase, SqlRunner } from "./database.ts";

interface Applied {
  owner: string;
  version: number;
  checksum: string;
}

/**
 * Brings every owner's tables to the version that this program knows: all of them or none. Of several programs that start at
 * once, one migrates and the others wait for it.
 */
export async function migrate(database: SqlDatabase, owners: readonly Migrations[], now: number): Promise<void> {
  if (isCurrent(await readApplied(database), owners)) return;
  await database.transaction(
    async (tx) => {
      await tx.lock("migrations");
      await tx.run(
        "CREATE TABLE IF NOT EXISTS haft_migrations " +
          "(owner TEXT NOT NULL, version BIGINT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL, " +
          "PRIMARY KEY (owner, version))",
      );
      const applied = await tx.all<Applied>("SELECT owner, version, checksum FROM haft_migrations");
      // Again, now that nobody else writes: somebody may have migrated further meanwhile.
      isCurrent(applied, owners);
      for (const owner of owners) {
        for (let version = versionOf(applied, owner) + 1; version <= owner.versions.length; version++) {
          const statements = owner.versions[version - 1]!;
          for (const sql of statements) await tx.run(inDialect(sql, tx.dialect));
          await tx.run("INSERT INTO haft_migrations (owner, version, checksum, applied_at) VALUES (?, ?, ?, ?)", [
            owner.name,
            version,
            checksum(statements),
            now,
          ]);
        }
      }
    },
    { synced: true },
  );
}

/** Throws where the store is of a newer version, or a step that was taken is not the one that stands here. */
function isCurrent(applied: readonly Applied[], owners: readonly Migrations[]): boolean {
  let current = true;
  for (const owner of owners) {
    const at = versionOf(applied, owner);
    if (at > owner.versions.length) throw newer(owner, at);
    for (const { version, checksum: taken } of applied.filter((step) => step.owner === owner.name)) {
      if (taken !== checksum(owner.versions[version - 1]!)) throw edited(owner, version);
    }
    current &&= at === owner.versions.length;
  }
  return current;
}

function versionOf(applied: readonly Applied[], owner: Migrations): number {
  return Math.max(0, ...applied.filter((step) => step.owner === owner.name).map(({ version }) => version));
}

async function readApplied(database: SqlDatabase): Promise<Applied[]> {
  const tables =
    database.dialect === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE name = 'haft_migrations'"
      : "SELECT tablename AS name FROM pg_tables WHERE tablename = 'haft_migrations' AND schemaname = current_schema()";
  if ((await database.all(tables)).length === 0) return [];
  return await database.all<Applied>("SELECT owner, version, checksum FROM haft_migrations");
}

function inDialect(sql: string, dialect: SqlRunner["dialect"]): string {
  return dialect === "postgres" ? sql.replace(/\bBLOB\b/g, "BYTEA").replace(/\bINTEGER\b/g, "BIGINT") : sql;
}

function checksum(statements: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(statements)).digest("hex");
}

function newer(owner: Migrations, version: number): Error {
  return toolError(
    "conflict",
    `The store was written by a newer version of Haft (its ${owner.name} tables have version ${version}, ` +
      `this Haft knows ${owner.versions.length})`,
    { next: "Update Haft, or give this one a store of its own. Nothing was changed." },
  );
}

function edited(owner: Migrations, version: number): Error {
  return toolError(
    "conflict",
    `The store's ${owner.name} tables were made by another version ${version} of their migration than this Haft has`,
    { next: "Use the Haft that made it; if this is the one, the store is damaged: move it away. Nothing was changed." },
  );
}

/**
 * The history of one owner's tables. Written in the common subset: TEXT, BIGINT (also what INTEGER becomes on PostgreSQL,
 * whose own ends at 2^31; as the primary key of a SQLite table it is the row's own number and needs no further index), DOUBLE
 * PRECISION, BLOB (becomes BYTEA), no autoincrement, no booleans; statements in order, one string each.
 */
export interface Migrations {
  /** The owner: "audit", "approvals". Its tables begin with this name. */
  readonly name: string;
  /** The first takes the tables from nothing to version 1, and so on. Released ones are never edited: a checksum is kept. */
  readonly versions: readonly (readonly string[])[];
}
