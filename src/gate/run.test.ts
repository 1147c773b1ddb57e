import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import { textOf } from "../core/content.ts";
import type { ToolContext, ToolLimits } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

const never = (): Promise<never> => new Promise(() => {});

/** Read-only: a stopped tool that may have had an effect is in stopped-call.test.ts. */
function tool(run: (input: never, context: ToolContext) => unknown, more: object = {}) {
  return createTool({ name: "subject", description: "", kind: "readonly", parameters: [], run, ...more });
}

function start(run: (input: never, context: ToolContext) => unknown, options: HaftOptions = {}, more: object = {}) {
  const clock = createFakeClock();
  return { clock, haft: createHaft({ clock, ...options, tools: [tool(run, more)] }) };
}

describe("the time a call may take", () => {
  const limits = (timeoutMs: ToolLimits["timeoutMs"]) => ({ limits: { timeoutMs } });
  test.each([
    ["30 seconds by default", {}, {}, {}, 30_000],
    ["60 seconds for network tools", { category: "network" }, {}, {}, 60_000],
    ["60 seconds for network tools under their Chinese label", { category: "网络" }, {}, {}, 60_000],
    ["what the tool says", limits(500), {}, {}, 500],
    ["what the tool says of this input", limits(() => 700), {}, {}, 700],
    ["what the call says", limits(500), { timeoutMs: 2000 }, {}, 2000],
    [
      "no more than the cap, for every caller",
      limits(500),
      { timeoutMs: 10 ** 12 },
      { timeouts: { maxMs: 5000 } },
      5000,
    ],
    ["the default where the wish is no time", limits(Number.NaN), {}, {}, 30_000],
    ["the default where the wish is negative", {}, { timeoutMs: -1 }, {}, 30_000],
    [
      "the default where the tool's own answer throws",
      limits(() => {
        throw new Error("x");
      }),
      {},
      {},
      30_000,
    ],
  ] as [string, object, object, HaftOptions, number][])(
    "is %s",
    async (_what, more, callOptions, options, expected) => {
      const { clock, haft } = start(never, options, more);
      let answer: unknown;
      void haft.execute("subject", {}, callOptions).then((result) => (answer = result));
      await clock.advance(expected - 2);
      expect(answer).toBeUndefined();
      await clock.advance(2);
      expect(answer).toMatchObject({
        status: "failed",
        durationMs: expected,
        error: { code: "timeout", retryable: true, message: expect.stringContaining(`timed out after ${expected}ms`) },
      });
    },
  );

  test("starts when the tool starts, not while the call waits", async () => {
    const { clock, haft } = start(never, { concurrency: { maxConcurrent: 1 } });
    void haft.execute("subject", {}, { timeoutMs: 1000 });
    let answer: unknown;
    void haft.execute("subject", {}, { timeoutMs: 1000 }).then((result) => (answer = result));
    await clock.advance(1500);
    expect(answer).toBeUndefined();
    await clock.advance(500);
    expect(answer).toMatchObject({ error: { code: "timeout" } });
  });

  test("also limits an output schema that never settles", async () => {
    const output = z.string().refine(() => new Promise<boolean>(() => {}));
    const { clock, haft } = start(() => "x", {}, { output });
    let answer: unknown;
    void haft.execute("subject").then((result) => (answer = result));
    await clock.advance(60_000);
    expect(answer).toMatchObject({ status: "failed" });
  });

  test("arms a new deadline of the same length while one expires, and only one timer for it", async () => {
    // The time limit and the grace period are equally long here, and so share a list.
    const { clock, haft } = start(
      (_input, context) => (void context.signal, never()),
      {},
      { limits: { timeoutMs: 250 } },
    );
    const call = haft.execute("subject");
    await clock.advance(250);
    expect(clock.pendingTimers).toBeLessThanOrEqual(2);
    await clock.advance(251);
    expect(await call).toMatchObject({ error: { code: "timeout" } });
    await clock.advance(1000);
    expect(clock.refTimers).toBe(0);
  });
});

