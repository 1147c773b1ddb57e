import type {
  Attributes,
  Context,
  ContextManager,
  DiagLogger,
  Meter,
  Span,
  TextMapPropagator,
  Tracer,
} from "@opentelemetry/api";
import { VERSION } from "./version.ts";

// OpenTelemetry keeps its providers in one global object, whichever copy of its package registered them. They are used from
// there: nothing needs to be installed beside Haft, and a bundle works like a folder of packages.

const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const REGISTERED_LOGS = Symbol.for("io.opentelemetry.js.api.logs");
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");
const SCOPE = "haft";

/** The values of `SpanKind` and `SpanStatusCode`. */
export const SPAN_INTERNAL = 0;
export const SPAN_CLIENT = 2;
export const STATUS_ERROR = 2;

interface Providers {
  trace?: { getTracer(name: string, version: string): Tracer };
  metrics?: { getMeter(name: string, version: string): Meter };
  context?: ContextManager;
  propagation?: TextMapPropagator;
  diag?: DiagLogger;
}

export interface LogRecord {
  eventName: string;
  severityNumber: number;
  severityText: string;
  body?: string | undefined;
  attributes: Attributes;
  context: Context;
}

interface LoggerProvider {
  getLogger(name: string, version: string): { emit(record: LogRecord): void };
}

/** Whether the host has registered OpenTelemetry. */
export function hasOpenTelemetry(): boolean {
  return providers() !== undefined || logs() !== undefined;
}

export function tracer(): Tracer | undefined {
  return providers()?.trace?.getTracer(SCOPE, VERSION);
}

export function meter(): Meter | undefined {
  return providers()?.metrics?.getMeter(SCOPE, VERSION);
}

export function emitLog(record: LogRecord): void {
  logs()?.getLogger(SCOPE, VERSION).emit(record);
}

export function activeContext(): Context {
  return providers()?.context?.active() ?? ROOT;
}

export function withSpan(context: Context, span: Span): Context {
  return context.setValue(SPAN_KEY, span);
}

/** Runs a function in a context, so that spans which it starts are children of the context's span. */
export function runIn<T>(context: Context, run: () => T): T {
  const manager = providers()?.context;
  return manager ? manager.with(context, run) : run();
}

/** Telemetry that fails does not affect what it reports on: the error goes to OpenTelemetry's diagnostics. */
export function attempt<T>(report: () => T): T | undefined {
  try {
    return report();
  } catch (error) {
    providers()?.diag?.error("haft: telemetry failed", error);
    return undefined;
  }
}

/** The headers that carry the active trace to another process. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  const { propagation } = providers() ?? {};
  attempt(() =>
    propagation?.inject(activeContext(), headers, { set: (carrier, key, value) => void (carrier[key] = value) }),
  );
  return headers;
}

function providers(): Providers | undefined {
  return (globalThis as { [REGISTERED]?: Providers })[REGISTERED];
}

function logs(): LoggerProvider | undefined {
  // A function of the API's version that the caller supports; 1 is the only one.
  return (globalThis as { [REGISTERED_LOGS]?: (version: number) => LoggerProvider })[REGISTERED_LOGS]?.(1);
}

/** The context of a host without a context manager. */
class ValueContext implements Context {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new ValueContext(new Map([...this.#values, [key, value]]));
  }

  deleteValue(key: symbol): Context {
    return new ValueContext(new Map([...this.#values].filter(([each]) => each !== key)));
  }
}

const ROOT: Context = new ValueContext(new Map());
