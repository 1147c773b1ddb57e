import type { Context, ContextAPI, DiagAPI, Histogram, MetricsAPI, Span, TraceAPI } from "@opentelemetry/api";
import type { Call } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import { ChangeCounter, type Stage } from "../core/stage.ts";
import { loadPackage } from "../schema/load-package.ts";

/** Where OpenTelemetry registers its providers. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const UNKNOWN = "(unknown)";
// SpanKind.INTERNAL and SpanStatusCode.ERROR: the package that defines them may not be installed.
const INTERNAL = 0;
const ERROR = 2;

interface Api {
  trace: TraceAPI;
  metrics: MetricsAPI;
  context: ContextAPI;
  diag: DiagAPI;
}

interface Traced {
  span: Span;
  context: Context;
}

/**
 * Spans and durations by the GenAI conventions (`execute_tool …`), for hosts that have OpenTelemetry. An exporter that
 * fails does not affect the call: the error goes to OpenTelemetry's diagnostics.
 */
export function telemetry(clock: Clock): Stage {
  const traced = new WeakMap<Call, Traced>();
  let api: Api | null | undefined;
  let durations: Histogram | undefined;
  const registered = new ChangeCounter();

  return {
    name: "telemetry",
    changes: [registered],
    // If the host registers OpenTelemetry later, tracing of plain calls starts with the call after the one that finds it.
    compile: () => (isRegistered() ? { enter, around, leave } : { enter: findRegistration }),
    enter,
    around,
    leave,
  };

  function findRegistration(): void {
    if (isRegistered()) registered.count++;
  }

  function enter(call: Call): void {
    if (!isRegistered()) return;
    if (api === undefined) api = loadApi();
    if (api) attempt(api, () => begin(api!, call));
  }

  function around(call: Call): ((run: () => unknown) => unknown) | undefined {
    const found = api ? traced.get(call) : undefined;
    return found && ((run) => api!.context.with(found.context, run));
  }

  function leave(call: Call, result: ToolResult): ToolResult {
    const found = api ? traced.get(call) : undefined;
    if (found) attempt(api!, () => end(api!, found.span, call, result));
    return result;
  }

  function begin({ context, trace }: Api, call: Call): void {
    const parent = context.active();
    const attributes = attributesOf(call);
    const name = `execute_tool ${call.requestedName}`;
    const span = trace.getTracer("haft").startSpan(name, { kind: INTERNAL, attributes }, parent);
    traced.set(call, { span, context: trace.setSpan(parent, span) });
  }

  function end({ metrics }: Api, span: Span, call: Call, result: ToolResult): void {
    durations ??= metrics
      .getMeter("haft")
      .createHistogram("gen_ai.client.operation.duration", { unit: "s", description: "Duration of tool calls" });
    durations.record((clock.monotonic() - call.startedMonotonic) / 1000, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": call.tool?.name ?? UNKNOWN,
      "error.type": result.status === "failed" ? result.error.code : undefined,
    });
    describe(span, call, result);
    span.end();
  }
}

function attempt({ diag }: Api, trace: () => void): void {
  try {
    trace();
  } catch (error) {
    diag.error("haft: a call could not be traced", error);
  }
}

function isRegistered(): boolean {
  return (globalThis as Record<symbol, unknown>)[REGISTERED] !== undefined;
}

function loadApi(): Api | null {
  try {
    return loadPackage("@opentelemetry/api", "tracing") as Api;
  } catch {
    // The host uses another copy of the package, which cannot be found from here: nothing is traced.
    return null;
  }
}

function attributesOf(call: Call): Record<string, string | undefined> {
  const { agent, session } = call.caller;
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.call.id": call.id,
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": agent,
    "gen_ai.conversation.id": session,
  };
}

function describe(span: Span, call: Call, result: ToolResult): void {
  if (call.tool) {
    span.updateName(`execute_tool ${call.tool.name}`);
    span.setAttribute("gen_ai.tool.description", call.tool.description.short);
  }
  span.setAttribute("gen_ai.tool.name", call.tool?.name ?? call.requestedName);
  span.setAttribute("haft.status", result.status);
  if (result.status === "failed") {
    span.setAttribute("error.type", result.error.code);
    span.setStatus({ code: ERROR, message: result.error.message });
  }
}
