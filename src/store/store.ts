import { closeSync, constants, lstatSync, openSync } from "node:fs";
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
import { artifactsModule } from "./artifacts.ts";
import { auditModule } from "./audit.ts";
import { callsModule } from "./calls.ts";
import type { SqlDatabase } from "./database.ts";
import { ADOPTION, EARLIER_MIGRATIONS, refuseEarlierProcesses } from "./earlier-calls.ts";
import { jobsModule } from "./jobs.ts";
import { pinsModule, serverQuestionsModule, signInsModule } from "./mcp-servers.ts";
import { migrate } from "./migrations.ts";
import { openPostgres } from "./postgres.ts";
import { OWNER_MIGRATIONS, Owners } from "./process-owners.ts";
import { programsModule } from "./programs.ts";
import { schedulesModule } from "./schedules.ts";
import { keysModule } from "./secret-keys.ts";
import { seenFilesModule } from "./seen-files.ts";
import { sessionsModule } from "./sessions.ts";
import { openSoundSqlite } from "./sqlite.ts";
import type { StoreContext, StoreModule } from "./table.ts";
import { taintModule } from "./taint.ts";
import { undoModule } from "./undo.ts";

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
  /** Found on opening: a damaged file that was moved aside, calls that were lost. */
  readonly warnings: readonly string[];
  /** Writes waiting entries. If that fails it rejects, and is closed nevertheless. */
  close(): Promise<void>;
}

/** A SQLite file in a state folder (an absolute path, see `stateFolderOf`), or a PostgreSQL database. */
export type StoreLocation = { stateFolder: string } | { url: string };

export interface StoreOptions {
  clock?: Clock;
  onWarning?: (warning: string) => void;
  /** Further names of secrets that the audit log masks. */
  secretNames?: readonly string[];
}

/** Opens a store and brings its tables up to date. */
export async function openStore(
  location: StoreLocation,
  { clock = systemClock, onWarning, secretNames = [] }: StoreOptions = {},
): Promise<Store> {
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
    onWarning?.(warning);
  };
  const database =
    "url" in location ? await openPostgres(location.url) : await openFile(location.stateFolder, { clock, warn });
  const closing = new CloseStack();
  closing.push("database", () => database.close());
  try {
    await refuseEarlierProcesses(database, clock.now());
    await migrate(
      database,
      [
        OWNER_MIGRATIONS,
        ...EARLIER_MIGRATIONS,
        ...Object.values(STORE_MODULES).map(({ migrations }) => migrations),
        ADOPTION,
      ],
      clock.now(),
    );
    const owners = await Owners.enter(database, clock);
    closing.push("process owner", () => owners.leave());
    const parts = await openModules({ database, clock, owners, warn, secretNames }, closing);
    return { ...parts, database, warnings, close: () => closing.close() };
  } catch (error) {
    await closing.close().catch(() => undefined);
    throw error;
  }
}

function openFile(stateFolder: string, { clock, warn }: Pick<StoreContext, "clock" | "warn">): Promise<SqlDatabase> {
  return openSoundSqlite(prepareStoreFile(stateFolder), { now: () => clock.now(), warn });
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

/** Creates the folder and the file if they are missing, for this user only; returns the file's path. */
function prepareStoreFile(stateFolder: string): string {
  ensureStateFolder(stateFolder);
  const file = join(stateFolder, STATE_FILES.store);
  try {
    closeSync(openSync(file, constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY | NO_FOLLOW, 0o600));
    if (!lstatSync(file).isFile()) throw linkedState(file);
    restrictMode(file, 0o600);
    return file;
  } catch (error) {
    throw Object(error).code === "ELOOP" ? linkedState(file) : explainStateFailure(error, stateFolder);
  }
}
