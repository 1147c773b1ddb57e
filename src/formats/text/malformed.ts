import type { ErrorCode } from "../../core/error.ts";
import type { MarkerSet } from "./marker-set.ts";
import { awaitLength, type Found, type Reading, readWithin, type Source, TOO_LONG } from "./source.ts";

/**
 * Thrown by readers where a call cannot be understood; it becomes the failure of that call and goes no further. No Error:
 * nobody needs its stack, and to take one costs more than all the reading where every bracket may begin a call.
 */
export class Malformed {
  constructor(
    readonly reason: string,
    readonly code: ErrorCode = "invalid_input",
  ) {}
}

export function cutOff(where: string): Malformed {
  return new Malformed(`the text ended ${where}`);
}

/** Passes on everything before the next marker, which must come, and within `limit`. */
export function* readBounded(
  source: Source,
  set: MarkerSet,
  { pass, limit, what }: { pass: (piece: string) => void; limit: number; what: string },
): Reading<Found> {
  const found = yield* readWithin(source, set, pass, limit);
  if (found === TOO_LONG) throw new Malformed(`${what} is too long`, "input_too_large");
  if (!found) throw cutOff(`inside ${what}`);
  return found;
}

/** What stands here instead of what should. Waits for enough to show, so that the words are the same for all chunks. */
export function* unexpected(source: Source, wanted: string): Reading<Malformed> {
  yield* awaitLength(source, SHOWN);
  if (source.left === 0) return cutOff(`where ${wanted} should stand`);
  return new Malformed(`${JSON.stringify(source.peek(SHOWN))} stands where ${wanted} should stand`);
}

const SHOWN = 16;
