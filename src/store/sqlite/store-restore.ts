import { isUtf8 } from "node:buffer";
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { StoreBackup } from "../../contracts/store.ts";
import { attempt, ToolError, toolError } from "../../core/error.ts";
import { ensureStateFolder, STATE_FILES } from "../../io/files/state-folder.ts";
import { ADOPTION } from "../earlier-calls.ts";
import { migrate } from "../migrations.ts";
import { findLiveOwners } from "../process-owners.ts";
import { connectSqlite, openSqlite } from "./sqlite.ts";
import { storeFileOf } from "./sqlite-file.ts";
import { blobs, checkStoreFile, closeWhole, columnsOf, quote, writeMarker } from "./store-check.ts";
import { holdRestored } from "../store-hold.ts";
import { openStore, STORE_MIGRATIONS } from "../store.ts";
import type { RestoreOptions, RestoreResult, SavedTable } from "../store-engines.ts";
import { TOKEN_MIGRATIONS } from "../tokens.ts";

/** `20261115T010203Z`. */
function stampOf(now: number): string {
  return new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** Writes a copy that is complete at one moment; other processes may go on writing to the store. */
export async function backUpStore(stateFolder: string, target?: string, now = Date.now()): Promise<StoreBackup> {
  const file = storeFileOf(stateFolder);
  const backup = resolve(target ?? join(stateFolder, STATE_FILES.backups, `haft-${stampOf(now)}.db`));
  if (!existsSync(file))
    throw toolError("path_not_found", `There is no store at ${file}`, { next: "Check the folder." });
  if (existsSync(backup)) {
    throw toolError("path_exists", `${backup} already exists`, { next: "Name another file, or delete this one." });
  }
  if (target === undefined) mkdirSync(dirname(backup), { recursive: true, mode: 0o700 });
  if (!existsSync(dirname(backup))) {
    const next = "Create it first, or name a file in another one.";
    throw toolError("path_not_found", `There is no folder ${dirname(backup)}`, { next });
  }
  await copySound(file, backup);
  return { file: backup, bytes: statSync(backup).size };
}

/** Copies a store with everything in its WAL. A damaged one is refused. */
async function copySound(from: string, to: string): Promise<void> {
  const { problems } = await checkStoreFile(from);
  if (problems[0] !== undefined) {
    throw toolError("io_error", `${from} is damaged (${problems[0]})`, {
      next: "`haft store restore` builds a new store from its readable parts, or from an older backup.",
    });
  }
  const connection = await connectSqlite(from);
  try {
    connection.exec(`VACUUM INTO '${to.replaceAll("'", "''")}'`);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  } finally {
    await closeWhole(connection);
  }
}

/** Replaces the store of a folder. The old one is kept under another name. */
export async function restoreStore(
  stateFolder: string,
  { backup, isEmpty = false, now = Date.now() }: RestoreOptions = {},
): Promise<RestoreResult> {
  const file = storeFileOf(stateFolder);
  await requireUnused(file, now);
  ensureStateFolder(stateFolder);
  const fresh = `${file}.new-${process.pid}`;
  removeStore(fresh);
  try {
    let tables: SavedTable[] = [];
    if (backup !== undefined) tables = await copyBackup(resolve(backup), fresh);
    else if (isEmpty) await createStore(fresh, now);
    else tables = await salvage(file, fresh, now);
    const kept = setAside(file, now);
    moveStore(fresh, file);
    writeMarker(file, now);
    await note(stateFolder, { kept, backup, tables });
    return { file, kept, tables };
  } finally {
    removeStore(fresh);
  }
}

/** A process that has the old file open would go on writing to it. */
async function requireUnused(file: string, now: number): Promise<void> {
  if (!existsSync(file)) return;
  let users: { pid: number }[] = [];
  try {
    const database = await openSqlite(file);
    try {
      users = await findLiveOwners(database, now);
    } finally {
      await database.close();
    }
  } catch {
    // Too damaged to say who uses it.
  }
  const others = users.filter(({ pid }) => pid !== process.pid).map(({ pid }) => pid);
  if (others.length === 0) return;
  throw toolError("busy", `The store ${file} is in use by process ${others.join(", ")}`, {
    next: "Stop it (`haft serve`, `haft worker`, `haft mcp`), then restore again.",
  });
}

async function copyBackup(backup: string, fresh: string): Promise<SavedTable[]> {
  if (!existsSync(backup))
    throw toolError("path_not_found", `There is no backup at ${backup}`, { next: "Check the path." });
  const { tables } = await checkStoreFile(backup);
  await copySound(backup, fresh);
  if (!tables.some(({ name }) => name === "haft_migrations")) {
    throw toolError("invalid_input", `${backup} is not a store of Haft`, {
      next: "Name a file of `haft store backup`.",
    });
  }
  return tables.map(({ name, rows = 0 }) => ({ name, rows, isIncomplete: false }));
}

/** With `isEarlier`, with the tables of earlier versions too: opening the store converts them. */
async function createStore(file: string, now: number, isEarlier = false): Promise<void> {
  const database = await openSqlite(file);
  try {
    const migrations = isEarlier ? STORE_MIGRATIONS.filter((one) => one !== ADOPTION) : STORE_MIGRATIONS;
    await migrate(database, [...migrations, TOKEN_MIGRATIONS], now);
  } finally {
    await database.close();
  }
}

/** What no longer applies: the tables are new, and the processes are gone. */
const NOT_COPIED = new Set(["haft_migrations", "owners"]);
/** Made from the audit log again, while the store is used. */
const MADE_AGAIN = /^audit_(?:index|counts|words)/;

/** Creates a store with all rows of a damaged one that can be read. */
async function salvage(from: string, to: string, now: number): Promise<SavedTable[]> {
  if (!statSync(from, { throwIfNoEntry: false })?.size) {
    throw toolError("io_error", `There is nothing to save in ${from}: it is empty or missing`, {
      next: "Restore a backup (`haft store restore BACKUP`), or begin with an empty store (`haft store restore --empty`).",
    });
  }
  const source = await connectSqlite(from);
  await createStore(to, now, hasTable(source, "approvals"));
  const target = await connectSqlite(to);
  try {
    source.exec("PRAGMA query_only = ON");
    target.exec("BEGIN");
    const names = [...blobs(target, "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'")];
    const tables = names
      .map((name) => Buffer.from(name).toString())
      .filter((name) => !NOT_COPIED.has(name) && !MADE_AGAIN.test(name));
    const saved = tables.filter((name) => !name.startsWith("sqlite_")).map((name) => saveTable(source, target, name));
    target.exec("COMMIT");
    // The file alone must be complete.
    target.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    if (saved.every(({ rows }) => rows === 0) && saved.some(({ isIncomplete }) => isIncomplete)) throw unreadable(from);
    return saved;
  } catch (error) {
    throw error instanceof ToolError ? error : unreadable(from, error);
  } finally {
    await closeWhole(source);
    await closeWhole(target);
  }
}

function hasTable(connection: DatabaseSyncInstance, name: string): boolean {
  return attempt(() => columnsOf(connection, name)?.length !== 0, false);
}

function unreadable(file: string, cause?: unknown): Error {
  return toolError("io_error", `Nothing of ${file} can be read`, {
    next: "Restore a backup (`haft store restore BACKUP`), or begin with an empty store (`haft store restore --empty`).",
    cause,
  });
}

const BATCH = 200;
/** Row ids are numbered from 1; beyond this step there are no more. */
const MAX_STEP = 2 ** 40;

/** Copies the rows of one table. At a damaged page it goes on behind it, in growing steps. */
function saveTable(source: DatabaseSyncInstance, target: DatabaseSyncInstance, name: string): SavedTable {
  const result: SavedTable = { name, rows: 0, isIncomplete: false };
  let columns: string[];
  try {
    const known = new Set(columnsOf(source, name));
    columns = (columnsOf(target, name) ?? []).filter((column) => known.has(column));
    // A table of a later version.
    if (columns.length === 0) return result;
  } catch {
    return { ...result, isIncomplete: true };
  }
  const insert = `INSERT OR REPLACE INTO ${quote(name)} (${columns.map(quote).join()}) VALUES (${columns.map(() => "?").join()})`;
  const write = target.prepare(insert);
  let after = 0;
  let step = 0;
  for (let limit = BATCH; step < MAX_STEP;) {
    let rows: SourceRow[];
    try {
      rows = readRows(source, { name, columns, after: after + step, limit });
    } catch {
      result.isIncomplete = true;
      // First row by row up to the damage, then over it.
      if (limit > 1) limit = 1;
      else step = Math.max(1, step * 2);
      continue;
    }
    if (rows.length === 0) break;
    step = 0;
    limit = Math.min(BATCH, limit * 2);
    for (const { id, values } of rows) {
      after = id;
      if (values && tryToWrite(write, values)) result.rows += 1;
      else result.isIncomplete = true;
    }
  }
  return result;
}

function tryToWrite(write: StatementSyncInstance, values: unknown[]): boolean {
  try {
    write.run(...values);
    return true;
  } catch {
    // A missing value that the table requires, for example.
    return false;
  }
}

interface SourceRow {
  id: number;
  /** Undefined if a text is not UTF-8. */
  values: unknown[] | undefined;
}

function readRows(
  source: DatabaseSyncInstance,
  { name, columns, after, limit }: { name: string; columns: readonly string[]; after: number; limit: number },
): SourceRow[] {
  // Text as BLOB: if it is not UTF-8, it would be changed.
  const shown = columns
    .map(quote)
    .flatMap((c) => [`typeof(${c})`, `CASE typeof(${c}) WHEN 'text' THEN CAST(${c} AS BLOB) ELSE ${c} END`]);
  const sql = `SELECT rowid, ${shown.join(", ")} FROM ${quote(name)} WHERE rowid > ${after} ORDER BY rowid LIMIT ${limit}`;
  const statement = source.prepare(sql);
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  const found = statement.all() as unknown as unknown[][];
  return found.map(([id, ...cells]) => {
    const values: unknown[] = [];
    for (let at = 0; at < cells.length; at += 2) values.push(toValue(String(cells[at]), cells[at + 1]));
    return { id: Number(id), values: values.includes(undefined) ? undefined : values };
  });
}

function toValue(type: string, value: unknown): unknown {
  if (value === null) return type === "text" ? "" : null;
  if (type === "integer") return BigInt(Number(value));
  if (!(value instanceof Uint8Array)) return value;
  const bytes = Buffer.from(value);
  if (type !== "text") return bytes;
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** With its WAL and journal files: they belong together. */
function setAside(file: string, now: number): string | undefined {
  if (!existsSync(file)) return undefined;
  const stamp = stampOf(now);
  let aside = `${file}.damaged-${stamp}`;
  for (let count = 2; existsSync(aside); count += 1) aside = `${file}.damaged-${stamp}-${count}`;
  for (const suffix of SUFFIXES) if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  return aside;
}

const SUFFIXES = ["-wal", "-shm", "-journal", "-end", ""];

function moveStore(from: string, to: string): void {
  for (const suffix of SUFFIXES) if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
}

function removeStore(file: string): void {
  for (const suffix of SUFFIXES) rmSync(file + suffix, { force: true });
}

/** The audit log says that its earlier entries may be missing, and where they are. */
async function note(stateFolder: string, { kept, backup, tables }: Partial<RestoreResult> & { backup?: string }) {
  const store = await openStore({ stateFolder });
  try {
    await holdRestored(store.database, Date.now());
    const incomplete = tables?.filter(({ isIncomplete }) => isIncomplete).map(({ name }) => name);
    await store.audit.append(
      { kind: "note", data: { action: "store_restored", kept, backup, incomplete } },
      { synced: true },
    );
  } finally {
    await store.close();
  }
}
