import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { toolError } from "../core/error.ts";
import { approvalsModule } from "./approvals.ts";
import { artifactsModule } from "./artifacts.ts";
import { auditModule } from "./audit.ts";
import { journalModule } from "./call-journal.ts";
import type { SqlDatabase } from "./database.ts";
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

/** Another table is one import and one line here. Closed in reverse. */
const STORE_MODULES = {
  approvals: approvalsModule,
  artifacts: artifactsModule,
  audit: auditModule,
  jobs: jobsModule,
  journal: journalModule,
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

type Parts = {
  readonly [Name in keyof typeof STORE_MODULES]: Awaited<ReturnType<(typeof STORE_MODULES)[Name]["open"]>>;
};

/** Everything that outlives the process. */
export interface Store extends Parts {
  readonly database: SqlDatabase;
  /** What was found at opening that somebody should know: a damaged file that was set aside, calls that were lost. */
  readonly warnings: readonly string[];
  /** Writes what is waiting. Rejects, closed all the same, where that is not possible. */
  close(): Promise<void>;
}

/** `folder`: the workspace, in which `.haft/haft.db` is; `url`: a PostgreSQL database. */
export type StoreLocation = { folder: string } | { url: string };

export interface StoreOptions {
  clock?: Clock;
  onWarning?: (warning: string) => void;
  /** Further names of secrets, which the audit log hides. */
  secretNames?: readonly string[];
}

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
    "url" in location ? await openPostgres(location.url) : await openFile(location.folder, { clock, warn });
  const closing = new CloseStack();
  closing.push("database", () => database.close());
  try {
    await migrate(
      database,
      [OWNER_MIGRATIONS, ...Object.values(STORE_MODULES).map(({ migrations }) => migrations)],
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

function openFile(folder: string, { clock, warn }: Pick<StoreContext, "clock" | "warn">): Promise<SqlDatabase> {
  return openSoundSqlite(prepareStoreFolder(folder), { now: () => clock.now(), warn });
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

/** Makes `<folder>/.haft` where it is missing, for this user alone and out of version control; returns the file's path. */
function prepareStoreFolder(folder: string): string {
  const home = join(folder, ".haft");
  const file = join(home, "haft.db");
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // A repository may bring a link of this name, to have its owner's files written elsewhere.
    if (!lstatSync(home).isDirectory()) throw linked(home);
    narrow(home, 0o700);
    ignoreInGit(home);
    closeSync(openSync(file, "a", 0o600));
    if (!lstatSync(file).isFile()) throw linked(file);
    narrow(file, 0o600);
    return file;
  } catch (error) {
    throw explain(error, home);
  }
}

function narrow(path: string, mode: number): void {
  if (process.platform === "win32" || (lstatSync(path).mode & 0o777 & ~mode) === 0) return;
  chmodSync(path, mode);
}

function ignoreInGit(home: string): void {
  try {
    writeFileSync(join(home, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const ADVICE: Record<string, [what: string, next: string]> = {
  EACCES: ["may not be written", "Give this user the right to write there, or name another folder for the store."],
  EPERM: ["may not be written", "Give this user the right to write there, or name another folder for the store."],
  EROFS: ["is on a read-only file system", "Name another folder for the store."],
  ENOSPC: ["cannot be written: the disk is full", "Free some space, then try again."],
  EDQUOT: ["cannot be written: the disk quota is used up", "Free some space, then try again."],
  EEXIST: ["is not a folder", "Remove or rename what has that name."],
  ENOTDIR: ["is not in a folder", "Name an existing folder for the store."],
};

function explain(error: unknown, home: string): unknown {
  const known = ADVICE[String((error as NodeJS.ErrnoException).code)];
  if (!known) return error;
  const [what, next] = known;
  return toolError("io_error", `The store's folder ${home} ${what}`, { next, cause: error });
}

function linked(path: string): Error {
  return toolError("path_denied", `${path} is a link or not what it should be, and the store is not put there`, {
    next: "Remove it, or name another folder for the store.",
  });
}
