import { toolError } from "../../core/error.ts";
import { codeOf, foundAt, jsonFault, quoted, unexpected } from "./json-fault.ts";

/** Less than a result may hold, so that what was read can be returned whole. */
const MAX_DEPTH = 60;
const MAX_VALUES = 90_000;
const MAX_NOTES = 20;

export interface ReadJson {
  data: unknown;
  /** Numbers that lost digits. */
  notes: string[];
}

/**
 * JSON as RFC 8259 has it, without what readers understand differently (RFC 7493): a key that stands twice, half of a
 * surrogate pair, a number without a value. JSON.parse takes all of these, and does not say in which line it failed.
 */
export function readJson(text: string): ReadJson {
  const notes: string[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let depth = 0;
  let values = 0;

  const data = readValue();
  skipBlanks();
  if (at < text.length) {
    throw jsonFault(
      text,
      at,
      `the value ends here, but ${foundAt(text, at)} follows; send one value, without text around it.`,
    );
  }
  return { data, notes };

  function skipBlanks(): void {
    while (isBlank(text.charCodeAt(at))) at++;
  }

  function readValue(): unknown {
    skipBlanks();
    if (++values > MAX_VALUES) throw tooMuch(`more than ${MAX_VALUES} values`);
    const first = text[at];
    if (first === "{") return readObject();
    if (first === "[") return readList();
    if (first === '"') return readString();
    if (first !== undefined && /[-\d]/.test(first)) return readNumber();
    for (const [word, value] of WORDS) {
      if (!text.startsWith(word, at) || /[\w$]/.test(text[at + word.length] ?? "")) continue;
      at += word.length;
      return value;
    }
    throw unexpected(text, at, "a value");
  }

  function readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    readItems("}", () => {
      const keyAt = at;
      if (text[at] !== '"') throw unexpected(text, at, "a key in double quotes");
      const key = readString();
      if (key === "__proto__") throw jsonFault(text, keyAt, 'the key "__proto__" is not accepted; rename it.');
      if (Object.hasOwn(object, key)) {
        throw jsonFault(text, keyAt, `the key ${quoted(key)} stands in this object a second time; keep one of them.`);
      }
      skipBlanks();
      if (text[at] !== ":") throw unexpected(text, at, `":" after the key ${quoted(key)}`);
      at++;
      object[key] = readValue();
    });
    return object;
  }

  function readList(): unknown[] {
    const list: unknown[] = [];
    readItems("]", () => list.push(readValue()));
    return list;
  }

  function readItems(close: "}" | "]", readItem: () => void): void {
    if (++depth > MAX_DEPTH) throw tooMuch(`more than ${MAX_DEPTH} levels of nesting`);
    at++;
    skipBlanks();
    if (text[at] !== close) {
      for (;;) {
        skipBlanks();
        readItem();
        skipBlanks();
        if (text[at] !== ",") break;
        at++;
      }
      if (text[at] !== close) throw unexpected(text, at, `"," or "${close}"`);
    }
    at++;
    depth--;
  }

  function readString(): string {
    const start = at++;
    let hasEscapes = false;
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
      if (Number.isNaN(code)) throw jsonFault(text, start, "the text that begins here has no closing quote.");
      if (code < BLANK) {
        throw jsonFault(text, at, `${codeOf(text[at]!)} must be escaped inside a text (a line break as \\n).`);
      }
      if (code === BACKSLASH) {
        ESCAPE.lastIndex = at;
        if (!ESCAPE.test(text)) {
          throw jsonFault(
            text,
            at,
            `${quoted(text.slice(at, at + 2))} is no escape; a backslash itself is written \\\\.`,
          );
        }
        hasEscapes = true;
        at = ESCAPE.lastIndex;
      } else at++;
    }
    at++;
    const value = hasEscapes ? (JSON.parse(text.slice(start, at)) as string) : text.slice(start + 1, at - 1);
    if (!value.isWellFormed()) throw jsonFault(text, start, "this text holds half of a surrogate pair.");
    return value;
  }

  function readNumber(): number {
    const start = at;
    NUMBER.lastIndex = at;
    const token = NUMBER.exec(text)?.[0];
    if (token === undefined) throw unexpected(text, at + 1, 'a digit after "-"');
    at += token.length;
    const value = Number(token);
    if (!Number.isFinite(value)) throw jsonFault(text, start, `the number ${quoted(token)} is too large.`);
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(token)) {
      if (notes.length < MAX_NOTES) {
        notes.push(
          `${token.slice(0, 40)} has more digits than a number holds and became ${value}; keep it as a string.`,
        );
      }
    }
    return value;
  }
}

const WORDS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;
const QUOTE = 0x22;
const BLANK = 0x20;
const BACKSLASH = 0x5c;

function isBlank(code: number): boolean {
  return code === BLANK || code === 0x0a || code === 0x0d || code === 0x09;
}

function tooMuch(what: string): Error {
  return toolError("input_too_large", `The JSON text has ${what}.`, {
    next: "Parse a part of it, or work on it with a command.",
  });
}
