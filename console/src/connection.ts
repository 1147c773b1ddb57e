import { createStore } from "./store.ts";

interface ConnectionState {
  /** False from a request that no server answered until one is answered again. */
  readonly isReachable: boolean;
  /** False after a request was refused because the sign-in is missing or has ended. */
  readonly isSignedIn: boolean;
}

const connection = createStore<ConnectionState>({ isReachable: true, isSignedIn: true });

export function setConnection(change: Partial<ConnectionState>): void {
  const now = connection.get();
  const next = { ...now, ...change };
  if (next.isReachable !== now.isReachable || next.isSignedIn !== now.isSignedIn) connection.set(next);
}

/** What the last answers of the server say about the connection. */
export const useConnection = connection.use;
