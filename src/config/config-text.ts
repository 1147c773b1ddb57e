import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Document, Node } from "yaml";
import { attempt, errorCode, errorMessage } from "../core/error.ts";
import { noteLook } from "./config-watch.ts";
import {
  ConfigError,
  type ConfigPath,
  type ConfigProblem,
  pathKey,
  showPath,
  type SourcePosition,
} from "./problems.ts";

export type ConfigFormat = "yaml" | "json" | "toml";

export interface ParsedText {
  value: unknown;
  /** The position of a key or a list item, if the format gives one. */
  positionOf(path: ConfigPath): SourcePosition | undefined;
}

/** By the extension. JSON always accepts JSON5: comments, trailing commas and so on. */
export function formatOf(file: string): ConfigFormat {
  if (/\.ya?ml$/i.test(file)) return "yaml";
  return /\.toml$/i.test(file) ? "toml" : "json";
}

/** Throws a `ConfigError`. The limits are checked before a parser is loaded. */
export async function parseConfigText(text: string, file: string, format = formatOf(file)): Promise<ParsedText> {
  if (Buffer.byteLength(text) > MAX_BYTES) {
    throw new ConfigError([{ file, message: `Larger than ${MAX_BYTES} bytes. Make it smaller.` }]);
  }
  const plain = text.replace(/^\uFEFF/, "");
  requireShallow(plain, file, format);
  if (format === "yaml") return parseYaml(plain, file);
  return format === "toml" ? parseToml(plain, file) : parseJson5(plain, file);
}

async function parseToml(text: string, file: string): Promise<ParsedText> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    const value = copyParsed(parse(text, { maxDepth: MAX_DEPTH, unsafeKeyBehaviour: "throw" }), file);
    return { value, positionOf: () => undefined };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.split("\n");
    const message = `Not valid TOML: ${first.replace(/^Invalid TOML document: /, "")}.`;
    throw new ConfigError([{ file, line: error.line, column: error.column, message }], { cause: error });
  }
}

/** The text of a file, or null if it does not exist. Throws a `ConfigError` if it is not a small text file. */
export async function readConfigText(file: string): Promise<string | null> {
  const fail = (message: string, cause?: unknown) => new ConfigError([{ file, message }], { cause });
  let handle: Awaited<ReturnType<typeof open>>;
  noteLook(file);
  try {
    // Non-blocking: opening a named pipe would wait forever.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw fail(`Cannot be read (${code}). Fix its permissions, or remove it.`, error);
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw fail("Is not a regular file. Put a file there, or remove it.");
    if (stat.size > MAX_BYTES) throw fail(`Larger than ${MAX_BYTES} bytes. Make it smaller.`);
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    if (bytesRead > MAX_BYTES) throw fail(`Larger than ${MAX_BYTES} bytes. Make it smaller.`);
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, bytesRead));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail("Is not text in UTF-8. Save it as UTF-8.", error);
  } finally {
    await handle.close();
  }
}

/** YAML 1.2 (core schema). Reports all errors at once. */
async function parseYaml(text: string, file: string): Promise<ParsedText> {
  const { isMap, isScalar, isSeq, LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document: Document = parseDocument(text, { lineCounter: lines, stringKeys: true, prettyErrors: false });
  const positionAt = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // The parser only warns about an unknown tag, but then its value is not what the author meant.
  const problems = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    file,
    ...positionAt(pos[0]),
    message: `Not valid YAML: ${message}.`,
  }));
  if (problems.length > 0) throw new ConfigError(problems, { readable: readableOf(document, file) });

  const step = (node: unknown, part: string | number): { at: number | undefined; next: unknown } => {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
      return { at: (pair?.key as Node | undefined)?.range?.[0], next: pair?.value };
    }
    const item = isSeq(node) ? node.items[Number(part)] : undefined;
    return { at: (item as Node | undefined)?.range?.[0], next: item };
  };
  return {
    value: copyParsed(readValue(document, file), file),
    positionOf(path: ConfigPath) {
      let node: unknown = document.contents;
      let offset: number | undefined;
      for (const part of path) {
        const { at, next } = step(node, part);
        // For a value behind an alias, the position of the alias is reported.
        if (at === undefined) break;
        offset = at;
        node = next;
      }
      return offset === undefined ? undefined : positionAt(offset);
    },
  };
}

/** What there is before and after a mistake. */
function readableOf(document: Document, file: string): unknown {
  return attempt(() => copyParsed(readValue(document, file), file));
}

function readValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new ConfigError([{ file, message: `Not valid YAML: ${errorMessage(error)}. Use fewer aliases.` }], {
      cause: error,
    });
  }
}

