import { inputFrom } from "./call-recorder.ts";
import {
  attempt,
  lookPastSpace,
  Malformed,
  markerSet,
  type MarkerSet,
  readEnd,
  type Reading,
  skipSpace,
} from "./text-source.ts";
import {
  CLOSE_LIST,
  endsItems,
  type JsonDialect,
  type JsonReader,
  OPEN_LIST,
  OPEN_OBJECT,
  readJson,
  readMembers,
  skipBlanks,
} from "./json-reader.ts";
import type { CallReader, Section, TextFormatName } from "./text-format.ts";
import { mendJson } from "./text-values.ts";

export interface JsonCalls {
  format: TextFormatName;
  /** `{"tool": {…}}` instead of `{"name": "tool", "arguments": {…}}`. */
  keyIsName?: boolean;
  /** What looks like a call may be something else; what is not certain to be one is text. */
  tentative?: boolean | "known tools only";
  ends?: MarkerSet;
  quotesUntil?: MarkerSet;
}

interface JsonMarkers {
  open: readonly string[];
  close?: readonly string[];
  /** How much of the opening marker is JSON already. */
  keep?: number;
}

/** Calls as JSON objects, or a list of them, between markers. */
export function jsonSection(options: JsonCalls & JsonMarkers): Section {
  const { open, close, keep = 0 } = options;
  const ends = close && markerSet(close);
  const quotesUntil = markerSet([...open, ...(close ?? [])]);
  return {
    open,
    *read(reader, found) {
      reader.source.take(found.length - keep);
      reader.calls.open(options.format, { tentative: Boolean(options.tentative) });
      yield* attempt(reader, readJsonCalls(reader, { ...options, ends, quotesUntil }), {
        through: close,
        before: open,
      });
      if (ends && !reader.calls.isFailed) yield* readEnd(reader, ends);
      if (reader.calls.isEmpty && !reader.calls.isFailed) {
        reader.calls.discard();
        reader.pass("skipped", reader.source.takeMarked());
      }
      reader.calls.close();
    },
  };
}

/** Stands before an object or a list; the first call is open already. */
export function* readJsonCalls(reader: CallReader, options: JsonCalls): Reading {
  const { source, calls } = reader;
  const json = jsonReader(reader, { ends: options.ends, quotesUntil: options.quotesUntil });
  const code = yield* skipBlanks(json);
  if (code === OPEN_LIST) return yield* readList(reader, json, options);
  if (code !== OPEN_OBJECT) throw new Malformed("a JSON object should stand in it");
  for (;;) {
    yield* readCallObject(reader, json, options);
    const next = yield* nextObject(reader);
    if (next === 0) return;
    source.take(next);
    calls.open(options.format, { tentative: Boolean(options.tentative) });
    if (calls.isFull) throw new Malformed("there are too many calls in one text", "input_too_large");
  }
}

function* readList(reader: CallReader, json: JsonReader, options: JsonCalls): Reading {
  const { source, calls } = reader;
  source.take(1);
  for (let count = 0; (yield* endsItems(json, CLOSE_LIST, count)) === "item"; count++) {
    if (count > 0) calls.open(options.format);
    if (calls.isFull) throw new Malformed("there are too many calls in one text", "input_too_large");
    if ((yield* skipBlanks(json)) !== OPEN_OBJECT) throw new Malformed("the items of its list are no JSON objects");
    yield* readCallObject(reader, json, options);
  }
  if (calls.isTentative) throw new Malformed("an empty list is no call");
}

/** How far it is to a further object, past a separator; 0 where none follows. */
function* nextObject({ source }: CallReader): Reading<number> {
  let at = yield* lookPastSpace(source, 0);
  const separator = source.peek(1, at);
  if (separator === ";" || separator === ",") at = yield* lookPastSpace(source, at + 1);
  return source.code(at) === OPEN_OBJECT ? at : 0;
}

export function jsonReader({ source, calls }: CallReader, dialect: JsonDialect): JsonReader {
  return { source, dialect, repair: calls.repair, write: calls.write };
}

