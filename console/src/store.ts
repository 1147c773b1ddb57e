import { useSyncExternalStore } from "react";

/** A value that lives outside of components. */
export interface Store<Value> {
  get(): Value;
  /** Draws again what uses the value, if it is another one. */
  set(value: Value): void;
  use(): Value;
}

export function createStore<Value>(initial: Value): Store<Value> {
  const listeners = new Set<() => void>();
  let value = initial;
  const get = (): Value => value;
  const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, get),
  };
}
