// Jobs on several processes: workers and a client on a real server, some of them killed. The checker stands outside: what
// happened it knows from the file that the tools themselves write. Fault scenario fa-003.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { type OwnPostgres, startOwnPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { hasRedis, startRedis, type TestRedis } from "../../src/store/start-redis.fixture.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";
import type { LedgerTool } from "./ledger-tool.ts";
import { openSite, type Site } from "./open-site.ts";

const FULL = process.env["HAFT_FULL"] === "1";
/** Where a worker dies, another waits so long for its jobs; where none does, no lease may run out on a busy machine. */
const SHORT_LEASE_MS = 2_000;
const LONG_LEASE_MS = 60_000;
const TIMEOUT_MS = FULL ? 900_000 : 300_000;

let folder: string;
let program: string;
let postgres: OwnPostgres;
let redis: TestRedis | undefined;
beforeAll(async () => {
  folder = temporaryFolder("haft-scale-");
  program = await bundleProgram("test/jobs/work-process.ts", join(folder, "out"), { inlined: ["bullmq", "ioredis"] });
  postgres = await startOwnPostgres();
  if (hasRedis) redis = await startRedis();
}, 60_000);
afterAll(async () => {
  await postgres.stop();
  await redis?.stop();
});

// Most of the time they wait for leases to run out: together they do that at once.
const together = { concurrent: true, timeout: TIMEOUT_MS };
describe("workers on PostgreSQL", together, () => {
  describeWorkers({ isRedis: false });
});
describe.skipIf(!hasRedis)("workers on Redis", together, () => {
  describeWorkers({ isRedis: true });
});

