import { MAX_LINE_CHARACTERS, type ReadLine } from "./read-located.ts";
import type { RipgrepAnswer } from "./ripgrep.ts";

export interface MatchedFile {
  path: string;
  lines: readonly ReadLine[];
}

/** `path:12: text` for a match and `path-13- text` for a line beside one; `--` where lines are left out between. */
export function showLines(
  files: readonly MatchedFile[],
  { lineNumbers, context }: { lineNumbers: boolean; context: boolean },
): string {
  const shown: string[] = [];
  for (const { path, lines } of files) {
    if (context && shown.length > 0) shown.push("--");
    let last: number | undefined;
    for (const { line, text, isMatch } of lines) {
      if (context && last !== undefined && line > last + 1) shown.push("--");
      last = line;
      const mark = isMatch ? ":" : "-";
      shown.push(lineNumbers ? `${path}${mark}${line}${mark} ${text}` : `${path}${mark} ${text}`);
    }
  }
  return shown.join("\n");
}

export function stoppedNote(end: Exclude<RipgrepAnswer["end"], "complete">): string {
  return end === "time"
    ? "[Partial: time was up before everything was searched. Narrow by path, include or a more specific pattern.]"
    : "[Partial: there is more than is looked at in one search. Narrow by path, include or a more specific pattern.]";
}

export function cutNote(files: readonly MatchedFile[]): string[] {
  const isCut = files.some(({ lines }) => lines.some((line) => line.isCut));
  return isCut ? [`[Lines of more than ${MAX_LINE_CHARACTERS} characters are cut, marked by …]`] : [];
}

/** What a call can be continued with; a total is only said where it was counted. */
export function moreNote(
  what: string,
  { offset, shown, order }: { offset: number; shown: number; order: "newest" | "path" },
): string {
  const sorted =
    order === "newest" ? "" : " Too many files match to sort them by time: they are in order of their paths.";
  return (
    `[Truncated: ${shown} ${what} shown, there are more.${sorted} ` +
    `Narrow by path, include or a more specific pattern; offset: ${offset + shown} continues, limit shows more at once.]`
  );
}

export interface EmptySearch {
  pattern: string;
  path: string;
  searched: number | undefined;
  respectGitignore: boolean;
  isFile: boolean;
  offset: number;
}

export function emptyNote({ pattern, path, searched, respectGitignore, isFile, offset }: EmptySearch): string {
  const wanted = JSON.stringify(pattern.length > 200 ? `${pattern.slice(0, 200)}…` : pattern);
  if (offset > 0) return `No more matches for ${wanted} after the first ${offset}.`;
  if (isFile) return `No matches for ${wanted} in ${path}.`;
  const where = searched === undefined ? "" : ` (${searched} ${searched === 1 ? "file" : "files"} searched)`;
  const ignored = respectGitignore
    ? " Files that .gitignore leaves out were not searched (respect_gitignore: false does)."
    : "";
  return `No matches for ${wanted} in ${JSON.stringify(path)}${where}.${ignored}`;
}
