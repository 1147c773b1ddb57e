import type { CallMode, CallOptions } from "../core/call.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import type { Haft } from "../runtime.ts";
import type { RecentCalls } from "./call-book.ts";
import { type Identity, requireScope } from "./identify.ts";
import type { CallRequest } from "./wire.ts";

/** A call that was made through this door and has not ended. */
export interface Run {
  readonly callId: string;
  readonly result: Promise<ToolResult>;
  cancel(why: string): void;
}

/** Modes that let pass what a person would be asked about: who may not approve may not choose them. */
const WIDER_MODES: readonly unknown[] = ["acceptEdits", "bypassPermissions"];

export function requireMode(mode: CallMode | undefined, identity: Identity): void {
  if (WIDER_MODES.includes(mode)) requireScope(identity, "approve", `The mode "${mode}"`);
}

/** Makes the calls that come over HTTP and WebSocket, and knows which can be cancelled by whom. */
export class CallRunner {
  readonly #haft: Haft;
  readonly #recentCalls: RecentCalls;
  readonly #running = new Map<string, { run: Run; owner: string }>();

  constructor(haft: Haft, recentCalls: RecentCalls) {
    this.#haft = haft;
    this.#recentCalls = recentCalls;
  }

  /** Who calls is said by the token; of the request only what narrows, and the session's name. */
  start(request: CallRequest, identity: Identity, onUpdate?: (update: Update) => void): Run {
    requireScope(identity, "call", "To call tools");
    requireMode(request.mode, identity);
    const { tool, input, id, session, mode, timeoutMs, policy, allowedPaths, background } = request;
    const controller = new AbortController();
    const options: CallOptions = {
      caller: session === undefined ? { user: identity.name } : { user: identity.name, session },
      signal: controller.signal,
    };
    if (id !== undefined) options.id = id;
    if (mode !== undefined) options.mode = mode;
    if (timeoutMs !== undefined) options.timeoutMs = timeoutMs;
    if (policy !== undefined) options.policy = policy;
    if (allowedPaths !== undefined) options.allowedPaths = allowedPaths;
    if (background !== undefined) options.background = background;
    if (onUpdate) options.onUpdate = onUpdate;
    const { started, callId = "" } = this.#recentCalls.idOf(() => this.#haft.execute(tool, input, options));
    const run: Run = { callId, result: started, cancel: (why) => controller.abort(new Error(why)) };
    this.#running.set(callId, { run, owner: identity.id });
    const forget = (): void => {
      if (this.#running.get(callId)?.run === run) this.#running.delete(callId);
    };
    void started.then(forget, forget);
    return run;
  }

  /** Whether there was something to cancel. One's own calls; with `admin` everybody's. */
  cancel(callId: string, identity: Identity, why = "the person stopped it"): boolean {
    const found = this.#running.get(callId);
    if (!found) return false;
    if (found.owner !== identity.id) requireScope(identity, "admin", "To cancel a call of somebody else");
    found.run.cancel(why);
    return true;
  }
}
