import { Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { jsonReader, readArguments } from "./read-json-calls.ts";
import { readShort } from "./read-pair-call.ts";
import { attempt, readEnd } from "./recover.ts";
import { atMarker, type Reading, skipSpace } from "./source.ts";
import type { CallReader, Section, TextFormatName } from "./text-format.ts";

export interface GemmaCalls {
  format: TextFormatName;
  open: string;
  close: string;
  /** What strings stand between. */
  quote: string;
}

const CALL = markerSet(["call:"]);

/** `call:f{city:<|"|>Oslo<|"|>,days:3}` between markers. */
export function gemmaSection(shape: GemmaCalls): Section {
  return {
    open: [shape.open],
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(shape.format);
      yield* attempt(reader, readBody(reader, shape), { through: [shape.close], before: [shape.open] });
      reader.calls.close();
    },
  };
}

function* readBody(reader: CallReader, { close, quote }: GemmaCalls): Reading {
  const { source, calls } = reader;
  const ends = markerSet([close]);
  yield* skipSpace(source);
  if (yield* atMarker(source, CALL)) source.take(CALL.longest);
  const name = yield* readShort(reader, ["{", "<", "\n"], "its name");
  if (source.peek(1) !== "{" || !/^[^\s<>()"'`]+$/.test(name)) throw new Malformed("call:name{…} should stand in it");
  calls.setName(name);
  yield* readArguments(reader, jsonReader(reader, { quote, bareText: true, ends, quotesUntil: ends }));
  calls.finish();
  yield* readEnd(reader, ends);
}
