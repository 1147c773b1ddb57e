/** What a call of `exec` says about time. */
export interface TimeOptions {
  timeout?: number;
  yield_ms?: number;
  run_in_background?: boolean;
}

export interface RunTimes {
  /** The command is ended after this. */
  limitMs: number;
  /** After this the call answers although the command goes on; absent where the limit comes first. */
  yieldMs?: number;
}

export const DEFAULT_TIMEOUT_MS = 120_000;
export const MAX_FOREGROUND_MS = 600_000;
export const DEFAULT_YIELD_MS = 10_000;
/** Nothing that was forgotten runs for ever. */
export const MAX_BACKGROUND_MS = 24 * 3_600_000;
/** Long enough to see a command fail at once, short enough not to be waiting. */
const BACKGROUND_START_MS = 250;

/**
 * Who names a time limit waits for the command up to it; who names none is answered after the yield, and the command goes
 * on. A limit that was named ends the command in the background too; the default one is for the foreground alone.
 */
export function runTimes({ timeout, yield_ms: wish, run_in_background: background }: TimeOptions): RunTimes {
  const defaultYieldMs = timeout === undefined ? DEFAULT_YIELD_MS : Number.POSITIVE_INFINITY;
  const yieldMs = background ? BACKGROUND_START_MS : (wish ?? defaultYieldMs);
  const limitMs = timeout ?? (yieldMs < DEFAULT_TIMEOUT_MS ? MAX_BACKGROUND_MS : DEFAULT_TIMEOUT_MS);
  return limitMs <= yieldMs ? { limitMs } : { limitMs, yieldMs };
}

/** How long the call itself can take, the ending of the command aside. */
export function foregroundMs(wishes: TimeOptions): number {
  const { limitMs, yieldMs } = runTimes(wishes);
  return yieldMs ?? limitMs;
}

/** What is wrong with the wishes, if something is. */
export function refuseTimes(wishes: TimeOptions): string | undefined {
  if (foregroundMs(wishes) <= MAX_FOREGROUND_MS) return undefined;
  return (
    `timeout: at most ${MAX_FOREGROUND_MS} ms in the foreground, got ${wishes.timeout}. ` +
    "Set run_in_background, or a yield_ms after which the command goes on in the background."
  );
}
