import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  realpathSync,
  renameSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { toolError } from "../core/error.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy, isInside } from "../io/files/path-policy.ts";
import {
  ensureStateFolder,
  explainStateFailure,
  isFolder,
  oldStateFolderOf,
  readStateRecord,
  stateFolderOf,
  type StateFolderOptions,
  STATE_FILES,
  type StateRecord,
} from "../io/files/state-folder.ts";
import { failPoint } from "./fail-point.ts";
import { findLiveOwners } from "./process-owners.ts";
import { openSqlite, type SqliteDatabase } from "./sqlite/sqlite.ts";
import { isDamage, sqliteCode } from "./sqlite/store-check.ts";

export interface OpenStateFolderOptions extends StateFolderOptions {
  /** The state folder itself. Default: the one that `stateFolderOf` gives. */
  stateFolder?: string;
  now?: () => number;
  onWarning?: (warning: string) => void;
  signal?: AbortSignal;
}

/** A large store may take minutes to copy from one disk to another. */
const MIGRATION_WAIT_MS = 10 * 60_000;

/** Creates the state folder of a workspace. State of an earlier version in `.haft` is copied first, once. */
export async function openStateFolder(workspace: string, options: OpenStateFolderOptions = {}): Promise<string> {
  const { now = Date.now, onWarning = () => undefined, signal } = options;
  const real = realpathSync.native(workspace);
  const folder = options.stateFolder ?? stateFolderOf(real, options);
  ensureStateFolder(folder);
  const opening: Opening = { workspace: real, folder, old: oldStateFolderOf(real), now, onWarning };
  if (!isReady(readStateRecord(folder))) {
    const prepare = () => prepareFolder(opening);
    try {
      await withFileLock(join(folder, STATE_FILES.record), prepare, { waitMs: MIGRATION_WAIT_MS, signal });
    } catch (error) {
      throw explainStateFailure(error, folder);
    }
  }
  warnOfOldFolder(opening);
  if (!isInside(folder, real) && !existsSync(markOf(folder)))
    attempt(() => writeFileSync(markOf(folder), "", { mode: 0o600 }));
  return folder;
}

/** Beside the folder: if it is deleted, this still says that there was one. */
function markOf(folder: string): string {
  return `${folder}.known`;
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The folder around it may be read-only.
  }
}

interface Opening {
  /** Its real path. */
  workspace: string;
  folder: string;
  /** `<workspace>/.haft`. */
  old: string;
  now: () => number;
  onWarning: (warning: string) => void;
}

function isReady(record: StateRecord | undefined): boolean {
  return record !== undefined && (!record.migration || record.migration.completedAt !== undefined);
}

/** Under the lock. Every step can be repeated after a crash. */
async function prepareFolder(opening: Opening): Promise<void> {
  const { workspace, folder, old, now } = opening;
  const record = readStateRecord(folder);
  // Another process may have done it during the wait.
  if (isReady(record)) return;
  const begun: StateRecord = record ?? { version: 1, workspace, createdAt: new Date(now()).toISOString() };
  const renamedTo = record?.migration?.renamedTo;
  const isRenamed = renamedTo !== undefined && renamedTo !== old && existsSync(renamedTo);
  // A store that is there already is newer than anything in the old folder.
  const hasOldState = isFolder(old) && !isInside(folder, old) && !existsSync(join(folder, STATE_FILES.store));
  if (!record && existsSync(markOf(folder)) && !existsSync(join(folder, STATE_FILES.store))) {
    opening.onWarning(
      `The state folder ${folder} was deleted. Its approvals, jobs and audit log are gone, and a call id that was used ` +
        "before runs again. If this was not intended, stop Haft and restore a backup with `haft store restore`.",
    );
  }
  if (!isRenamed && !hasOldState && renamedTo === undefined) return writeRecord(folder, begun);
  const from = isRenamed ? renamedTo : await renameOld(opening, begun);
  await copyState(from, opening);
  failPoint("state-copied");
  const migration = { renamedTo: from, completedAt: new Date(now()).toISOString() };
  await writeRecord(folder, { ...begun, migration });
  opening.onWarning(
    `The state of this workspace is now in ${folder}. ${
      from === old ? `${old} could not be renamed and is not used any more.` : `The old folder was kept as ${from}.`
    }`,
  );
}

/** The new name of the old folder. It is the old name if the workspace cannot be written. */
async function renameOld(opening: Opening, record: StateRecord): Promise<string> {
  const { workspace, folder, old } = opening;
  refuseForeign(old);
  const store = join(old, STATE_FILES.store);
  if (!isWritable(workspace) || !isWritable(old)) {
    await writeRecord(folder, { ...record, migration: { renamedTo: old } });
    return old;
  }
  const held = existsSync(store) ? await holdStore(store, opening) : undefined;
  try {
    const renamedTo = unusedName(`${old}.migrated-${new Date(opening.now()).toISOString().slice(0, 10)}`);
    // First the new name, then the renaming: a start after a crash in between finds both.
    await writeRecord(folder, { ...record, migration: { renamedTo } });
    failPoint("state-noted");
    renameSync(old, renamedTo);
    failPoint("state-renamed");
    return renamedTo;
  } finally {
    await held?.close();
  }
}

/**
 * Haft keeps its store readable for its user only, and version control does not preserve that. So a store that others may
 * read came from elsewhere: it could bring approvals and schedules that nobody here agreed to.
 */
