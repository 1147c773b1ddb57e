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
  type JsonDialect,
  type JsonReader,
  nextItem,
  OPEN_LIST,
  OPEN_OBJECT,
  readJson,
  readMembers,
  skipBlanks,
} from "./json-reader.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { CallReader, Section } from "./text-format.ts";
import { repairJson } from "./text-values.ts";

export interface JsonCalls {
  format: TextFormatName;
  /** `{"tool": {…}}` instead of `{"name": "tool", "arguments": {…}}`. */
  keyIsName?: boolean;
  /** What looks like a call may be text. It is a call only once it has a name and arguments. */
  tentative?: boolean | "known tools only";
  ends?: MarkerSet;
  quotesUntil?: MarkerSet;
}

interface JsonMarkers {
  open: readonly string[];
  close?: readonly string[];
  onlyAtLineStart?: boolean;
  /** How many characters at the end of the opening marker are JSON. */
  keep?: number;
}

/** Calls as JSON objects, or a list of them, between markers. */
export function jsonSection(options: JsonCalls & JsonMarkers): Section {
  const { open, close, onlyAtLineStart, keep = 0 } = options;
  const ends = close && markerSet(close);
  const quotesUntil = markerSet([...open, ...(close ?? [])]);
  return {
    open,
    close,
    onlyAtLineStart,
    *read(reader, found) {
      reader.source.take(found.length - keep);
      reader.calls.open(options.format, { tentative: Boolean(options.tentative) });
      yield* attempt(reader, readJsonCalls(reader, { ...options, ends, quotesUntil }), {
        through: close,
        before: open,
      });
      if (ends && !reader.calls.isFailed) yield* readEnd(reader, ends);
      closeOrSkip(reader);
    },
  };
}

/** Closes the current call; if nothing was read of it, skips its text instead. */
export function closeOrSkip({ source, calls, pass }: CallReader): void {
  if (calls.isEmpty && !calls.isFailed) {
    calls.discard();
    pass("skipped", source.takeMarked());
  }
  calls.close();
}

/** Reads an object or a list of them. The caller has opened the first call in the recorder. */
export function* readJsonCalls(reader: CallReader, options: JsonCalls): Reading {
  const { source, calls } = reader;
  const json = jsonReader(reader, { ends: options.ends, quotesUntil: options.quotesUntil });
  const code = yield* skipBlanks(json);
  if (code === OPEN_LIST) return yield* readList(reader, json, options);
  if (code !== OPEN_OBJECT) throw new Malformed("it must contain a JSON object");
  for (;;) {
    yield* readCallObject(reader, json, options);
    const next = yield* nextObject(reader);
    if (next === 0) return;
    source.take(next);
    calls.open(options.format, { tentative: Boolean(options.tentative) });
    if (calls.isFull) throw tooManyCalls();
  }
}

function* readList(reader: CallReader, json: JsonReader, options: JsonCalls): Reading {
  const { source, calls } = reader;
  source.take(1);
  for (let count = 0; (yield* nextItem(json, CLOSE_LIST, count)) === "item"; count++) {
    if (count > 0) calls.open(options.format);
    if (calls.isFull) throw tooManyCalls();
    if ((yield* skipBlanks(json)) !== OPEN_OBJECT) throw new Malformed("the items of its list are not JSON objects");
    yield* readCallObject(reader, json, options);
  }
  if (calls.isTentative) throw new Malformed("an empty list is not a call");
}

export function tooManyCalls(): Malformed {
  return new Malformed("there are too many calls in one text", "input_too_large");
}

/** The offset of the next object after an optional separator; 0 if none follows. */
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
  // Names contain no quotation marks, so none are repaired in them.
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
      if (typeof name !== "string") throw new Malformed("its name is not a string");
      if (calls.hasName) throw new Malformed("it has two names");
      calls.setName(name.trim());
      return confirmIfCertain();
    }
    if (INPUT_KEYS.has(key)) {
      const isDefinition = key === "parameters" && calls.isTentative && (yield* beginsSchema(reader));
      if (isDefinition) throw new Malformed("it defines a tool");
      return yield* readInput();
    }
    if (ID_KEYS.has(key)) return calls.setModelId(String(yield* readScalar(exact)));
    if (!OTHER_KEYS.has(key)) {
      if (calls.isTentative) throw new Malformed(`"${key}" is not part of a call`);
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
    if (unknown.length > 0) throw new Malformed(`its arguments are next to its name (${unknown.join(", ")})`);
    calls.write("{}");
  }
  calls.finish();
}

/** Whether the arguments are a JSON Schema, not values: texts about tools define them. Takes nothing. */
function* beginsSchema({ source, calls, tools }: CallReader): Reading<boolean> {
  if (tools.parametersOf(calls.name)?.has("type")) return false;
  let at = 0;
  for (const token of ["{", '"type"', ":", '"object"']) {
    at = yield* lookPastSpace(source, at);
    while (source.left < at + token.length && !source.ended && token.startsWith(source.peek(token.length, at))) yield;
    if (source.peek(token.length, at) !== token) return false;
    at += token.length;
  }
  return true;
}

/** Reads the arguments of a call: an object, an object in a string, or nothing. */
export function* readArguments(reader: CallReader, json: JsonReader): Reading {
  const { calls } = reader;
  const code = yield* skipBlanks(json);
  if (code === OPEN_OBJECT) return yield* readJson({ ...json, write: calls.write }, "object");
  if (code === OPEN_LIST) throw new Malformed("its arguments are a list, not an object");
  const value = yield* readScalar(json);
  if (value === null || value === "") return calls.write("{}");
  if (typeof value !== "string") throw new Malformed("its arguments are not an object");
  const decoded = repairJson(value, calls.repair);
  if (decoded === undefined) throw new Malformed("its arguments are text that is not JSON");
  calls.repair("arguments that were JSON inside a string were decoded");
  calls.write(JSON.stringify(inputFrom(JSON.stringify(decoded))));
}

/** Reads a complete value. */
function* readScalar(json: JsonReader): Reading<unknown> {
  let text = "";
  yield* readJson({ ...json, write: (piece) => void (text += piece) }, "object");
  return JSON.parse(text);
}

/** Reads the arguments of a call whose name was read before, and finishes the call. */
export function* readArgumentsObject(reader: CallReader, dialect: JsonDialect): Reading {
  const code = yield* skipSpace(reader.source);
  if (code !== OPEN_OBJECT) throw new Malformed("its arguments must be a JSON object");
  yield* readArguments(reader, jsonReader(reader, dialect));
  reader.calls.finish();
}
