import { spawn } from "node:child_process";
import { isUtf8 } from "node:buffer";
import { type BigIntStats, closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { basename, dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { errorCode, errorMessage, toolError, type ToolError } from "../../core/error.ts";
import { STATE_FILES } from "../../io/files/state-folder.ts";
import { describeLostEnd, findLostEnd } from "./store-end.ts";
import { importInstalled, resolveInstalled } from "../../schema/load-package.ts";

/** Larger files are not read as a whole at each start: see `checkInChild`. */
export const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/** What `haft store check` reports about a file. */
export interface StoreCheck {
  file: string;
  bytes: number;
  /** Empty if the store is sound. */
  problems: string[];
  /** Rows by table, as far as they can be counted. */
  tables: { name: string; rows?: number; problem?: string }[];
}

/** Kept beside the store from its creation on: an empty or missing file is known to have had data. */
interface StoreMarker {
  createdAt: string;
  /** When a large file was last checked as a whole. */
  checkedAt?: string;
}

function markerOf(file: string): string {
  return join(dirname(file), STATE_FILES.marker);
}

export function readMarker(file: string): StoreMarker | undefined {
  try {
    return JSON.parse(readFileSync(markerOf(file), "utf8")) as StoreMarker;
  } catch {
    return undefined;
  }
}

/** Notes that the store exists, and when it was checked. A failure is ignored: the marker protects, it is not needed. */
export function writeMarker(file: string, now: number, isChecked = false): void {
  const known = readMarker(file);
  if (known && !isChecked) return;
  const at = new Date(now).toISOString();
  const marker: StoreMarker = { createdAt: known?.createdAt ?? at, checkedAt: isChecked ? at : undefined };
  try {
    writeFileSync(markerOf(file), `${JSON.stringify(marker)}\n`, { mode: 0o600 });
  } catch {
    // A full disk, for example.
  }
}

/** Damage that needs no database: a file that is empty or missing although it had data, or is cut off. */
export function findFileDamage(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat && !stat.isFile()) return undefined;
  const size = stat?.size;
  if (!size) {
    const marker = readMarker(file);
    const what = size === undefined ? "it is missing" : "it is empty";
    return marker && `${what}, but it has had data since ${marker.createdAt}`;
  }
  // What is missing from the file may be in the WAL.
  if (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return undefined;
  const header = Buffer.alloc(100);
  const fd = openSync(file, "r");
  try {
    if (readSync(fd, header, 0, header.length, 0) < header.length) return "it is cut off";
  } finally {
    closeSync(fd);
  }
  if (header.toString("latin1", 0, 15) !== "SQLite format 3") return "it is not a SQLite database";
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const pages = header.readUInt32BE(28);
  return size < pages * pageSize ? `it is cut off: ${size} of ${pages * pageSize} bytes are there` : undefined;
}

/** The driver gives errors of a SELECT no code. */
const CODES: Readonly<Record<string, string>> = {
  "database is locked": "SQLITE_BUSY",
  "database table is locked": "SQLITE_LOCKED",
  "database disk image is malformed": "SQLITE_CORRUPT",
  "file is not a database": "SQLITE_NOTADB",
  "database or disk is full": "SQLITE_FULL",
  "attempt to write a readonly database": "SQLITE_READONLY",
  "disk I/O error": "SQLITE_IOERR",
  "unable to open database file": "SQLITE_CANTOPEN",
};

let collect: (() => void) | undefined;

/**
 * Closes the connection and what it has open. The driver finalizes a statement only when it is collected, and until then
 * SQLite keeps the files open: a later connection of this process would share locks and memory with one that is closed.
 */
export async function closeWhole(connection: DatabaseSyncInstance): Promise<void> {
  connection.close();
  await finalizeClosed();
}

/** How long closed connections wait for others. A process that ends before that need not collect anything. */
const COLLECT_MS = 1000;
/** By device and inode, because a file may be renamed: SQLite shares locks and memory between connections to one inode. */
const closed = new Set<string>();
let timer: NodeJS.Timeout | undefined;
let releasing: Promise<void> | undefined;

type FileIdentity = Pick<BigIntStats, "dev" | "ino">;

function keyOf({ dev, ino }: FileIdentity): string {
  return `${dev}:${ino}`;
}

/** The same for a store, whose files are released a moment later, together with those of others: collecting takes long. */
export async function closeStore(connection: DatabaseSyncInstance, opened: FileIdentity | undefined): Promise<void> {
  connection.close();
  // There, nobody can delete a file that is open.
  if (process.platform === "win32") return finalizeClosed();
  if (opened) closed.add(keyOf(opened));
  timer ??= setTimeout(() => void finalizeClosed(), COLLECT_MS).unref();
}

/** Call it before a file is opened. */
export async function releaseClosed(file: string): Promise<void> {
  await releasing;
  const found = closed.size > 0 && statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found && closed.has(keyOf(found))) await finalizeClosed();
}

async function finalizeClosed(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  closed.clear();
  if (!collect) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
    setFlagsFromString("--no-expose-gc");
  }
  collect();
  // Finalizers run in the next turn of the event loop.
  releasing = new Promise<void>((resolve) => setImmediate(resolve));
  await releasing;
}

