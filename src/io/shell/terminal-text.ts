/**
 * Program output as a person would see it on a screen: without escape sequences and control characters, and with
 * lines that were overwritten by carriage returns or backspaces in their final form. Linear in the length of the text.
 *
 * A broken or endless sequence hides no readable text: only its control character is removed. Cursor movements to
 * other lines are dropped. Look-alike and bidirectional characters are text and stay: they are escaped where the text
 * is displayed.
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
    const character = text[at];
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
/** Real sequences have at most two intermediate bytes; anything longer is text. */
const CSI_BODY = /[0-?]{0,64}[ -/]{0,2}[@-~]/y;
const ESCAPE_BODY = /[ -/]{0,2}[0-~]/y;
/** Ends at the first control character of any kind, so no text is scanned twice. */
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

/** One line and its cursor. A string while text is only appended; cells once something is overwritten. */
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
    // Each of these takes constant time, even if a hostile program repeats it.
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

// Characters that are invisible, look like a space, or change how others are displayed: control, format and
// bidirectional characters, unpaired surrogates, unassigned and private characters, and spaces other than U+0020.
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Zs}\p{Zl}\p{Zp}\p{C}\u2800]/gu;
const PLAIN_BLANKS = " \t\n";

/** The first hidden or misleading character, as `U+202E`; undefined if there is none. */
export function findHiddenCharacter(text: string): string | undefined {
  // Nearly every command is plain ASCII, which needs no property tables.
  if (/^[\x20-\x7e\t\n]*$/.test(text)) return undefined;
  for (const [character] of text.matchAll(HIDDEN)) {
    if (PLAIN_BLANKS.includes(character)) continue;
    return `U+${hexCode(character).toUpperCase().padStart(4, "0")}`;
  }
  return undefined;
}

/** For text that a person decides by: hidden and misleading characters become escapes such as `\u{202e}`. */
export function showHiddenCharacters(text: string, spell: (character: string) => string = spellOut): string {
  return text.replace(HIDDEN, (character) => (PLAIN_BLANKS.includes(character) ? character : spell(character)));
}

function spellOut(character: string): string {
  return `\\u{${hexCode(character)}}`;
}

function hexCode(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

/** A file name that a person decides by: in quotes unless it is plain, so it cannot look like two lines, a link or a note. */
export function showName(name: string): string {
  return showHiddenCharacters(/^[\p{L}\p{N}._/@+~-]+$/u.test(name) ? name : JSON.stringify(name));
}
