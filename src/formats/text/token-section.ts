import { Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { readArgumentsAlone } from "./read-json-calls.ts";
import { readShort } from "./read-pair-call.ts";
import { attempt, readEnd, refuse } from "./recover.ts";
import { atMarker, lookPastSpace, type Reading, skipSpace } from "./source.ts";
import type { CallReader, Section, TextFormatName } from "./text-format.ts";

/** Calls between a model's own tokens: a name, a separator, and the arguments as JSON. */
export interface TokenCalls {
  format: TextFormatName;
  begin: readonly string[];
  end: readonly string[];
  callBegin: readonly string[];
  callEnd: readonly string[];
  separator: readonly string[];
  /** What stands before the separator, as the name of a tool. */
  nameFrom(head: string): string;
  /** Where the name stands behind the separator, the format in which it does. */
  nameFollows?: TextFormatName;
}

const FENCE = markerSet(["```json", "```"]);

export function tokenSection(shape: TokenCalls): Section {
  const calls = markerSet(shape.callBegin);
  const ends = markerSet(shape.end);
  return {
    open: [...shape.begin, ...shape.callBegin],
    *read(reader, found) {
      const { source } = reader;
      const isWrapped = shape.begin.includes(found.marker);
      if (isWrapped) source.take(found.length);
      reader.calls.open(shape.format);
      for (let count = 0; ; count++) {
        if (isWrapped) yield* skipSpace(source);
        const at = yield* lookPastSpace(source, 0);
        const call = yield* atMarker(source, calls, at);
        if (call) {
          source.take(at);
          if (count > 0) reader.calls.open(shape.format);
          source.take(call.length);
          yield* attempt(reader, readOne(reader, shape), {
            through: shape.callEnd,
            before: [...shape.callBegin, ...shape.end],
          });
          continue;
        }
        const end = yield* atMarker(source, ends, at);
        if (end) source.take(at + end.length);
        if (count === 0) {
          yield* attempt(reader, refuse("there is no call in it"), { through: shape.end, before: shape.callBegin });
        } else if (isWrapped && !end && !reader.calls.isFailed) {
          reader.calls.repair(`the missing ${shape.end[0]} was added`);
        }
        reader.calls.close();
        if (end) reader.endTurn();
        return;
      }
    },
  };
}

function* readOne(reader: CallReader, shape: TokenCalls): Reading {
  const { source, calls } = reader;
  if (calls.isFull) throw new Malformed("there are too many calls in one text", "input_too_large");
  const head = yield* readShort(reader, [...shape.separator, ...shape.callEnd], "its name");
  const separator = yield* atMarker(source, markerSet(shape.separator));
  if (!separator) throw new Malformed(`${shape.separator[0]} is missing behind its name`);
  source.take(separator.length);
  const nameFollows =
    shape.nameFollows !== undefined && head === "function" && (yield* skipSpace(source)) !== OPEN_OBJECT;
  if (nameFollows) calls.readAs(shape.nameFollows!);
  calls.setName(nameFollows ? yield* readShort(reader, ["\n", "```", "{", "<"], "its name") : shape.nameFrom(head));
  if (head !== shape.nameFrom(head)) calls.setModelId(head);
  yield* skipSpace(source);
  const fence = yield* atMarker(source, FENCE);
  if (fence) source.take(fence.length);
  yield* readArgumentsAlone(reader, {
    ends: markerSet([...shape.callEnd, "```"]),
    quotesUntil: markerSet([...shape.callEnd, ...shape.callBegin]),
  });
  yield* skipSpace(source);
  if (fence && (yield* atMarker(source, FENCE))) source.take(3);
  yield* readEnd(reader, markerSet(shape.callEnd));
}

const OPEN_OBJECT = 123;
