import type { Clock, Timer } from "../core/clock.ts";
import type { SessionStore } from "./session-store.ts";

const CHECK_INTERVAL_MS = 500;

/** Looks from time to time whether another process wants the turn to stop. Gives what ends the looking. */
export function watchForStop(
  { store, clock }: { store: SessionStore; clock: Clock },
  key: string,
  stop: () => void,
): () => void {
  if (!store.shared) return () => {};
  let timer: Timer | undefined;
  const scheduleNext = (): void => {
    timer = clock.after(CHECK_INTERVAL_MS, () => {
      void Promise.resolve(store.isStopRequested(key)).then(
        (isRequested) => (isRequested ? stop() : scheduleNext()),
        scheduleNext,
      );
    });
    timer.setRef(false);
  };
  scheduleNext();
  return () => timer?.cancel();
}
