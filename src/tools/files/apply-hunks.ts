import { type ToolError, toolError } from "../../core/error.ts";
import { explainAmbiguity, explainMiss } from "./explain-miss.ts";
import { refuseElisions } from "./find-elision.ts";
import { findReindent } from "./find-reindent.ts";
import { type LocatedHunk, type LocatedHunks, locateHunks, oldLinesOf } from "./locate-hunks.ts";
import type { MatchStep } from "./match-text.ts";
import type { Hunk } from "./parse-patch.ts";
import { type LineChange, joinAdjacent, replaceLines } from "./replace-lines.ts";
import { type Splice, spliceText } from "./splice-text.ts";
import { type Line, commonLineEnd, splitLines } from "./split-lines.ts";

export interface Patched {
  text: string;
  /** In ascending order; none where the hunks change nothing. */
  splices: Splice[];
  /** For each hunk the line number, from 1 and in the original text, and the rung that found it. */
  hunks: { line: number; step: MatchStep }[];
}

/**
 * Applies the hunks of one file, all or, with a ToolError, none. Kept lines keep the file's bytes, added lines take its
 * most common line end, and its byte order mark and final line end stay as they are; an empty file gets a final one.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): Patched {
  for (const hunk of hunks) refuseElidedHunk(hunk);
  const lines = splitLines(text);
  const located = locateHunks(lines, hunks);
  if (!("found" in located)) throw failure(text, hunks, located);
  const inOrder = located.found.toSorted((one, other) => one.first - other.first);
  const changes = joinAdjacent(inOrder.flatMap((hunk) => hunkChanges(lines, hunk)));
  const eol = commonLineEnd(lines);
  const splices = replaceLines(text, lines, changes, () => eol);
  return {
    text: spliceText(text, splices),
    splices,
    hunks: located.found.map(({ first, step }) => ({ line: first + 1, step })),
  };
}

function refuseElidedHunk(hunk: Hunk): void {
  const added = hunk.lines.filter((line) => line.kind === "add").map((line) => line.text);
  const name = `the added lines of the hunk at patch line ${hunk.patchLine}`;
  refuseElisions(added.join("\n"), oldLinesOf(hunk.lines).join("\n"), name);
}

function hunkChanges(lines: readonly Line[], hunk: LocatedHunk): LineChange[] {
  const changes: LineChange[] = [];
  const written = writtenLines(lines, hunk);
  let at = hunk.first;
  let newAt = 0;
  for (const { kind } of hunk.lines) {
    if (kind === "add") changes.push({ first: at, count: 0, added: written.slice(newAt, newAt + 1) });
    if (kind === "remove") changes.push({ first: at, count: 1, added: [] });
    if (kind !== "add") at++;
    if (kind !== "remove") newAt++;
  }
  return changes;
}

/** The kept and added lines as they go into the file: where all old lines are shifted alike, so are the new ones. */
function writtenLines(lines: readonly Line[], { first, step, lines: used }: LocatedHunk): string[] {
  const written = used.filter((line) => line.kind !== "remove").map((line) => line.text);
  if (step !== "indentation") return written;
  const old = oldLinesOf(used);
  const reindent = findReindent(
    old,
    lines.slice(first, first + old.length).map((line) => line.text),
  );
  return reindent?.(written, { index: 0, indent: "" }) ?? written;
}

function failure(text: string, hunks: readonly Hunk[], located: Exclude<LocatedHunks, { found: unknown }>): ToolError {
  if ("ambiguous" in located) {
    const { hunk, firsts, step } = located.ambiguous;
    const numbers = firsts.map((first) => first + 1);
    return toolError("ambiguous", `${nameOf(hunks, hunk)} does not say which place it means`, {
      next: `${explainAmbiguity(numbers, step)} Add kept lines around the change, or name the enclosing line after "@@".`,
      data: { hunk, lines: numbers },
    });
  }
  const { hunk, context, above } = located.missing;
  const data = { hunk, patchLine: hunks[hunk]?.patchLine };
  if (context !== undefined) {
    const next = explainMiss(text, context, 'the line after "@@"');
    return toolError("no_match", `${nameOf(hunks, hunk)}: the line after "@@" was not found below the hunk before it`, {
      next,
      data,
    });
  }
  if (above !== undefined) {
    const next =
      "Nothing was changed. Put the hunks of a file in the order of its lines, and change each line only once.";
    return toolError(
      "no_match",
      `${nameOf(hunks, hunk)} is found at line ${above + 1}, which is not below the hunk before it`,
      { next, data },
    );
  }
  const next = explainMiss(text, oldLinesOf(hunks[hunk]?.lines ?? []).join("\n"), "the hunk");
  return toolError("no_match", `${nameOf(hunks, hunk)} does not match the file`, { next, data });
}

function nameOf(hunks: readonly Hunk[], index: number): string {
  return `Hunk ${index + 1} (patch line ${hunks[index]?.patchLine ?? 0})`;
}
