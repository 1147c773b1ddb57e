import { createPostgresBackend, Queue } from "bullmq";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { until } from "../../test/setup/until.ts";
import type { CallData } from "../core/call.ts";
import type { ToolResult } from "../core/result.ts";
import { openPostgres } from "./postgres/postgres.ts";
import { startPostgres, type TestPostgres } from "./postgres/start-postgres.fixture.ts";
import { openStore } from "./store.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 60_000);
afterAll(() => server.stop());

test("open jobs of versions with a queue in PostgreSQL run after the upgrade, each once, and the queue stays as it is", async () => {
  const url = await server.createDatabase();
  const add = async (queueName: string, data: unknown, options: { jobId?: string; priority?: number }) => {
    const queue = new Queue(queueName, { connection: { connectionString: url, migrate: true } }, createPostgresBackend);
    await queue.add("tool", data, options);
    await queue.close();
  };
  const before = await openStore({ url });
  // 0.2 had a row and an entry with its id.
  const { id } = await before.jobs.submit({ call: aCall("c2"), priority: 0, delayMs: 0, attempts: 1 });
  await add("haft.jobs.tool", id, {});
  // 0.1 had only an entry. A worker of 0.2 has made one of them a row, and was killed.
  const facts = { priority: 5, createdAt: 1, runAt: 1, attempts: 1, round: 1, order: 1, uncounted: 0, lostBefore: 0 };
  const entry = (callId: string, more = {}) => JSON.stringify({ call: aCall(callId), ...facts, ...more });
  await add("haft.jobs.tool", entry("c1"), { jobId: "job_waits", priority: 999_995 });
  await add("haft.jobs.tool", entry("late", { runAt: Date.now() + 1e9 }), { jobId: "job_late" });
  await add("haft.jobs.tool", entry("stopped", { cancelled: {} }), { jobId: "job_stopped" });
  await add("haft.jobs.tool", entry("c2"), { jobId: id });
  await add("theirs", { call: "of another program" }, { jobId: "job_theirs" });
  await before.database.run("DELETE FROM haft_migrations WHERE owner = 'jobs' AND version = 3");
  await before.close();

  const store = await openStore({ url });
  onTestFinished(() => store.close());
  const ran: string[] = [];
  await store.jobs.work({
    tools: () => ["tool"],
    concurrency: 1,
    run: async ({ call: { callId, toolName } }) => {
      ran.push(callId);
      const result: ToolResult = {
        ...{ callId, toolName, status: "completed", success: true, content: [], display: "", metadata: {} },
        startedAt: 1,
      };
      return { result };
    },
  });
  await until(async () => (await store.jobs.counts()).completed === 2);
  // The higher priority came first.
  expect(ran).toEqual(["c1", "c2"]);
  const states = Object.fromEntries((await store.jobs.list()).map((job) => [job.id, job.state]));
  expect(states).toEqual({ job_late: "delayed", job_waits: "completed", [id]: "completed" });
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  expect(await database.all("SELECT count(*) AS count FROM bullmq.job")).toEqual([{ count: 6 }]);
});

function aCall(callId: string): CallData {
  return {
    ...{ callId, toolName: "tool", toolVersion: "1.0.0", input: {}, caller: { depth: 0 }, options: {} },
    ...{ verdict: { decision: "allow", by: "tool", reason: "It asks for nothing." }, idempotent: false },
  };
}
