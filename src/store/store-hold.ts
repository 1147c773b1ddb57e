import type { StoreHold } from "../contracts/store.ts";
import { countOf } from "../core/results/count-of.ts";
import type { SqlDatabase, SqlRunner } from "./database.ts";
import { integer, json, optional, table, text } from "./table.ts";

/** One row. A copy of a database has the place of the original. */
const holds = table("store_hold", {
  one: integer("NOT NULL PRIMARY KEY"),
  place: text(),
  heldAt: optional(integer()),
  why: optional(json<string>()),
});

export const CREATE_HOLD = [holds.create, "INSERT INTO store_hold (one, place) VALUES (1, '')"];

/** As a condition: what starts by itself (jobs, schedules, approved calls without a caller) waits while the store is held. */
export const NOT_HELD = "NOT EXISTS (SELECT 1 FROM store_hold WHERE held_at IS NOT NULL)";

export async function readHold(db: SqlRunner): Promise<StoreHold> {
  const [row] = await holds.select(db, ["heldAt", "why"]);
  return { ...row, ...(await countWaiting(db)) };
}

/** What to do about it; undefined if it is not held. */
export async function describeHeld(db: SqlRunner): Promise<string | undefined> {
  const [row] = await holds.select(db, ["heldAt"]);
  return row?.heldAt === undefined ? undefined : describeHold(await readHold(db));
}

export async function releaseHold(db: SqlRunner): Promise<void> {
  await db.run("UPDATE store_hold SET held_at = NULL, why = NULL");
}

/** A restored copy has what waited when the copy was made. It may have run since in the original. */
export async function holdCopy(db: SqlDatabase, now: number): Promise<void> {
  const place = await db.identity?.();
  const known = async (of: SqlRunner): Promise<string> => (await holds.select(of, ["place"]))[0]?.place ?? "";
  if (place === undefined || (await known(db)) === place) return;
  await db.transaction(async (tx) => {
    await tx.lock("store hold");
    const earlier = await known(tx);
    if (earlier === place) return;
    await tx.run("UPDATE store_hold SET place = ?", [place]);
    if (earlier === "") return;
    // The processes of the original do not run the calls of the copy.
    await tx.run("DELETE FROM owners");
    await holdRestored(tx, now);
  });
}

/** If nothing waits, there is nothing to hold. */
export async function holdRestored(tx: SqlRunner, now: number): Promise<void> {
  if (Object.values(await countWaiting(tx)).some((count) => count > 0))
    await hold(tx, now, "it was restored from a copy");
}

export function describeHold({ heldAt, why, jobs, calls, schedules }: StoreHold): string | undefined {
  if (heldAt === undefined) return undefined;
  const waiting = [countOf(jobs, "job"), countOf(calls, "approved call"), countOf(schedules, "schedule")].join(", ");
  return `The store is held${why === undefined ? "" : `: ${why}`}. ${waiting} wait. Cancel what has run meanwhile (\`haft jobs list\`, \`haft schedules list\`), then run \`haft store release\`.`;
}

export function hold(db: SqlRunner, now: number, why: string | undefined): Promise<unknown> {
  return db.run("UPDATE store_hold SET held_at = coalesce(held_at, ?), why = coalesce(?, why)", [
    now,
    holds.toSql("why", why),
  ]);
}

async function countWaiting(db: Pick<SqlRunner, "all">): Promise<{ jobs: number; calls: number; schedules: number }> {
  const [found] = await db.all<{ jobs: number; calls: number; schedules: number }>(
    `SELECT (SELECT count(*) FROM calls WHERE job_id IS NOT NULL AND state <> 'ended') AS jobs,
      (SELECT count(*) FROM calls WHERE job_id IS NULL AND state = 'approved') AS calls,
      (SELECT count(*) FROM schedules WHERE next_at IS NOT NULL) AS schedules`,
  );
  return found ?? { jobs: 0, calls: 0, schedules: 0 };
}
