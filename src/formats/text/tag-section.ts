import { markerSet } from "./marker-set.ts";
import { readTag } from "./read-tag.ts";
import { headsOf, readTagCall } from "./read-tag-calls.ts";
import { attempt, refuse } from "./recover.ts";
import { atMarker, lookPastSpace, type Reading, skipSpace } from "./source.ts";
import type { TagShape } from "./tag-shape.ts";
import type { CallReader, Section } from "./text-format.ts";

export interface TagCalls {
  shape: TagShape;
  /** Markers around several calls. What closes them stands in the shape's `ends`. */
  wrappers?: readonly string[];
  /** What opening tags of calls begin with, where a call may stand without a wrapper. */
  heads?: readonly string[];
}

/** Calls as tags, in a wrapper or without one. */
export function tagSection({ shape, wrappers = [], heads = headsOf(shape) }: TagCalls): Section {
  return {
    open: [...wrappers, ...heads],
    *read(reader, found) {
      const isWrapped = wrappers.includes(found.marker);
      if (isWrapped) reader.source.take(found.length);
      reader.calls.open(shape.format);
      yield* readTagCalls(reader, { shape, heads, isWrapped });
      reader.calls.close();
    },
  };
}

/** All calls that follow one another here. The first is open already. */
export function* readTagCalls(
  reader: CallReader,
  { shape, heads, isWrapped }: { shape: TagShape; heads: readonly string[]; isWrapped: boolean },
): Reading {
  const { source, calls } = reader;
  const opens = markerSet(heads);
  const ends = markerSet(shape.ends);
  const closes = shape.callTags.map((tag) => `${shape.style.close}${tag}${shape.style.end}`);
  for (let count = 0; ; count++) {
    if (isWrapped) yield* skipSpace(source);
    const at = yield* lookPastSpace(source, 0);
    if (yield* atMarker(source, opens, at)) {
      if (count > 0) {
        calls.close();
        // What is left is not for here, or nothing would be taken for ever.
        if (calls.isFull) return;
        source.take(at);
        calls.open(shape.format);
      } else source.take(at);
      yield* attempt(reader, readOne(reader, shape), { through: closes, before: [...heads, ...shape.ends] });
      continue;
    }
    const end = yield* atMarker(source, ends, at);
    if (end) source.take(at + end.length);
    if (count === 0) yield* attempt(reader, refuse("there is no call in it"), { through: shape.ends, before: heads });
    else if (isWrapped && !end && !calls.isFailed) calls.repair(`the missing ${shape.ends[0]} was added`);
    return;
  }
}

function* readOne(reader: CallReader, shape: TagShape): Reading {
  yield* readTagCall(reader, shape, yield* readTag(reader.source, shape.style));
}
