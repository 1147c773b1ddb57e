export interface DiffLine {
  type: "same" | "insert" | "delete";
  text: string;
  oldLine?: number;
  newLine?: number;
}

export interface DiffHunk {
  /** The text after the second `@@`: the function that it is in. */
  place: string;
  oldStart: number;
  newStart: number;
  lines: DiffLine[];
}

export interface DiffFile {
  kind: "new" | "deleted" | "renamed" | "changed";
  path: string;
  /** The path before, if it was renamed. */
  from?: string;
  hunks: DiffHunk[];
  added: number;
  removed: number;
  /** The end of the last hunk is missing. */
  isCut: boolean;
  /** Sides without a line break at their end. */
  noNewline: ReadonlySet<"old" | "new">;
}

/** A diff may be a part of a longer text. */
export type DiffPart = { text: string } | { file: DiffFile };

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)$/;
const HEADER =
  /^(?:diff --git |index [0-9a-f]|new file mode |deleted file mode |old mode |new mode |similarity index |Index: |={20,}$)/;

/**
 * Reads unified diffs. The numbers in `@@` say how many lines a hunk has, so a changed line that looks like the header of
 * another file is a line.
 */
export function parseDiff(text: string): DiffPart[] {
  return new DiffReader(text).read();
}

export function looksLikeDiff(text: string): boolean {
  return /^--- .*\n\+\+\+ .*\n@@ -\d/m.test(text) || /^rename from .*\nrename to /m.test(text);
}

class DiffReader {
  readonly #lines: string[];
  #at = 0;

  constructor(text: string) {
    this.#lines = text.split("\n");
  }

  read(): DiffPart[] {
    const parts: DiffPart[] = [];
    let loose: string[] = [];
    while (this.#at < this.#lines.length) {
      const start = this.#at;
      const file = this.#file();
      if (!file) {
        this.#at = start + 1;
        loose.push(this.#lines[start] ?? "");
        continue;
      }
      if (loose.some((line) => line.trim() !== "")) parts.push({ text: loose.join("\n").replace(/^\n+|\n+$/g, "") });
      loose = [];
      parts.push({ file });
    }
    if (loose.some((line) => line.trim() !== "")) parts.push({ text: loose.join("\n").replace(/^\n+|\n+$/g, "") });
    return parts;
  }

  get #line(): string {
    return this.#lines[this.#at] ?? "";
  }

  #file(): DiffFile | undefined {
    let from: string | undefined;
    let to: string | undefined;
    for (; this.#at < this.#lines.length; this.#at++) {
      if (this.#line.startsWith("rename from ")) from = this.#line.slice(12);
      else if (this.#line.startsWith("rename to ")) to = this.#line.slice(10);
      else if (!HEADER.test(this.#line)) break;
    }
    const hasChanges = this.#line.startsWith("--- ") && this.#lines[this.#at + 1]?.startsWith("+++ ");
    if (hasChanges && HUNK.test(this.#lines[this.#at + 2] ?? "")) {
      const before = pathOf(this.#line);
      const after = pathOf(this.#lines[this.#at + 1] ?? "");
      this.#at += 2;
      return this.#hunks(fileOf(before, after));
    }
    return from === undefined || to === undefined ? undefined : fileOf(from, to);
  }

  #hunks(file: DiffFile): DiffFile {
    const noNewline = new Set<"old" | "new">();
    for (let head = HUNK.exec(this.#line); head && !file.isCut; head = HUNK.exec(this.#line)) {
      this.#at++;
      const [, oldStart = "0", oldCount = "1", newStart = "0", newCount = "1", place = ""] = head;
      const hunk: DiffHunk = { place, oldStart: Number(oldStart), newStart: Number(newStart), lines: [] };
      file.hunks.push(hunk);
      file.isCut = !this.#fill(hunk, { old: Number(oldCount), new: Number(newCount) }, noNewline);
    }
    for (const { lines } of file.hunks) {
      for (const { type } of lines) {
        if (type === "insert") file.added++;
        else if (type === "delete") file.removed++;
      }
    }
    return { ...file, noNewline };
  }

  /** Returns whether the hunk is whole. */
  #fill(hunk: DiffHunk, left: { old: number; new: number }, noNewline: Set<"old" | "new">): boolean {
    let { oldStart: oldLine, newStart: newLine } = hunk;
    for (; ; this.#at++) {
      const line = this.#line;
      if (line.startsWith("\\")) {
        const last = hunk.lines.at(-1)?.type;
        if (last !== "insert") noNewline.add("old");
        if (last !== "delete") noNewline.add("new");
        continue;
      }
      if (left.old <= 0 && left.new <= 0) return true;
      if (this.#at >= this.#lines.length) return false;
      const text = line.slice(1);
      if (line.startsWith("-") && left.old-- > 0) hunk.lines.push({ type: "delete", text, oldLine: oldLine++ });
      else if (line.startsWith("+") && left.new-- > 0) hunk.lines.push({ type: "insert", text, newLine: newLine++ });
      else if (
        (line.startsWith(" ") || (line === "" && this.#at + 1 < this.#lines.length)) &&
        left.old-- > 0 &&
        left.new-- > 0
      )
        hunk.lines.push({ type: "same", text, oldLine: oldLine++, newLine: newLine++ });
      else return false;
    }
  }
}

function pathOf(line: string): string {
  const path = line.slice(4).replace(/\t.*$/, "");
  return path.startsWith('"') && path.endsWith('"') ? unquote(path.slice(1, -1)) : path;
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Names with unusual characters are quoted: their bytes are octal numbers. */
function unquote(text: string): string {
  const encoder = new TextEncoder();
  const bytes: number[] = [];
  for (const [piece, octal, letter] of text.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 0xff);
    else if (letter !== undefined) bytes.push(ESCAPES[letter] ?? letter.charCodeAt(0) & 0xff);
    else bytes.push(...encoder.encode(piece));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function fileOf(before: string, after: string): DiffFile {
  const from = before.replace(/^a\//, "");
  const to = after.replace(/^b\//, "");
  const kind = before === "/dev/null" ? "new" : after === "/dev/null" ? "deleted" : from === to ? "changed" : "renamed";
  return {
    kind,
    path: kind === "deleted" ? from : to,
    from: kind === "renamed" ? from : undefined,
    hunks: [],
    added: 0,
    removed: 0,
    isCut: false,
    noNewline: new Set(),
  };
}
