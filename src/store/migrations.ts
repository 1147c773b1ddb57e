import { createHash } from "node:crypto";
import { toolError } from "../core/error.ts";
import type { SqlDatabase, SqlTransaction } from "./database.ts";
import { failPoint } from "./fail-point.ts";

/** A version that was applied, as `haft_migrations` records it. */
interface Applied {
  owner: string;
  version: number;
  checksum: string;
}

/** Brings every owner's tables to this program's version: all or none. One program migrates, others wait. */
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
      // Checked again under the lock: another process may have migrated further since.
      isCurrent(applied, owners);
      for (const owner of owners) {
        const current = versionOf(applied, owner);
        for (const [at, statements] of owner.versions.slice(current).entries()) {
          for (const statement of statements) {
            if (typeof statement === "string") await tx.run(database.toNativeTypes(statement));
            else await statement.run(tx, database);
          }
          await tx.run("INSERT INTO haft_migrations (owner, version, checksum, applied_at) VALUES (?, ?, ?, ?)", [
            owner.name,
            current + at + 1,
            checksum(statements),
            now,
          ]);
          failPoint(`migrated ${owner.name} ${current + at + 1}`);
        }
      }
    },
    { synced: true },
  );
}

/** Throws if the store is newer, if an applied version differs from ours, or if its name is unknown. */
function isCurrent(applied: readonly Applied[], owners: readonly Migrations[]): boolean {
  for (const { owner: name, checksum: recorded } of applied) {
    if (owners.some((owner) => owner.name === name)) continue;
    const known = owners.find((owner) => owner.versions.some((steps) => checksum(steps) === recorded));
    if (known) throw renamed(known, name);
  }
  let current = true;
  for (const owner of owners) {
    const at = versionOf(applied, owner);
    if (at > owner.versions.length) throw newer(owner, at);
    for (const { version, checksum: recorded } of applied.filter((step) => step.owner === owner.name)) {
      if (recorded !== checksum(owner.versions[version - 1] ?? [])) throw edited(owner, version);
    }
    current &&= at === owner.versions.length;
  }
  return current;
}

function versionOf(applied: readonly Applied[], owner: Migrations): number {
  return Math.max(0, ...applied.filter((step) => step.owner === owner.name).map(({ version }) => version));
}

async function readApplied(database: SqlDatabase): Promise<Applied[]> {
  if (!(await database.hasTable("haft_migrations"))) return [];
  return database.all<Applied>("SELECT owner, version, checksum FROM haft_migrations");
}

/** As recorded in stores: see `FIRST_CHECKSUMS`. */
function checksum(statements: readonly MigrationStep[]): string {
  const computed = createHash("sha256").update(JSON.stringify(statements)).digest("hex");
  return FIRST_CHECKSUMS[computed] ?? computed;
}

/**
 * Versions that were released before tables were declared with `table()`. Their statements had the same words with other
 * white space, and so another checksum. Stores record that one, and older versions of Haft expect it.
 */
const FIRST_CHECKSUMS: Readonly<Record<string, string>> = {
  // approvals 1
  cbd26783eaf7e191c430bd56de1ca7bbb5621c8ff1885e89bb605a354fdb98df:
    "7c0bd272253b84e9f2c1409b00297e3b67613853f7901e1d0f64765498d2c4e3",
  // artifacts 1
  e27d84295b6a7ee8b55128022a5749d3e1b0511841f2a862d5535d6336aabe07:
    "02a517d675bf9625dcbfb4b49377f00c4ff1077e26079352cdc5f16f0f0b297c",
  // jobs 1
  d76361fd5ea3c037d4a8a01a7a80e6d8266b714f5145de7a84a22db663d59885:
    "2968a9302444f85164352bc5d1418224f1a94c06d85dfa4c13992a720ae0ebab",
  // mcp_pins 1
  "755f4327ba6bd5263feabb8d043218effa0c58228911947e078bfbaa0b0b5168":
    "3cec92db013f4353af737da57f45a427f1eb019f60d54f0249badecc56465405",
  // mcp_questions 1
  "4a5ca76ad1ea145a3ca8d1f389cd9b3c4ced74e1f509f21994f95730f1479aff":
    "26221c68926edb343a103604761eafc2fd7997a269b48431e5c437ef95228b15",
  // programs 1
  a368d87b2de3a3513f108430e3f2e9b19eb96d68a8b7a8b5aa74566a2fc84694:
    "7128ea7a25c98df2074dc68a0a3c08fe6ba763d708442ede5dd196477895c994",
  // schedules 1
  cea7cc3babd921c50d6b629f0cb2bc2699d718f7589196f9346f42683ee40def:
    "769d6edb3e3755f77142b18dff8f6ffcdc227414048019c350dad2cabc0cd4fc",
  // seen_files 1
  c3b1ff20fb3b72a1d83b33e8790acfc2d16bb9988da6ef468f44b8bfc3ce9d50:
    "f4366556b18a81e7033960a0417a0e1ad188402cb7d8663e49fe09d0a39098ed",
  // sessions 1
  "837371aec83e3771f3ec5534bd00ccd9cdb97b71471371c4b6a56be0e9d78c2f":
    "450c1cc75677788f8090273fae305621541ad2d5e7dc0b8077ec20e8b2209a1a",
  // taint 1
  "3bbf31086488a7ec1fbbb4e97669c91d0579279f175b5cdabc9eeccf166752d4":
    "47b9511d71fa19204c76a444728f438018998ffbbf58fa2c297e03c1da083996",
  // undo 1
  "76d85f4a3f385cba0b243ea571d2b6ef7d3cbe524882a2ae9bbc6c3186893aa2":
    "da7e45c668b1d0043bf9378ae412e6602e349f680dddace08a4d6e46d8801e20",
};

function newer(owner: Migrations, version: number): Error {
  return toolError(
    "conflict",
    `The store was written by a newer version of Haft (its ${owner.name} tables have version ${version}, ` +
      `this Haft knows ${owner.versions.length})`,
    { next: "Update Haft, or use another store. Nothing was changed." },
  );
}

function edited(owner: Migrations, version: number): Error {
  return toolError(
    "conflict",
    `The store's ${owner.name} tables were created by a different version ${version} of their migration`,
    {
      next: "Use the Haft that created it; if this is the one, the store is damaged: move it away. Nothing was changed.",
    },
  );
}

function renamed(owner: Migrations, recorded: string): Error {
  return toolError(
    "conflict",
    `The store is damaged: a migration of its ${owner.name} tables is recorded as one of ${JSON.stringify(recorded)}`,
    { next: "Restore a copy of the store, or move it away. Nothing was changed." },
  );
}

/**
 * The history of one owner's tables, in the common subset of SQL: TEXT, BIGINT, DOUBLE PRECISION, no booleans, no
 * autoincrement. INTEGER PRIMARY KEY (the number of the row itself on SQLite) and BLOB are replaced by the engine.
 */
export interface Migrations {
  /** The owner, such as "audit". Its tables begin with this name. */
  readonly name: string;
  /** Each is a list of statements. Released versions are never edited: the store records their checksums. */
  readonly versions: readonly (readonly MigrationStep[])[];
}

/** SQL, or what differs between engines or SQL cannot express; its name stands for it in the checksum. */
export type MigrationStep =
  | string
  | { readonly name: string; run(tx: SqlTransaction, database: SqlDatabase): Promise<void> };
