import type { EventOf, ToolEvent, ToolEventType } from "./event.ts";

export type Listener<E> = (event: E) => void;

/** Tells listeners facts. One that throws, or rejects, harms nobody: it is reported to `onListenerError` and the rest go on. */
export class EventEmitter {
  readonly #byType = new Map<ToolEventType, Set<Listener<never>>>();
  readonly #all = new Set<Listener<ToolEvent>>();
  readonly #onListenerError: (error: unknown, event: ToolEvent) => void;
  #count = 0;

  constructor(onListenerError: (error: unknown, event: ToolEvent) => void = () => {}) {
    this.#onListenerError = onListenerError;
  }

  /** Returns the function that stops listening. `"*"` hears everything. */
  on<T extends ToolEventType>(type: T, listener: Listener<EventOf<T>>): () => void;
  on(type: "*", listener: Listener<ToolEvent>): () => void;
  /** For whoever passes types on: the caller's own signature ties listener and type together. */
  on(type: ToolEventType | "*", listener: Listener<never>): () => void;
  on(type: ToolEventType | "*", listener: Listener<never>): () => void {
    const listeners = type === "*" ? (this.#all as Set<Listener<never>>) : this.#listenersOf(type);
    if (!listeners.has(listener)) this.#count++;
    listeners.add(listener);
    return () => {
      if (listeners.delete(listener)) this.#count--;
    };
  }

  /** Whether anybody would hear it: emitters ask first, so that nobody builds an event for nobody. */
  hasListeners(type: ToolEventType): boolean {
    if (this.#count === 0) return false;
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
      // Who is told of listeners that fail harms nobody either.
    }
  }

  #listenersOf(type: ToolEventType): Set<Listener<never>> {
    let listeners = this.#byType.get(type);
    if (!listeners) this.#byType.set(type, (listeners = new Set()));
    return listeners;
  }
}
