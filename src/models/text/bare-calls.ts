import { closeOrSkip, jsonReader, readJsonCalls, tooManyCalls } from "./json-calls.ts";
import {
  CLOSE_LIST,
  CLOSE_PAREN,
  type JsonReader,
  nextItem,
  OPEN_LIST,
  OPEN_PAREN,
  readJson,
  skipBlanks,
} from "./json-reader.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { CallReader, Section } from "./text-format.ts";
import {
  atMarker,
  attempt,
  lookPastSpace,
  Malformed,
  markerSet,
  type MarkerSet,
  readEnd,
  type Reading,
  skipSpace,
  type Source,
} from "./text-source.ts";
import { readShort } from "./tool-call-section.ts";

interface PythonicCalls {
  format: TextFormatName;
  ends?: MarkerSet;
  /** A tentative call is a call only if the tool exists. */
  knownToolsOnly?: boolean;
}

/** `[f(a=1, b='x'), g()]` between markers, also without the brackets, or the calls as JSON. */
export function pythonicSection(
  options: PythonicCalls & { open: readonly string[]; close: readonly string[] },
): Section {
  const ends = markerSet(options.close);
  return {
    open: options.open,
    close: options.close,
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(options.format);
      const quotesUntil = markerSet([...options.open, ...options.close]);
      const body = (yield* isJson(reader))
        ? readJsonCalls(reader, { format: options.format, ends, quotesUntil })
        : readPythonicCalls(reader, { ...options, ends });
      yield* attempt(reader, body, { through: options.close, before: options.open });
      if (!reader.calls.isFailed) yield* readEnd(reader, ends);
      closeOrSkip(reader);
    },
  };
}

function* isJson({ source }: CallReader): Reading<boolean> {
  const at = yield* lookPastSpace(source, 0);
  const first = source.peek(1, at);
  return first === "{" || (first === "[" && source.peek(1, yield* lookPastSpace(source, at + 1)) === "{");
}

/** The caller has opened the first call in the recorder. */
function* readPythonicCalls(reader: CallReader, { format, ends, knownToolsOnly }: PythonicCalls): Reading {
  const { source, calls } = reader;
  const isList = (yield* skipSpace(source)) === OPEN_LIST;
  if (isList) source.take(1);
  const json = jsonReader(reader, { python: true, ends, quotesUntil: ends });
  for (let count = 0; ; count++) {
    if (isList) {
      if ((yield* nextItem(json, CLOSE_LIST, count)) === "end") break;
    } else if (count > 0 && (yield* isOver(reader, ends))) return;
    if (count > 0) calls.open(format);
    if (calls.isFull) throw tooManyCalls();
    yield* readPythonicCall(reader, json, knownToolsOnly ?? false);
  }
  if (calls.isTentative) throw new Malformed("an empty list is not a call");
}

function* isOver({ source }: CallReader, ends: MarkerSet | undefined): Reading<boolean> {
  const code = yield* skipSpace(source);
  if (code === 44 || code === 59) source.take(1);
  return (yield* skipSpace(source)) === -1 || (ends !== undefined && (yield* atMarker(source, ends)) !== undefined);
}

