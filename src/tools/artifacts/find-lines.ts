import { Worker } from "node:worker_threads";
import type { Clock } from "../../core/clock.ts";
import { type ToolError, toolError } from "../../core/error.ts";

export interface LineSearch {
  pattern: string;
  isText: boolean;
  ignoreCase: boolean;
  max: number;
}

export interface FoundLines {
  matches: { line: number; text: string }[];
  /** Of all matching lines, also those beyond `most`. */
  total: number;
}

const MAX_MS = 3_000;
const LIMITS = { maxOldGenerationSizeMb: 256 };

/**
 * The lines that match. In a thread of its own, as text so that it needs no file beside the bundle: some patterns take for
 * ever on some lines, and then it is ended.
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
    throw toolError("bad_pattern", `The pattern is no regular expression: ${(cause as Error).message}`, {
      next: "Mend it, or send fixed_strings: true to look for the text itself.",
      cause,
    });
  }
  const workerData = { content, source, flags, max };
  const worker = new Worker(SOURCE, { eval: true, workerData, resourceLimits: LIMITS, execArgv: [] });
  return new Promise<FoundLines>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    const timer = clock.after(MAX_MS, () => reject(tookTooLong()));
    worker.once("message", (found: FoundLines) => resolve(found));
    worker.once("error", reject);
    worker.once("exit", () => reject(toolError("failed", "The search ended without an answer")));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    worker.once("exit", () => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    });
  }).finally(() => void worker.terminate());
}

function tookTooLong(): ToolError {
  return toolError("timeout", `The pattern took longer than ${MAX_MS} ms on this text`, {
    next: "Use a simpler one, without repetitions inside of repetitions.",
  });
}

const SOURCE = String.raw`
const { parentPort, workerData } = require("node:worker_threads");
const { content, source, flags, most } = workerData;
const expression = new RegExp(source, flags);
const matches = [];
let total = 0;
const lines = content.split(/\r?\n/);
if (lines.at(-1) === "") lines.pop();
for (const [index, text] of lines.entries()) {
  if (!expression.test(text)) continue;
  total += 1;
  if (matches.length < most) matches.push({ line: index + 1, text: text.slice(0, 1000) });
}
parentPort.postMessage({ matches, total });
`;
