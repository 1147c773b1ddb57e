import { type Clock, systemClock } from "../core/clock.ts";
import { approvalsModule } from "./sql-approvals.ts";
import { artifactsModule } from "./sql-artifacts.ts";
import { auditModule } from "./audit.ts";
import { jobsModule } from "./sql-jobs.ts";
import { journalModule } from "./journal.ts";
import { migrate } from "./migrate.ts";
import { openPostgres } from "./open-postgres.ts";
import { OWNER_MIGRATIONS, Owners } from "./owners.ts";
import { openSoundSqlite } from "./quarantine.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { keysModule } from "./sql-keys.ts";
import { pinsModule, signInsModule } from "./sql-mcp.ts";
import { programsModule } from "./sql-programs.ts";
import { serverQuestionsModule } from "./sql-server-questions.ts";
import { schedulesModule } from "./sql-schedules.ts";
import { seenFilesModule } from "./sql-seen-files.ts";
import { sessionsModule } from "./sql-sessions.ts";
import { taintModule } from "./sql-taint.ts";
import { undoModule } from "./sql-undo.ts";
import { prepareStoreFolder } from "./store-folder.ts";
import type { StoreContext, StoreModule } from "./store-part.ts";

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
  try {
    await migrate(
      database,
      [OWNER_MIGRATIONS, ...Object.values(STORE_MODULES).map(({ migrations }) => migrations)],
      clock.now(),
    );
    const owners = await Owners.enter(database, clock);
    const { parts, closers } = await openModules({ database, clock, owners, warn, secretNames });
    return {
      ...parts,
      database,
      warnings,
      close: () => closeAll([...closers, () => owners.leave(), () => database.close()]),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function openFile(folder: string, { clock, warn }: Pick<StoreContext, "clock" | "warn">): Promise<SqlDatabase> {
  return openSoundSqlite(prepareStoreFolder(folder), { now: () => clock.now(), warn });
}

async function openModules(context: StoreContext): Promise<{ parts: Parts; closers: (() => unknown)[] }> {
  const parts: Record<string, unknown> = {};
  const closers: (() => unknown)[] = [];
  for (const [name, part] of Object.entries<StoreModule<unknown>>(STORE_MODULES)) {
    const value = await part.open(context);
    parts[name] = value;
    closers.unshift(() => part.close?.(value));
  }
  return { parts: parts as unknown as Parts, closers };
}

/** All of them, also where one fails; the first failure is the one to know. */
async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
