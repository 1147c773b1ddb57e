import pg from "pg";
import { describe, expect, test } from "vitest";
import { aQuestion } from "../calls/approval.fixture.ts";
import type { Job, JobRequest } from "../calls/job.ts";
import { approve } from "../calls/stored-call.ts";
import { failedJob, unknownJob } from "../calls/job.ts";
import { scheduleFor } from "../jobs/schedule-store.suite.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { join } from "node:path";
import { ENGINES, useEngine } from "./engines.fixture.ts";
import { backUpStore, restoreStore } from "./sqlite/store-restore.ts";
import type { Store, StoreLocation } from "./store.ts";
import { hold, readHold, releaseHold } from "./store-hold.ts";

const REQUEST: JobRequest = {
  ...{ priority: 0, delayMs: 0, attempts: 1 },
  call: {
    ...{ callId: "call", toolName: "tool", toolVersion: "1.0.0", input: {}, caller: { depth: 0 }, options: {} },
    idempotent: false,
  },
};

/** As an operator makes it: `haft store backup` and `restore`, or a copy of the database. */
async function restoredFrom(location: StoreLocation): Promise<StoreLocation> {
  if ("stateFolder" in location) {
    const backup = join(temporaryFolder(), "backup.db");
    await backUpStore(location.stateFolder, backup);
    const target = { stateFolder: temporaryFolder() };
    await restoreStore(target.stateFolder, { backup });
    return target;
  }
  const [, server, name] = /^(.*)\/(\w+)$/.exec(location.url) ?? [];
  const client = new pg.Client({ connectionString: `${server}/postgres` });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
  await client.end();
  return { url: `${server}/${name}_copy` };
}

async function fill(store: Store): Promise<Job> {
  const { row } = (await store.calls.insert(aQuestion())) as { row: { id: string } };
  const yes = approve({ approved: true, via: "api" } as never, () => false);
  await store.calls.change(row.id, (before) => yes(before, 1));
  await store.schedules.add(scheduleFor("s", { nextAt: 5 }), 5);
  return store.jobs.submit(REQUEST);
}

/** What runs by itself once a worker, a scheduler and a host look. */
async function startsBy(store: Store): Promise<string[]> {
  const ran: string[] = [];
  const worker = await store.jobs.work({
    ...{ tools: () => ["tool"], concurrency: 1 },
    run: async (job) => (ran.push("job"), { result: failedJob(job, unknownJob(job.id), 1) }),
  });
  // It looks once a second.
  await new Promise<void>((resolve) => setTimeout(resolve, 1300));
  await worker.close(0);
  if ((await store.schedules.due(10, 5)).length > 0) ran.push("schedule");
  if ((await store.calls.unfinished()).some(({ state }) => state === "approved")) ran.push("approved call");
  return ran;
}

describe.each(ENGINES)("on $name", (engine) => {
  const { createLocation, openStore } = useEngine(engine);

  test("what waited in a backup does not run before the operator releases the restored store", async () => {
    const location = await createLocation();
    const original = await openStore(location);
    const job = await fill(original);
    await original.close();
    const restored = await openStore(await restoredFrom(location));
    expect(restored.warnings.join()).toMatch(/held: it was restored from a copy.*1 job, 1 approved call, 1 schedule/);
    expect(await readHold(restored.database)).toMatchObject({
      heldAt: expect.any(Number),
      jobs: 1,
      calls: 1,
      schedules: 1,
    });
    expect(await startsBy(restored)).toEqual([]);
    expect(await restored.jobs.get(job.id)).toMatchObject({ state: "queued" });
    await releaseHold(restored.database);
    expect((await startsBy(restored)).sort()).toEqual(["approved call", "job", "schedule"]);
  });

  test("the store itself is not held, nor a restored one in which nothing waits, and a released one stays released", async () => {
    const location = await createLocation();
    await (await openStore(location)).close();
    const empty = await openStore(await restoredFrom(location));
    expect(await readHold(empty.database)).toEqual({ jobs: 0, calls: 0, schedules: 0 });
    const again = await openStore(location);
    await fill(again);
    await again.close();
    expect((await readHold((await openStore(location)).database)).heldAt).toBeUndefined();
  });

  test("an operator can hold a store before a server starts on a copy of its disk", async () => {
    const store = await openStore(await createLocation());
    await fill(store);
    await hold(store.database, 1, "disk snapshot");
    expect(await readHold(store.database)).toMatchObject({ heldAt: 1, why: "disk snapshot", jobs: 1 });
    expect(await startsBy(store)).toEqual([]);
  });
});
