import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createChain } from "../core/chain.ts";
import { textOf } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Middleware } from "../core/stage.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

type Run = (input: never, context: ToolContext) => unknown;
type Stop = "timeout" | "cancelled" | "shutdown";
const STOPS: Stop[] = ["timeout", "cancelled", "shutdown"];

const later = (clock: ReturnType<typeof createFakeClock>, ms: number, value: unknown): Promise<unknown> =>
  new Promise((resolve) => void clock.after(ms, () => resolve(value)));
const never = (): Promise<never> => new Promise(() => {});
/** Settles as `end` does when its signal is aborted. */
const onAbort = (signal: AbortSignal, end: () => unknown): Promise<unknown> =>
  new Promise((resolve, reject) =>
    signal.addEventListener("abort", () => {
      try {
        resolve(end());
      } catch (thrown) {
        reject(thrown as Error);
      }
    }),
  );

function start(run: Run, more: object = {}, options: HaftOptions = {}) {
  const clock = createFakeClock();
  const tool = createTool({ name: "deploy", description: "", parameters: [], permission: "auto", run, ...more });
  const haft = createHaft({ clock, ...options, tools: [...(options.tools ?? []), tool] });
  /** Starts the call, stops it at 1000 ms, and lets `ms` pass after that. */
  const stopped = async (stop: Stop, ms: number, name = "deploy"): Promise<ToolResult | undefined> => {
    const controller = new AbortController();
    let answer: ToolResult | undefined;
    const call = haft.execute(name, {}, { id: "one", signal: controller.signal, timeoutMs: 1000 });
    void call.then((result) => (answer = result));
    await clock.advance(stop === "timeout" ? 1000 : 900);
    if (stop === "cancelled") controller.abort(new Error("the client hung up"));
    if (stop === "shutdown") void haft.shutdown();
    await clock.advance(ms);
    return answer;
  };
  return { clock, haft, stopped };
}

describe.each(STOPS)("a tool with effects that is stopped by %s", (stop) => {
  test("and ends within the grace period has its real result", async () => {
    const { clock, stopped } = start(() => later(clock, 2500, "deployed"));
    expect(await stopped(stop, 1600)).toMatchObject({ status: "completed", details: "deployed" });
  });

  test("and does not end in time has an unknown outcome, which says what is known and is not retried", async () => {
    expect(await start(never).stopped(stop, 1990)).toBeUndefined();
    expect(await start(never).stopped(stop, 2010)).toMatchObject({
      status: "failed",
      error: {
        code: "unknown_outcome",
        retryable: false,
        data: { tool: "deploy", begunAt: expect.any(Number), stoppedBy: stop },
        message: expect.stringMatching(/deploy took effect.*began at .*Z and was stopped/s),
        next: expect.stringContaining("Check its effect before"),
      },
    });
  });

  test("and answers after that has its answer corrected: event, log, stages", async () => {
    const corrected: ToolResult[] = [];
    const middleware: Middleware = {
      name: "watch",
      after: "claim",
      late: (_call, result) => void corrected.push(result),
    };
    const { clock, haft, stopped } = start(() => later(clock, 20_000, "deployed"), {}, { middleware: [middleware] });
    const events: unknown[] = [];
    haft.on("tool_call_settled_late", ({ succeeded, result }) => void events.push({ succeeded, result }));
    expect(await stopped(stop, 3000)).toMatchObject({ error: { code: "unknown_outcome" } });
    expect(await haft.calls.log.recent()).toMatchObject([{ status: "failed", errorCode: "unknown_outcome" }]);
    await clock.advance(20_000);
    const real = { callId: "one", status: "completed", details: "deployed", durationMs: 20_000 };
    expect(events).toMatchObject([{ succeeded: true, result: real }]);
    expect(corrected).toMatchObject([real]);
    expect(await haft.calls.log.recent()).toMatchObject([{ callId: "one", status: "completed" }]);
    expect(haft.tools.stats().callStats["deploy"]).toMatchObject({ count: 1, late: 1 });
  });

  test.each([
    ["the reason of the abort", (signal: AbortSignal) => signal.throwIfAborted()],
    ["an AbortError", () => Promise.reject(new DOMException("stopped", "AbortError"))],
    ["something of its own", () => Promise.reject(new Error("socket closed"))],
    ["a failure that may pass", () => Promise.reject(toolError("unavailable", "no connection"))],
  ])("and throws %s has an unknown outcome", async (_what, end) => {
    const { stopped } = start((_input, { signal }) => onAbort(signal, () => end(signal)));
    expect(await stopped(stop, 10)).toMatchObject({ error: { code: "unknown_outcome", retryable: false } });
  });

  test("and says that it has done nothing ends with why it was stopped", async () => {
    const { stopped } = start((_input, { signal }) =>
      onAbort(signal, () => Promise.reject(toolError("cancelled", "Nothing was deployed"))),
    );
    expect(await stopped(stop, 10)).toMatchObject({
      error: { code: stop, message: expect.stringContaining("Nothing was deployed") },
    });
  });

  test("and returns what it has done so far keeps that, and is not retried", async () => {
    const error = { code: "cancelled", message: "2 of 5 were deployed" };
    const { stopped } = start((_input, { signal }) => onAbort(signal, () => ({ content: "a, b", details: 2, error })));
    const result = await stopped(stop, 10);
    expect(result).toMatchObject({ details: 2, error: { code: stop, retryable: false } });
    expect(textOf(result!.content)).toMatch(/2 of 5 were deployed.*a, b/s);
  });

  test("and fails for its own reason says that reason", async () => {
    const { stopped } = start((_input, { signal }) =>
      onAbort(signal, () => Promise.reject(toolError("no_match", "There is no such server"))),
    );
    expect(await stopped(stop, 10)).toMatchObject({ error: { code: "no_match" } });
  });

  test.each([{ kind: "readonly" }, { idempotent: true }])("may be called again if it is %o", async (more) => {
    const { stopped } = start(never, more);
    const codes = { timeout: true, cancelled: false, shutdown: true };
    expect(await stopped(stop, 300)).toMatchObject({ error: { code: stop, retryable: codes[stop] } });
  });

  test("inside a tool that is safe to repeat makes that one unsafe to repeat", async () => {
    const outer = createTool({
      name: "outer",
      description: "",
      parameters: [],
      idempotent: true,
      needsApproval: false,
      run: (_input: never, context: ToolContext) => (void context.call("deploy"), never()),
    });
    const { stopped } = start(() => "deployed", {}, { tools: [outer] });
    expect(await stopped(stop, 3000, "outer")).toMatchObject({ error: { code: "unknown_outcome" } });
  });

  test("inside a chain gives the chain its real result", async () => {
    const chain = createChain({ name: "chain", description: "", parameters: [], steps: [{ tool: "deploy" }] });
    const { clock, stopped } = start(() => later(clock, 2300, "deployed"), {}, { tools: [chain] });
    expect(await stopped(stop, 1500, "chain")).toMatchObject({ status: "completed", details: "deployed" });
  });
});

