import type { OpenDirectory } from "../../files/list-directory.ts";
import type { Ripgrep, RipgrepAnswer } from "./ripgrep.ts";

export interface LocatedLine {
  /** From 1. */
  line: number;
  /** Of the line's first byte in the text, a byte order mark not counted. */
  offset: number;
  /** Where in the line the first match begins, in bytes from 0; absent for context. */
  column?: number;
}

export interface LocateRequest {
  ripgrep: Ripgrep;
  /** The pattern and how it is meant. */
  pattern: readonly string[];
  directory: OpenDirectory;
  files: readonly string[];
  before: number;
  after: number;
  maxPerFile: number;
  signal: AbortSignal;
  timeoutMs: number;
}

export interface LocatedLines {
  byFile: Map<string, LocatedLine[]>;
  end: RipgrepAnswer["end"];
}

/** Where the matches are, and no text: that is read by `files`, which answers for what it opened. */
export async function locateLines(request: LocateRequest): Promise<LocatedLines> {
  const { ripgrep, pattern, before, after, maxPerFile, ...run } = request;
  const answer = await ripgrep.run({
    ...run,
    options: [
      ...pattern,
      "--path-separator=/",
      "--null",
      "--with-filename",
      "--no-heading",
      "--line-number",
      "--column",
      "--byte-offset",
      "--no-context-separator",
      // Whether it is text was decided when the file was found.
      "--text",
      // A longer line is named, not printed.
      "--max-columns=1",
      `--before-context=${before}`,
      `--after-context=${after}`,
      `--max-count=${maxPerFile}`,
    ],
  });
  return { byFile: parseLocations(answer), end: answer.end };
}

/** `path NUL line:column:offset:… LF`, for context `path NUL line-offset-… LF`. A path may hold a line end. */
function parseLocations({ output, prefix }: RipgrepAnswer): Map<string, LocatedLine[]> {
  const byFile = new Map<string, LocatedLine[]>();
  for (let at = 0; at < output.length;) {
    const nul = output.indexOf("\0", at);
    const end = nul === -1 ? -1 : output.indexOf("\n", nul);
    // Cut off when time was up.
    if (end === -1) break;
    const path = output.slice(at + prefix.length, nul);
    const located = parseFields(output.slice(nul + 1, end));
    if (located !== null) {
      const lines = byFile.get(path);
      if (lines) lines.push(located);
      else byFile.set(path, [located]);
    }
    at = end + 1;
  }
  return byFile;
}

function parseFields(fields: string): LocatedLine | null {
  const match = /^(\d+):(\d+):(\d+):/.exec(fields);
  if (match) return { line: Number(match[1]), column: Number(match[2]) - 1, offset: Number(match[3]) };
  const context = /^(\d+)-(\d+)-/.exec(fields);
  return context && { line: Number(context[1]), offset: Number(context[2]) };
}
