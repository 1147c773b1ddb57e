import { posix } from "node:path";
import type { ToolContext } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import { parseCommand, plainChain } from "../../io/shell/parse-command.ts";

/** Lines of a file that a model was shown, from 1. */
export interface PrintedLines {
  info: FileInfo;
  bytes: Buffer;
  first: number;
  last: number;
  total: number;
}

/** A part of a file that a command prints: lines from the start, or the last ones. */
interface PrintedPart {
  path: string;
  from: number;
  to: number;
  last?: number;
}

const MAX_FILES = 20;
const MAX_BYTES = 1024 * 1024;

/**
 * The files that a command such as `cat`, `head`, `tail` or `sed -n 1,50p` has shown. Its text only says which lines these
 * may be. They count if they are, byte for byte, what the command printed, so a file that changed in between does not.
 */
export async function findPrinted(
  command: string,
  { stdout, cwd, files, signal }: { stdout: string; cwd: string; files: Files; signal: ToolContext["signal"] },
): Promise<PrintedLines[]> {
  const parts = printedParts(command);
  if (parts === undefined || parts.length === 0 || parts.length > MAX_FILES) return [];
  const printed: PrintedLines[] = [];
  let expected = "";
  for (const part of parts) {
    const path = posix.isAbsolute(part.path) ? part.path : posix.join(cwd, part.path);
    const read = await files.readWhole(path, { maxBytes: MAX_BYTES, signal }).catch(() => undefined);
    if (read === undefined) return [];
    const lines = read.bytes.toString("utf8").split(/(?<=\n)/);
    const total = lines.length;
    const first = part.last === undefined ? part.from : Math.max(1, total - part.last + 1);
    const last = Math.min(total, part.last === undefined ? part.to : total);
    if (first > last) return [];
    expected += lines.slice(first - 1, last).join("");
    printed.push({ ...read, first, last, total });
  }
  return expected === stdout ? printed : [];
}

/** Undefined if the command does anything else. */
function printedParts(command: string): PrintedPart[] | undefined {
  const chain = plainChain(parseCommand(command));
  if (chain === null) return undefined;
  let folder = ".";
  const parts: PrintedPart[] = [];
  for (const { operator, argv } of chain) {
    const [program, ...words] = argv;
    if (operator === "|" || operator === "||") return undefined;
    if (program === "cd" && words.length === 1 && words[0]) {
      folder = posix.isAbsolute(words[0]) ? words[0] : posix.join(folder, words[0]);
      continue;
    }
    const printed = program === undefined ? undefined : partsOf(program, words);
    if (printed === undefined) return undefined;
    for (const part of printed) {
      parts.push({ ...part, path: posix.isAbsolute(part.path) ? part.path : posix.join(folder, part.path) });
    }
  }
  return parts;
}

function partsOf(program: string, words: readonly string[]): PrintedPart[] | undefined {
  const text = words.join("\0");
  if (program === "cat") {
    const paths = words.filter((word) => word !== "--");
    return paths.some((path) => path.startsWith("-"))
      ? undefined
      : paths.map((path) => ({ path, from: 1, to: Infinity }));
  }
  if (program === "sed") {
    const [, from, to, path] = /^-n\0(\d+)(?:,(\d+|\$))?p\0([^\0-][^\0]*)$/.exec(text) ?? [];
    if (from === undefined || path === undefined || from === "0") return undefined;
    return [{ path, from: Number(from), to: to === undefined ? Number(from) : to === "$" ? Infinity : Number(to) }];
  }
  if (program === "head" || program === "tail") {
    const [, count, fromLine, path] = /^(?:-n?\0?(\d+)\0|-n\0?\+(\d+)\0)?([^\0-][^\0]*)$/.exec(text) ?? [];
    if (path === undefined || (fromLine !== undefined && program === "head")) return undefined;
    if (fromLine !== undefined) return [{ path, from: Math.max(1, Number(fromLine)), to: Infinity }];
    const lines = count === undefined ? 10 : Number(count);
    return [program === "head" ? { path, from: 1, to: lines } : { path, from: 1, to: Infinity, last: lines }];
  }
  return undefined;
}
