import { ToolError } from "../../core/error.ts";
import { parseJson } from "../../core/parse-json.ts";
import type { JsonType } from "../../schema/json-schema.ts";
import { Malformed } from "./malformed.ts";
import { markerSet } from "./marker-set.ts";
import { type JsonReader, readJson, skipBlanks } from "./read-json.ts";
import { Source } from "./source.ts";

/** What a text is where no schema says it: as the table of the seed has it, always text, or JSON where it is some. */
export type Untyped = "table" | "text" | "json";

/** Whether a value is the very text, so that it need not be waited for to its end. */
export function isPlainText(types: ReadonlySet<JsonType> | undefined, untyped: Untyped): boolean {
  if (!types) return untyped === "text";
  return types.has("string") && !types.has("null");
}

/**
 * A text as the value that the schema wants. What does not fit stays text: the gate says what is wrong with it, and a
 * text is never changed into something that somebody else would read differently.
 */
export function typeValue(
  text: string,
  types: ReadonlySet<JsonType> | undefined,
  { untyped, repair }: { untyped: Untyped; repair(what: string): void },
): unknown {
  if (!types) return untyped === "text" ? text : untyped === "json" ? (jsonIn(text, repair) ?? text) : byTable(text);
  const trimmed = text.trim();
  if (types.has("null") && trimmed === "null") return null;
  if (types.has("string")) return text;
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if ((types.has("number") || types.has("integer")) && NUMBER.test(trimmed)) {
    const number = Number(trimmed);
    if (Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))) return number;
  }
  if (types.has("object") || types.has("array")) return jsonIn(text, repair) ?? text;
  return text;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** true, false, 123, 3.14; only where nothing of the text would be lost, so that 007 and 1.10 stay text. */
function byTable(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  if (!/^-?\d{1,16}(?:\.\d{1,16})?$/.test(text)) return text;
  const number = Number(text);
  return String(number) === text ? number : text;
}

function jsonIn(text: string, repair: (what: string) => void): unknown {
  const first = text.trimStart()[0];
  if (first === undefined || !/[[{"\d\-tfn]/.test(first)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return first === "[" || first === "{" ? mendJson(text, repair) : undefined;
  }
}

/** A whole text as JSON, mended where that has one meaning; undefined where it has none. */
export function mendJson(text: string, repair: (what: string) => void): unknown {
  const source = new Source();
  source.feed(text);
  source.ended = true;
  let json = "";
  const found: string[] = [];
  const reader: JsonReader = {
    source,
    dialect: { quotesUntil: markerSet([]) },
    repair: (what) => void found.push(what),
    write: (piece) => void (json += piece),
  };
  try {
    // Of a text that has ended, a reader never waits for more.
    readJson(reader, "object").next();
    skipBlanks(reader).next();
    if (source.left > 0) return undefined;
    const value = parseJson(json);
    for (const what of new Set(found)) repair(what);
    return value;
  } catch (thrown) {
    if (thrown instanceof Malformed || thrown instanceof ToolError) return undefined;
    throw thrown;
  }
}
