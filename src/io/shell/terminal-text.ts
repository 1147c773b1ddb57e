/**
 * Program output as a person would read it on a screen: escape sequences and control characters gone, a line that
 * carriage returns or backspaces wrote over shown as it ended up. Linear in the length of the text.
 *
 * Nothing readable is swallowed by a sequence that is broken or never ends: then only the control character goes.
 * Movements to other lines are dropped, not played. Look-alike and bidirectional characters are text and stay: whoever
 * draws the text on a terminal or a page escapes those.
 */
export function stripTerminalCodes(text: string): string {
  if (!CONTROL.test(text)) return text;
  const lines: string[] = [];
  let line = createScreenLine();
  let at = 0;
  while (at < text.length) {
    PLAIN_RUN.lastIndex = at;
    const run = PLAIN_RUN.exec(text)?.[0] ?? "";
    if (run) {
      line.write(run);
      at += run.length;
      continue;
    }
    const character = text[at] as string;
    if (character === "\n" || character === "\v" || character === "\f") {
      lines.push(line.text());
      line = createScreenLine();
      at++;
    } else if (character === "\r") {
      if (text[at + 1] !== "\n") line.home();
      at++;
    } else if (character === "\b") {
      line.back();
      at++;
    } else {
      at = skipControl(text, at, line);
    }
  }
  lines.push(line.text());
  return lines.join("\n");
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const PLAIN_RUN = /[^\u0000-\u0008\u000a-\u001f\u007f-\u009f]+/y;
/** Real sequences have at most two intermediate bytes; more is text dressed as a sequence. */
const CSI_BODY = /[0-?]{0,64}[ -/]{0,2}[@-~]/y;
const ESCAPE_BODY = /[ -/]{0,2}[0-~]/y;
/** Ends at the first control character, whatever it is, so that no text is looked at twice as a string. */
const STRING_BODY = /[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u009c|\u001b\\)/y;
const STRING_OPENERS = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f]);

/** Returns the index after the control character or sequence at `at`. */
function skipControl(text: string, at: number, line: ScreenLine): number {
  const code = text.charCodeAt(at);
  const next = text[at + 1];
  if (code === 0x9b || (code === 0x1b && next === "[")) {
    const start = at + (code === 0x9b ? 1 : 2);
    const body = match(CSI_BODY, text, start);
    if (body === undefined) return at + 1;
    line.control(body);
    return start + body.length;
  }
  const opensString = code === 0x1b ? next !== undefined && "]PX^_".includes(next) : STRING_OPENERS.has(code);
  if (opensString) {
    const start = at + (code === 0x1b ? 2 : 1);
    const body = match(STRING_BODY, text, start);
    return body === undefined ? at + 1 : start + body.length;
  }
  if (code === 0x1b) return at + 1 + (match(ESCAPE_BODY, text, at + 1)?.length ?? 0);
  return at + 1;
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

interface ScreenLine {
  write(run: string): void;
  home(): void;
  back(): void;
  control(body: string): void;
  text(): string;
}

/** One line and a cursor in it. A string while it only grows; cells once something is written over. */
function createScreenLine(): ScreenLine {
  let plain = "";
  let cells: string[] | undefined;
  let column = 0;

  function toCells(): string[] {
    if (!cells) {
      cells = [...plain];
      column = cells.length;
    }
    return cells;
  }

  return {
    write(run) {
      if (!cells) plain += run;
      else for (const character of run) cells[column++] = character;
    },
    home() {
      toCells();
      column = 0;
    },
    back() {
      toCells();
      column = Math.max(0, column - 1);
    },
    // Each of these takes constant time, however often a hostile program repeats it.
    control(body) {
      if (body === "G" || body === "0G" || body === "1G") {
        toCells();
        column = 0;
      } else if (body === "K" || body === "0K") {
        toCells().length = column;
      } else if (body === "2K" || body === "1K") {
        const line = toCells();
        if (body === "1K" && column < line.length) return;
        line.length = 0;
        column = 0;
      }
    },
    text: () => (cells ? cells.join("").trimEnd() : plain),
  };
}

// Everything that is drawn as nothing, as a blank, or as something else than it is: controls, format and bidirectional
// characters, unpaired surrogates, unassigned and private ones, and blanks other than the space.
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Zs}\p{Zl}\p{Zp}\p{C}\u2800]/gu;
const PLAIN_BLANKS = " \t\n";

/** The first character that a reader of the text would not see as what it is, as `U+202E`; undefined when all is plain. */
export function findHiddenCharacter(text: string): string | undefined {
  // Nearly every command is plain ASCII: the property tables are asked only where it is not.
  if (/^[\x20-\x7e\t\n]*$/.test(text)) return undefined;
  for (const [character] of text.matchAll(HIDDEN)) {
    if (PLAIN_BLANKS.includes(character)) continue;
    return `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}`;
  }
  return undefined;
}

/** Text for somebody who decides by it: what a reader would not see as what it is, is spelled out as `\u{202e}`. */
export function showHiddenCharacters(text: string, spell: (character: string) => string = spellOut): string {
  return text.replace(HIDDEN, (character) => (PLAIN_BLANKS.includes(character) ? character : spell(character)));
}

function spellOut(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
