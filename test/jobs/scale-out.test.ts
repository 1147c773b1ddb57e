// Jobs on several processes: two workers and a client on a real server, one of them killed. The checker stands outside: what
// happened it knows from the file that the tools themselves write. Fault scenario fa-003.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ToolResult } from "../../src/core/result.ts";
import { createHaft, type Haft } from "../../src/runtime.ts";
import { openStore } from "../../src/store/open-store.ts";
import { startPostgres, type TestPostgres } from "../../src/store/start-postgres.suite.ts";
import { hasRedis, startRedis, type TestRedis } from "../../src/store/start-redis.suite.ts";
import { bundleProgram } from "../house/bundle-program.ts";
import { type LedgerTool, ledgerTool } from "./ledger-tool.ts";
import { type JobPlace, openQueue } from "./open-queue.ts";
import type { WorkOrder } from "./work-process.ts";

const FULL = process.env["HAFT_FULL"] === "1";
/** Where a worker dies, another waits so long for its jobs; where none does, no lease may run out on a busy machine. */
const SHORT_LEASE_MS = 2_500;
const LONG_LEASE_MS = 60_000;

let base: string;
let program: string;
let postgres: TestPostgres;
let redis: TestRedis | undefined;
let storeUrl: string;
let redisUrl: string;
beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "haft-scale-")));
  program = await bundleProgram("test/jobs/work-process.ts", join(base, "out"));
  postgres = await startPostgres();
  storeUrl = await postgres.createDatabase();
  if (!hasRedis) return;
  redis = await startRedis();
  redisUrl = redis.createDatabase();
}, 60_000);
afterAll(async () => {
  await postgres.stop();
  await redis?.stop();
  rmSync(base, { recursive: true, force: true });
});

const workers = new Set<ChildProcess>();
afterEach(() => {
  for (const worker of workers) worker.kill("SIGKILL");
  workers.clear();
});

describe("workers on PostgreSQL", () => describeWorkers({ isRedis: false }));
describe.skipIf(!hasRedis)("workers on Redis", () => describeWorkers({ isRedis: true }));

