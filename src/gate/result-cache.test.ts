import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import type { CallOptions } from "../core/call.ts";
import { createHaft } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

/** One value per key: `get` reads it through a cache, `set` writes it. */
function world(cache: object = {}, setConfig: object = {}) {
  const clock = createFakeClock();
  const values = new Map<string, string>();
  let reads = 0;
  const haft = createHaft({ clock, concurrency: { maxConcurrent: 10 } });
  haft.register({
    name: "get",
    description: "",
    kind: "readonly",
    parameters: [{ name: "key", type: "string" }],
    cache: { ttlMs: 1000, ...cache },
    run: ({ key }: { key: string }) => (reads++, values.get(key) ?? "nothing"),
  } as never);
  haft.register({
    name: "set",
    description: "",
    kind: "write",
    permission: "auto",
    parameters: [
      { name: "key", type: "string" },
      { name: "value", type: "string" },
    ],
    run: ({ key, value }: { key: string; value: string }) => void values.set(key, value),
    ...setConfig,
  } as never);
  const get = async (key: string, options?: CallOptions): Promise<unknown> =>
    (await haft.execute("get", { key }, options)).details;
  const set = (key: string, value: string): Promise<unknown> => haft.execute("set", { key, value });
  return { clock, haft, values, get, set, reads: () => reads };
}

const byKey = { resources: ({ key }: { key: string }) => [key] };
const locksKey = { locks: ({ key }: { key: string }) => [key] };

