import { context, metrics, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Context, ContextManager } from "@opentelemetry/api";
import { afterEach, describe, expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import { VERSION } from "../core/telemetry/version.ts";
import { scriptAgent } from "../models/agent/scripted-agent.fixture.ts";
import { createHaft } from "../runtime.ts";

const echo = createTool({
  name: "echo",
  description: "Gives back what it is given.",
  kind: "readonly",
  parameters: [{ name: "text", type: "string" }],
  run: async ({ text }) => text,
});
const twice = createTool({
  name: "twice",
  description: "Calls echo.",
  kind: "readonly",
  parameters: [],
  run: async (_input, { call }) => (await call("echo", { text: "a" })).details,
});
const broken = createTool({
  name: "broken",
  description: "Fails.",
  kind: "readonly",
  parameters: [],
  run: () => {
    throw new Error("no");
  },
});

/** A host brings this: the API alone keeps no context over an await. */
class LocalContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active = (): Context => this.#storage.getStore() ?? ROOT;
  with = <A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    run: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> => this.#storage.run(active, () => run.call(self as never, ...args));
  bind = <T>(_context: Context, target: T): T => target;
  enable = (): this => this;
  disable = (): this => this;
}
const ROOT = context.active();

function registerOpenTelemetry() {
  const spans = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  context.setGlobalContextManager(new LocalContexts());
  return { spans, measured, reader };
}

afterEach(() => {
  trace.disable();
  metrics.disable();
  context.disable();
});

describe("with OpenTelemetry in the host", () => {
  test("a call is a span by the GenAI conventions", async () => {
    const { spans } = registerOpenTelemetry();
    const haft = createHaft({ tools: [echo] });
    await haft.execute("echo", { text: "x" }, { id: "c1", caller: { session: "s", agent: "a" } });
    const [span] = spans.getFinishedSpans();
    expect(span?.name).toBe("execute_tool echo");
    expect(span?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "echo",
      "gen_ai.tool.call.id": "c1",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.description": "Gives back what it is given.",
      "gen_ai.agent.name": "a",
      "gen_ai.conversation.id": "s",
    });
  });

  test("a nested call is a span inside its parent's", async () => {
    const { spans } = registerOpenTelemetry();
    await createHaft({ tools: [echo, twice] }).execute("twice");
    const [inner, outer] = spans.getFinishedSpans();
    expect([inner?.name, outer?.name]).toEqual(["execute_tool echo", "execute_tool twice"]);
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
  });

  test.each(["onStart", "onEnd"])("a processor whose %s throws does not affect the call", async (where) => {
    const processor = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
    const fail = (): never => {
      throw new Error("the exporter is down");
    };
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [{ ...processor, [where]: fail }] }));
    const result = await createHaft({ tools: [echo] }).execute("echo", { text: "x" });
    expect(result).toMatchObject({ status: "completed", details: "x" });
  });

  test("what a caller or a model chooses is a short line without secrets, and no content is reported", async () => {
    const { spans } = registerOpenTelemetry();
    const secret = `ghp_${"16C7e42F292c6912E7710c838347Ae178B4a"}`;
    const quoting = createTool({
      name: "quoting",
      description: "Fails.",
      kind: "readonly",
      parameters: [],
      run: () => Promise.reject(new Error("John Doe")),
    });
    const haft = createHaft({ tools: [echo, quoting] });
    const texts = [`tool_${secret}`, "x\n\u001b[2JFAKE\u202e", "z".repeat(100_000)];
    for (const text of texts) {
      await haft.execute(text);
      await haft.execute("echo", { text }, { id: text, caller: { session: text, agent: text } });
    }
    await haft.execute("quoting");
    const found = spans.getFinishedSpans();
    expect(new Set(found.map(({ name }) => name))).toEqual(
      new Set(["execute_tool (unknown)", "execute_tool echo", "execute_tool quoting"]),
    );
    const values = found.flatMap(({ attributes, status }) => [...Object.values(attributes), status.message ?? ""]);
    for (const value of values.map(String)) {
      expect(value).not.toMatch(/ghp_|John|\p{C}/u);
      expect(value.length).toBeLessThanOrEqual(201);
    }
  });

  test("a failure, also a refusal, is an error with its code", async () => {
    const { spans } = registerOpenTelemetry();
    const haft = createHaft({ tools: [broken] });
    await haft.execute("broken");
    await haft.execute("brken");
    expect(spans.getFinishedSpans().map(({ attributes }) => attributes["error.type"])).toEqual([
      "failed",
      "tool_not_found",
    ]);
    expect(spans.getFinishedSpans().map(({ status }) => status.code)).toEqual([2, 2]);
  });

  test("durations are a histogram by tool, in which unknown names share one entry", async () => {
    const { measured, reader } = registerOpenTelemetry();
    const haft = createHaft({ tools: [echo] });
    await haft.execute("echo", { text: "x" });
    await haft.execute("made_up_1");
    await haft.execute("made_up_2");
    await reader.forceFlush();
    const [metric] = measured.getMetrics()[0]!.scopeMetrics[0]!.metrics;
    expect(metric?.descriptor).toMatchObject({ name: "gen_ai.client.operation.duration", unit: "s" });
    const counts = metric!.dataPoints.map(({ attributes, value }) => [
      attributes["gen_ai.tool.name"],
      (value as { count: number }).count,
    ]);
    expect(Object.fromEntries(counts)).toEqual({ echo: 1, "(unknown)": 2 });
  });
});

