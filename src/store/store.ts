import { closeSync, constants, lstatSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import {
  ensureStateFolder,
  explainStateFailure,
  linkedState,
  restrictMode,
  STATE_FILES,
} from "../io/files/state-folder.ts";
import { GroupWriter } from "./group-writer.ts";
import { artifactsModule } from "./artifacts.ts";
import { SEGMENT_MIGRATIONS } from "./audit/audit-chain.ts";
import { findMismatch } from "./audit/audit-verify.ts";
import { auditModule } from "./audit/audit.ts";
import { callsModule } from "./calls.ts";
import type { SqlDatabase } from "./database.ts";
import { ADOPTION, EARLIER_MIGRATIONS, refuseEarlierProcesses } from "./earlier-calls.ts";
import { jobsModule } from "./job-tables.ts";
import { pinsModule, serverQuestionsModule, signInsModule } from "./mcp-servers.ts";
import { migrate, type Migrations } from "./migrations.ts";
import { OWNER_MIGRATIONS, Owners } from "./process-owners.ts";
import { programsModule } from "./programs.ts";
import { Retention } from "./retention.ts";
import { schedulesModule } from "./schedules.ts";
import { keysModule } from "./secret-keys.ts";
import { seenFilesModule } from "./seen-files.ts";
import { sessionsModule, todosModule } from "./sessions.ts";
import { isOpenHere, openSoundSqlite, type SqliteDatabase } from "./sqlite.ts";
import {
  checkInChild,
  findFileDamage,
  damagedStore,
  MAX_CHECKED_BYTES,
  readMarker,
  writeMarker,
} from "./store-check.ts";
import type { StoreContext, StoreModule } from "./table.ts";
import { taintModule } from "./taint.ts";
import { toolUseModule } from "./discovery/tool-use.ts";
import { undoModule } from "./undo.ts";
import { urlEngineOf } from "./url-engines.ts";

/** Another part is one import and one line here. Closed in reverse order. */
const STORE_MODULES = {
  artifacts: artifactsModule,
  audit: auditModule,
  calls: callsModule,
  jobs: jobsModule,
  keys: keysModule,
  pins: pinsModule,
  programs: programsModule,
  schedules: schedulesModule,
  seenFiles: seenFilesModule,
  sessions: sessionsModule,
  serverQuestions: serverQuestionsModule,
  signIns: signInsModule,
  taint: taintModule,
  todos: todosModule,
  toolUse: toolUseModule,
  undo: undoModule,
};

/** One store for each kind of record. */
type Parts = {
  readonly [Name in keyof typeof STORE_MODULES]: Awaited<ReturnType<(typeof STORE_MODULES)[Name]["open"]>>;
};

/** All data that survives the process. */
export interface Store extends Parts {
  /** The database behind all of them. */
  readonly database: SqlDatabase;
  /** Deletes what is too old or too much. */
  readonly retention: Retention;
  /** Found on opening: calls that were lost, changes that were rolled back. */
  readonly warnings: readonly string[];
  /** Writes waiting entries. If that fails it rejects, and is closed nevertheless. */
  close(): Promise<void>;
}

/** A SQLite file in a state folder (an absolute path, see `stateFolderOf`), or a database server by its address (`url-engines.ts`). */
export type StoreLocation = { stateFolder: string } | { url: string };

export interface StoreOptions {
  clock?: Clock;
  onWarning?: (warning: string) => void;
  /** Further names of secrets that the audit log masks. */
  secretNames?: readonly string[];
  /** Where the archives of a store on a database server are written. Others are in the state folder. */
  archiveFolder?: string;
}

/** Opens a store and brings its tables up to date. */
export async function openStore(
  location: StoreLocation,
  { clock = systemClock, onWarning, secretNames = [], archiveFolder }: StoreOptions = {},
): Promise<Store> {
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
    onWarning?.(warning);
  };
  const closing = new CloseStack();
  const database =
    "url" in location
      ? await urlEngineOf(location.url).open(location.url)
      : await openFile(location.stateFolder, { clock, warn, closing });
  closing.push("database", () => database.close());
  try {
    await refuseEarlierProcesses(database, clock.now());
    await migrate(database, STORE_MIGRATIONS, clock.now());
    if (!("url" in location)) writeMarker(fileIn(location.stateFolder), clock.now());
    const owners = await Owners.enter(database, clock);
    closing.push("process owner", () => owners.leave());
    const writer = new GroupWriter({ database, owner: owners.id, now: () => clock.now() });
    closing.push("writer", () => writer.close());
    const parts = await openModules({ database, writer, clock, owners, warn, secretNames }, closing);
    const mismatch = await findMismatch(database);
    if (mismatch !== undefined) warn(mismatch);
    const { audit, artifacts: outputs } = parts;
    const folder = "url" in location ? archiveFolder : join(location.stateFolder, STATE_FILES.archives);
    const retention = new Retention({ database, clock, audit, outputs, folder, warn });
    closing.push("retention", () => retention.close());
    return { ...parts, database, retention, warnings, close: () => closing.close() };
  } catch (error) {
    await closing.close().catch(() => undefined);
    throw error;
  }
}