function describeWorkers({ isRedis }: { isRedis: boolean }): void {
  test("two workers and a client: one is killed, and no job is lost or done twice", async () => {
    const site = await openSite(isRedis, [
      { name: "look", isReadOnly: true, takesMs: 20 },
      { name: "pay", isReadOnly: false, takesMs: 20 },
    ]);
    const [doomed] = await Promise.all([site.startWorker({ concurrency: 4 }), site.startWorker({ concurrency: 4 })]);
    const calls = Array.from({ length: 24 }, (_, i) => ({ id: `c${i}`, tool: i % 2 ? "look" : "pay" }));
    const ends = calls.map(({ id, tool }) => site.call(tool, id));
    await site.until(() => site.begun({ by: doomed.pid }) > 5);
    doomed.kill("SIGKILL");
    const results = await Promise.all(ends);
    for (const [i, { id, tool }] of calls.entries()) {
      const { begins, overlaps } = site.readLedger(id);
      expect(overlaps).toBe(false);
      if (tool === "look") expect(results[i]).toMatchObject({ status: "completed", callId: id });
      else {
        expect(begins).toBeLessThanOrEqual(1);
        if (!results[i]!.success) expect(results[i]).toMatchObject({ error: { code: "unknown_outcome" } });
        else expect(begins).toBe(1);
      }
      expect(site.terminalEvents(id)).toBe(1);
    }
    expect(await site.haft.jobs.counts()).toMatchObject({ queued: 0, delayed: 0, running: 0 });
  });

  test("four workers run every job once, and all of them get some", async () => {
    const site = await openSite(isRedis, [{ name: "look", isReadOnly: true, takesMs: 10 }], LONG_LEASE_MS);
    await Promise.all(Array.from({ length: 4 }, () => site.startWorker({ concurrency: 2 })));
    const ids = Array.from({ length: 40 }, (_, i) => `c${i}`);
    const results = await Promise.all(ids.map((id) => site.call("look", id)));
    expect(results.every(({ success }) => success)).toBe(true);
    const jobs = await site.haft.jobs.list();
    for (const id of ids) {
      const lost = jobs.find(({ call }) => call.callId === id)?.lost;
      expect({ id, lost, ...site.readLedger(id) }).toEqual({ id, lost: 0, begins: 1, ends: 1, overlaps: false });
    }
    expect(site.workersInLedger()).toBe(4);
  });

  test("a worker that is told to end finishes what runs and leaves the rest to others", async () => {
    const site = await openSite(isRedis, [{ name: "look", isReadOnly: true, takesMs: 50 }], LONG_LEASE_MS);
    const leaving = await site.startWorker({ concurrency: 2 });
    const ids = Array.from({ length: 8 }, (_, i) => `c${i}`);
    const ends = ids.map((id) => site.call("look", id));
    await site.until(() => site.begun({ by: leaving.pid }) > 0);
    const left = new Promise<number | null>((resolve) => leaving.once("exit", resolve));
    leaving.kill("SIGTERM");
    expect(await left).toBe(0);
    await site.startWorker({ concurrency: 4 });
    expect((await Promise.all(ends)).every(({ success }) => success)).toBe(true);
    for (const id of ids) expect(site.readLedger(id)).toEqual({ begins: 1, ends: 1, overlaps: false });
  });

  test(
    "kill -9 at every point: nothing is lost, and what has effects is not repeated",
    { timeout: FULL ? 900_000 : 120_000 },
    async () => {
      const points = ["job claimed", "before effect", "after effect", "job before ack", "job acknowledged"] as const;
      const rounds = Array.from({ length: FULL ? 200 : points.length * 2 }, (_, i) => ({
        tool: { name: `tool${i}`, isReadOnly: i % 2 === 0, takesMs: 0 },
        point: points[Math.floor(i / 2) % points.length]!,
      }));
      const site = await openSite(
        isRedis,
        rounds.map(({ tool }) => tool),
      );
      const dead = new Set<string>();
      await site.haft.jobs.work({ takes: ({ name }) => dead.has(name) });
      const play = async ({ tool, point }: (typeof rounds)[number]): Promise<void> => {
        const victim = await site.startWorker({ tools: [tool], failAt: point });
        const died = new Promise<string | null>((resolve) => victim.once("exit", (_code, signal) => resolve(signal)));
        const end = site.call(tool.name, tool.name);
        expect(await died).toBe("SIGKILL");
        dead.add(tool.name);
        const result = await end;
        const { begins } = site.readLedger(tool.name);
        const happened = { where: `${point}, ${tool.isReadOnly ? "read-only" : "with effects"}`, begins, result };
        // Of a call that was claimed nobody knows whether it had begun; of one that was only taken, everybody.
        const isKnown = tool.isReadOnly || !["before effect", "after effect"].includes(point);
        if (isKnown) expect(happened).toMatchObject({ result: { status: "completed" } });
        else expect(happened).toMatchObject({ result: { status: "failed", error: { code: "unknown_outcome" } } });
        if (!tool.isReadOnly) expect(begins).toBe(point === "before effect" ? 0 : 1);
        expect(site.terminalEvents(tool.name)).toBe(1);
      };
      for (let i = 0; i < rounds.length; i += 5) await Promise.all(rounds.slice(i, i + 5).map(play));
    },
  );
}

test("PostgreSQL that restarts in the middle loses no job", async () => {
  const site = await openSite(false, [{ name: "look", isReadOnly: true, takesMs: 30 }]);
  await Promise.all([site.startWorker({ concurrency: 2 }), site.startWorker({ concurrency: 2 })]);
  const ids = Array.from({ length: 20 }, (_, i) => `c${i}`);
  const jobs = await Promise.all(ids.map((id) => site.submit("look", id)));
  await site.until(() => site.begun({}) > 4);
  await postgres.restart();
  await site.until(async () => {
    const counts = await site.haft.jobs.counts().catch(() => undefined);
    return counts?.completed === jobs.length;
  });
  for (const id of jobs) expect(await site.haft.jobs.get(id)).toMatchObject({ state: "completed" });
  for (const id of ids) expect(site.readLedger(id).overlaps).toBe(false);
});

