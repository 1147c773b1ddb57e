/** What fits into a line stays in one: fewer tokens than a line for each value. */
const LINE_LENGTH = 120;
/** Longer text is not formatted: it would block the event loop. */
const MAX_LENGTH = 16 * 1024 * 1024;
/** A text without such a line is readable as it is. */
const LONG_LINE = 1_000;

/** JSON in few lines of readable length; undefined without a long line. Only blanks change. */
export function formatJson(text: string): string | undefined {
  if (text.length < LONG_LINE || text.length > MAX_LENGTH || !/^\s*[[{]/.test(text)) return undefined;
  if (text.split("\n").every((line) => line.length < LONG_LINE)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return layOut(text, findEnds(text));
}

/** For each opening bracket outside strings, the position of its closing bracket. */
function findEnds(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === "{" || character === "[") open.push(at);
    else if (character === "}" || character === "]") ends.set(open.pop() ?? 0, at);
  }
  return ends;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

function layOut(text: string, ends: ReadonlyMap<number, number>): string {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  const lineBreak = (until: number): void => {
    parts.push(text.slice(from, until), "\n", "  ".repeat(depth));
    from = skipBlanks(text, until);
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === "{" || character === "[") {
      const end = ends.get(at) ?? at;
      if (end - at + depth * 2 <= LINE_LENGTH && !text.slice(at, end).includes("\n")) at = end;
      else {
        depth++;
        lineBreak(at + 1);
        at = from - 1;
      }
    } else if (character === ",") {
      lineBreak(at + 1);
      at = from - 1;
    } else if (character === "}" || character === "]") {
      depth--;
      const kept = text.slice(from, at).trimEnd();
      parts.push(kept, "\n", "  ".repeat(depth));
      from = at;
    }
  }
  parts.push(text.slice(from).trimEnd());
  return parts.join("");
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (" \t\r\n".includes(text[at] ?? "x")) at++;
  return at;
}
