import { cutOff, Malformed, readBounded } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { readRawValue, type ValueEnds } from "./read-tag-value.ts";
import { readEnd } from "./recover.ts";
import { atMarker, lookPastSpace, type Reading, skipSpace } from "./source.ts";
import { createTagInput } from "./tag-input.ts";
import type { CallReader } from "./text-format.ts";
import { createTextValue } from "./text-value.ts";

const KEY = markerSet(["<arg_key>"]);
const KEY_END = markerSet(["</arg_key>"]);
const VALUE = markerSet(["<arg_value>"]);

/** `f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>`, behind its opening marker. */
export function* readPairCall(reader: CallReader, close: string): Reading {
  const { source, calls } = reader;
  const name = yield* readShort(reader, ["<arg_key>", close, "<", "\n"], "its name");
  if (!/^[^\s<>{}()"'`]+$/.test(name)) throw new Malformed(`${JSON.stringify(name.slice(0, 40))} is no name of a tool`);
  calls.setName(name);
  const input = createTagInput(reader, "json");
  const ends = valueEnds(close);
  while ((yield* skipSpace(source)) !== -1 && (yield* atMarker(source, KEY))) {
    source.take(KEY.longest);
    const key = yield* readShort(reader, KEY_END.markers, "a key");
    source.take(KEY_END.longest);
    yield* skipSpace(source);
    if (!(yield* atMarker(source, VALUE))) throw new Malformed(`<arg_value> is missing behind the key ${key}`);
    source.take(VALUE.longest);
    const parameter = input.begin(key, undefined);
    parameter.end(yield* readRawValue(reader, ends, createTextValue("none", parameter.stream)));
  }
  // More parameters may have been to come.
  if (source.code() === -1) throw cutOff(`before ${close}`);
  if (input.count() === 0 && !(yield* atMarker(source, markerSet([close])))) throw new Malformed(`${close} is missing`);
  input.finish();
  yield* readEnd(reader, markerSet([close]));
}

function valueEnds(close: string): ValueEnds {
  const followers = markerSet(["<arg_key>", close, "<tool_call>"]);
  return {
    close: "</arg_value>",
    parameterHeads: [],
    callHeads: [],
    callClose: close,
    mayEndAtCall: false,
    *follows(source, at) {
      const start = yield* lookPastSpace(source, at);
      return source.peek(1, start) === "" || (yield* atMarker(source, followers, start)) !== undefined;
    },
  };
}

/** A text that ends before one of the markers and is no longer than names are. */
export function* readShort({ source }: CallReader, markers: readonly string[], what: string): Reading<string> {
  let text = "";
  yield* readBounded(source, markerSet(markers), { pass: (piece) => void (text += piece), limit: 400, what });
  return text.trim();
}
