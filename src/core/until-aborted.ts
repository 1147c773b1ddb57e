import type { Call } from "./call.ts";

/** For a stage that waits for what may never come: not longer than the call's own caller does, nor beyond shutdown. */
export function abortable<T>(call: Call, awaited: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => (call.onAbort = reject));
  return Promise.race([awaited, aborted]).finally(() => (call.onAbort = undefined));
}
