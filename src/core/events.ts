import type { Call, Caller } from "./call.ts";
import { keysOf } from "./options.ts";
import type { Content } from "./content.ts";
import type { ToolFailure } from "./error.ts";
import { didYouMean } from "./nearest-name.ts";
import type { ToolResult } from "./result.ts";

interface EventBase {
  at: number;
}
interface CallEventBase extends EventBase {
  callId: string;
  toolName: string;
  caller: Caller;
  parentId?: string;
}

/**
 * Events, in this order for one call:
 *
 *     requested → (permission_requested → permission_resolved)? → (job_queued | started → updated*)? → completed | failed
 *
 * A call that waits for a person, a job or a client ends its first pass with `tool_call_pending` instead. A terminal event
 * is emitted after the state that it reports can be read. `tool_call_settled_late` may follow a timeout or an abort; if the call
 * had ended as `unknown_outcome`, its `result` is the real one.
 */
export type ToolEvent =
  | (CallEventBase & { type: "tool_call_requested"; input: unknown })
  | (CallEventBase & { type: "permission_requested"; approvalId: string; reason: string })
  | (CallEventBase & {
      type: "permission_resolved";
      approvalId: string;
      /** `expired`: not answered in time, or the call changed. */
      decision: "approved" | "denied" | "expired";
      by?: string;
      reason?: string;
    })
  | (CallEventBase & { type: "job_queued"; jobId: string })
  | (CallEventBase & { type: "tool_call_started"; input: unknown })
  | (CallEventBase & { type: "tool_call_updated"; update: Update })
  | (CallEventBase & { type: "tool_call_pending"; result: ToolResult })
  | (CallEventBase & { type: "tool_call_completed"; result: ToolResult; durationMs: number })
  | (CallEventBase & { type: "tool_call_failed"; result: ToolResult; error: ToolFailure; durationMs: number })
  | (CallEventBase & { type: "tool_call_settled_late"; succeeded: boolean; afterMs: number; result?: ToolResult })
  | (EventBase & {
      type: "grant_changed";
      grantId: string;
      change: "granted" | "extended" | "used_up" | "revoked" | "expired" | "given_back";
      by?: string | undefined;
      session?: string | undefined;
      user?: string | undefined;
      used: number;
      until?: number | undefined;
    })
  | (EventBase & { type: "tool_registered"; toolName: string; source: string })
  | (EventBase & { type: "tool_unregistered"; toolName: string; source: string });

/** The name of an event. */
export type ToolEventType = ToolEvent["type"];
/** The event of this type. */
export type EventOf<T extends ToolEventType> = Extract<ToolEvent, { type: T }>;

/** A partial result of a running call. */
export interface Update {
  /** Text for a model or a person. */
  content?: Content[];
  /** The total, if known. */
  progress?: { done: number; total?: number; message?: string };
  /** For programs. */
  details?: unknown;
}

type CallEventType = Exclude<ToolEventType, "grant_changed" | "tool_registered" | "tool_unregistered">;
type Facts<T extends CallEventType> = Omit<EventOf<T>, "type" | "at" | "callId" | "toolName" | "caller" | "parentId">;

/** An event about this call, with the common fields. */
export function callEvent<T extends CallEventType>(call: Call, type: T, at: number, facts: Facts<T>): EventOf<T> {
  return {
    type,
    at,
    callId: call.id,
    toolName: call.tool?.name ?? call.requestedName,
    caller: call.caller,
    parentId: call.parent?.id,
    ...facts,
  } as unknown as EventOf<T>;
}

const EVENT_TYPES = keysOf<Record<ToolEventType | "*", unknown>>({
  "*": true,
  tool_call_requested: true,
  permission_requested: true,
  permission_resolved: true,
  job_queued: true,
  tool_call_started: true,
  tool_call_updated: true,
  tool_call_pending: true,
  tool_call_completed: true,
  tool_call_failed: true,
  tool_call_settled_late: true,
  grant_changed: true,
  tool_registered: true,
  tool_unregistered: true,
});

export type Listener<E> = (event: E) => void;

/** Emits events. A listener that throws or rejects affects no other: it is reported to `onListenerError`. */
export class EventEmitter {
  readonly #byType = new Map<ToolEventType, Set<Listener<never>>>();
  readonly #all = new Set<Listener<ToolEvent>>();
  readonly #onListenerError: (error: unknown, event: ToolEvent) => void;

  constructor(onListenerError: (error: unknown, event: ToolEvent) => void = () => {}) {
    this.#onListenerError = onListenerError;
  }

  /** Returns the function that stops listening. `"*"`: every event. */
  on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: "*", listener: Listener<ToolEvent>): () => void;
  /** For functions that forward the type: their own signature relates listener and type. */
  on(type: ToolEventType | "*", listener: Listener<never>): () => void;
  on(type: ToolEventType | "*", listener: Listener<never>): () => void {
    if (!EVENT_TYPES.has(type)) {
      const hint = didYouMean(String(type), EVENT_TYPES) ?? `Known: ${[...EVENT_TYPES].join(", ")}.`;
      throw new TypeError(`There is no event "${String(type)}". ${hint}`);
    }
    const listeners = type === "*" ? (this.#all as Set<Listener<never>>) : this.#listenersOf(type);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Check this first: without listeners no event needs to be built. */
  hasListeners(type: ToolEventType): boolean {
    return this.#all.size > 0 || (this.#byType.get(type)?.size ?? 0) > 0;
  }

  emit(event: ToolEvent): void {
    for (const listener of this.#byType.get(event.type) ?? []) this.#notify(listener as Listener<ToolEvent>, event);
    for (const listener of this.#all) this.#notify(listener, event);
  }

  #notify(listener: Listener<ToolEvent>, event: ToolEvent): void {
    try {
      const returned: unknown = listener(event);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#report(error, event));
    } catch (error) {
      this.#report(error, event);
    }
  }

  #report(error: unknown, event: ToolEvent): void {
    try {
      this.#onListenerError(error, event);
    } catch {
      // A failing error handler must not affect others either.
    }
  }

  #listenersOf(type: ToolEventType): Set<Listener<never>> {
    let listeners = this.#byType.get(type);
    if (!listeners) this.#byType.set(type, (listeners = new Set()));
    return listeners;
  }
}
