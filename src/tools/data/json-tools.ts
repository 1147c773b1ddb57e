import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { errorMessage, toolError, type ToolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { losesDigits, parseExactly, writeExactly } from "../../core/parse-json.ts";
import { formatJson } from "../../core/results/format-json.ts";
import { queryJson } from "../../core/results/json-path.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { isSensitivePath } from "../../io/files/path-policy.ts";
import { isSpillAddress, type SpillFolder } from "../../io/files/spill-folder.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** Where JSON is read from, if not from the call. */
export interface JsonSources {
  files: Files;
  /** Outputs that were too long to show. */
  spills?: Pick<SpillFolder, "locate">;
}

/** Larger files would block the event loop. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

export function createJsonParseTool(sources?: JsonSources) {
  return createTool({
    name: "json_parse",
    title: "Parse JSON",
    description: {
      short: "Parses a JSON text strictly and returns the data, or the line and column of the error.",
      usageNotes: [
        "Comments, trailing commas and duplicate keys are errors.",
        "With query it returns a part, also of a file or of a long output (spill:ID).",
      ],
      examples: [
        { input: { text: '{"name": "Ann", "tags": ["a", "b"]}' } },
        { input: { text: '{"items": [{"id": 1}, {"id": 2}]}', query: "items[*].id" } },
      ],
    },
    parameters: z.object({
      text: z.string().optional().describe("The JSON text"),
      path: z.string().min(1).optional().describe("Instead of text: a file, or the address of a long output"),
      query: z.string().max(1000).optional().describe("A path to a part, such as items[0].name or items[10:20]"),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "parse", "decode", "validate", "query"],
    builtIn: {
      zh: { title: "解析 JSON", short: "严格解析 JSON 文本，返回数据，或错误所在的行和列。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ data: field.any("The parsed value") }),
    labels: ["sensitive_data"],
    labelsOf: ({ path }) =>
      path !== undefined && sources && isSensitivePath(sources.files, path) ? ["sensitive_data"] : [],
    signature: ({ path }) => ({ text: path ?? "", reads: path === undefined || isSpillAddress(path) ? [] : [path] }),
    validate: ({ text, path }) => {
      if ((text === undefined) === (path === undefined)) return "give either text or path";
      return path !== undefined && !sources ? "path: there is no workspace; give text" : undefined;
    },
    async run({ text, path, query }, context) {
      if (path !== undefined && sources) return queryFile(sources, { path, query }, context);
      if (text === undefined || text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      const { data: whole, notes } = readJson(text);
      const data = query === undefined ? whole : queryJson(whole, query);
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

/** Of a file only a part may fit into the details, so a query is applied first. */
async function queryFile(
  { files, spills }: JsonSources,
  { path, query = "$" }: { path: string; query?: string },
  { caller, allowedPaths, signal }: ToolContext,
): Promise<ToolOutput> {
  const spilled = spills && isSpillAddress(path) ? await spills.locate(path, caller) : undefined;
  const from = spilled ?? { files: files.narrow(allowedPaths), name: path };
  const { bytes } = await from.files.readWhole(from.name, { maxBytes: MAX_FILE_BYTES, signal });
  const exact = queryJson(parseFile(bytes.toString("utf8").replace(/^\uFEFF/, ""), path), query);
  const shown = writeExactly(exact, 2);
  const data: unknown = JSON.parse(shown);
  return {
    content: formatJson(writeExactly(exact)) ?? shown,
    display: `${path} ${query}: ${typeof data === "number" ? shown : describe(data)}`,
    details: { data },
  };
}

function parseFile(text: string, path: string): unknown {
  try {
    return parseExactly(text);
  } catch (cause) {
    throw toolError("invalid_input", `${path} is not valid JSON: ${errorMessage(cause)}`, {
      next: "Read it by lines with read.",
      cause,
    });
  }
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
      usageNotes: ["Send objects and lists directly: a text that already contains JSON becomes a quoted text."],
      examples: [
        { input: { data: { name: "Ann", tags: ["a", "b"] } } },
        { input: { data: [1, 2], pretty: true }, description: "indented, one value per line" },
      ],
    },
    parameters: z.object({
      data: z.unknown().describe("What to write: an object, list, text, number, true, false or null"),
      pretty: z.boolean().optional().describe("Whether to indent by two spaces. Default: false"),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "stringify", "encode", "format"],
    builtIn: {
      zh: { title: "写出 JSON", short: "把数据写成 JSON 文本。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ text: field.text("JSON") }),
    run({ data, pretty = false }) {
      const text = stringify(data, pretty);
      if (text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      return { content: [textBlock(text)], display: `JSON text of ${text.length} characters`, details: { text } };
    },
  });
}

/** Programs may pass values that JSON cannot represent: a BigInt, a function. */
function stringify(data: unknown, pretty: boolean): string {
  let cause: unknown;
  try {
    const text: string | undefined = JSON.stringify(data, null, pretty ? 2 : 0);
    if (text !== undefined) return text;
  } catch (thrown) {
    cause = thrown;
  }
  throw toolError(
    "invalid_input",
    "The data contains something that JSON cannot represent, such as a BigInt or a function.",
    {
      next: "Send plain data: objects, lists, texts, finite numbers, true, false and null.",
      cause,
    },
  );
}

/** In characters. A little less than the limit for the details of a result. */
export const MAX_TEXT_LENGTH = 4_000_000;

export function textTooLong(what: string): ToolError {
  return toolError("input_too_large", `${what} is longer than ${MAX_TEXT_LENGTH} characters.`, {
    next: "Send it in parts, or work on it in a file with a command.",
  });
}

/** Below the limits of a result, so the data can be returned completely. */
const MAX_DEPTH = 60;
const MAX_VALUES = 90_000;
const MAX_NOTES = 20;

export interface ReadJson {
  data: unknown;
  /** Numbers that lost digits. */
  notes: string[];
}

/** Parses JSON (RFC 8259) and refuses what parsers read differently (RFC 7493). JSON.parse does not, nor has lines. */
export function readJson(text: string): ReadJson {
  return new JsonReader(text).read();
}

class JsonReader {
  readonly #text: string;
  readonly #notes: string[] = [];
  #at: number;
  #depth = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith("\uFEFF") ? 1 : 0;
  }

  read(): ReadJson {
    const data = this.#readValue();
    this.#skipBlanks();
    if (this.#at < this.#text.length) {
      const found = foundAt(this.#text, this.#at);
      const problem = `the value ends here, but ${found} follows; send one value, without text around it.`;
      throw jsonFault(this.#text, this.#at, problem);
    }
    return { data, notes: this.#notes };
  }

  #skipBlanks(): void {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #readValue(): unknown {
    this.#skipBlanks();
    if (++this.#values > MAX_VALUES) throw tooMuch(`more than ${MAX_VALUES} values`);
    const first = this.#text[this.#at];
    if (first === "{") return this.#readObject();
    if (first === "[") return this.#readList();
    if (first === '"') return this.#readString();
    if (first !== undefined && /[-\d]/.test(first)) return this.#readNumber();
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at) || /[\w$]/.test(this.#text[this.#at + word.length] ?? "")) continue;
      this.#at += word.length;
      return value;
    }
    throw unexpected(this.#text, this.#at, "a value");
  }

  #readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#readItems("}", () => {
      const keyAt = this.#at;
      if (this.#text[this.#at] !== '"') throw unexpected(this.#text, this.#at, "a key in double quotes");
      const key = this.#readString();
      if (key === "__proto__") throw jsonFault(this.#text, keyAt, 'the key "__proto__" is not accepted; rename it.');
      if (Object.hasOwn(object, key)) {
        throw jsonFault(this.#text, keyAt, `the key ${quoted(key)} occurs twice in this object; keep one of them.`);
      }
      this.#skipBlanks();
      if (this.#text[this.#at] !== ":") throw unexpected(this.#text, this.#at, `":" after the key ${quoted(key)}`);
      this.#at++;
      object[key] = this.#readValue();
    });
    return object;
  }

  #readList(): unknown[] {
    const list: unknown[] = [];
    this.#readItems("]", () => list.push(this.#readValue()));
    return list;
  }

  #readItems(close: "}" | "]", readItem: () => void): void {
    if (++this.#depth > MAX_DEPTH) throw tooMuch(`more than ${MAX_DEPTH} levels of nesting`);
    this.#at++;
    this.#skipBlanks();
    if (this.#text[this.#at] !== close) {
      for (;;) {
        this.#skipBlanks();
        readItem();
        this.#skipBlanks();
        if (this.#text[this.#at] !== ",") break;
        this.#at++;
      }
      if (this.#text[this.#at] !== close) throw unexpected(this.#text, this.#at, `"," or "${close}"`);
    }
    this.#at++;
    this.#depth--;
  }

  #readString(): string {
    const start = this.#at++;
    let hasEscapes = false;
    for (let code = this.#text.charCodeAt(this.#at); code !== QUOTE; code = this.#text.charCodeAt(this.#at)) {
      if (Number.isNaN(code)) throw jsonFault(this.#text, start, "the text that begins here has no closing quote.");
      if (code < BLANK) {
        throw jsonFault(
          this.#text,
          this.#at,
          `${codeOf(this.#text[this.#at] ?? "")} must be escaped inside a text (a line break as \\n).`,
        );
      }
      if (code === BACKSLASH) {
        ESCAPE.lastIndex = this.#at;
        if (!ESCAPE.test(this.#text)) {
          throw jsonFault(
            this.#text,
            this.#at,
            `${quoted(this.#text.slice(this.#at, this.#at + 2))} is not a valid escape; write a backslash as \\\\.`,
          );
        }
        hasEscapes = true;
        this.#at = ESCAPE.lastIndex;
      } else this.#at++;
    }
    this.#at++;
    const value: string = hasEscapes
      ? JSON.parse(this.#text.slice(start, this.#at))
      : this.#text.slice(start + 1, this.#at - 1);
    if (!value.isWellFormed()) throw jsonFault(this.#text, start, "this text contains half of a surrogate pair.");
    return value;
  }

  #readNumber(): number {
    const start = this.#at;
    NUMBER.lastIndex = this.#at;
    const token = NUMBER.exec(this.#text)?.[0];
    if (token === undefined) throw unexpected(this.#text, this.#at + 1, 'a digit after "-"');
    this.#at += token.length;
    const value = Number(token);
    if (!Number.isFinite(value)) throw jsonFault(this.#text, start, `the number ${quoted(token)} is too large.`);
    if (losesDigits(token) && this.#notes.length < MAX_NOTES) {
      this.#notes.push(
        `${token.slice(0, 40)} has too many digits for a number and became ${value}; use a string instead.`,
      );
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

/** An error at an offset of a JSON text, with its line and column. */
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

function unexpected(text: string, offset: number, expected: string): ToolError {
  const hint = hintFor(text, offset);
  const problem = `expected ${expected}, found ${foundAt(text, offset)}${hint ? `; ${hint}` : ""}.`;
  return jsonFault(text, offset, problem);
}

/** Max length of quoted text in a message. */
const MAX_QUOTED_LENGTH = 40;

function quoted(piece: string): string {
  const characters = [...piece];
  return JSON.stringify(
    characters.length > MAX_QUOTED_LENGTH ? `${characters.slice(0, MAX_QUOTED_LENGTH).join("")}…` : piece,
  );
}

function foundAt(text: string, offset: number): string {
  if (offset >= text.length) return "the end of the text";
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
  // Invisible characters are shown by their code.
  if (/[\p{C}\p{Z}]/u.test(character)) return codeOf(character);
  return quoted(wordAt(text, offset) ?? character);
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function wordAt(text: string, offset: number): string | undefined {
  return /^[\p{L}\p{N}_$]+/u.exec(text.slice(offset, offset + 2 * MAX_QUOTED_LENGTH))?.[0];
}

/** Hints for common mistakes. */
function hintFor(text: string, offset: number): string | undefined {
  const character = text[offset];
  const before = text.slice(0, offset).trimEnd().at(-1);
  if (character === undefined) return "it was cut off, or a bracket is not closed";
  if (before === "," && "}]".includes(character)) return "a comma before a closing bracket is not allowed";
  if ("'‘’“”".includes(character)) return 'text needs straight double quotes (")';
  if (character === "`") return "leave out the code fence";
  if (character === "/" || character === "#") return "comments are not allowed";
  if (before !== undefined && /\d/.test(before) && /[\d.]/.test(character)) return "a number looks like 0.5, 10 or 1e5";
  if (/[+.]/.test(character)) return "a number begins with a digit or a minus";
  const word = wordAt(text, offset);
  if (word === undefined || /^\d/.test(word)) return undefined;
  if (/^(true|false)$/i.test(word)) return `it is written ${word.toLowerCase()}`;
  if (/^(none|null|nil|undefined|nan|infinity)$/i.test(word)) return "write null";
  return 'text and keys need double quotes (")';
}
