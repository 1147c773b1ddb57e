import { expect, test } from "vitest";
import { systemClock } from "../../core/clock.ts";
import { auditStatistics } from "./statistics.ts";
import { openStore } from "../../store/store.ts";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";

test("calls of every process that shares the store are counted, by tool and by time", async () => {
  const folder = temporaryFolder("haft-statistics-");
  const store = await openStore({ stateFolder: folder });
  onTestFinished(async () => {
    await store.close();
  });
  const from = systemClock.now() - 1000;
  const ended = (toolName: string, durationMs: number, code?: string) =>
    store.audit.append({
      kind: code === "denied" ? "call_refused" : "call_ended",
      callId: `${toolName}-${durationMs}`,
      toolName,
      status: code === undefined ? "completed" : "failed",
      caller: { agent: toolName === "exec" ? "mcp:claude" : undefined, user: "ada" },
      data: { durationMs, waitedMs: code && 40, contentBytes: 10, ...(code === undefined ? {} : { error: { code } }) },
    });
  for (let ms = 1; ms <= 100; ms++) await ended("read", ms);
  await ended("exec", 5, "exit_code");
  await ended("exec", 0, "denied");
  const to = systemClock.now() + 1000;
  const { tools, buckets, callers } = await auditStatistics(store.audit, { from, to, buckets: 10 });
  expect(tools).toEqual([
    { tool: "read", count: 100, failures: 0, denials: 0, avgMs: 50.5, p50Ms: 51, p95Ms: 96, bytes: 1000, waitedMs: 0 },
    { tool: "exec", count: 2, failures: 1, denials: 1, avgMs: 2.5, p50Ms: 5, p95Ms: 5, bytes: 20, waitedMs: 80 },
  ]);
  expect(callers.map(({ caller, count, waitedMs }) => [caller, count, waitedMs])).toEqual([
    ["ada", 100, 0],
    ["mcp:claude", 2, 80],
  ]);
  expect(buckets).toHaveLength(10);
  expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(102);
  expect((await auditStatistics(store.audit, { from: 0, to: from, buckets: 2 })).tools).toEqual([]);
});