interface Site {
  haft: Haft;
  startWorker(options?: { concurrency?: number; tools?: LedgerTool[]; failAt?: string }): Promise<ChildProcess>;
  /** Of a background call, once its job has ended. */
  call(toolName: string, id: string): Promise<ToolResult>;
  /** The id of the job. */
  submit(toolName: string, id: string): Promise<string>;
  readLedger(what: string): { begins: number; ends: number; overlaps: boolean };
  begun(options: { by?: number }): number;
  workersInLedger(): number;
  terminalEvents(callId: string): number;
  until(holds: () => boolean | Promise<boolean>): Promise<void>;
}

let sites = 0;

/** A database, a queue, and a client, which is this process. */
async function openSite(isRedis: boolean, tools: LedgerTool[], leaseMs = SHORT_LEASE_MS): Promise<Site> {
  const ledger = join(base, `ledger-${++sites}`);
  writeFileSync(ledger, "");
  const place: JobPlace = {
    storeUrl,
    ...(isRedis ? { redisUrl } : {}),
    namespace: `site${sites}`,
    leaseMs,
  };
  const store = await openStore({ url: place.storeUrl });
  const haft = createHaft({
    tools: tools.map((tool) => ledgerTool(tool, ledger)),
    journal: store.journal,
    log: store.audit,
    jobs: await openQueue(place),
    worker: false,
  });
  const terminal: string[] = [];
  haft.on("tool_call_completed", ({ callId }) => void terminal.push(callId));
  haft.on("tool_call_failed", ({ callId }) => void terminal.push(callId));
  onTestFinished(async () => {
    await haft.shutdown();
    await store.close();
  });
  const lines = (): string[][] =>
    readFileSync(ledger, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(" "));
  const submit = async (toolName: string, id: string): Promise<string> => {
    const result = await haft.execute(toolName, { what: id }, { id, caller: { session: place.namespace } });
    if (result.status !== "pending") throw new Error(`Not accepted: ${JSON.stringify(result)}`);
    return result.pending.id;
  };
  return {
    haft,
    submit,
    call: async (toolName, id) => haft.jobs.wait(await submit(toolName, id)),
    async startWorker({ concurrency = 4, tools: own = tools, failAt = "" } = {}) {
      const order: WorkOrder = { place, ledger, tools: own, concurrency };
      const worker = spawn(process.execPath, [program, JSON.stringify(order)], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, HAFT_FAIL_AT: failAt },
      });
      workers.add(worker);
      await new Promise<void>((resolve, reject) => {
        worker.stdout.on("data", (text) => String(text).includes("ready") && resolve());
        worker.once("exit", () => reject(new Error("The worker ended before it began.")));
      });
      return worker;
    },
    readLedger(what) {
      const own = lines().filter((line) => line[1] === what);
      const overlaps = own.some(([kind, , pid], i) => {
        const next = own[i + 1];
        return (
          kind === "begin" &&
          next?.[0] === "begin" &&
          next[2] !== pid &&
          own.slice(i).some((l) => l[2] === pid && l[0] === "end")
        );
      });
      const count = (kind: string): number => own.filter((line) => line[0] === kind).length;
      return { begins: count("begin"), ends: count("end"), overlaps };
    },
    begun: ({ by }) =>
      lines().filter(([kind, , pid]) => kind === "begin" && (by === undefined || pid === String(by))).length,
    workersInLedger: () => new Set(lines().map((line) => line[2])).size,
    terminalEvents: (callId) => terminal.filter((each) => each === callId).length,
    async until(holds) {
      while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}