describe("a caller's signal", () => {
  test("that is already aborted keeps the tool from running, and the call is still recorded", async () => {
    let runs = 0;
    const { haft } = start(() => ++runs);
    const types: string[] = [];
    haft.on("*", (event) => void types.push(event.type));
    const result = await haft.execute("subject", {}, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "failed", error: { code: "cancelled", actor: "caller" } });
    expect(runs).toBe(0);
    expect(types).toEqual(["tool_call_requested", "tool_call_failed"]);
    expect(await haft.calls.log.recent()).toHaveLength(1);
  });

  test("ends a waiting call, which leaves the queue", async () => {
    let runs = 0;
    const { haft } = start(() => (runs++, never()), { concurrency: { maxConcurrent: 1 } });
    void haft.execute("subject");
    const controller = new AbortController();
    const waiting = haft.execute("subject", {}, { signal: controller.signal });
    expect(haft.calls.load()).toEqual({ running: 1, waiting: 1 });
    controller.abort();
    expect(await waiting).toMatchObject({ error: { code: "cancelled" } });
    expect(haft.calls.load()).toEqual({ running: 1, waiting: 0 });
    expect(runs).toBe(1);
  });

  test("immediately ends a running tool that ignores its signal", async () => {
    const { haft } = start(never);
    const controller = new AbortController();
    const call = haft.execute("subject", {}, { signal: controller.signal });
    controller.abort(new Error("the user left"));
    expect(await call).toMatchObject({
      error: { code: "cancelled", message: expect.stringContaining("the user left") },
    });
  });

  test("arrives as the context's signal, with the reason", async () => {
    let reason: unknown;
    const { haft } = start(
      (_input, { signal }) =>
        new Promise((_done, fail) =>
          signal.addEventListener("abort", () => ((reason = signal.reason), fail(signal.reason))),
        ),
    );
    const controller = new AbortController();
    const call = haft.execute("subject", {}, { signal: controller.signal });
    controller.abort();
    expect(await call).toMatchObject({ error: { code: "cancelled" } });
    expect(reason).toMatchObject({ code: "cancelled" });
  });

  test("has no listeners after the call has ended", async () => {
    const { haft } = start(() => "done");
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = ((...args: Parameters<typeof add>) => (listeners++, add(...args))) as never;
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => (listeners--, remove(...args))) as never;
    await haft.execute("subject", {}, { signal });
    expect(listeners).toBe(0);
  });
});

describe("an aborted tool", () => {
  test("that uses its signal may still return a partial result within the grace period", async () => {
    const { clock, haft } = start(
      (_input, { signal }) =>
        new Promise((done) => signal.addEventListener("abort", () => clock.after(100, () => done("half of it")))),
    );
    const call = haft.execute("subject", {}, { timeoutMs: 1000 });
    await clock.advance(1100);
    const result = await call;
    expect(result).toMatchObject({ status: "failed", error: { code: "timeout" }, details: "half of it" });
    expect(textOf(result.content)).toContain("half of it");
    expect(haft.tools.stats().callStats["subject"]).toMatchObject({ late: 0 });
  });

  test("that uses its signal but does not return is abandoned after that", async () => {
    const { clock, haft } = start((_input, { signal }) => (void signal.aborted, never()));
    let answer: unknown;
    void haft.execute("subject", {}, { timeoutMs: 1000 }).then((result) => (answer = result));
    await clock.advance(1200);
    expect(answer).toBeUndefined();
    await clock.advance(60);
    expect(answer).toMatchObject({ error: { code: "timeout" } });
  });

  test("fails with the abort reason, not with its own error", async () => {
    const { haft } = start(
      (_input, { signal }) =>
        new Promise((_done, fail) => signal.addEventListener("abort", () => fail(new Error("my own words")))),
    );
    const controller = new AbortController();
    const call = haft.execute("subject", {}, { signal: controller.signal });
    controller.abort();
    expect(await call).toMatchObject({ error: { code: "cancelled" } });
  });

  test("that succeeds late changes neither the answer nor the record, and is counted as late", async () => {
    const { clock, haft } = start(() => new Promise((done) => void clock.after(5000, () => done("late"))));
    const late: unknown[] = [];
    haft.on("tool_call_settled_late", ({ succeeded, afterMs }) => void late.push({ succeeded, afterMs }));
    const call = haft.execute("subject", {}, { timeoutMs: 1000, id: "one", caller: { session: "s" } });
    await clock.advance(1000);
    const result = await call;
    await clock.advance(10_000);
    expect(result).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(late).toEqual([{ succeeded: true, afterMs: 5000 }]);
    expect(haft.tools.stats().callStats["subject"]).toMatchObject({ count: 1, failures: 1, late: 1 });
  });
});

describe("shutdown", () => {
  test("answers running, waiting, listening and late calls", async () => {
    const clock = createFakeClock();
    const haft = createHaft({
      clock,
      concurrency: { maxConcurrent: 2 },
      tools: [
        createTool({ name: "deaf", description: "", kind: "readonly", parameters: [], run: never }),
        createTool({
          name: "listening",
          description: "",
          kind: "readonly",
          parameters: [],
          run: (_input: unknown, { signal }: ToolContext) => (void signal.aborted, never()),
        }),
      ],
    });
    const answers: unknown[] = [];
    for (const name of ["deaf", "listening", "deaf", "listening"]) {
      void haft.execute(name).then((result) => answers.push(result.status === "failed" && result.error.code));
    }
    void haft.shutdown();
    void haft.execute("deaf").then((result) => answers.push(result.status === "failed" && result.error.code));
    await clock.advance(1000);
    expect(answers).toEqual(["shutdown", "shutdown", "shutdown", "shutdown", "shutdown"]);
    expect(haft.calls.load()).toEqual({ running: 0, waiting: 0 });
    expect(clock.refTimers).toBe(0);
  });

  test("records refused calls", async () => {
    const { haft } = start(() => 1);
    void haft.shutdown();
    await haft.execute("subject");
    expect(await haft.calls.log.recent()).toMatchObject([
      { toolName: "subject", status: "failed", errorCode: "shutdown" },
    ]);
  });
});

