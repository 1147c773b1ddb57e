import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { DatabaseHealth } from "../../store/database.ts";
import type { Haft } from "../../runtime.ts";
import { createServerApi, HealthCheck, type HookSource } from "./server.ts";

const checkOf = (health: DatabaseHealth) => new HealthCheck({ database: { health: () => health } });

test.each<[DatabaseHealth["state"], object]>([
  ["ok", { status: "ok", problems: [] }],
  ["damaged", { status: "damaged", problems: ["store_damaged"] }],
  ["full", { status: "degraded", problems: ["disk_full"] }],
  ["lost", { status: "degraded", problems: ["database_lost"] }],
])("the health of a server with a store that is %s", async (state, expected) => {
  const check = checkOf({ state, reason: "/a/path" });
  const health = await check.read();
  expect(health).toMatchObject(expected);
  expect(JSON.stringify(health), "anybody may read it").not.toContain("/a/path");
  expect((await check.warnings()).join()).toBe(state === "ok" ? "" : `The store is ${state}: /a/path`);
});

test("a blocked event loop is reported, for a while after it is free again", async () => {
  const check = checkOf({ state: "ok" });
  await sleep(50);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);
  await sleep(50);
  expect(await check.read()).toMatchObject({ status: "degraded", problems: ["event_loop_lag"] });
  expect(await check.read()).toMatchObject({ problems: ["event_loop_lag"] });
});

test("a hook is tried by its file, and only if it is installed", async () => {
  const tried: string[] = [];
  const hooks: HookSource = {
    list: async () => [],
    prove: async (file) =>
      file === "/known" && tried.push(file) ? { denies: false, problem: "it let it pass" } : undefined,
  };
  const api = createServerApi({
    haft: {} as Haft,
    startedAt: 0,
    info: { hooks },
    parts: () => [],
    describe: async () => ({}),
    warnings: () => [],
  });
  const tryHook = (file: string) => api.tryHook({ body: { file } } as Parameters<typeof api.tryHook>[0]);
  expect(await tryHook("/known")).toEqual({ denies: false, problem: "it let it pass" });
  await expect(tryHook("/other")).rejects.toMatchObject({ code: "not_found" });
  expect(tried).toEqual(["/known"]);
});
