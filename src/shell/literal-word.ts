// Characters that no quoting rule, expansion, glob or operator of bash gives a meaning to inside a word; `~` and `#`
// only where they cannot begin anything. `{`, `[`, `*`, `?`, `\`, `$` and the rest are never literal outside quotes.
const UNQUOTED = String.raw`[A-Za-z0-9_\-./:=@%+,^!#~\u0080-\u{10ffff}]+`;
const SINGLE_QUOTED = String.raw`'[^']*'`;
// A `$` is itself only before a character that cannot continue it, a backslash only before one that it does not escape.
const DOUBLE_QUOTED = String.raw`"(?:[^"\\$\x60]|\\(?![\\$\x60"\n])|\$(?=[" |)]))*"`;
const CONTINUATION = String.raw`\\\n`;
const PIECE = new RegExp(`${CONTINUATION}|${SINGLE_QUOTED}|${DOUBLE_QUOTED}|(${UNQUOTED})`, "uy");
const EXPANDED_TILDE_OR_COMMENT = /(?:^|[:=])~|^#/;

/**
 * What bash makes of one word of source, where that is certain without running anything; undefined otherwise.
 * Deliberately narrower than the grammar: a word it does not know is never guessed.
 */
export function literalWord(source: string): string | undefined {
  let value = "";
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < source.length) {
    const piece = PIECE.exec(source);
    if (!piece) return undefined;
    const [text, unquoted] = piece;
    if (unquoted === undefined) value += text.startsWith("\\") ? "" : text.slice(1, -1);
    else if (EXPANDED_TILDE_OR_COMMENT.test(unquoted)) return undefined;
    else value += unquoted;
  }
  return source === "" ? undefined : value;
}
