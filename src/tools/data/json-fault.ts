import { toolError } from "../../core/error.ts";
import type { ToolError } from "../../core/error.ts";

/** What is wrong with a JSON text at an offset, with the line and column that a reader would look at. */
export function jsonFault(text: string, offset: number, problem: string): ToolError {
  const before = text.slice(0, offset).replace(/^\uFEFF/, "");
  const lines = before.split(/\r\n|\r|\n/);
  const line = lines.length;
  const column = [...(lines.at(-1) ?? "")].length + 1;
  return toolError("invalid_input", `The text is not valid JSON. Line ${line}, column ${column}: ${problem}`, {
    next: "Correct the text there and send it again.",
    data: { line, column, offset },
  });
}

/** For a place where something else should stand than does. */
export function unexpected(text: string, offset: number, expected: string): ToolError {
  const hint = hintFor(text, offset);
  const problem = `expected ${expected}, found ${foundAt(text, offset)}${hint ? `; ${hint}` : ""}.`;
  return jsonFault(text, offset, problem);
}

/** Longest piece of the text that a message repeats. */
const MAX_QUOTED_LENGTH = 40;

export function quoted(piece: string): string {
  const characters = [...piece];
  return JSON.stringify(
    characters.length > MAX_QUOTED_LENGTH ? `${characters.slice(0, MAX_QUOTED_LENGTH).join("")}…` : piece,
  );
}

export function foundAt(text: string, offset: number): string {
  if (offset >= text.length) return "the end of the text";
  const character = String.fromCodePoint(text.codePointAt(offset)!);
  // What cannot be seen is named.
  if (/[\p{C}\p{Z}]/u.test(character)) return codeOf(character);
  return quoted(wordAt(text, offset) ?? character);
}

export function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

function wordAt(text: string, offset: number): string | undefined {
  return /^[\p{L}\p{N}_$]+/u.exec(text.slice(offset, offset + 2 * MAX_QUOTED_LENGTH))?.[0];
}

/** The usual slips, by what stands there. */
function hintFor(text: string, offset: number): string | undefined {
  const character = text[offset];
  const before = text.slice(0, offset).trimEnd().at(-1);
  if (character === undefined) return "it was cut off, or a bracket is not closed";
  if (before === "," && "}]".includes(character)) return "no comma may stand before a closing bracket";
  if ("'‘’“”".includes(character)) return 'text stands in straight double quotes (")';
  if (character === "`") return "leave out the code fence";
  if (character === "/" || character === "#") return "comments are not allowed";
  if (before !== undefined && /\d/.test(before) && /[\d.]/.test(character)) return "a number looks like 0.5, 10 or 1e5";
  if (/[+.]/.test(character)) return "a number begins with a digit or a minus";
  const word = wordAt(text, offset);
  if (word === undefined || /^\d/.test(word)) return undefined;
  if (/^(true|false)$/i.test(word)) return `it is written ${word.toLowerCase()}`;
  if (/^(none|null|nil|undefined|nan|infinity)$/i.test(word)) return "write null";
  return 'text and keys stand in double quotes (")';
}