describe("a generator", () => {
  test("sends its yields as updates and returns its return value as the output", async () => {
    const { haft } = start(async function* () {
      yield "one";
      yield { content: "two" };
      yield { progress: { done: 1, total: 2 } };
      return { answer: 42 };
    });
    const updates: unknown[] = [];
    const result = await haft.execute("subject", {}, { onUpdate: (update) => void updates.push(update) });
    expect(updates).toEqual([
      { content: [{ type: "text", text: "one" }] },
      { content: [{ type: "text", text: "two" }] },
      { progress: { done: 1, total: 2 } },
    ]);
    expect(result).toMatchObject({ status: "completed", details: { answer: 42 } });
  });

  test("is ended with its call, and its cleanup runs", async () => {
    let cleaned = false;
    const { clock, haft } = start(async function* () {
      try {
        for (;;) {
          yield "tick";
          await new Promise<void>((done) => void clock.after(100, done));
        }
      } finally {
        cleaned = true;
      }
    });
    const call = haft.execute("subject", {}, { timeoutMs: 1000 });
    await clock.advance(1500);
    expect(await call).toMatchObject({ error: { code: "timeout" } });
    expect(cleaned).toBe(true);
  });
});

describe("updates", () => {
  test("reach a listener as plain data, for any value", async () => {
    const { haft } = start((_input, context) => {
      for (const bad of [null, 5n, { details: 1n }, { content: "no list" }]) context.update(bad as never);
    });
    const updates: unknown[] = [];
    haft.on("tool_call_updated", (event) => void updates.push(event.update));
    expect(await haft.execute("subject")).toMatchObject({ status: "completed" });
    for (const update of updates) {
      expect(update).toBeTypeOf("object");
      expect(update).not.toBeNull();
      expect(() => JSON.stringify(update)).not.toThrow();
    }
  });

  test("with very long text are cut", async () => {
    const { haft } = start((_input, context) => context.update("x".repeat(20_000_000)));
    let length = 0;
    haft.on("tool_call_updated", ({ update }) => (length += textOf(update.content ?? []).length));
    await haft.execute("subject");
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThan(5_000_000);
  });

  test("survive a caller's listener that throws or rejects", async () => {
    const seen: unknown[] = [];
    const note = (reason: unknown): void => void seen.push(reason);
    process.on("unhandledRejection", note);
    const { haft } = start((_input, context) => (context.update("x"), "done"));
    const throwing = {
      onUpdate: () => {
        throw new Error("mine");
      },
    };
    expect(await haft.execute("subject", {}, throwing)).toMatchObject({ status: "completed" });
    const rejecting = { onUpdate: (() => Promise.reject(new Error("mine"))) as () => void };
    expect(await haft.execute("subject", {}, rejecting)).toMatchObject({ status: "completed" });
    await new Promise((done) => setImmediate(done));
    process.off("unhandledRejection", note);
    expect(seen).toEqual([]);
  });
});

describe("a declared output", () => {
  const output = z.object({ n: z.number() });

  test("that matches passes, with its details", async () => {
    const { haft } = start(() => ({ n: 1 }), {}, { output });
    expect(await haft.execute("subject")).toMatchObject({ status: "completed", details: { n: 1 } });
  });

  test("that does not match fails, keeps the details and warns about effects", async () => {
    const { haft } = start(() => ({ n: "one" }), {}, { output });
    expect(await haft.execute("subject")).toMatchObject({
      status: "failed",
      details: { n: "one" },
      error: {
        code: "bad_output",
        message: expect.stringContaining("n: "),
        next: expect.stringContaining("may have happened"),
      },
    });
  });

  test("is checked as JSON Schema too", async () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    const { haft } = start(() => ({}), {}, { output: schema });
    expect(await haft.execute("subject")).toMatchObject({ error: { code: "bad_output" } });
  });

  test("whose tool failed is not checked", async () => {
    const { haft } = start(() => ({ content: "no", error: { code: "unavailable", message: "down" } }), {}, { output });
    expect(await haft.execute("subject")).toMatchObject({ error: { code: "unavailable", retryable: true } });
  });
});

describe("a tool's own metadata", () => {
  test("does not hide the gate's metadata", async () => {
    const { haft } = start(
      () => ({ content: "x", metadata: { repairs: [], version: "9", arm: "none", own: 1 } }),
      {},
      { parameters: [{ name: "n", type: "integer", required: false }], version: "2.0.0" },
    );
    const { metadata } = await haft.execute("subject", { n: "5" });
    expect(metadata).toMatchObject({ version: "2.0.0", own: 1 });
    expect(metadata.repairs).toHaveLength(1);
  });
});
