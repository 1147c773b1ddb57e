import { useSyncExternalStore } from "react";

interface ConnectionState {
  /** False from a request that no server answered until one is answered again. */
  readonly isReachable: boolean;
  /** False after a request was refused because the sign-in is missing or has ended. */
  readonly isSignedIn: boolean;
}

let state: ConnectionState = { isReachable: true, isSignedIn: true };
const listeners = new Set<() => void>();

function connectionState(): ConnectionState {
  return state;
}

export function setConnection(change: Partial<ConnectionState>): void {
  const next = { ...state, ...change };
  if (next.isReachable === state.isReachable && next.isSignedIn === state.isSignedIn) return;
  state = next;
  for (const listener of listeners) listener();
}

/** What the last answers of the server say about the connection. */
export function useConnection(): ConnectionState {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, connectionState);
}
