import { closeSync, constants, lstatSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../core/error.ts";
import {
  ensureStateFolder,
  explainStateFailure,
  linkedState,
  restrictMode,
  STATE_FILES,
} from "../../io/files/state-folder.ts";
import type { OpenedDatabase, OpeningStore } from "../store-engines.ts";
import { describeLostEnd, findLostEnd, forgetLostEnd, type LostEnd } from "./store-end.ts";
import { explainSqlite, isOpenHere, openSqlite, type SqliteDatabase } from "./sqlite.ts";
import {
  checkInChild,
  damagedStore,
  findFileDamage,
  isDamage,
  MAX_CHECKED_BYTES,
  readMarker,
  writeMarker,
} from "./store-check.ts";

/** `haft.db` in a state folder. */
export function storeFileOf(stateFolder: string): string {
  return join(stateFolder, STATE_FILES.store);
}

/** Opens the store of a state folder, or creates it. A damaged one is refused, and never replaced here. */
export async function openStoreFile(stateFolder: string, opening: OpeningStore): Promise<OpenedDatabase> {
  ensureStateFolder(stateFolder);
  const file = storeFileOf(stateFolder);
  if (!isOpenHere(file)) {
    // Before the file is created: a missing one may have had data.
    const damage = findFileDamage(file);
    if (damage !== undefined) throw damagedStore(file, damage);
    prepareFile(file, stateFolder);
  }
  // The last process that closes the store empties the WAL.
  const wasClosed = !statSync(`${file}-wal`, { throwIfNoEntry: false })?.size;
  const database = await openSound(file);
  const lost = await findLost(database);
  const checkedAt = Date.parse(readMarker(file)?.checkedAt ?? "");
  const isDue = statSync(file).size > MAX_CHECKED_BYTES && !(opening.clock.now() - checkedAt < CHECK_EVERY_MS);
  if (isDue || !wasClosed) checkLater(database, opening);
  return {
    database,
    archiveFolder: join(stateFolder, STATE_FILES.archives),
    lostEntries: lost?.all,
    onReady: () => writeMarker(file, opening.clock.now()),
  };
}

async function openSound(file: string): Promise<SqliteDatabase> {
  try {
    return await openSqlite(file, { isChecked: true });
  } catch (error) {
    throw isDamage(error) ? damagedStore(file, errorMessage(error), error) : explainSqlite(error, file);
  }
}

/** What of the end is missing. If the disk had it, ids that were used may be used again: the store is refused. */
async function findLost(database: SqliteDatabase): Promise<LostEnd | undefined> {
  const { file } = database;
  const hasLog = await database.hasTable("audit_head");
  const [head] = hasLog ? await database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1") : [];
  // Without a head, the log itself reports what is missing.
  const lost = hasLog && !head ? undefined : findLostEnd(file, head?.count ?? 0);
  if (!lost) return undefined;
  if (lost.onDisk > 0) {
    await database.close();
    throw damagedStore(file, describeLostEnd(lost));
  }
  forgetLostEnd(file);
  return lost;
}

/** Short commands end before that. */
const CHECK_AFTER_MS = 10_000;
const CHECK_EVERY_MS = 24 * 60 * 60_000;

/** Checks the whole file in another process: after one that did not close it, or daily if large. Damage: read-only. */
function checkLater(database: SqliteDatabase, { clock, warn, closing }: OpeningStore): void {
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

/** Not known on Windows. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** Creates the file if it is missing, for this user only. */
function prepareFile(file: string, stateFolder: string): void {
  try {
    closeSync(openSync(file, constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY | NO_FOLLOW, 0o600));
    if (!lstatSync(file).isFile()) throw linkedState(file);
    restrictMode(file, 0o600);
  } catch (error) {
    throw Object(error).code === "ELOOP" ? linkedState(file) : explainStateFailure(error, stateFolder);
  }
}
