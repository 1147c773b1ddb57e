import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { toolError } from "../core/error.ts";
import { openSqlite, type SqliteDatabase, type SqliteOptions } from "./open-sqlite.ts";
import { explainSqlite, isDamage } from "./sqlite-failure.ts";

export interface SoundSqliteOptions extends SqliteOptions {
  now: () => number;
  warn: (message: string) => void;
}

/** Opens the file; a damaged one is set aside, whole, and a new one made in its place, which is said and never silent. */
export async function openSoundSqlite(file: string, options: SoundSqliteOptions): Promise<SqliteDatabase> {
  const first = await tryOpen(file, options);
  if ("database" in first) return first.database;
  return withLock(`${file}.quarantine`, async () => {
    // Another process may have done it while this one waited.
    const again = await tryOpen(file, options);
    if ("database" in again) return again.database;
    const aside = setAside(file, new Date(options.now()));
    closeSync(openSync(file, "a", 0o600));
    const database = await openSqlite(file, options);
    options.warn(
      `The store ${file} was damaged (${again.damage}). It was moved to ${aside}, and a new, empty one was begun: ` +
        "what was recorded, approved and scheduled before is in the old file only.",
    );
    return database;
  });
}

async function tryOpen(
  file: string,
  options: SoundSqliteOptions,
): Promise<{ database: SqliteDatabase } | { damage: string }> {
  try {
    return { database: await openSqlite(file, { ...options, isChecked: true }) };
  } catch (error) {
    if (isDamage(error)) return { damage: (error as Error).message };
    throw explainSqlite(error, file);
  }
}

/** With all that belongs to it: a log without its database, or the other way round, is worth nothing. */
function setAside(file: string, at: Date): string {
  const stamp = at.toISOString().replace(/[-:]|\.\d+/g, "");
  let aside = `${file}.corrupt-${stamp}`;
  for (let count = 2; existsSync(aside); count++) aside = `${file}.corrupt-${stamp}-${count}`;
  for (const suffix of ["-wal", "-shm", "-journal", ""]) {
    if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
  }
  return aside;
}

const STALE_MS = 30_000;

async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += 50) {
    try {
      closeSync(openSync(lock, "wx", 0o600));
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (waited > STALE_MS) throw held(lock);
      if (isStale(lock)) rmSync(lock, { force: true });
      else await sleep(50);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function isStale(lock: string): boolean {
  try {
    return Date.now() - statSync(lock).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

function held(lock: string): Error {
  return toolError("busy", `Another process is replacing the damaged store (${lock})`, {
    next: "Try again in a moment.",
  });
}