/** SQLite's error name; extended names (SQLITE_IOERR_WRITE) start with the plain one. */
export function sqliteCode(error: unknown): string {
  const { sqliteCodeName, message = "" } = Object(error) as { sqliteCodeName?: string; message?: string };
  return sqliteCodeName ?? CODES[message] ?? errorCode(error) ?? "";
}

export function isDamage(error: unknown): boolean {
  const isUnreadable = error instanceof Error && error.message === "unsupported file format";
  return isUnreadable || /^SQLITE_(?:CORRUPT|NOTADB)/.test(sqliteCode(error));
}

/** Damage of the structure. Takes some 30 ms for 16 MB. */
export function findBrokenPages(connection: DatabaseSyncInstance): string | undefined {
  const [found] = connection.prepare("PRAGMA quick_check(1)").all() as { quick_check: string }[];
  return found?.quick_check === "ok" ? undefined : oneLine(found?.quick_check ?? "the check gave no answer");
}

/** The same, and text that is not readable. Reads every value. */
function findDamage(connection: DatabaseSyncInstance): string | undefined {
  const broken = findBrokenPages(connection);
  if (broken !== undefined) return broken;
  for (const table of blobs(connection, "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'")) {
    if (!isUtf8(table)) return "a table's name is not readable";
    const name = Buffer.from(table).toString("utf8");
    const columns = columnsOf(connection, name);
    if (!columns) return `a column's name of ${name} is not readable`;
    for (const column of columns.map(quote)) {
      // As BLOB: text that is not UTF-8 would be changed.
      const texts = `SELECT CAST(${column} AS BLOB) FROM ${quote(name)} WHERE typeof(${column}) = 'text'`;
      for (const text of blobs(connection, texts)) {
        if (!isUtf8(text)) return `${name} has text in ${column} that is not UTF-8`;
      }
    }
  }
  return undefined;
}

function oneLine(report: string): string {
  return report.replace("*** in database main ***", "").replace(/\s+/g, " ").trim();
}

/** The names of a table's columns; undefined if one is not readable. */
export function columnsOf(connection: DatabaseSyncInstance, table: string): string[] | undefined {
  const sql = `SELECT CAST(name AS BLOB) FROM pragma_table_info('${table.replaceAll("'", "''")}')`;
  const names = [...blobs(connection, sql)];
  return names.every((name) => isUtf8(name)) ? names.map((name) => Buffer.from(name).toString("utf8")) : undefined;
}

