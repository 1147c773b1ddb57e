import { Malformed } from "./malformed.ts";
import { couldBecome, type MarkerSet, markerSet } from "./marker-set.ts";
import { atMarker, type Reading, readUntil, skipSpace } from "./source.ts";
import type { CallReader } from "./text-format.ts";

export interface Recovery {
  /** The end of a broken call, and part of it. */
  through?: readonly string[];
  /** What begins behind a broken call. */
  before?: readonly string[];
}

/** Reads one call. Where that fails the call has failed, and reading goes on where the next thing can begin. */
export function* attempt(reader: CallReader, body: Reading, { through = [], before = [] }: Recovery): Reading {
  try {
    yield* body;
  } catch (thrown) {
    if (!(thrown instanceof Malformed) || reader.calls.isTentative) throw thrown;
    reader.calls.fail(thrown);
    const found = yield* readUntil(reader.source, markerSet([...through, ...before]), () => {});
    if (found && through.includes(found.marker)) reader.source.take(found.length);
  }
}

/** A call that is broken from the start. */
// oxlint-disable-next-line require-yield
export function* refuse(reason: string): Reading {
  throw new Malformed(reason);
}

/** The marker that closes a call that was read. A wrong one, half of it, or none is forgiven: nothing else can be meant. */
export function* readEnd({ source, calls }: CallReader, close: MarkerSet): Reading {
  for (let code = yield* skipSpace(source); code === CLOSE_OBJECT || code === CLOSE_LIST;) {
    source.take(1);
    calls.repair("a closing bracket too many was ignored");
    code = yield* skipSpace(source);
  }
  const found = yield* atMarker(source, close);
  if (found) return void source.take(found.length);
  const rest = source.peek(close.longest);
  const wanted = close.markers[0]!;
  if (source.ended && rest !== "" && close.markers.some((marker) => couldBecome(marker, rest, 0))) {
    source.take(source.left);
    calls.repair(`the closing ${wanted} was completed`);
    return;
  }
  const wrong = yield* wrongTag(source);
  source.take(wrong.length);
  calls.repair(wrong ? `${wrong} was read as the closing ${wanted}` : `the closing ${wanted} was missing`);
}

function* wrongTag(source: CallReader["source"]): Reading<string> {
  while (!source.ended && source.left < 48 && /^(?:$|<$|<\/[\w:.|-]*$)/.test(source.peek(48))) yield;
  return /^<\/[\w:.|-]+>/.exec(source.peek(48))?.[0] ?? "";
}

const CLOSE_LIST = 93;
const CLOSE_OBJECT = 125;
