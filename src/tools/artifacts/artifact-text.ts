import { Worker } from "node:worker_threads";
import type { Clock } from "../../core/clock.ts";
import { errorMessage, toolError, type ToolError } from "../../core/error.ts";

export interface TextPage {
  text: string;
  /** Character offset of the page. */
  start: number;
  /** Where the next page begins; undefined on the last one. */
  next?: number;
  firstLine: number;
  lastLine: number;
  lines: number;
}

/** A page of a text, cut at a line end if possible. */
export function takePage(
  whole: string,
  { line, offset, limit }: { line?: number; offset?: number; limit: number },
): TextPage {
  if (line !== undefined && offset !== undefined) {
    throw toolError("invalid_input", "Both `line` and `offset` were given", { next: "Send one of them." });
  }
  const lines = countLines(whole, whole.length);
  const start = offset ?? startOfLine(whole, line ?? 1, lines);
  if (start > whole.length) {
    throw toolError("bad_range", `The text has ${whole.length} characters; there is none at offset ${start}`, {
      next: "Use a smaller offset.",
    });
  }
  const end = endOfPage(whole, start, limit);
  return {
    text: whole.slice(start, end),
    start,
    next: end < whole.length ? end : undefined,
    firstLine: countLines(whole, start),
    lastLine: countLines(whole, Math.max(start, end - 1)),
    lines,
  };
}

function endOfPage(whole: string, start: number, limit: number): number {
  const max = start + limit;
  if (max >= whole.length) return whole.length;
  const lineEnd = whole.lastIndexOf("\n", max - 1) + 1;
  if (lineEnd > start) return lineEnd;
  // Not inside a surrogate pair, unless the limit is a single code unit.
  const isHalf = /[\ud800-\udbff]/.test(whole[max - 1] ?? "") && limit > 1;
  return isHalf ? max - 1 : max;
}

function startOfLine(whole: string, line: number, lines: number): number {
  if (line > lines) {
    throw toolError("bad_range", `The text has ${lines} ${lines === 1 ? "line" : "lines"}; there is no line ${line}`, {
      next: "Use a smaller line number.",
    });
  }
  let start = 0;
  for (let at = 1; at < line; at += 1) start = whole.indexOf("\n", start) + 1;
  return start;
}

/** The line number of `end`. A final line end does not begin another line. */
function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < end && at < text.length - 1; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}

export interface LineSearch {
  pattern: string;
  isText: boolean;
  ignoreCase: boolean;
  max: number;
}

export interface FoundLines {
  matches: { line: number; text: string }[];
  /** Number of all matching lines, including those beyond `max`. */
  total: number;
}

const SEARCH_MS = 3_000;
const WORKER_LIMITS = { maxOldGenerationSizeMb: 256 };

/**
 * The matching lines. It runs in its own thread, which can be terminated: some patterns take forever on some lines. The
 * worker is a string, so it needs no file next to the bundle.
 */
export function findLines(
  content: string,
  { pattern, isText, ignoreCase, max }: LineSearch,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<FoundLines> {
  const source = isText ? pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`) : pattern;
  const flags = ignoreCase ? "iu" : "u";
  try {
    void new RegExp(source, flags);
  } catch (cause) {
    throw toolError("bad_pattern", `The pattern is not a valid regular expression: ${errorMessage(cause)}`, {
      next: "Correct it, or set fixed_strings: true to search for plain text.",
      cause,
    });
  }
  const workerData = { content, source, flags, max };
  const worker = new Worker(SOURCE, { eval: true, workerData, resourceLimits: WORKER_LIMITS, execArgv: [] });
  return new Promise<FoundLines>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    const timer = clock.after(SEARCH_MS, () => reject(tookTooLong()));
    worker.once("message", (found: FoundLines) => resolve(found));
    worker.once("error", reject);
    worker.once("exit", () => reject(toolError("failed", "The search ended without a result")));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    worker.once("exit", () => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    });
  }).finally(() => void worker.terminate());
}

function tookTooLong(): ToolError {
  return toolError("timeout", `The pattern took longer than ${SEARCH_MS} ms on this text`, {
    next: "Use a simpler one, without nested repetitions.",
  });
}

const SOURCE = String.raw`
const { parentPort, workerData } = require("node:worker_threads");
const { content, source, flags, max } = workerData;
const expression = new RegExp(source, flags);
const matches = [];
let total = 0;
const lines = content.split(/\r?\n/);
if (lines.at(-1) === "") lines.pop();
for (const [index, text] of lines.entries()) {
  if (!expression.test(text)) continue;
  total += 1;
  if (matches.length < max) matches.push({ line: index + 1, text: text.slice(0, 1000) });
}
parentPort.postMessage({ matches, total });
`;
