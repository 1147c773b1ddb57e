import { type JsonCalls, jsonReader, readJsonCalls } from "./json-calls.ts";
import { CLOSE_LIST, CLOSE_PAREN, endsItems, OPEN_LIST, OPEN_PAREN, readJson, skipBlanks } from "./json-reader.ts";
import type { CallReader, Section, TextFormatName } from "./text-format.ts";
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
} from "./text-source.ts";
import { readShort } from "./tool-call-section.ts";

export interface PythonicCalls {
  format: TextFormatName;
  ends?: MarkerSet;
  /** What begins without a marker is a call only if there is such a tool. */
  knownToolsOnly?: boolean;
}

/** `[f(a=1, b='x'), g()]` between markers; without the brackets too. */
export function pythonicSection(
  options: PythonicCalls & { open: readonly string[]; close: readonly string[] },
): Section {
  const ends = markerSet(options.close);
  return {
    open: options.open,
    *read(reader, found) {
      reader.source.take(found.length);
      reader.calls.open(options.format);
      yield* attempt(reader, readPythonicCalls(reader, { ...options, ends }), {
        through: options.close,
        before: options.open,
      });
      if (!reader.calls.isFailed) yield* readEnd(reader, ends);
      if (reader.calls.isEmpty && !reader.calls.isFailed) {
        reader.calls.discard();
        reader.pass("skipped", reader.source.takeMarked());
      }
      reader.calls.close();
    },
  };
}

/** The first call is open already. */
function* readPythonicCalls(reader: CallReader, { format, ends, knownToolsOnly }: PythonicCalls): Reading {
  const { source, calls } = reader;
  const isList = (yield* skipSpace(source)) === OPEN_LIST;
  if (isList) source.take(1);
  for (let count = 0; ; count++) {
    if (isList) {
      if (
        (yield* endsItems(jsonReader(reader, { python: true, ends, quotesUntil: ends }), CLOSE_LIST, count)) === "end"
      )
        break;
    } else if (count > 0 && (yield* isOver(reader, ends))) return;
    if (count > 0) calls.open(format);
    if (calls.isFull) throw new Malformed("there are too many calls in one text", "input_too_large");
    yield* readPythonicCall(reader, ends, knownToolsOnly ?? false);
  }
  if (calls.isTentative) throw new Malformed("an empty list is no call");
}

function* isOver({ source }: CallReader, ends: MarkerSet | undefined): Reading<boolean> {
  const code = yield* skipSpace(source);
  if (code === 44 || code === 59) source.take(1);
  return (yield* skipSpace(source)) === -1 || (ends !== undefined && (yield* atMarker(source, ends)) !== undefined);
}

function* readPythonicCall(reader: CallReader, ends: MarkerSet | undefined, knownToolsOnly: boolean): Reading {
  const { source, calls, tools } = reader;
  const name = yield* readShort(reader, ["(", "[", "{", "<", '"', "\n"], "its name");
  if (source.code() !== OPEN_PAREN || !/^[\p{L}_][\p{L}\p{N}_.:-]*$/u.test(name)) {
    throw new Malformed(`${JSON.stringify(name.slice(0, 40))} is no call of a tool`);
  }
  if (calls.isTentative && knownToolsOnly && !tools.has(name)) throw new Malformed("no such tool");
  calls.setName(name);
  if (calls.isTentative) calls.confirm();
  source.take(1);
  const json = jsonReader(reader, { python: true, ends, quotesUntil: ends });
  const keys = new Set<string>();
  for (; (yield* endsItems(json, CLOSE_PAREN, keys.size)) === "item";) {
    const key = yield* readShort(reader, ["=", ",", ")", '"', "'", "(", "[", "{"], "the name of a parameter");
    if (source.peek(1) !== "=" || !/^[\p{L}_][\p{L}\p{N}_]*$/u.test(key)) {
      throw new Malformed("its parameters must be given by name, as in f(name=value)");
    }
    source.take(1);
    calls.write(`${keys.size === 0 ? "{" : ","}${JSON.stringify(key)}:`);
    if (keys.has(key)) throw new Malformed(`the parameter ${key} is given twice`);
    keys.add(key);
    yield* skipBlanks(json);
    yield* readJson(json, "call");
  }
  calls.write(keys.size === 0 ? "{}" : "}");
  calls.finish();
}

export interface BareCalls {
  /** The format of calls as JSON, and the one of calls as Python, each absent where there are none. */
  json?: TextFormatName;
  python?: TextFormatName;
  /** So that prose is not taken for calls. */
  knownToolsOnly?: boolean;
  onLineStart?: boolean;
}

/** Calls that stand in the text without a marker. What is not certain to be one is text. */
export function bareSection({ json, python, knownToolsOnly = false, onLineStart = false }: BareCalls): Section {
  return {
    open: json === undefined ? ["["] : ["{", "["],
    onLineStart,
    *read(reader, found) {
      const { source, calls } = reader;
      const next = source.peek(1, yield* lookPastSpace(source, 1));
      // Before anything is opened: in most texts most brackets are just brackets.
      if (!(found.marker === "{" ? /["'\p{L}/]/u : /[{\p{L}_/]/u).test(next))
        throw new Malformed("no call begins here");
      const isPython = python !== undefined && found.marker === "[" && /[\p{L}_]/u.test(next);
      calls.open(isPython ? python : (json ?? python!), { tentative: true });
      const tentative: JsonCalls["tentative"] = knownToolsOnly ? "known tools only" : true;
      const body = isPython
        ? readPythonicCalls(reader, { format: python, knownToolsOnly })
        : readJsonCalls(reader, { format: json ?? python!, tentative });
      yield* attempt(reader, body, {});
      calls.close();
    },
  };
}