describe("an agent's run", () => {
  const LOGS = Symbol.for("io.opentelemetry.js.api.logs");
  const globals = globalThis as Record<symbol, unknown>;
  afterEach(() => delete globals[LOGS]);

  test("is a span with its model turns and calls inside, tokens are counted, and ends are logged", async () => {
    const { spans, measured, reader } = registerOpenTelemetry();
    const logged: { eventName: string; severityText: string; attributes: Record<string, unknown> }[] = [];
    const scopes: unknown[][] = [];
    globals[LOGS] = (version: number) =>
      version === 1 && {
        getLogger: (...scope: unknown[]) => (scopes.push(scope), { emit: (record: never) => logged.push(record) }),
      };
    const haft = createHaft({ tools: [echo, broken] });
    const { agent } = scriptAgent(haft, [
      { calls: [{ name: "echo", input: { text: "a" } }, { name: "broken" }] },
      { text: "done" },
    ]);
    await agent.run("go", { caller: { session: "s1" } });

    const finished = spans.getFinishedSpans();
    expect(finished.map(({ name }) => name).toSorted()).toEqual([
      "chat 1",
      "chat 1",
      "execute_tool broken",
      "execute_tool echo",
      "invoke_agent main",
    ]);
    const run = finished.find(({ name }) => name === "invoke_agent main")!;
    expect(run.instrumentationScope).toMatchObject({ name: "haft", version: VERSION });
    expect(run.attributes).toMatchObject({ "gen_ai.agent.name": "main", "gen_ai.usage.input_tokens": 20 });
    for (const span of finished.filter((each) => each !== run)) {
      expect(span.parentSpanContext?.spanId).toBe(run.spanContext().spanId);
    }
    const [turn] = finished.filter(({ name }) => name === "chat 1");
    expect(turn).toMatchObject({ kind: 2 });
    expect(turn?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "script",
      "gen_ai.request.model": "1",
      "gen_ai.conversation.id": "s1",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 1,
      "gen_ai.response.finish_reasons": ["tool_call"],
    });

    await reader.forceFlush();
    const { metrics: all, scope } = measured.getMetrics()[0]!.scopeMetrics[0]!;
    expect(scope).toMatchObject({ name: "haft", version: VERSION });
    const tokens = all.find(({ descriptor }) => descriptor.name === "gen_ai.client.token.usage")!;
    const sums = tokens.dataPoints.map(({ attributes, value }) => [
      attributes["gen_ai.token.type"],
      (value as { sum: number }).sum,
    ]);
    expect(sums.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
      ["input", 20],
      ["output", 2],
    ]);
    const durations = all.find(({ descriptor }) => descriptor.name === "gen_ai.client.operation.duration")!;
    const operations = durations.dataPoints.map(({ attributes }) => attributes["gen_ai.operation.name"]);
    expect(new Set(operations)).toEqual(new Set(["invoke_agent", "chat", "execute_tool"]));

    expect(scopes[0]).toEqual(["haft", VERSION]);
    const ends = logged.map(({ eventName, severityText, attributes }) => [
      eventName,
      severityText,
      attributes["error.type"],
    ]);
    expect(ends.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      ["gen_ai.client.inference.operation.details", "INFO", undefined],
      ["gen_ai.client.inference.operation.details", "INFO", undefined],
      ["haft.call", "ERROR", "failed"],
      ["haft.call", "INFO", undefined],
    ]);
    await haft.shutdown();
  });
});

test("without OpenTelemetry nothing is traced or loaded", async () => {
  const result = await createHaft({ tools: [echo] }).execute("echo", { text: "x" });
  expect(result.status).toBe("completed");
  expect(trace.getTracerProvider().getTracer("haft").startSpan("x").isRecording()).toBe(false);
});
