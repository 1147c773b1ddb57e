import type { Clock } from "../../core/clock.ts";
import type { Intercept } from "./intercept-messages.ts";

/** What must not be lost: it is not said again. */
const PASSED_ALWAYS = /list_changed$|^notifications\/(cancelled|subscriptions\/|resources\/updated|elicitation\/)/;

const PER_SECOND = 500;

/**
 * A server may not keep us busy with notifications: those above the limit are dropped before the protocol looks at them,
 * which costs a hundred times more than reading them.
 */
export function limitNotifications(clock: Clock, report: (fault: string) => void): Intercept {
  let windowStart = clock.monotonic();
  let taken = 0;
  let isReported = false;

  return (message) => {
    const { id, method } = message as { id?: unknown; method?: unknown };
    return id !== undefined || typeof method !== "string" || isTaken(method);
  };

  function isTaken(method: string): boolean {
    const now = clock.monotonic();
    if (now - windowStart >= 1000) {
      windowStart = now;
      taken = 0;
      isReported = false;
    }
    if (PASSED_ALWAYS.test(method) || ++taken <= PER_SECOND) return true;
    // Once a second: telling of each would be the flood again.
    if (!isReported) report(`The server sends more than ${PER_SECOND} notifications a second; the rest is dropped.`);
    isReported = true;
    return false;
  }
}
