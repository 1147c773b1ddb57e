import { type ToolError, toolError } from "../../core/error.ts";
import { locateText, type MatchStep, type TextRange } from "./locate-text.ts";

export interface Replaced {
  before: string;
  content: string;
  step: MatchStep;
  similarity: number;
  /** What stood there. */
  oldText: string;
  /** From 1, of the first line that was replaced. */
  line: number;
}

const MAX_SHOWN = 400;

/** Puts a text in the place of another one that stands there once. The new text is taken literally. */
export async function replaceIn(
  content: string,
  { oldText, newText }: { oldText: string; newText: string },
  signal?: AbortSignal,
): Promise<Replaced> {
  const located = await locateText(oldText, content, signal);
  if (located.kind === "ambiguous") throw ambiguous(content, located.ranges);
  if (located.kind === "missing") throw missing(content, located);
  const { start, end, step, similarity } = located.range;
  const there = content.slice(start, end);
  const put = step === "exact" ? newText : withLineEndsOf(content, newText);
  if (put === there) {
    throw toolError("no_change", "The new text is what stands there already", { next: "Send another new_str." });
  }
  const line = lineAt(content, start);
  const after = content.slice(0, start) + put + content.slice(end);
  return { before: content, content: after, step, similarity, oldText: there, line };
}

/** A quote that was found although its line ends differ brings the same line ends in what replaces it. */
function withLineEndsOf(content: string, text: string): string {
  return /\r\n/.test(content) && !/(?<!\r)\n/.test(content) ? text.replaceAll(/\r?\n/g, () => "\r\n") : text;
}

function ambiguous(content: string, ranges: readonly TextRange[]): ToolError {
  const lines = ranges.map(({ start }) => lineAt(content, start));
  const like = ranges.some(({ step }) => step === "fuzzy")
    ? "is like several places, and exactly none of them"
    : "stands at several places";
  return toolError("ambiguous", `The text of old_str ${like}: lines ${lines.join(", ")}`, {
    next: "Quote more of what stands around the one that you mean, exactly as it stands. Nothing was changed.",
    data: { lines },
  });
}

function missing(content: string, { nearest, tooLong }: { nearest?: TextRange; tooLong?: true }): ToolError {
  if (tooLong) {
    return toolError(
      "no_match",
      "The text of old_str does not stand in the artifact, and is too long to look for the like of it",
      {
        next: "Quote a shorter part, exactly as read_artifact shows it.",
      },
    );
  }
  if (!nearest) {
    return toolError("no_match", "The text of old_str does not stand in the artifact, and nothing like it does", {
      next: "Read the artifact and quote what is to be replaced exactly, or use rewrite_artifact.",
    });
  }
  const { start, end, similarity } = nearest;
  const text = content.slice(start, end);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  const line = lineAt(content, start);
  return toolError(
    "no_match",
    `The text of old_str does not stand in the artifact. Most like it (${percent(similarity)}), at line ${line}, is:\n${shown}\n`,
    {
      next: "If that is meant, quote it exactly as it stands here.",
      data: { line, similarity, text: shown },
    },
  );
}

export function percent(similarity: number): string {
  // Only what is the same is whole.
  return `${similarity === 1 ? 100 : Math.min(99, Math.round(similarity * 100))}%`;
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