export function* blobs(connection: DatabaseSyncInstance, sql: string): Generator<Uint8Array> {
  const statement = connection.prepare(sql);
  statement.setReturnArrays(true);
  for (const [value] of statement.iterate() as Iterable<[Uint8Array | null]>) if (value) yield value;
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Checks a file as a whole. Never changes it, and works for files that the store refuses to open. */
export async function checkStoreFile(file: string): Promise<StoreCheck> {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const result: StoreCheck = { file, bytes, problems: [], tables: [] };
  const obvious = findFileDamage(file);
  if (obvious !== undefined) result.problems.push(obvious);
  if (bytes === 0) return result;
  const { DatabaseSync } = await importInstalled<typeof import("@photostructure/sqlite")>("@photostructure/sqlite");
  await releaseClosed(file);
  let connection: DatabaseSyncInstance | undefined;
  try {
    connection = new DatabaseSync(file);
    connection.exec("PRAGMA query_only = ON");
    const damage = findDamage(connection);
    if (damage !== undefined) result.problems.push(damage);
    const lost = findLostEnd(file, lastEntryOf(connection));
    if (lost && lost.onDisk > 0) result.problems.push(describeLostEnd(lost));
    const names =
      "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    for (const name of blobs(connection, names))
      result.tables.push(countRows(connection, Buffer.from(name).toString()));
  } catch (error) {
    // A full disk, for example, is no damage.
    const message = errorMessage(error);
    if (result.problems.length === 0 && !isDamage(error)) {
      throw toolError("io_error", `The store ${file} cannot be checked (${message})`, {
        next: "Check the disk, the space on it and the rights of the file, then try again.",
        cause: error,
      });
    }
    if (!result.problems.includes(message)) result.problems.push(message);
  } finally {
    if (connection) await closeWhole(connection);
  }
  return result;
}

/** Infinity if the log does not say. */
function lastEntryOf(connection: DatabaseSyncInstance): number {
  const [table] = connection.prepare("SELECT 1 AS one FROM sqlite_master WHERE name = 'audit_head'").all();
  const [head] = table ? (connection.prepare("SELECT count FROM audit_head").all() as { count: number }[]) : [];
  return head?.count ?? (table ? Number.POSITIVE_INFINITY : 0);
}

function countRows(connection: DatabaseSyncInstance, name: string): StoreCheck["tables"][number] {
  try {
    const [row] = connection.prepare(`SELECT count(*) AS rows FROM ${quote(name)}`).all() as { rows: number }[];
    return { name, rows: row?.rows ?? 0 };
  } catch (error) {
    return { name, problem: error instanceof Error ? error.message : String(error) };
  }
}

const CHECK_SCRIPT = `
const { DatabaseSync } = require(process.argv[1]);
let found;
try {
  const database = new DatabaseSync(process.argv[2]);
  database.exec("PRAGMA query_only = ON");
  found = database.prepare("PRAGMA quick_check(1)").all()[0].quick_check;
} catch (error) {
  found = error.message;
}
process.stdout.write(found);`;

/** Checks a large file in another process, with low priority: here it would block the event loop for seconds. */
export function checkInChild(file: string, signal?: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const driver = resolveInstalled("@photostructure/sqlite");
    const stdio = ["ignore", "pipe", "ignore"] as const;
    const child = spawn(process.execPath, ["-e", CHECK_SCRIPT, driver, file], { stdio: [...stdio], signal });
    child.unref();
    try {
      if (child.pid !== undefined) setPriority(child.pid, 10);
    } catch {
      // It has ended, or this user may not.
    }
    let output = "";
    child.stdout?.on("data", (text: Buffer) => void (output += text.toString()));
    child.once("error", reject);
    child.once("close", (code) => {
      if (code !== 0) reject(new Error(`The check of ${basename(file)} ended with ${code}.`));
      else resolve(output === "ok" ? undefined : oneLine(output));
    });
  });
}

/** A store that cannot be trusted. It is never replaced without being told to. */
export function damagedStore(file: string, reason: string, cause?: unknown): ToolError {
  return toolError("io_error", `The store ${file} is damaged (${reason.replace(/\.$/, "")}), so Haft does not use it`, {
    next:
      "`haft store check` shows the damage. `haft store restore` builds a new store from the readable parts, and " +
      "`haft store restore BACKUP` from a backup. Both keep the damaged file.",
    data: { store: "damaged", file },
    cause,
  });
}