function describeWorkers({ isRedis }: { isRedis: boolean }): void {
  test("kill -9 at every point: nothing is lost, and what has effects is not repeated", async (context) => {
    const points = ["after take", "before effect", "after effect", "before end", "after end"] as const;
    const rounds = Array.from({ length: FULL ? 200 : points.length * 2 }, (_, i) => ({
      tool: { name: `tool${i}`, isReadOnly: i % 2 === 0, takesMs: 0 },
      point: points[Math.floor(i / 2) % points.length]!,
    }));
    const tools = rounds.map(({ tool }) => tool);
    const site = await open(context, { isRedis, tools });
    const dead = new Set<string>();
    await site.haft.jobs.work({ takes: ({ name }) => dead.has(name) });
    const play = async ({ tool, point }: (typeof rounds)[number]): Promise<void> => {
      const victim = await site.startWorker({ tools: [tool], failAt: point });
      const died = childEnd(victim);
      const end = site.call(tool.name, tool.name);
      expect(await died).toMatchObject({ signal: "SIGKILL" });
      dead.add(tool.name);
      // Of a call that was started nobody knows whether it had an effect; of one that was only taken, everybody.
      const isKnown = tool.isReadOnly || point === "after take" || point === "after end";
      const { begins } = site.readLedger(tool.name);
      const result = await end;
      const where = `${point}, ${tool.isReadOnly ? "read-only" : "with effects"}`;
      expect({ where, result }).toMatchObject({
        result: isKnown ? { status: "completed" } : { status: "failed", error: { code: "unknown_outcome" } },
      });
      const effects = site.readLedger(tool.name).begins;
      const wanted = tool.isReadOnly ? effects : point === "before effect" ? 0 : 1;
      expect({ where, effects, begins: begins <= effects }).toEqual({ where, effects: wanted, begins: true });
      expect(site.terminalEvents(tool.name)).toBe(1);
    };
    for (let i = 0; i < rounds.length; i += 10) await Promise.all(rounds.slice(i, i + 10).map(play));
  });

  test("two workers and a client: one is killed, and no job is lost or done twice", async (context) => {
    const tools = [
      { name: "look", isReadOnly: true, takesMs: 20 },
      { name: "pay", isReadOnly: false, takesMs: 20 },
    ];
    const site = await open(context, { isRedis, tools });
    const [doomed] = await Promise.all([site.startWorker(), site.startWorker()]);
    const calls = Array.from({ length: 24 }, (_, i) => ({ id: `c${i}`, tool: i % 2 ? "look" : "pay" }));
    const ends = calls.map(({ id, tool }) => site.call(tool, id));
    await until(() => site.begun({ by: doomed }) > 5);
    doomed.kill("SIGKILL");
    const results = await Promise.all(ends);
    const seen = calls.map(({ id, tool }, i) => {
      const { begins, overlaps } = site.readLedger(id);
      const result = results[i]!;
      const isUnknown = result.status === "failed" && result.error.code === "unknown_outcome";
      const succeeded = result.status === "completed";
      const isRight = tool === "look" ? succeeded : (succeeded && begins === 1) || (isUnknown && begins <= 1);
      return { id, isRight, overlaps, reported: site.terminalEvents(id), ...(isRight ? {} : { begins, result }) };
    });
    expect(seen).toEqual(calls.map(({ id }) => ({ id, isRight: true, overlaps: false, reported: 1 })));
    expect(await site.haft.jobs.counts()).toMatchObject({ queued: 0, delayed: 0, running: 0 });
  });

  test("a worker that stands still loses its wake-up: nobody begins its job again, and its result counts", async (context) => {
    const waitsFor = join(folder, `go-${isRedis ? "redis" : "postgres"}`);
    const tools = [
      { name: "look", isReadOnly: true, takesMs: 0, waitsFor },
      { name: "pay", isReadOnly: false, takesMs: 0, waitsFor },
      { name: "quick", isReadOnly: true, takesMs: 0 },
    ];
    const site = await open(context, { isRedis, tools });
    const frozen = await site.startWorker();
    const ends = [site.call("look", "c1"), site.call("pay", "c2")];
    // Not in the middle of a transaction, which would stop everybody else.
    await until(async () => (await site.isRecorded("c1")) && (await site.isRecorded("c2")));
    frozen.kill("SIGSTOP");
    await site.startWorker();
    // The second worker gets the wake-ups when their leases are over, and works.
    await new Promise((resolve) => setTimeout(resolve, 2 * SHORT_LEASE_MS));
    expect(await site.call("quick", "c3")).toMatchObject({ status: "completed" });
    expect((await site.haft.jobs.counts()).running).toBe(2);
    writeFileSync(waitsFor, "");
    frozen.kill("SIGCONT");
    for (const result of await Promise.all(ends)) expect(result).toMatchObject({ status: "completed" });
    for (const id of ["c1", "c2"]) {
      expect(site.readLedger(id)).toEqual({ begins: 1, ends: 1, overlaps: false });
      expect(site.terminalEvents(id)).toBe(1);
    }
  });

  test("four workers run every job once, and all of them get some", async (context) => {
    const tools = [{ name: "look", isReadOnly: true, takesMs: 10 }];
    const site = await open(context, { isRedis, tools, leaseMs: LONG_LEASE_MS });
    await Promise.all(Array.from({ length: 4 }, () => site.startWorker({ concurrency: 2 })));
    const ids = Array.from({ length: 40 }, (_, i) => `c${i}`);
    const results = await Promise.all(ids.map((id) => site.call("look", id)));
    expect(results.every(({ status }) => status === "completed")).toBe(true);
    const jobs = await site.haft.jobs.list();
    for (const id of ids) {
      const lost = jobs.find(({ call }) => call.callId === id)?.lost;
      expect({ id, lost, ...site.readLedger(id) }).toEqual({ id, lost: 0, begins: 1, ends: 1, overlaps: false });
    }
    expect(site.workersInLedger()).toBe(4);
  });

  test("a worker that is told to end finishes what runs and leaves the rest to others", async (context) => {
    const tools = [{ name: "look", isReadOnly: true, takesMs: 50 }];
    const site = await open(context, { isRedis, tools, leaseMs: LONG_LEASE_MS });
    const leaving = await site.startWorker({ concurrency: 2 });
    const ids = Array.from({ length: 8 }, (_, i) => `c${i}`);
    const ends = ids.map((id) => site.call("look", id));
    await until(() => site.begun({ by: leaving }) > 0);
    const left = childEnd(leaving);
    leaving.kill("SIGTERM");
    expect(await left).toMatchObject({ code: 0 });
    await site.startWorker();
    expect((await Promise.all(ends)).every(({ status }) => status === "completed")).toBe(true);
    for (const id of ids) expect(site.readLedger(id)).toEqual({ begins: 1, ends: 1, overlaps: false });
  });
}

test("PostgreSQL that restarts in the middle loses no job", { timeout: TIMEOUT_MS }, async (context) => {
  const tools = [{ name: "look", isReadOnly: true, takesMs: 30 }];
  const site = await open(context, { isRedis: false, tools });
  await Promise.all([site.startWorker({ concurrency: 2 }), site.startWorker({ concurrency: 2 })]);
  const ids = Array.from({ length: 20 }, (_, i) => `c${i}`);
  const jobs = await Promise.all(ids.map((id) => site.submit("look", id)));
  await until(() => site.begun() > 4);
  await postgres.restart();
  await until(async () => {
    const counts = await site.haft.jobs.counts().catch(() => undefined);
    return counts?.completed === jobs.length;
  });
  for (const id of jobs) expect(await site.haft.jobs.get(id)).toMatchObject({ state: "completed" });
  for (const id of ids) expect(site.readLedger(id).overlaps).toBe(false);
});

interface OpenOptions {
  isRedis: boolean;
  tools: LedgerTool[];
  leaseMs?: number;
}

let sites = 0;

async function open(
  { onTestFinished }: TestContext,
  { isRedis, tools, leaseMs = SHORT_LEASE_MS }: OpenOptions,
): Promise<Site> {
  const place = {
    storeUrl: await postgres.createDatabase(),
    ...(isRedis ? { redisUrl: redis!.createDatabase() } : {}),
    namespace: `site${++sites}`,
    leaseMs,
  };
  const site = await openSite({ folder, program, place, tools });
  onTestFinished(() => site.close());
  return site;
}
