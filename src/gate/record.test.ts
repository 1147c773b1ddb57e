import { describe, expect, test, vi } from "vitest";
import { createTool } from "../core/create-tool.ts";
import type { ToolEvent } from "../core/events.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { type CallLog, MemoryCallLog } from "./audit-log.ts";

function start(options: HaftOptions = {}) {
  const haft = createHaft({
    ...options,
    tools: [
      createTool({
        name: "fine",
        description: "",
        parameters: [],
        needsApproval: false,
        run: (_i: unknown, c: ToolContext) => (c.update("1"), c.update("2"), 7),
      }),
      createTool({
        name: "broken",
        description: "",
        parameters: [],
        needsApproval: false,
        run: () => {
          throw new Error("no");
        },
      }),
      createTool({ name: "careful", description: "", parameters: [], permission: "confirm", run: () => "did it" }),
      createTool({
        name: "outer",
        description: "",
        parameters: [],
        needsApproval: false,
        run: (_i: unknown, c: ToolContext) => c.call("fine"),
      }),
    ],
  });
  const events: ToolEvent[] = [];
  haft.on("*", (event) => void events.push(event));
  const types = (): string[] => events.splice(0).map((event) => event.type);
  return { haft, events, types };
}

describe("the events of a call", () => {
  test("come in the documented order when it completes", async () => {
    const { haft, types } = start();
    await haft.execute("fine");
    expect(types()).toEqual([
      "tool_call_requested",
      "tool_call_started",
      "tool_call_updated",
      "tool_call_updated",
      "tool_call_completed",
    ]);
  });

  test("end with a failure when it fails or never started", async () => {
    const { haft, types } = start();
    await haft.execute("broken");
    expect(types()).toEqual(["tool_call_requested", "tool_call_started", "tool_call_failed"]);
    for (const [name, input] of [
      ["nowhere", {}],
      ["fine", { wrong: 1 }],
      ["fine", "no json"],
    ] as const) {
      await haft.execute(name, input);
      expect(types()).toEqual(["tool_call_requested", "tool_call_failed"]);
    }
  });

  test("report pending, then approved, then the result", async () => {
    const { haft, types } = start();
    const result = await haft.execute("careful", {}, { id: "c" });
    expect(types()).toEqual(["tool_call_requested", "permission_requested", "tool_call_pending"]);
    await haft.approvals.approve(result.status === "pending" ? result.pending.id : "", "ann");
    expect(types()).toEqual(["permission_resolved", "tool_call_started", "tool_call_completed"]);
  });

  test("of a nested call come between those of its parent, and name it", async () => {
    const { haft, events } = start();
    await haft.execute("outer", {}, { id: "p" });
    const seen = events.map((event) => `${event.type} ${"callId" in event ? event.callId : ""}`);
    expect(seen).toEqual([
      "tool_call_requested p",
      "tool_call_started p",
      "tool_call_requested p/1",
      "tool_call_started p/1",
      "tool_call_updated p/1",
      "tool_call_updated p/1",
      "tool_call_completed p/1",
      "tool_call_completed p",
    ]);
    expect(events[2]).toMatchObject({ parentId: "p" });
  });

  test("carry what a reader needs, in plain JSON", async () => {
    const { haft, events } = start();
    await haft.execute("fine", {}, { caller: { session: "s", user: "u" }, taskId: "t" });
    for (const event of events)
      expect(event).toMatchObject({ toolName: "fine", caller: { session: "s", user: "u", task: "t", depth: 0 } });
    expect(events.at(-1)).toMatchObject({ result: { details: 7 }, durationMs: expect.any(Number) });
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
  });

  test("end only after the record can be read", async () => {
    const { haft } = start();
    const read: unknown[] = [];
    haft.on("tool_call_completed", () => void read.push(...(haft.calls.log.recent() as readonly unknown[])));
    await haft.execute("fine", {}, { id: "c" });
    await haft.execute("nothing at all");
    expect(read).toMatchObject([{ callId: "c", status: "completed" }]);
  });

  test("wait for a slow log", async () => {
    const order: string[] = [];
    const log: CallLog = {
      begun: () => {},
      closed: () => new Promise<void>((done) => setImmediate(() => (order.push("written"), done()))),
      recent: () => [],
    };
    const { haft } = start({ log });
    haft.on("tool_call_completed", () => void order.push("announced"));
    await haft.execute("fine");
    expect(order).toEqual(["written", "announced"]);
  });

  test("are not created without listeners", async () => {
    const haft = createHaft({
      tools: [
        createTool({
          name: "fine",
          description: "",
          parameters: [],
          needsApproval: false,
          run: (_i: unknown, c: ToolContext) => c.update("x"),
        }),
      ],
    });
    const emit = vi.spyOn(haft.tools.registry.events, "emit");
    await haft.execute("fine");
    await haft.execute("nowhere");
    expect(emit).not.toHaveBeenCalled();
    haft.on("tool_call_failed", () => {});
    await haft.execute("fine");
    expect(emit).not.toHaveBeenCalled();
    await haft.execute("nowhere");
    expect(emit).toHaveBeenCalledTimes(1);
  });

  test("survive listeners that throw, reject or never end, and an error handler that throws", async () => {
    const reported: unknown[] = [];
    const { haft } = start({
      onListenerError(error) {
        reported.push(error);
        throw new Error("even here");
      },
    });
    haft.on("*", () => {
      throw new Error("sync");
    });
    haft.on("*", (async () => {
      throw new Error("async");
    }) as () => void);
    haft.on("*", (() => new Promise(() => {})) as () => void);
    expect(await haft.execute("fine")).toMatchObject({ status: "completed" });
    await new Promise((done) => setImmediate(done));
    expect(reported).toHaveLength(10);
  });
});

