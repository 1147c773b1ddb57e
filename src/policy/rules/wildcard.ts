export type TextMatcher = (text: string) => boolean;

/**
 * `*` stands for any run of characters, blanks and line breaks included; `\*` is a star. A closing ` *` is a border of
 * words: `ls *` is `ls` and `ls -l`, never `lsof`. Linear, so that a hostile pattern costs nothing.
 */
export function compileWildcard(pattern: string): TextMatcher {
  const pieces = splitAtStars(pattern);
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  if (rest.length === 0 && last === "" && first.endsWith(" ")) {
    const words = first.slice(0, -1);
    return (text) => text.startsWith(words) && (text.length === words.length || text[words.length] === " ");
  }
  const isBorder = last === "" && (rest.at(-1)?.endsWith(" ") ?? false);
  return (text) =>
    matchesPieces(text, first, rest, last) ||
    (isBorder && matchesPieces(text, first, rest.slice(0, -1), (rest.at(-1) as string).slice(0, -1)));
}

/** Whether a text that begins so may be one that the pattern means. */
export function compileOpening(pattern: string): TextMatcher {
  const [first = "", ...rest] = splitAtStars(pattern);
  return (opening) => first.startsWith(opening.trimEnd()) || (rest.length > 0 && opening.startsWith(first));
}

export function hasWildcard(pattern: string): boolean {
  return splitAtStars(pattern).length > 1;
}

/** A text as a pattern that means just it. */
export function escapeWildcard(text: string): string {
  return text.replaceAll("*", "\\*");
}

function splitAtStars(pattern: string): string[] {
  return pattern.split(/(?<!\\)\*+/).map((piece) => piece.replaceAll("\\*", "*"));
}

/** Between two stars the leftmost place is good enough: nothing is tried twice. */
function matchesPieces(text: string, first: string, middle: readonly string[], last: string): boolean {
  const until = text.length - last.length;
  if (until < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of middle) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > until) return false;
    at = found + piece.length;
  }
  return true;
}
