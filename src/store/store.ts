import { type Clock, systemClock } from "../core/clock.ts";
import { CloseStack } from "../core/close-stack.ts";
import { GroupWriter } from "./group-writer.ts";
import { artifactsModule } from "./artifacts.ts";
import { SEGMENT_MIGRATIONS } from "./audit/audit-chain.ts";
import { findMismatch } from "./audit/audit-verify.ts";
import { auditModule } from "./audit/audit.ts";
import { callsModule } from "./calls.ts";
import type { SqlDatabase } from "./database.ts";
import { ADOPTION, EARLIER_MIGRATIONS, refuseEarlierProcesses } from "./earlier-calls.ts";
import { jobsModule } from "./job-tables.ts";
import { keysModule, pinsModule, serverQuestionsModule, signInsModule } from "./mcp-servers.ts";
import { migrate, type Migrations } from "./migrations.ts";
import { OWNER_MIGRATIONS, Owners } from "./process-owners.ts";
import { programsModule } from "./programs.ts";
import { provenanceModule } from "./provenance.ts";
import { Retention } from "./retention.ts";
import { describeHeld, holdCopy } from "./store-hold.ts";
import { storedRulesModule } from "./stored-rules.ts";
import { schedulesModule } from "./schedules.ts";
import { seenFilesModule } from "./seen-files.ts";
import { sessionsModule, todosModule } from "./sessions.ts";
import { engineOf, type StoreLocation } from "./store-engines.ts";
import type { StoreContext, StoreModule } from "./table.ts";
import { taintModule } from "./taint.ts";
import { toolUseModule } from "./discovery/tool-use.ts";
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
  provenance: provenanceModule,
  rules: storedRulesModule,
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
  /** The processes that have it open. */
  readonly owners: Owners;
  /** Deletes what is too old or too much. */
  readonly retention: Retention;
  /** Found on opening: calls that were lost, changes that were rolled back. */
  readonly warnings: readonly string[];
  /** Writes waiting entries. If that fails it rejects, and is closed nevertheless. */
  close(): Promise<void>;
}

export type { StoreLocation };

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
  const { engine, place } = engineOf(location);
  const opened = await engine.open(place, { clock, warn, closing });
  const { database } = opened;
  closing.push("database", () => database.close());
  try {
    await refuseEarlierProcesses(database, clock.now());
    await migrate(database, STORE_MIGRATIONS, clock.now());
    opened.onReady?.();
    await holdCopy(database, clock.now());
    const owners = await Owners.enter(database, clock);
    closing.push("process owner", () => owners.leave());
    if (owners.aheadMs !== 0) warn(describeWrongClock(owners.aheadMs));
    const writer = new GroupWriter({ database, owner: owners.id, now: () => clock.now() });
    closing.push("writer", () => writer.close());
    if (opened.lostEntries) reportLost(opened.lostEntries, writer, warn);
    const parts = await openModules({ database, writer, clock, owners, warn, secretNames }, closing);
    const held = await describeHeld(database);
    if (held !== undefined) warn(held);
    const mismatch = await findMismatch(database);
    if (mismatch !== undefined) warn(mismatch);
    const { audit, artifacts: outputs } = parts;
    const { owner } = audit;
    const folder = opened.archiveFolder ?? archiveFolder;
    const retention = new Retention({ database, clock, owner, outputs, folder, warn });
    closing.push("retention", () => retention.close());
    return { ...parts, database, owners, retention, warnings, close: () => closing.close() };
  } catch (error) {
    await closing.close().catch(() => undefined);
    throw error;
  }
}

/** The disk did not have the end of the log yet when the machine stopped. Starts of calls with effects are never among it. */
function reportLost(count: number, writer: GroupWriter, warn: (warning: string) => void): void {
  const what = `The last ${count} entries of the audit log were lost when the machine stopped`;
  warn(
    `${what}: how calls ended, and read-only calls. A call with an effect whose end is missing has an unknown outcome.`,
  );
  const gap = writer.draft({ kind: "gap", data: { count, reason: `${what}.` } });
  writer.keep({ draft: () => gap });
}

/** Of all parts that are opened with the store. */
export const STORE_MIGRATIONS: readonly Migrations[] = [
  OWNER_MIGRATIONS,
  ...EARLIER_MIGRATIONS,
  SEGMENT_MIGRATIONS,
  ...Object.values(STORE_MODULES)
    .filter((part) => part !== jobsModule)
    .map(({ migrations }) => migrations),
  ADOPTION,
  // Last: whether the call of an earlier job has begun says a row that the adoption makes.
  jobsModule.migrations,
];

function describeWrongClock(aheadMs: number): string {
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `The clock of this process is ${minutes} minutes ${aheadMs > 0 ? "ahead of" : "behind"} the one of the store. Haft uses the time of the store; correct the clock.`;
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
