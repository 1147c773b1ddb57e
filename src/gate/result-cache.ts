import { BoundedMap } from "../core/bounded-map.ts";
import { type Call, toolOf } from "../core/call.ts";
import { canonicalJson } from "../core/json.ts";
import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";

interface CachedResult {
  result: ToolResult;
  until: number;
  /** Undefined: depends on everything. */
  resources: readonly string[] | undefined;
}

/** Caches results of read-only tools that declare it. A call that may change something drops the results that may depend on it. */
export class ResultCache {
  readonly #entries: BoundedMap<string, CachedResult>;
  readonly #clock: Clock;
  readonly #isOff: boolean;
  /** The number of changing calls so far; and, for running calls, that number at their start. */
  #changes = 0;
  readonly #changesBefore = new WeakMap<Call, number>();

  /** `capacity` 0: nothing is cached. */
  constructor(clock: Clock, capacity = 1000) {
    this.#clock = clock;
    this.#isOff = capacity === 0;
    this.#entries = new BoundedMap(Math.max(1, capacity));
  }

  find(call: Call): ToolResult | undefined {
    const tool = toolOf(call);
    // A result that was made with data of the host may belong to these data.
    if (!tool.cache || call.host !== undefined || this.#isOff) return undefined;
    const key = keyOf(call);
    const entry = this.#entries.get(key);
    if (entry && entry.until > this.#clock.monotonic()) return entry.result;
    this.#entries.delete(key);
    this.#changesBefore.set(call, this.#changes);
    return undefined;
  }

  /** After a call: caches its result, or drops the results that it may have made stale. */
  store(call: Call, result: ToolResult): void {
    const tool = toolOf(call);
    if (!tool.isReadOnly) return this.drop(call);
    if (!tool.cache || this.#isOff || result.status !== "completed" || result.metadata["known"] !== undefined) return;
    // Another call has changed something meanwhile: this result may be stale.
    if (this.#changesBefore.get(call) !== this.#changes) return;
    this.#entries.set(keyOf(call), {
      result: structuredClone(result),
      until: this.#clock.monotonic() + tool.cache.ttlMs,
      resources: tool.cache.resources?.(call.input),
    });
  }

  /** Drops the results that this call may have made stale. */
  drop(call: Call): void {
    const tool = toolOf(call);
    if (tool.isReadOnly) return;
    this.#changes++;
    if (this.#entries.size > 0) this.#invalidate(call.locks);
  }

  /** Undefined: not known, so it may be everything. */
  #invalidate(touched: readonly string[] | undefined): void {
    for (const [key, { resources }] of this.#entries) {
      const mayApplyTo = !resources || !touched || touched.some((resource) => resources.includes(resource));
      if (mayApplyTo) this.#entries.delete(key);
    }
  }
}

/** Callers do not share results: one may have less access than another. */
function keyOf(call: Call): string {
  const tool = toolOf(call);
  const { session, agent, user } = call.caller;
  const own = tool.cache?.key ? tool.cache.key(call.input) : canonicalJson(call.accepted);
  return canonicalJson([tool.name, tool.version, session, agent, user, call.options.allowedPaths, own]);
}