/** JSON, JSON with comments, JSON5. A duplicate key is an error: the parser would drop the first. */
async function parseJson5(text: string, file: string): Promise<ParsedText> {
  const { default: JSON5 } = await import("json5");
  let value: unknown;
  try {
    value = JSON5.parse(text);
  } catch (error) {
    const { lineNumber, columnNumber, message } = error as Error & { lineNumber?: number; columnNumber?: number };
    const what = message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    throw new ConfigError([{ file, line: lineNumber, column: columnNumber, message: `Not valid JSON: ${what}.` }], {
      cause: error,
    });
  }
  const { offsets, duplicates } = locateKeys(text, (key) => JSON5.parse<string>(key));
  const positionAt = positionsOf(text);
  const problems = duplicates.map(({ path, offset }): ConfigProblem => {
    const message = "This key is there twice. Keep one of them.";
    return { file, ...positionAt(offset), path: showPath(path), message };
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    value: copyParsed(value, file),
    positionOf(path) {
      // For a missing key, the position of its parent.
      for (let length = path.length; length > 0; length -= 1) {
        const offset = offsets.get(pathKey(path.slice(0, length)));
        if (offset !== undefined) return positionAt(offset);
      }
      return undefined;
    },
  };
}

function positionsOf(text: string): (offset: number) => SourcePosition {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    for (let high = starts.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

interface Frame {
  path: ConfigPath;
  /** Undefined in an array. */
  keys?: Set<string>;
  key?: string;
  index: number;
}

export const JSON_TOKEN =
  /\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|[{}[\]:,]|[^\s{}[\]:,"'/\uFEFF]+/g;

/** The position of each key and item, in text that the parser has accepted. */
function locateKeys(text: string, decode: (quoted: string) => string) {
  const offsets = new Map<string, number>();
  const duplicates: { path: ConfigPath; offset: number }[] = [];
  const stack: Frame[] = [];
  for (const { 0: token, index: offset } of text.matchAll(JSON_TOKEN)) {
    if (token.startsWith("//") || token.startsWith("/*") || token === ":") continue;
    const frame = stack.at(-1);
    if (token === "}" || token === "]") {
      stack.pop();
      continue;
    }
    if (token === ",") {
      if (frame) frame.index += 1;
      if (frame?.keys) frame.key = undefined;
      continue;
    }
    if (frame?.keys && frame.key === undefined) {
      frame.key = /^["']/.test(token) ? decode(token) : decode(`"${token}"`);
      const path = [...frame.path, frame.key];
      if (frame.keys.has(frame.key)) duplicates.push({ path, offset });
      frame.keys.add(frame.key);
      offsets.set(pathKey(path), offset);
      continue;
    }
    const path = frame ? [...frame.path, frame.key ?? frame.index] : [];
    if (frame && !frame.keys) offsets.set(pathKey(path), offset);
    if (token === "{") stack.push({ path, keys: new Set(), index: 0 });
    else if (token === "[") stack.push({ path, index: 0 });
  }
  return { offsets, duplicates };
}

/** The default export of a module. Runs `source`, which was checked before: the file may have changed since. */
export async function runConfigModule(file: string, source: string): Promise<unknown> {
  const { createJiti } = await import("jiti");
  // No cache on disk: a writer of the cache could replace the code.
  const jiti = createJiti(file, { fsCache: false, moduleCache: false, interopDefault: false });
  let module: unknown;
  try {
    module = await jiti.evalModule(source, { filename: file, id: file, async: true, forceTranspile: true });
  } catch (error) {
    const message = `Could not be run: ${errorMessage(error)}`;
    throw new ConfigError([{ file, message }], { cause: error });
  }
  const { default: value } = module as { default?: unknown };
  if (typeof value !== "object" || value === null || value instanceof Promise) {
    throw new ConfigError([
      { file, message: "Must have the configuration as its default export: `export default { … }`." },
    ]);
  }
  return copyParsed(value, file);
}

const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const MAX_VALUES = 50_000;

/**
 * Runs before any parser: deep nesting overflows a parser's stack and ends the process. Brackets in strings and comments
 * are counted too; the limit is far above what a real file needs.
 */
function requireShallow(text: string, file: string, format: "yaml" | "json" | "toml"): void {
  let depth = 0;
  let line = 1;
  let runOfIndicators = 0;
  let indent = 0;
  let atStart = true;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === "\n") {
      line += 1;
      runOfIndicators = 0;
      indent = 0;
      atStart = true;
      continue;
    }
    if (char === " " || char === "\t") {
      if (atStart) indent += 1;
      continue;
    }
    atStart = false;
    if (char === "[" || char === "{") depth += 1;
    else if ((char === "]" || char === "}") && depth > 0) depth -= 1;
    // YAML also nests by "- - - x" and by indentation.
    runOfIndicators = format === "yaml" && (char === "-" || char === "?") ? runOfIndicators + 1 : 0;
    const isIndicatorRun = runOfIndicators > MAX_DEPTH && /\s/.test(text[at + 1] ?? "");
    if (depth > MAX_DEPTH || isIndicatorRun || (format === "yaml" && indent > MAX_DEPTH * 16)) {
      throw new ConfigError([{ file, line, message: `Nested more than ${MAX_DEPTH} levels deep. Make it flatter.` }]);
    }
  }
}

/** A copy of parsed data in plain objects. Refuses cycles, aliases that multiply, and keys that reach a prototype. */
function copyParsed(value: unknown, file: string): unknown {
  let values = 0;
  const fail = (message: string): never => {
    throw new ConfigError([{ file, message }]);
  };
  const copy = (each: unknown, depth: number): unknown => {
    values += 1;
    if (values > MAX_VALUES) fail(`Holds more than ${MAX_VALUES} values, aliases counted where they are used.`);
    if (depth > MAX_DEPTH) fail(`Nested more than ${MAX_DEPTH} levels deep, or an alias that holds itself.`);
    if (Array.isArray(each)) return each.map((item) => copy(item, depth + 1));
    if (typeof each !== "object" || each === null) return each;
    const prototype: unknown = Object.getPrototypeOf(each);
    // Dates and byte arrays of a format. The schema then reports what is expected.
    if (prototype !== Object.prototype && prototype !== null) return each;
    const fields: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(each)) {
      if (key === "__proto__") fail('"__proto__" cannot be a key. Remove it.');
      fields[key] = copy(field, depth + 1);
    }
    return fields;
  };
  return copy(value, 0);
}
