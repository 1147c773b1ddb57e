import type { Context, ContextAPI, Histogram, MetricsAPI, Span, TraceAPI } from "@opentelemetry/api";
import type { Call } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import { loadPackage } from "../schema/load-package.ts";

/** Where a host that traces has put its providers. Looking there costs nothing where it has not. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const UNKNOWN = "(unknown)";
// The numbers of SpanKind.INTERNAL and SpanStatusCode.ERROR: the package that names them may not be there.
const INTERNAL = 0;
const ERROR = 2;

interface Api {
  trace: TraceAPI;
  metrics: MetricsAPI;
  context: ContextAPI;
}

interface Traced {
  span: Span;
  context: Context;
}

/** Spans and durations by the GenAI conventions (`execute_tool …`), for hosts that have OpenTelemetry. */
export function telemetry(clock: Clock): Stage {
  const traced = new WeakMap<Call, Traced>();
  let api: Api | null | undefined;
  let durations: Histogram | undefined;

  return {
    name: "telemetry",
    enter(call) {
      if (!isRegistered()) return;
      if (api === undefined) api = loadApi();
      if (!api) return;
      const parent = api.context.active();
      const attributes = attributesOf(call);
      const name = `execute_tool ${call.requestedName}`;
      const span = api.trace.getTracer("haft").startSpan(name, { kind: INTERNAL, attributes }, parent);
      traced.set(call, { span, context: api.trace.setSpan(parent, span) });
    },
    around(call) {
      const found = api ? traced.get(call) : undefined;
      return found && ((run) => api!.context.with(found.context, run));
    },
    leave(call, result) {
      const found = api ? traced.get(call) : undefined;
      if (!found) return result;
      const toolName = call.tool?.name ?? UNKNOWN;
      const errorType = result.status === "failed" ? result.error.code : undefined;
      describe(found.span, call, result);
      found.span.end();
      durations ??= api!.metrics
        .getMeter("haft")
        .createHistogram("gen_ai.client.operation.duration", { unit: "s", description: "Duration of tool calls" });
      durations.record((clock.monotonic() - call.startedMonotonic) / 1000, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": toolName,
        ...(errorType === undefined ? {} : { "error.type": errorType }),
      });
      return result;
    },
  };
}

function isRegistered(): boolean {
  return (globalThis as Record<symbol, unknown>)[REGISTERED] !== undefined;
}

function loadApi(): Api | null {
  try {
    return loadPackage("@opentelemetry/api", "tracing") as Api;
  } catch {
    // The host traces with a copy of its own that cannot be found from here: nothing is traced, nothing breaks.
    return null;
  }
}

function attributesOf(call: Call): Record<string, string> {
  const { agent, session } = call.caller;
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.call.id": call.id,
    "gen_ai.tool.type": "function",
    ...(agent === undefined ? {} : { "gen_ai.agent.name": agent }),
    ...(session === undefined ? {} : { "gen_ai.conversation.id": session }),
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
