import { badPatch } from "./bad-patch.ts";

/** A line of the patch with its number, from 1. */
export interface PatchLine {
  text: string;
  number: number;
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const FENCE = /^(?:```|~~~)[\w-]*$/;
const CELL = /^%%(?:bash|sh)$/;
const HEREDOC = /^(?:(?:cat|apply_?patch)\s+)?<<-?\s*(["']?)(\w+)\1$/;

/**
 * Takes what models put around a patch off it: its own two sentinels, a heredoc, a code fence. Anything else around it is
 * refused, since it may change the meaning (a `cd`, a second command), and so is a patch that began and did not end.
 */
export function unwrapPatch(lines: readonly PatchLine[]): PatchLine[] {
  const filled = lines.filter((line) => line.text.trim() !== "");
  if (filled.length === 0)
    throw badPatch("syntax", "The patch is empty text", `Give a patch from "${BEGIN}" to "${END}".`);
  const { rest, closers } = takeOpeners(filled);
  const first = rest[0];
  const begun = first?.text.trim() === BEGIN;
  if (first === undefined || (!begun && !first.text.trim().startsWith("*** "))) {
    throw badPatch("syntax", "This is not a patch", `Begin it with "${BEGIN}".`, (first ?? filled[0])?.number);
  }
  const { last, ended, closed } = takeClosers(rest, closers);
  const from = begun ? first.number + 1 : first.number;
  const to = last?.number ?? 0;
  const body = lines.filter((line) => line.number >= from && (ended ? line.number < to : line.number <= to));
  const early = body.find((line) => line.text.trimEnd() === END);
  if (early)
    throw badPatch("syntax", "Text follows the end of the patch", "Send one patch and nothing else.", early.number);
  if (begun && !ended && !closed) {
    throw badPatch("syntax", "The patch is cut off", `Nothing was changed. Send it again, whole, up to "${END}".`, to);
  }
  return body;
}

/** The wrapping lines before the patch, and the lines that must therefore close it. */
function takeOpeners(filled: readonly PatchLine[]): { rest: PatchLine[]; closers: string[] } {
  const closers: string[] = [];
  let at = 0;
  for (; at < filled.length; at++) {
    const text = filled[at]?.text.trim() ?? "";
    const heredoc = HEREDOC.exec(text)?.[2];
    if (heredoc !== undefined) closers.push(heredoc);
    else if (FENCE.test(text)) closers.push(text.slice(0, 3));
    else if (!CELL.test(text)) break;
  }
  return { rest: filled.slice(at), closers };
}

function takeClosers(
  filled: readonly PatchLine[],
  closers: string[],
): { last: PatchLine | undefined; ended: boolean; closed: boolean } {
  const rest = [...filled];
  let closed = false;
  for (const closer of closers) {
    if (rest.at(-1)?.text.trim() !== closer) continue;
    rest.pop();
    closed = true;
  }
  const last = rest.at(-1);
  // Also with blanks before it: as a kept line it could not be the last of a patch that ends.
  return { last, ended: last?.text.trim() === END, closed };
}
