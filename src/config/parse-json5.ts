import {
  ConfigError,
  type ConfigPath,
  type ConfigProblem,
  pathKey,
  type SourcePosition,
  showPath,
} from "./config-problem.ts";
import type { ParsedText } from "./parse-config-text.ts";
import { copyParsed } from "./text-limits.ts";

/** JSON, JSON with comments, JSON5. A key that is there twice is an error: the parser would drop the first. */
export async function parseJson5(text: string, file: string): Promise<ParsedText> {
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
      // Of a key that is missing, where it is missed.
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

const TOKEN =
  /\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|[{}[\]:,]|[^\s{}[\]:,"'/\uFEFF]+/g;

/** Where each key and each item stands, in text that the parser has accepted. */
function locateKeys(text: string, decode: (quoted: string) => string) {
  const offsets = new Map<string, number>();
  const duplicates: { path: ConfigPath; offset: number }[] = [];
  const stack: Frame[] = [];
  for (const { 0: token, index: offset } of text.matchAll(TOKEN)) {
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