test("a stopped tool that listens and completes all the same says that it was asked to stop", async () => {
  const { stopped } = start((_input, { signal }) => onAbort(signal, () => "deployed"));
  expect(await stopped("timeout", 10)).toMatchObject({
    status: "completed",
    metadata: { warnings: [expect.stringMatching(/timed out after 1000ms.*may be incomplete/)] },
  });
});

test("a tool that ends for its own time limit is not retried if it may have had an effect", async () => {
  const run = () => Promise.reject(toolError("timeout", "the service did not answer"));
  const { haft } = start(run);
  expect(await haft.execute("deploy")).toMatchObject({ error: { code: "timeout", retryable: false } });
  const reading = start(run, { kind: "readonly" });
  expect(await reading.haft.execute("deploy")).toMatchObject({ error: { code: "timeout", retryable: true } });
});

test("the grace period is configurable", async () => {
  const { stopped } = start(never, {}, { timeouts: { graceMs: 50 } });
  expect(await stopped("cancelled", 60)).toMatchObject({ error: { code: "unknown_outcome" } });
});

test("a late result is bounded and checked like any other", async () => {
  const output = z.object({ text: z.string() });
  const { clock, haft, stopped } = start(
    () => later(clock, 20_000, { text: "x".repeat(100_000) }),
    { output },
    { maxResultBytes: 1000 },
  );
  const events: (ToolResult | undefined)[] = [];
  haft.on("tool_call_settled_late", ({ result }) => void events.push(result));
  await stopped("timeout", 3000);
  await clock.advance(20_000);
  expect(events).toMatchObject([{ status: "completed", metadata: { spill: { ref: expect.any(String) } } }]);
  const wrong = start(() => later(wrong.clock, 20_000, { text: 1 }), { output });
  wrong.haft.on("tool_call_settled_late", ({ result }) => void events.push(result));
  await wrong.stopped("timeout", 3000);
  await wrong.clock.advance(20_000);
  expect(events.at(-1)).toMatchObject({ status: "failed", error: { code: "bad_output" } });
});

describe("a shutdown with time to end", () => {
  test("lets running calls and what they call end, and refuses others", async () => {
    const outer = createTool({
      name: "outer",
      description: "",
      parameters: [],
      needsApproval: false,
      run: async (_input: never, context: ToolContext) => (await later(clock, 1000, 0), context.call("deploy")),
    });
    const { clock, haft } = start(() => later(clock, 1000, "deployed"), {}, { tools: [outer] });
    const running = haft.execute("outer");
    const closed = haft.shutdown({ graceMs: 10_000 });
    expect(await haft.execute("deploy")).toMatchObject({ error: { code: "shutdown", retryable: true } });
    await clock.advance(2000);
    expect(await running).toMatchObject({ status: "completed" });
    await closed;
    expect(clock.refTimers).toBe(0);
  });

  test("answers what has not begun at once, and stops what is not done in time", async () => {
    const { clock, haft } = start(never, {}, { concurrency: { maxConcurrent: 1 } });
    const running = haft.execute("deploy");
    const waiting = haft.execute("deploy");
    const closed = haft.shutdown({ graceMs: 10_000 });
    expect(await waiting).toMatchObject({ error: { code: "shutdown" } });
    await clock.advance(12_000);
    expect(await running).toMatchObject({ error: { code: "unknown_outcome", data: { stoppedBy: "shutdown" } } });
    await closed;
  });
});
