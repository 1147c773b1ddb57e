import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError, type ToolError } from "../../core/error.ts";

export function createJsonParseTool() {
  return createTool({
    name: "json_parse",
    title: "Parse JSON",
    description: {
      short: "Parses a JSON text strictly and returns the data, or says in which line and column it is wrong.",
      usageNotes: ["Comments, trailing commas and keys that stand twice are errors."],
      examples: [{ input: { text: '{"name": "Ann", "tags": ["a", "b"]}' } }],
    },
    parameters: z.object({ text: z.string().describe("The JSON text") }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "parse", "decode", "validate"],
    origin: { type: "builtin" },
    run({ text }) {
      if (text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      const { data, notes } = readJson(text);
      return {
        content: [
          ...(notes.length > 0 ? [textBlock(`Note: ${notes.join(" ")}`)] : []),
          textBlock(JSON.stringify(data, null, 2)),
        ],
        display: `valid JSON: ${describe(data)}`,
        details: { data },
        metadata: notes.length > 0 ? { warnings: notes } : undefined,
      };
    },
  });
}

function describe(data: unknown): string {
  if (Array.isArray(data)) return `a list of ${count(data.length, "item")}`;
  if (typeof data === "string") return `a text of ${count(data.length, "character")}`;
  if (typeof data === "object" && data !== null) return `an object with ${count(Object.keys(data).length, "key")}`;
  return String(data);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function createJsonStringifyTool() {
  return createTool({
    name: "json_stringify",
    title: "Write JSON",
    description: {
      short: "Writes data as JSON text.",
      usageNotes: ["Send objects and lists as they are: a text that holds JSON already becomes a quoted text."],
      examples: [
        { input: { data: { name: "Ann", tags: ["a", "b"] } } },
        { input: { data: [1, 2], pretty: true }, description: "indented, a value a line" },
      ],
    },
    parameters: z.object({
      data: z.unknown().describe("What to write: an object, list, text, number, true, false or null"),
      pretty: z.boolean().optional().describe("Whether to indent it by two blanks; false when absent"),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "stringify", "encode", "format"],
    origin: { type: "builtin" },
    run({ data, pretty = false }) {
      const text = stringify(data, pretty);
      if (text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      return { content: [textBlock(text)], display: `JSON text of ${text.length} characters`, details: { text } };
    },
  });
}

/** Programs may pass what JSON cannot say: a BigInt, a function. */
function stringify(data: unknown, pretty: boolean): string {
  let cause: unknown;
  try {
    const text = JSON.stringify(data, null, pretty ? 2 : 0) as string | undefined;
    if (text !== undefined) return text;
  } catch (thrown) {
    cause = thrown;
  }
  throw toolError("invalid_input", "The data holds something that JSON cannot say, such as a BigInt or a function.", {
    next: "Send plain data: objects, lists, texts, finite numbers, true, false and null.",
    cause,
  });
}

/** In characters. A little less than the details of a result hold: those are whole, or the call has failed. */
export const MAX_TEXT_LENGTH = 4_000_000;

export function textTooLong(what: string): ToolError {
  return toolError("input_too_large", `${what} is longer than ${MAX_TEXT_LENGTH} characters.`, {
    next: "Send it in parts, or work on it in a file with a command.",
  });
}

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

/** What is wrong with a JSON text at an offset, with the line and column that a reader would look at. */
function jsonFault(text: string, offset: number, problem: string): ToolError {
  const before = text.slice(0, offset).replace(/^\uFEFF/, "");
  const lines = before.split(/\r\n|\r|\n/);
  const line = lines.length;
  const column = [...(lines.at(-1) ?? "")].length + 1;
  return toolError("invalid_input", `The text is not valid JSON. Line ${line}, column ${column}: ${problem}`, {
    next: "Correct the text there and send it again.",
    data: { line, column, offset },
  });
}

/** For a place where something else should stand than does. */
function unexpected(text: string, offset: number, expected: string): ToolError {
  const hint = hintFor(text, offset);
  const problem = `expected ${expected}, found ${foundAt(text, offset)}${hint ? `; ${hint}` : ""}.`;
  return jsonFault(text, offset, problem);
}

/** Longest piece of the text that a message repeats. */
const MAX_QUOTED_LENGTH = 40;

function quoted(piece: string): string {
  const characters = [...piece];
  return JSON.stringify(
    characters.length > MAX_QUOTED_LENGTH ? `${characters.slice(0, MAX_QUOTED_LENGTH).join("")}…` : piece,
  );
}

function foundAt(text: string, offset: number): string {
  if (offset >= text.length) return "the end of the text";
  const character = String.fromCodePoint(text.codePointAt(offset)!);
  // What cannot be seen is named.
  if (/[\p{C}\p{Z}]/u.test(character)) return codeOf(character);
  return quoted(wordAt(text, offset) ?? character);
}

function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

function wordAt(text: string, offset: number): string | undefined {
  return /^[\p{L}\p{N}_$]+/u.exec(text.slice(offset, offset + 2 * MAX_QUOTED_LENGTH))?.[0];
}

/** The usual slips, by what stands there. */
function hintFor(text: string, offset: number): string | undefined {
  const character = text[offset];
  const before = text.slice(0, offset).trimEnd().at(-1);
  if (character === undefined) return "it was cut off, or a bracket is not closed";
  if (before === "," && "}]".includes(character)) return "no comma may stand before a closing bracket";
  if ("'‘’“”".includes(character)) return 'text stands in straight double quotes (")';
  if (character === "`") return "leave out the code fence";
  if (character === "/" || character === "#") return "comments are not allowed";
  if (before !== undefined && /\d/.test(before) && /[\d.]/.test(character)) return "a number looks like 0.5, 10 or 1e5";
  if (/[+.]/.test(character)) return "a number begins with a digit or a minus";
  const word = wordAt(text, offset);
  if (word === undefined || /^\d/.test(word)) return undefined;
  if (/^(true|false)$/i.test(word)) return `it is written ${word.toLowerCase()}`;
  if (/^(none|null|nil|undefined|nan|infinity)$/i.test(word)) return "write null";
  return 'text and keys stand in double quotes (")';
}