describe("a log that cannot write", () => {
  test.each([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
  ] as [string, () => Promise<void>][])(
    "keeps the effect from happening when it %s before, and the failure is announced",
    async (_how, begun) => {
      const log: CallLog = { begun, closed: () => {}, recent: () => [] };
      const { haft, types } = start({ log });
      const result = await haft.execute("fine");
      expect(result).toMatchObject({ status: "failed", error: { code: "not_recorded", retryable: true } });
      expect(types()).toEqual(["tool_call_requested", "tool_call_failed"]);
    },
  );

  test.each([
    [
      "throws",
      () => {
        throw new Error("disk full");
      },
    ],
    ["rejects", () => Promise.reject(new Error("disk full"))],
  ] as [string, () => Promise<void>][])(
    "does not turn what happened into a failure when it %s afterwards",
    async (_how, closed) => {
      const log: CallLog = { begun: () => {}, closed, recent: () => [] };
      const { haft, types } = start({ log });
      expect(await haft.execute("fine")).toMatchObject({ status: "completed", details: 7 });
      expect(types().at(-1)).toBe("tool_call_completed");
    },
  );
});

describe("the memory log", () => {
  test("keeps the last calls, newest last", async () => {
    const log = new MemoryCallLog(3);
    const { haft } = start({ log });
    for (const id of ["a", "b", "c", "d"]) await haft.execute("fine", {}, { id });
    expect(log.recent().map(({ callId }) => callId)).toEqual(["b", "c", "d"]);
    expect(log.recent(2).map(({ callId }) => callId)).toEqual(["c", "d"]);
  });

  test("names the failure, the caller and the parent call", async () => {
    const { haft } = start();
    await haft.execute("broken", {}, { id: "b", caller: { user: "u" } });
    await haft.execute("outer", {}, { id: "p" });
    expect(await haft.calls.log.recent()).toMatchObject([
      { callId: "b", toolName: "broken", status: "failed", errorCode: "failed", caller: { user: "u" } },
      { callId: "p/1", parentId: "p", toolName: "fine" },
      { callId: "p", toolName: "outer", status: "completed" },
    ]);
  });
});

describe("the statistics of a tool", () => {
  test("count calls, failures, bytes and durations", async () => {
    const clock = createFakeClock();
    const haft = createHaft({ clock, concurrency: { maxConcurrent: 1000 } });
    haft.register(
      createTool({
        name: "timed",
        description: "",
        parameters: [{ name: "ms", type: "integer" }],
        limits: { timeoutMs: 100_000 },
        needsApproval: false,
        run: ({ ms }) =>
          new Promise((done, fail) => void clock.after(ms, () => (ms > 950 ? fail(new Error("é")) : done("漢字")))),
      }),
    );
    const all = Promise.all(Array.from({ length: 1000 }, (_, i) => haft.execute("timed", { ms: i + 1 })));
    await clock.advance(2000);
    await all;
    const stats = haft.tools.stats().callStats["timed"]!;
    expect(stats).toMatchObject({ count: 1000, failures: 50, bytes: 950 * 6 + 50 * 2, late: 0 });
    expect(stats.avgDuration).toBeCloseTo(500.5, 6);
    expect(Math.abs(stats.p50 / 500 - 1)).toBeLessThan(0.1);
    expect(Math.abs(stats.p95 / 950 - 1)).toBeLessThan(0.1);
  });

  test("put calls of tools that do not exist under one name", async () => {
    const { haft } = start();
    for (let i = 0; i < 5; i++) await haft.execute(`made_up_${i}`);
    expect(haft.tools.stats().callStats).toMatchObject({ "(unknown)": { count: 5, failures: 5 } });
  });
});