/** Of all parts that are opened with the store. */
export const STORE_MIGRATIONS: readonly Migrations[] = [
  OWNER_MIGRATIONS,
  ...EARLIER_MIGRATIONS,
  SEGMENT_MIGRATIONS,
  ...Object.values(STORE_MODULES).map(({ migrations }) => migrations),
  ADOPTION,
];

function fileIn(stateFolder: string): string {
  return join(stateFolder, STATE_FILES.store);
}

interface FileOptions extends Pick<StoreContext, "clock" | "warn"> {
  closing: CloseStack;
}

async function openFile(stateFolder: string, options: FileOptions): Promise<SqlDatabase> {
  ensureStateFolder(stateFolder);
  const isKnown = isOpenHere(fileIn(stateFolder));
  // Before the file is created: a missing one may have had data.
  const damage = isKnown ? undefined : findFileDamage(fileIn(stateFolder));
  if (damage !== undefined) throw damagedStore(fileIn(stateFolder), damage);
  const file = isKnown ? fileIn(stateFolder) : prepareStoreFile(stateFolder);
  // The last process that closes the store empties the WAL.
  const wasClosed = !statSync(`${file}-wal`, { throwIfNoEntry: false })?.size;
  const database = await openSoundSqlite(file);
  const checkedAt = Date.parse(readMarker(file)?.checkedAt ?? "");
  const isDue = statSync(file).size > MAX_CHECKED_BYTES && !(options.clock.now() - checkedAt < CHECK_EVERY_MS);
  if (isDue || !wasClosed) checkLater(database, options);
  return database;
}

/** Short commands end before that. */
const CHECK_AFTER_MS = 10_000;
const CHECK_EVERY_MS = 24 * 60 * 60_000;

/**
 * The whole file is checked in another process: after one that did not close it, and a large one once a day. Damage makes
 * the store read-only.
 */
function checkLater(database: SqliteDatabase, { clock, warn, closing }: FileOptions): void {
  const { file } = database;
  const stop = new AbortController();
  const timer = clock.after(CHECK_AFTER_MS, () => {
    checkInChild(file, stop.signal).then(
      (damage) => {
        if (damage === undefined) return writeMarker(file, clock.now(), true);
        database.reportDamage(damage);
        warn(damagedStore(file, damage).message);
      },
      // Stopped, or no process could be started: the next start tries again.
      () => undefined,
    );
  });
  timer.setRef(false);
  closing.push("check of the store", () => {
    timer.cancel();
    stop.abort();
  });
}

async function openModules(context: StoreContext, closing: CloseStack): Promise<Parts> {
  const parts: Record<string, unknown> = {};
  for (const [name, part] of Object.entries<StoreModule<unknown>>(STORE_MODULES)) {
    const value = await part.open(context);
    parts[name] = value;
    closing.push(name, () => part.close?.(value));
  }
  return parts as unknown as Parts;
}

/** Not known on Windows. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** Creates the file if it is missing, for this user only; returns its path. */
function prepareStoreFile(stateFolder: string): string {
  const file = fileIn(stateFolder);
  try {
    closeSync(openSync(file, constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY | NO_FOLLOW, 0o600));
    if (!lstatSync(file).isFile()) throw linkedState(file);
    restrictMode(file, 0o600);
    return file;
  } catch (error) {
    throw Object(error).code === "ELOOP" ? linkedState(file) : explainStateFailure(error, stateFolder);
  }
}
