import { loadPackage } from "../../schema/load-package.ts";

interface Api {
  context: { active(): unknown };
  propagation: { inject(context: unknown, carrier: Record<string, string>): void };
}

/** Where a host that traces has put its providers. Looking there costs nothing where it has not. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const CARRIED = ["traceparent", "tracestate", "baggage"];

let api: Api | null | undefined;

/** The keys by which a server can join the trace of the call; undefined where nothing is traced. */
export function traceContext(): Record<string, string> | undefined {
  if ((globalThis as Record<symbol, unknown>)[REGISTERED] === undefined) return undefined;
  if (api === undefined) {
    try {
      api = loadPackage<Api>("@opentelemetry/api", "tracing");
    } catch {
      api = null;
    }
  }
  if (!api) return undefined;
  const carrier: Record<string, string> = {};
  try {
    api.propagation.inject(api.context.active(), carrier);
  } catch {
    // A propagator that fails, fails alone.
    return undefined;
  }
  const kept = Object.entries(carrier).filter(([key]) => CARRIED.includes(key));
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}