describe("a cached answer", () => {
  test("is returned again until it expires, and is marked as cached", async () => {
    const { clock, haft, get, reads } = world();
    expect((await haft.execute("get", { key: "a" })).metadata.known).toBeUndefined();
    await clock.advance(999);
    expect((await haft.execute("get", { key: "a" })).metadata.known).toBe("cache");
    expect(reads()).toBe(1);
    await clock.advance(1);
    await get("a");
    expect(reads()).toBe(2);
  });

  test("has the times and the repairs of the call that it answers", async () => {
    const { clock, haft } = world();
    haft.register({
      name: "count",
      description: "",
      kind: "readonly",
      parameters: [{ name: "to", type: "integer" }],
      cache: { ttlMs: 1000 },
      run: () => 1,
    });
    const first = await haft.execute("count", { to: "5" });
    await clock.advance(500);
    const again = await haft.execute("count", { to: 5 });
    expect(first.metadata.repairs).toHaveLength(1);
    expect(again.metadata).toEqual({ known: "cache" });
    expect([again.startedAt, again.completedAt]).toEqual([first.startedAt + 500, first.startedAt + 500]);
  });

  test("is not extended by reads", async () => {
    const { clock, get, reads } = world();
    await get("a");
    await clock.advance(600);
    await get("a");
    await clock.advance(600);
    await get("a");
    expect(reads()).toBe(2);
  });

  test.each([{ session: "s" }, { user: "u" }, { agent: "a" }])(
    "is not given to another caller (%o)",
    async (caller) => {
      const { get, reads } = world();
      await get("a");
      await get("a", { caller });
      expect(reads()).toBe(2);
    },
  );

  test("is not returned to a call with narrower paths", async () => {
    const { get, reads } = world();
    await get("a", { allowedPaths: ["/x", "/y"] });
    await get("a", { allowedPaths: ["/x"] });
    expect(reads()).toBe(2);
  });

  test("is dropped by any write if it names no resources", async () => {
    const { get, set } = world({}, locksKey);
    await get("a");
    await set("b", "1");
    await set("a", "2");
    expect(await get("a")).toBe("2");
  });

  test("that names its resources survives writes to others, but not to its own", async () => {
    const { get, set, reads } = world(byKey, locksKey);
    await get("a");
    await set("b", "1");
    await get("a");
    expect(reads()).toBe(1);
    await set("a", "2");
    expect(await get("a")).toBe("2");
  });

  test("is dropped by a write that does not name its resources, or fails to", async () => {
    for (const config of [{}, { kind: "execute" }]) {
      const { get, set } = world(byKey, config);
      await get("a");
      await set("a", "2");
      expect(await get("a")).toBe("2");
    }
  });

  test("is dropped by a write that failed: it may have changed something before", async () => {
    const { get, haft, values } = world(
      {},
      {
        run: ({ key }: { key: string }) => {
          values.set(key, "half");
          throw new Error("then it broke");
        },
      },
    );
    await get("a");
    await haft.execute("set", { key: "a", value: "2" });
    expect(await get("a")).toBe("half");
  });

  test("is not kept if a write came between the read and the answer", async () => {
    const { clock, haft, values } = world();
    haft.register({
      name: "slow_get",
      description: "",
      kind: "readonly",
      parameters: [],
      cache: { ttlMs: 100_000 },
      async run() {
        const read = values.get("a") ?? "old";
        await new Promise<void>((done) => void clock.after(10, done));
        return read;
      },
    } as never);
    const reading = haft.execute("slow_get");
    await haft.execute("set", { key: "a", value: "new" });
    await clock.advance(10);
    expect((await reading).details).toBe("old");
    const again = haft.execute("slow_get");
    await clock.advance(10);
    expect((await again).details).toBe("new");
  });

  test("is dropped again when an abandoned write takes effect later", async () => {
    const { clock, haft, values, get } = world(
      { ttlMs: 10 ** 9 },
      {
        run: ({ key, value }: { key: string; value: string }) =>
          new Promise<void>((done) => void clock.after(5000, () => (values.set(key, value), done()))),
      },
    );
    const writing = haft.execute("set", { key: "a", value: "late" }, { timeoutMs: 1000 });
    await clock.advance(3000);
    expect(await writing).toMatchObject({ error: { code: "unknown_outcome" } });
    expect(await get("a")).toBe("nothing");
    await clock.advance(5000);
    expect(await get("a")).toBe("late");
  });

  test("is found by the sent input, also if the schema transforms it", async () => {
    const haft = createHaft();
    haft.register(
      createTool({
        name: "count_all",
        description: "",
        kind: "readonly",
        parameters: z.object({ ids: z.array(z.string()).transform((ids) => new Set(ids)) }),
        cache: { ttlMs: 1000 },
        run: ({ ids }) => [...ids],
      }),
    );
    await haft.execute("count_all", { ids: ["a"] });
    expect(await haft.execute("count_all", { ids: ["b"] })).toMatchObject({ details: ["b"] });
  });

  test("is found under the tool's own key", async () => {
    const { get, reads } = world({ key: ({ key }: { key: string }) => key.toLowerCase() });
    await get("A");
    await get("a");
    expect(reads()).toBe(1);
  });

  test("is a copy: a caller's change does not affect others", async () => {
    const haft = createHaft();
    haft.register(
      createTool({
        name: "list",
        description: "",
        kind: "readonly",
        parameters: [],
        cache: { ttlMs: 1000 },
        run: () => [1],
      }),
    );
    const first = await haft.execute("list");
    (first.details as number[]).push(2);
    const second = await haft.execute("list");
    (second.details as number[]).push(3);
    expect((await haft.execute("list")).details).toEqual([1]);
  });

  test("is not stored for a failure", async () => {
    const haft = createHaft();
    let runs = 0;
    haft.register(
      createTool({
        name: "flaky",
        description: "",
        kind: "readonly",
        parameters: [],
        cache: { ttlMs: 1000 },
        run: () => {
          if (++runs === 1) throw new Error("no");
          return "yes";
        },
      }),
    );
    await haft.execute("flaky");
    expect(await haft.execute("flaky")).toMatchObject({ details: "yes" });
  });

  test("is returned but not kept if the tool's resource function fails", async () => {
    const { get, reads } = world({
      resources: () => {
        throw new Error("no idea");
      },
    });
    expect(await get("a")).toBe("nothing");
    expect(await get("a")).toBe("nothing");
    expect(reads()).toBe(2);
  });
});