const NAME_KEYS = new Set(["name", "tool_name", "tool", "function"]);
const INPUT_KEYS = new Set(["arguments", "parameters", "input", "args", "params"]);
const ID_KEYS = new Set(["id", "tool_call_id", "call_id"]);
const OTHER_KEYS = new Set(["type", "index"]);

function* readCallObject(reader: CallReader, json: JsonReader, options: JsonCalls): Reading {
  const { calls } = reader;
  // Names have no quotation marks in them that could be forgiven.
  const exact: JsonReader = { ...json, dialect: { ...json.dialect, quotesUntil: undefined } };
  let hasInput = false;
  const unknown: string[] = [];

  function* readField(key: string): Reading {
    if (options.keyIsName) {
      if (calls.hasName) throw new Malformed("it names two tools");
      calls.setName(key);
      return yield* readInput();
    }
    if (NAME_KEYS.has(key)) {
      if (key === "function" && (yield* skipBlanks(json)) === OPEN_OBJECT) return yield* readFields();
      const name = yield* readScalar(exact);
      if (typeof name !== "string") throw new Malformed("its name is no text");
      if (calls.hasName) throw new Malformed("it has two names");
      calls.setName(name.trim());
      return confirmIfCertain();
    }
    if (INPUT_KEYS.has(key)) return yield* readInput();
    if (ID_KEYS.has(key)) return calls.setModelId(String(yield* readScalar(exact)));
    if (!OTHER_KEYS.has(key)) {
      if (calls.isTentative) throw new Malformed(`"${key}" is no part of a call`);
      unknown.push(key);
    }
    yield* readJson({ ...json, write: () => {} }, "object");
  }
  function* readInput(): Reading {
    if (hasInput) throw new Malformed("it has two sets of arguments");
    hasInput = true;
    confirmIfCertain();
    yield* readArguments(reader, json);
  }
  const readFields = (): Reading =>
    readMembers({ ...json, write: () => {} }, { begin: () => {}, key: () => {}, value: readField });
  const confirmIfCertain = (): void => {
    if (!calls.isTentative || !calls.hasName || !hasInput) return;
    if (options.tentative === "known tools only" && !reader.tools.has(calls.name)) throw new Malformed("no such tool");
    calls.confirm();
  };

  yield* readFields();
  if (calls.isTentative) throw new Malformed("it has no name, or no arguments");
  if (!calls.hasName) throw new Malformed("it has no name");
  if (!hasInput) {
    if (unknown.length > 0) throw new Malformed(`its arguments stand beside its name (${unknown.join(", ")})`);
    calls.write("{}");
  }
  calls.finish();
}

/** The arguments of a call, wherever they stand: an object, an object in a string, or nothing. */
export function* readArguments(reader: CallReader, json: JsonReader): Reading {
  const { calls } = reader;
  const code = yield* skipBlanks(json);
  if (code === OPEN_OBJECT) return yield* readJson({ ...json, write: calls.write }, "object");
  if (code === OPEN_LIST) throw new Malformed("its arguments are a list, not an object");
  const value = yield* readScalar(json);
  if (value === null || value === "") return calls.write("{}");
  if (typeof value !== "string") throw new Malformed("its arguments are no object");
  const decoded = mendJson(value, calls.repair);
  if (decoded === undefined) throw new Malformed("its arguments are text that is no JSON");
  calls.repair("arguments that were JSON inside a string were decoded");
  calls.write(JSON.stringify(inputFrom(JSON.stringify(decoded))));
}

/** A value that is waited for to its end. */
function* readScalar(json: JsonReader): Reading<unknown> {
  let text = "";
  yield* readJson({ ...json, write: (piece) => void (text += piece) }, "object");
  return JSON.parse(text) as unknown;
}

/** A JSON object of arguments that stands alone, behind a name. */
export function* readArgumentsAlone(reader: CallReader, dialect: JsonDialect): Reading {
  const code = yield* skipSpace(reader.source);
  if (code !== OPEN_OBJECT) throw new Malformed("its arguments should stand in it as a JSON object");
  yield* readArguments(reader, jsonReader(reader, dialect));
  reader.calls.finish();
}
