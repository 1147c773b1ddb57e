import type { Attributes, Context, Span } from "@opentelemetry/api";
import type { Call } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import { ChangeCounter, type Stage } from "../core/stage.ts";
import {
  activeContext,
  attempt,
  hasOpenTelemetry,
  runIn,
  SPAN_INTERNAL,
  STATUS_ERROR,
  tracer,
  withSpan,
} from "../core/telemetry/open-telemetry.ts";
import { logEvent, recordDuration, reportedAttributes, reportedText } from "../core/telemetry/operations.ts";

const UNKNOWN = "(unknown)";

interface Traced {
  span: Span | undefined;
  context: Context;
  attributes: Attributes;
}

/** Spans and durations by the GenAI conventions (`execute_tool …`), for hosts that have OpenTelemetry. */
export function telemetry(clock: Clock): Stage {
  const traced = new WeakMap<Call, Traced>();
  const registered = new ChangeCounter();

  return {
    name: "telemetry",
    changes: [registered],
    // If the host registers OpenTelemetry later, tracing of plain calls starts with the call after the one that finds it.
    compile: () => (hasOpenTelemetry() ? { enter, around, leave } : { enter: findRegistration }),
    enter,
    around,
    leave,
  };

  function findRegistration(): void {
    if (hasOpenTelemetry()) registered.count++;
  }

  function enter(call: Call): void {
    if (hasOpenTelemetry()) attempt(() => begin(call));
  }

  function around(call: Call): ((run: () => unknown) => unknown) | undefined {
    const found = traced.get(call);
    return found && ((run) => runIn(found.context, run));
  }

  function leave(call: Call, result: ToolResult): ToolResult {
    const found = traced.get(call);
    if (found) attempt(() => end(found, call, result));
    return result;
  }

  function begin(call: Call): void {
    const parent = activeContext();
    const attributes = attributesOf(call);
    const name = `execute_tool ${reportedText(call.requestedName)}`;
    const span = tracer()?.startSpan(name, { kind: SPAN_INTERNAL, attributes }, parent);
    traced.set(call, { span, attributes, context: span ? withSpan(parent, span) : parent });
  }

  function end({ span, attributes, context }: Traced, call: Call, result: ToolResult): void {
    // Not the message: it may quote the input or what the tool has read.
    const error = result.status === "failed" ? { type: result.error.code } : undefined;
    recordDuration((clock.monotonic() - call.startedMonotonic) / 1000, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": call.tool?.name ?? UNKNOWN,
      "error.type": error?.type,
    });
    const facts = {
      ...attributes,
      "gen_ai.tool.name": call.tool?.name ?? reportedText(call.requestedName),
      "haft.status": result.status,
      "error.type": error?.type,
    };
    logEvent("haft.call", facts, { error, context });
    if (!span) return;
    describe(span, call, result);
    span.end();
  }
}

function attributesOf(call: Call): Attributes {
  const { agent, session } = call.caller;
  return reportedAttributes({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.call.id": call.id,
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": agent,
    "gen_ai.conversation.id": session,
  });
}

function describe(span: Span, call: Call, result: ToolResult): void {
  // Backends count by the names of spans, and a model can invent many.
  span.updateName(`execute_tool ${call.tool?.name ?? UNKNOWN}`);
  if (call.tool) span.setAttribute("gen_ai.tool.description", reportedText(call.tool.description.short));
  span.setAttribute("gen_ai.tool.name", call.tool?.name ?? reportedText(call.requestedName));
  span.setAttribute("haft.status", result.status);
  if (result.status === "failed") {
    span.setAttribute("error.type", result.error.code);
    span.setStatus({ code: STATUS_ERROR });
  }
}
