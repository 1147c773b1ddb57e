import { showHiddenCharacters } from "../shell/hidden-characters.ts";

/** Before a line of somebody else's text, so that none of it can look like ours. */
const GUTTER = "  | ";
const MAX_BLANKS = 16;
const MAX_EMPTY_LINES = 2;

/**
 * Text for somebody who decides by it, line by line: every character visible, nothing pushed out of sight by blanks or
 * empty lines, which are counted instead.
 */
export function showText(text: string): string[] {
  const lines: string[] = [];
  let empty = 0;
  const flush = (): void => {
    if (empty > MAX_EMPTY_LINES) lines.push(`${GUTTER}⟨${empty} empty lines⟩`);
    else for (let i = 0; i < empty; i++) lines.push(GUTTER.trimEnd());
    empty = 0;
  };
  for (const line of text.split("\n")) {
    if (line === "") {
      empty++;
      continue;
    }
    flush();
    lines.push(GUTTER + showLine(line));
  }
  flush();
  return lines;
}

/** In one line: line ends are spelled out as well. */
export function showInline(text: string): string {
  return showLine(text.replaceAll("\n", "\\n"));
}

function showLine(line: string): string {
  return (
    showHiddenCharacters(line)
      .replace(/ {2,}|\t+/g, (blanks) =>
        blanks.length > MAX_BLANKS ? `⟨${blanks.length} ${blanks[0] === "\t" ? "tabs" : "spaces"}⟩` : blanks,
      )
      // A terminal's own tab stops decide how wide it is.
      .replaceAll("\t", "→   ")
      .replace(/ +$/, (blanks) => "·".repeat(blanks.length))
  );
}

/** Neither HTML nor Markdown: what a page or a chat shows is the text itself, and nothing in it acts. */
export function toInertMarkup(text: string): string {
  return text.replace(/[&<>"'`*_~[\]()!#|\\:/]/g, (character) => `&#${character.charCodeAt(0)};`);
}
