import { Malformed } from "./malformed.ts";
import { type JsonCalls, readJsonCalls } from "./read-json-calls.ts";
import { readPythonicCalls } from "./pythonic-section.ts";
import { attempt } from "./recover.ts";
import { lookPastSpace } from "./source.ts";
import type { Section, TextFormatName } from "./text-format.ts";

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