function* readPythonicCall(reader: CallReader, json: JsonReader, knownToolsOnly: boolean): Reading {
  const { source, calls, tools } = reader;
  const name = yield* readShort(reader, ["(", "[", "{", "<", '"', "\n"], "its name");
  if (source.code() !== OPEN_PAREN || !/^[\p{L}_][\p{L}\p{N}_.:-]*$/u.test(name)) {
    throw new Malformed(`${JSON.stringify(name.slice(0, 40))} is not a call of a tool`);
  }
  if (calls.isTentative && knownToolsOnly && !tools.has(name)) throw new Malformed("no such tool");
  calls.setName(name);
  // Of an unknown tool only `f()` and `f(a=` are calls; `see(1)` is prose.
  const confirmIf = (isCertain: boolean): void => void (isCertain && calls.isTentative && calls.confirm());
  confirmIf(tools.has(name));
  source.take(1);
  const keys = new Set<string>();
  while ((yield* nextItem(json, CLOSE_PAREN, keys.size)) === "item") {
    const key = yield* readShort(reader, ["=", ",", ")", '"', "'", "(", "[", "{"], "the name of a parameter");
    if (source.peek(1) !== "=" || !/^[\p{L}_][\p{L}\p{N}_]*$/u.test(key)) {
      throw new Malformed("its parameters must be given by name, as in f(name=value)");
    }
    source.take(1);
    confirmIf(true);
    calls.write(`${keys.size === 0 ? "{" : ","}${JSON.stringify(key)}:`);
    if (keys.has(key)) throw new Malformed(`the parameter ${key} is given twice`);
    keys.add(key);
    yield* skipBlanks(json);
    yield* readJson(json, "call");
  }
  confirmIf(true);
  calls.write(keys.size === 0 ? "{}" : "}");
  calls.finish();
}

const MAX_NAME_LENGTH = 128;
const isNamePart = (code: number): boolean =>
  code > 127 || (code >= 48 && code <= 58) || /[A-Za-z_.-]/.test(String.fromCharCode(code));

/** The name before `(`, or "": a cheap check, because nearly all brackets in prose are links and lists. Takes nothing. */
function* calledNameAt(source: Source, at: number): Reading<string> {
  for (;;) {
    const end = source.spanOf(isNamePart, at);
    if (end - at > MAX_NAME_LENGTH) return "";
    if (end < source.left || source.ended) {
      const open = source.peek(1, yield* lookPastSpace(source, end));
      return open === "(" ? source.peek(end - at, at) : "";
    }
    yield;
  }
}

/** The formats of calls as JSON and of calls as Python; at least one of them. */
type BareFormats = { json: TextFormatName; python?: TextFormatName } | { json?: undefined; python: TextFormatName };

type BareCalls = BareFormats & {
  /** Prevents reading prose as calls. */
  knownToolsOnly?: boolean;
  /** Where a line may have a call. Default: anywhere. At its end only calls as Python are read. */
  place?: "line start" | "line start or end";
};

/** Calls without markers. What is not certainly a call is text. */
export function bareSection({ knownToolsOnly = false, place, ...formats }: BareCalls): Section {
  const { json, python } = formats;
  return {
    open: json === undefined ? ["["] : ["{", "["],
    endsLineAfterText: place === "line start or end",
    *read(reader, found) {
      const { source, calls } = reader;
      // Read and refused here, not skipped as a marker: inline code around a call gives a warning.
      if (place === "line start" && !found.isAtLineStart) throw new Malformed("no call starts here");
      const next = source.peek(1, yield* lookPastSpace(source, 1));
      // A cheap check before a call is opened: nearly all brackets are plain text.
      const canStart = found.marker === "{" ? /["'\p{L}/]/u : /[{\p{L}_/]/u;
      if (!canStart.test(next)) throw new Malformed("no call starts here");
      const isPython = python !== undefined && found.marker === "[" && /[\p{L}_]/u.test(next);
      if (!isPython && !found.isAtLineStart && place !== undefined) throw new Malformed("no call starts here");
      if (isPython) {
        const name = yield* calledNameAt(source, yield* lookPastSpace(source, 1));
        if (name === "" || (knownToolsOnly && !reader.tools.has(name))) throw new Malformed("no call starts here");
      }
      const format = isPython ? python : (formats.json ?? formats.python);
      calls.open(format, { tentative: true });
      const body = isPython
        ? readPythonicCalls(reader, { format, knownToolsOnly })
        : readJsonCalls(reader, { format, tentative: knownToolsOnly ? "known tools only" : true });
      yield* attempt(reader, body, found.isAtLineStart || place === undefined ? {} : { before: ["\n"] });
      calls.close();
    },
  };
}
