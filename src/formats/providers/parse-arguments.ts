import { parseJson } from "../../core/parse-json.ts";
import { readJson } from "../text/read-json.ts";
import { isSpace, Source } from "../text/source.ts";

export interface ParsedArguments {
  /** The very text where it has no one meaning: the gate refuses it, and says what is wrong. */
  input: unknown;
  repairs: string[];
}

/** Arguments as providers write them, JSON as text. Only what has one meaning is mended; a text that broke off has none. */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { input: {}, repairs: [] };
  const strict = tryParse(text);
  if (strict) return { input: strict.value, repairs: [] };
  const mended = mend(text);
  const parsed = mended && tryParse(mended.json);
  return parsed ? { input: parsed.value, repairs: mended.repairs } : { input: text, repairs: [] };
}

/** Undefined also for what is JSON but not accepted, such as a key that stands twice. */
function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}

const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/;

function mend(text: string): { json: string; repairs: string[] } | undefined {
  const repairs = new Set<string>();
  const fenced = FENCE.exec(text)?.[1];
  if (fenced !== undefined) repairs.add("a code fence around the arguments was removed");
  const source = new Source();
  source.feed(fenced ?? text);
  source.ended = true;
  let json = "";
  const reader = {
    source,
    dialect: {},
    repair: (what: string) => void repairs.add(what),
    write: (piece: string) => void (json += piece),
  };
  try {
    const reading = readJson(reader, "object");
    // The whole text is there, so that the reader never waits.
    if (!reading.next().done) return undefined;
  } catch {
    return undefined;
  }
  source.take(source.spanOf(isSpace));
  const rest = source.take(source.left).trim();
  if (rest !== "" && !/^[\]}\s]+$/.test(rest)) return undefined;
  if (rest !== "") repairs.add("closing brackets too many were removed");
  return { json, repairs: [...repairs] };
}
