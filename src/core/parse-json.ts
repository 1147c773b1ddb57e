import { toolError, type ToolError } from "./error.ts";

/**
 * Parses JSON strictly. JSON.parse does the parsing; the scan before it finds what JSON.parse accepts: a key
 * that occurs twice (the approver sees one, the tool gets the other), `__proto__`, numbers that change their value, and
 * unlimited nesting.
 */
export function parseJson(text: string): unknown {
  if (text.length > INPUT_LIMITS.characters) throw tooLarge(`more than ${INPUT_LIMITS.characters} characters`);
  scan(text);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw notJson(cause instanceof Error ? cause.message : "it could not be parsed");
  }
}

/** The text without commas before a closing bracket or the end; undefined if none. `[,]` keeps its comma. */
export function withoutTrailingCommas(text: string): string | undefined {
  let kept = "";
  let from = 0;
  let comma = -1;
  let before = OPEN_OBJECT;
  for (let i = 0; i < text.length; i++) {
    const first = text.charCodeAt(i);
    if (first === SPACE || first === LINE_FEED || first === RETURN || first === TAB) continue;
    if ((first === CLOSE_OBJECT || first === CLOSE_LIST) && comma !== -1) {
      kept += text.slice(from, comma);
      from = comma + 1;
    }
    const followsValue = before !== OPEN_OBJECT && before !== OPEN_LIST && before !== COMMA && before !== COLON;
    comma = first === COMMA && followsValue ? i : -1;
    before = first;
    if (first === QUOTE) i = endOfString(text, i) - 1;
  }
  if (comma !== -1) return kept + text.slice(from, comma);
  return from === 0 ? undefined : kept + text.slice(from);
}

function notJson(why: string): ToolError {
  return toolError("invalid_input", `Parameter validation failed: the input is not valid JSON (${why})`, {
    next: "Send one JSON object, without text around it.",
    data: { issues: [`not valid JSON: ${why}`] },
  });
}

/** One pass over the tokens. JSON.parse reports syntax errors with their position. */
function scan(text: string): void {
  const open: (Set<string> | null)[] = [];
  let values = 0;
  let key: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const first = text.charCodeAt(i);
    if (first === QUOTE) {
      const end = endOfString(text, i);
      key = text.slice(i, end);
      i = end - 1;
    } else if (first === OPEN_OBJECT || first === OPEN_LIST) {
      open.push(first === OPEN_OBJECT ? new Set() : null);
      if (open.length > INPUT_LIMITS.depth) throw tooLarge(`more than ${INPUT_LIMITS.depth} levels of nesting`);
    } else if (first === CLOSE_OBJECT || first === CLOSE_LIST) open.pop();
    else if (first === COLON) {
      if (key !== undefined) checkKey(key, open.at(-1));
      key = undefined;
    } else if (first === COMMA) {
      if (++values > INPUT_LIMITS.values) throw tooLarge(`more than ${INPUT_LIMITS.values} values`);
    } else if (first === MINUS || (first >= ZERO && first <= NINE)) {
      const end = endOfNumber(text, i);
      checkNumber(text.slice(i, end));
      i = end - 1;
    }
  }
}

/** The index after the closing quote, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && "0123456789.eE+-".includes(text[end]!)) end++;
  return end;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function checkKey(token: string, keys: Set<string> | null | undefined): void {
  let key: string;
  try {
    key = JSON.parse(token) as string;
  } catch {
    return;
  }
  if (key === "__proto__") throw notAccepted('the key "__proto__" is not accepted', "");
  if (keys?.has(key)) throw notAccepted(`the key "${key}" occurs twice; send it once`, "");
  keys?.add(key);
}

function checkNumber(token: string): void {
  const value = Number(token);
  if (Number.isNaN(value)) return;
  if (!Number.isFinite(value)) throw notAccepted(`the number ${token.slice(0, 40)} is too large`, "");
  if (losesDigits(token)) {
    throw notAccepted(`the number ${token.slice(0, 40)} would lose digits; send it as a string`, "");
  }
}

/** Limits that are checked first. */
export const INPUT_LIMITS = { depth: 64, values: 100_000, characters: 16 * 1024 * 1024 };

export function tooLarge(what: string): ToolError {
  return toolError("input_too_large", `The input has ${what}`, { next: "Send less, or split it into several calls." });
}

export function notAccepted(what: string, location: string): ToolError {
  return toolError("invalid_input", `Parameter validation failed: ${location ? `${location}: ` : ""}${what}`, {
    data: { issues: [location ? `${location}: ${what}` : what] },
  });
}

/** Before the digits of a number that JavaScript cannot hold. A private character, so no text begins with it. */
const MARK = "\uE000";
const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;
const MAY_BE_LONG = /[\d.]{16}|[eE]\+?\d{3}/;
/** Every number with so many digits is held exactly enough to be written as it was. */
const SAFE_DIGITS = 15;

/** As `JSON.parse`, but numbers that would change are kept as marked texts. Only `writeExactly` may write the value. */
export function parseExactly(text: string): unknown {
  // First as it is, so an error names the right position.
  const data: unknown = JSON.parse(text);
  if (!MAY_BE_LONG.test(text)) return data;
  return JSON.parse(text.replace(TOKEN, (token) => (isHeld(token) ? token : `"${MARK}${token}"`)));
}

/** JSON with the numbers as they were written. */
export function writeExactly(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(/"\uE000(-?\d[\d.eE+-]*)"/g, "$1");
}

function isHeld(token: string): boolean {
  if (token.startsWith('"')) return true;
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  const digits = token.replace(/[eE].*$/, "").replace(/^-?[0.]*|\./g, "");
  if (digits.length <= SAFE_DIGITS || String(value) === token) return true;
  return /^-?\d+$/.test(token) && !losesDigits(token);
}

/** Whether JavaScript cannot hold this whole number exactly. */
export function losesDigits(token: string): boolean {
  const value = Number(token);
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(token);
}
