import { BoundedMap } from "../../core/bounded-map.ts";
import type { CallFrame, CallRequest } from "../../contracts/calls.ts";
import type { HandlerRequest } from "../../contracts/contract.ts";
import { type Identity, requireMode, requireScope } from "../../contracts/identity.ts";
import { type CallOptions, nextCallId } from "../../core/call.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { type Gate, runtimeGateOf } from "../../core/gate.ts";
import type { ToolResult } from "../../core/result.ts";
import { StoppedTogether } from "../../gate/stopped-call.ts";
import type { Haft } from "../../runtime.ts";
import { FrameQueue } from "./frame-queue.ts";
import { MAX_UPDATES, type RecentCall, statusOf } from "./recent-calls.ts";

/** A call that was started by the API and has not ended. */
export interface Run {
  readonly callId: string;
  result: Promise<ToolResult>;
  cancel(reason: string | ToolError): void;
  /** Whether it ends when its client disconnects. */
  isAttached?: boolean;
}

export type StartCall = (request: CallRequest, identity: Identity) => Run;

/** Calls whose input and result are kept, running ones included. */
const MAX_KEPT = 200;

/** Makes the calls that clients of the API request, and knows who may cancel each. The last ones are kept with their results. */
export class CallRunner {
  readonly #haft: Haft;
  readonly #gate: Gate;
  readonly #running = new Map<string, { run: Run; owner: string }>();
  readonly #kept = new BoundedMap<string, RecentCall>(MAX_KEPT);

  constructor(haft: Haft) {
    this.#haft = haft;
    this.#gate = runtimeGateOf(haft);
  }

  /** The identity decides who calls. The request only restricts the call and names its session. */
  readonly start: StartCall = (request, identity) => {
    check(request, identity);
    return this.#execute(request, identity, request.id ?? nextCallId());
  };

  /** Ends with the result. Throws if the call may not be made. Aborting the signal cancels it, unless it keeps running. */
  stream(request: CallRequest, identity: Identity, signal: AbortSignal): AsyncIterable<CallFrame> {
    const frames = new FrameQueue<CallFrame>(signal);
    const run = this.follow(request, identity, (frame) => frames.push(frame));
    void run.result.then(() => frames.end());
    if (!request.keepRunning) cancelOnAbort(run, signal);
    return frames;
  }

  /** Calls `onFrame` with `started`, everything that happens, and the result. */
  follow(request: CallRequest, identity: Identity, onFrame: (frame: CallFrame) => void): Run {
    check(request, identity);
    const callId = request.id ?? nextCallId();
    onFrame({ type: "started", callId });
    const stop = this.#haft.on("permission_requested", (event) => {
      if (event.callId !== callId && event.parentId !== callId) return;
      onFrame({ type: "approval", approvalId: event.approvalId, reason: event.reason });
    });
    const run = this.#execute(request, identity, callId, (update) => onFrame({ type: "update", update }));
    const result = run.result.then((ended) => {
      stop();
      onFrame({ type: "result", result: ended });
      return ended;
    });
    return Object.assign(run, { result });
  }

  /** A call that was made here lately, as it was made and answered. */
  recall(callId: string): RecentCall | undefined {
    return this.#kept.get(callId);
  }

  /** Returns whether there was a call to cancel. Calls of others need the scope `admin`. */
  cancel(callId: string, identity: Identity): boolean {
    const found = this.#running.get(callId);
    if (!found) return this.#stopOther(callId, identity);
    if (found.owner !== identity.id) requireScope(identity, "admin", "To cancel a call of another user");
    found.run.cancel("a person cancelled it");
    return true;
  }

  /** A call of this process that came in through another door: an agent, an MCP client, a schedule, the library. */
  #stopOther(callId: string, identity: Identity): boolean {
    const why = toolError("cancelled", "A person stopped the call");
    let isOfAnother = false;
    const isStopped = this.#gate.stop?.(callId, why, ({ user }) => {
      const may = user === identity.name || identity.scopes.includes("admin");
      isOfAnother ||= !may;
      return may;
    });
    if (!isStopped && isOfAnother) requireScope(identity, "admin", "To cancel a call of another user");
    return isStopped ?? false;
  }

  /** Answers waiting clients whose calls have not begun. Their approvals stay open, for when the call is made again. */
  endWaiting(hasBegun: (callId: string) => boolean): void {
    const why = toolError("shutdown", "The server is shutting down", { next: "Call again when it is back." });
    for (const [callId, { run }] of this.#running) if (run.isAttached && !hasBegun(callId)) run.cancel(why);
  }

  #execute(request: CallRequest, identity: Identity, callId: string, follow?: CallOptions["onUpdate"]): Run {
    const { tool, input, id, session, mode, timeoutMs, policy, allowedPaths, background, waitForEnd } = request;
    const caller = session === undefined ? { user: identity.name } : { user: identity.name, session };
    const kept = this.#keep({ callId, toolName: tool, caller: { ...caller, depth: 0 }, input });
    const isFollowed = follow !== undefined || request.keepRunning;
    const onUpdate: CallOptions["onUpdate"] = isFollowed
      ? (update) => {
          kept.updates.push(update);
          if (kept.updates.length > MAX_UPDATES) kept.updates.shift();
          follow?.(update);
        }
      : undefined;
    const options: CallOptions = {
      id: callId,
      // An id that the client did not choose must not make two calls one.
      idempotencyKey: id ?? false,
      caller,
      mode,
      timeoutMs,
      policy,
      allowedPaths,
      background,
      waitForEnd,
      onUpdate,
    };
    // A group of one call: it costs less than a signal.
    const group = new StoppedTogether();
    const started = this.#gate.execute(tool, input, options, { group });
    const run: Run = {
      callId,
      result: started,
      cancel: (reason) => group.abort(typeof reason === "string" ? new Error(reason) : reason),
    };
    this.#running.set(callId, { run, owner: identity.id });
    const forget = (): void => {
      if (this.#running.get(callId)?.run === run) this.#running.delete(callId);
    };
    const end = (result: ToolResult): void => {
      forget();
      kept.result = result;
      kept.status = statusOf(result);
    };
    void started.then(end, forget);
    return run;
  }

  #keep(call: Pick<RecentCall, "callId" | "toolName" | "caller" | "input">): RecentCall {
    const kept: RecentCall = {
      ...call,
      status: "waiting",
      requestedAt: this.#haft.settings.clock.now(),
      updates: [],
      number: Number.MAX_SAFE_INTEGER,
      characters: 0,
    };
    this.#kept.set(call.callId, kept);
    return kept;
  }
}

function check({ mode }: CallRequest, identity: Identity): void {
  requireScope(identity, "call", "To call tools");
  requireMode(mode, identity);
}

/** Until the call has ended. Do not read `signal` before: over HTTP it is created then. */
export function cancelOnDisconnect(run: Run, client: Pick<HandlerRequest, "signal" | "onDisconnect">): void {
  if (!client.onDisconnect) return cancelOnAbort(run, client.signal);
  run.isAttached = true;
  client.onDisconnect(() => run.cancel("the client disconnected"));
}

function cancelOnAbort(run: Run, signal: AbortSignal): void {
  const { result, cancel } = run;
  run.isAttached = true;
  const onAbort = (): void => cancel("the client disconnected");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const done = (): void => signal.removeEventListener("abort", onAbort);
  void result.then(done, done);
}
