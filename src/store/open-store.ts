import { type Clock, systemClock } from "../core/clock.ts";
import { approvalsPart } from "./sql-approvals.ts";
import { artifactsPart } from "./sql-artifacts.ts";
import { auditPart } from "./audit.ts";
import { jobsPart } from "./sql-jobs.ts";
import { journalPart } from "./journal.ts";
import { migrate } from "./migrate.ts";
import { openPostgres } from "./open-postgres.ts";
import { OWNER_MIGRATIONS, Owners } from "./owners.ts";
import { openSoundSqlite } from "./quarantine.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { keysPart } from "./sql-keys.ts";
import { pinsPart, signInsPart } from "./sql-mcp.ts";
import { programsPart } from "./sql-programs.ts";
import { serverQuestionsPart } from "./sql-server-questions.ts";
import { schedulesPart } from "./sql-schedules.ts";
import { seenFilesPart } from "./sql-seen-files.ts";
import { sessionsPart } from "./sql-sessions.ts";
import { taintPart } from "./sql-taint.ts";
import { undoPart } from "./sql-undo.ts";
import { prepareStoreFolder } from "./store-folder.ts";
import type { StoreContext, StorePart } from "./store-part.ts";

/** Another table is one import and one line here. Closed in reverse. */
const PARTS = {
  approvals: approvalsPart,
  artifacts: artifactsPart,
  audit: auditPart,
  jobs: jobsPart,
  journal: journalPart,
  keys: keysPart,
  pins: pinsPart,
  programs: programsPart,
  schedules: schedulesPart,
  seenFiles: seenFilesPart,
  sessions: sessionsPart,
  serverQuestions: serverQuestionsPart,
  signIns: signInsPart,
  taint: taintPart,
  undo: undoPart,
};

type Parts = { readonly [Name in keyof typeof PARTS]: Awaited<ReturnType<(typeof PARTS)[Name]["open"]>> };

/** Everything that outlives the process. */
export interface Store extends Parts {
  readonly database: SqlDatabase;
  /** What was found at opening that somebody should know: a damaged file that was set aside, calls that were lost. */
  readonly warnings: readonly string[];
  /** Writes what is waiting. Rejects, closed all the same, where that is not possible. */
  close(): Promise<void>;
}

/** `folder`: the workspace, in which `.haft/haft.db` is; `url`: a PostgreSQL database. */
export type StorePlace = { folder: string } | { url: string };

export interface StoreOptions {
  clock?: Clock;
  onWarning?: (warning: string) => void;
  /** Further names of secrets, which the audit log hides. */
  secretNames?: readonly string[];
}

export async function openStore(
  place: StorePlace,
  { clock = systemClock, onWarning, secretNames = [] }: StoreOptions = {},
): Promise<Store> {
  const warnings: string[] = [];
  const warn = (warning: string): void => {
    warnings.push(warning);
    onWarning?.(warning);
  };
  const database = "url" in place ? await openPostgres(place.url) : await openFile(place.folder, { clock, warn });
  try {
    await migrate(
      database,
      [OWNER_MIGRATIONS, ...Object.values(PARTS).map(({ migrations }) => migrations)],
      clock.now(),
    );
    const owners = await Owners.enter(database, clock);
    const { parts, closers } = await openParts({ database, clock, owners, warn, secretNames });
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

async function openParts(context: StoreContext): Promise<{ parts: Parts; closers: (() => unknown)[] }> {
  const parts: Record<string, unknown> = {};
  const closers: (() => unknown)[] = [];
  for (const [name, part] of Object.entries<StorePart<unknown>>(PARTS)) {
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