function refuseForeign(old: string): void {
  if (process.platform === "win32") return;
  const store = lstatSync(join(old, STATE_FILES.store), { throwIfNoEntry: false });
  if (!store || (store.isFile() && (store.mode & 0o077) === 0 && store.uid === process.getuid?.())) return;
  throw toolError(
    "path_denied",
    `${join(old, STATE_FILES.store)} was not written by Haft for this user, so it is not used`,
    {
      next: `Remove ${old} if it came with the workspace. If it is yours: chmod 600 ${join(old, STATE_FILES.store)}`,
    },
  );
}

/** Locks the old store against every other process. Refused while one has it open. Undefined if it is damaged. */
async function holdStore(file: string, { folder, now }: Opening): Promise<SqliteDatabase | undefined> {
  let database: SqliteDatabase;
  try {
    database = await openSqlite(file, { busyTimeoutMs: 1000, isChecked: true });
  } catch (error) {
    // It is copied as it is; opening the store reports the damage.
    if (isDamage(error)) return undefined;
    throw isBusy(error) ? inUse(file, folder, "another process") : error;
  }
  try {
    await refuseLiveOwners(database, { file, folder, now });
    // Fails while another process is connected, and keeps others from connecting until it is closed.
    await database.run("PRAGMA locking_mode = EXCLUSIVE");
    await database.transaction(() => undefined);
    return database;
  } catch (error) {
    await database.close();
    throw isBusy(error) ? inUse(file, folder, "another process") : error;
  }
}

async function refuseLiveOwners(
  database: SqliteDatabase,
  { file, folder, now }: { file: string; folder: string; now: () => number },
): Promise<void> {
  const [owner] = await findLiveOwners(database, now());
  if (owner) throw inUse(file, folder, `process ${owner.pid} (on ${owner.host.split(" ")[0]})`);
}

function inUse(file: string, folder: string, who: string): Error {
  return toolError("busy", `An older version of Haft has ${file} open: ${who}`, {
    next: `Stop it and start again. The state then moves to ${folder}.`,
  });
}

/** What SQLite says, as it is or as the cause of our own error. */
function isBusy(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => /^SQLITE_(?:BUSY|LOCKED)/.test(sqliteCode(each)));
}

/** Copies what is needed; the rest stays in the old folder. The store comes last and appears as a whole. */
async function copyState(from: string, { folder, now }: Opening): Promise<void> {
  await copyFile(join(from, STATE_FILES.rules), join(folder, STATE_FILES.rules));
  if (isFolder(join(from, STATE_FILES.spills))) {
    ensureStateFolder(join(folder, STATE_FILES.spills));
    for (const name of await readdir(join(from, STATE_FILES.spills))) {
      await copyFile(join(from, STATE_FILES.spills, name), join(folder, STATE_FILES.spills, name));
    }
  }
  const store = join(folder, STATE_FILES.store);
  if (existsSync(store)) return;
  const copy = `${store}.migrating`;
  for (const suffix of ["-wal", "-shm"]) await rm(copy + suffix, { force: true });
  if (!(await copyFile(join(from, STATE_FILES.store), copy))) return;
  await copyFile(join(from, `${STATE_FILES.store}-wal`), `${copy}-wal`);
  failPoint("state-store-copied");
  await mergeLog(copy, { file: join(from, STATE_FILES.store), folder, now });
  await rename(copy, store);
}

/** Writes the copied log into the copied database. A damaged one stays as it is. */
async function mergeLog(copy: string, place: { file: string; folder: string; now: () => number }): Promise<void> {
  try {
    const database = await openSqlite(copy, { isChecked: true });
    try {
      // Of a read-only workspace the old store itself could not be locked.
      await refuseLiveOwners(database, place);
    } finally {
      await database.close();
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  for (const suffix of ["-wal", "-shm"]) await rm(copy + suffix, { force: true });
}

/** Whether there was a regular file. Links are not followed: a workspace could bring one to a secret. */
async function copyFile(from: string, to: string): Promise<boolean> {
  let source: FileHandle;
  try {
    source = await open(from, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (["ENOENT", "ELOOP"].includes(String(Object(error).code))) return false;
    throw error;
  }
  try {
    const info: Stats = await source.stat();
    if (!info.isFile()) return false;
    const unfinished = `${to}.part`;
    const target = await open(unfinished, "w", 0o600);
    try {
      for await (const chunk of source.createReadStream({ autoClose: false })) await target.writeFile(chunk as Buffer);
      await target.sync();
      // Spills are removed by age.
      await target.utimes(info.atime, info.mtime);
    } finally {
      await target.close();
    }
    await rename(unfinished, to);
    return true;
  } finally {
    await source.close();
  }
}

async function writeRecord(folder: string, record: StateRecord): Promise<void> {
  const files = createFiles(createPathPolicy({ workspace: folder }));
  const text = `${JSON.stringify(record, null, 2)}\n`;
  await files.writeFileAtomic(STATE_FILES.record, Buffer.from(text), { mode: 0o600 });
}

/** An older version was started again, or a checkout brought the folder. What is in it has no effect. */
function warnOfOldFolder({ folder, old, onWarning }: Opening): void {
  if (isInside(folder, old) || !lstatSync(old, { throwIfNoEntry: false })) return;
  if (readStateRecord(folder)?.migration?.renamedTo === old) return;
  onWarning(`${old} is not used, nor are the rules in it: the state of this workspace is in ${folder}. Remove it.`);
}

function unusedName(wanted: string): string {
  let name = wanted;
  for (let count = 2; existsSync(name); count++) name = `${wanted}-${count}`;
  return name;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
