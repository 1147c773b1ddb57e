import type { Clock, Timer } from "../core/clock.ts";
import type { SessionStore } from "./session-store.ts";

const LOOK_MS = 500;

/** Looks from time to time whether another process wants the turn to stop. Gives what ends the looking. */
export function watchForStop(
  { store, clock }: { store: SessionStore; clock: Clock },
  key: string,
  stop: () => void,
): () => void {
  if (!store.shared) return () => {};
  let timer: Timer | undefined;
  const later = (): void => {
    timer = clock.after(LOOK_MS, () => {
      void Promise.resolve(store.isStopRequested(key)).then((isRequested) => (isRequested ? stop() : later()), later);
    });
    timer.hold(false);
  };
  later();
  return () => timer?.cancel();
}
