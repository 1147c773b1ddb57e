import { badPatch, type FileChange, type Hunk, type HunkLine, type PatchLine, takeWrapping } from "./parse-patch.ts";

const GIT_HEAD = "diff --git ";
const HEAD = /^\uFEFF?(?:diff --git |--- )/m;
const HUNK_HEAD = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
/** The prefixes of git: a and b, or with `diff.mnemonicPrefix` the letters of index, commit, object and work tree. */
const PREFIXES = new Set(["ab", "iw", "ci", "cw", "ow", "ic", "wi", "wc", "wo", "ba"]);

/** The changes of a unified diff, such as the output of `git diff`; undefined if the text is none. */
export function parseUnifiedDiff(text: string): FileChange[] | undefined {
  if (!HEAD.test(text)) return undefined;
  const lines = takeWrapping(text);
  const start = lines.findIndex((line, at) => startsFile(lines, at) && !line.text.startsWith("*** "));
  const first = lines.find((line) => line.text.trim() !== "");
  if (start < 0 || first?.text.trim().startsWith("*** ")) return undefined;
  // A commit message before the first file changes nothing.
  const changes: FileChange[] = [];
  for (let at = start; at < lines.length;) {
    const { section, next } = readSection(lines, at);
    changes.push(toChange(section));
    at = next;
  }
  return changes;
}

function startsFile(lines: readonly PatchLine[], at: number): boolean {
  const text = lines[at]?.text ?? "";
  return text.startsWith(GIT_HEAD) || isFileHead(lines, at);
}

function isFileHead(lines: readonly PatchLine[], at: number): boolean {
  return ["--- ", "+++ ", "@@ -"].every((mark, offset) => lines[at + offset]?.text.startsWith(mark));
}

/** What a diff says about one file. */
interface Section {
  patchLine: number;
  /** The names after `diff --git`. */
  git?: string;
  oldPath?: string;
  newPath?: string;
  renamed?: { from?: string; to?: string };
  isNew: boolean;
  isDeleted: boolean;
  isExecutable: boolean;
  hunks: UnifiedHunk[];
}

interface UnifiedHunk extends Hunk {
  /** Kinds of the lines that a mark says have no line end. */
  unended: Set<HunkLine["kind"]>;
}

function readSection(lines: readonly PatchLine[], from: number): { section: Section; next: number } {
  const head = lines[from] ?? { text: "", number: 0 };
  const section: Section = { patchLine: head.number, isNew: false, isDeleted: false, isExecutable: false, hunks: [] };
  let at = from;
  if (head.text.startsWith(GIT_HEAD)) {
    section.git = head.text.slice(GIT_HEAD.length);
    for (at++; at < lines.length && !startsFile(lines, at) && !lines[at]?.text.startsWith("@@ "); at++) {
      readExtendedHead(lines[at] ?? head, section);
    }
  }
  if (isFileHead(lines, at)) {
    section.oldPath = pathOf(lines[at]?.text.slice(4) ?? "");
    section.newPath = pathOf(lines[at + 1]?.text.slice(4) ?? "");
    at += 2;
  }
  while (at < lines.length && !startsFile(lines, at)) {
    const line = lines[at] ?? head;
    if (!line.text.startsWith("@@")) {
      at++;
      continue;
    }
    const { hunk, next } = readHunk(lines, at);
    section.hunks.push(hunk);
    at = next;
  }
  return { section, next: at };
}

function readExtendedHead({ text, number }: PatchLine, section: Section): void {
  const [, key = "", value = ""] =
    /^(new file mode|deleted file mode|old mode|new mode|rename from|rename to|copy from|copy to) (.*)$/.exec(text) ??
    [];
  if (text.startsWith("Binary files ") || text.startsWith("GIT binary patch")) {
    throw badPatch("syntax", "The diff changes a binary file", "Leave that file out.", number);
  }
  if (key === "new file mode" || key === "deleted file mode") {
    if (!value.startsWith("100"))
      throw badPatch("syntax", `"${text}" is not a regular file`, "Leave that file out.", number);
    section.isNew = key === "new file mode";
    section.isDeleted = !section.isNew;
    section.isExecutable = section.isNew && value === "100755";
  } else if (key === "old mode" || key === "new mode") {
    throw badPatch(
      "syntax",
      "A patch cannot change permissions of a file",
      "Leave the mode lines out; use chmod.",
      number,
    );
  } else if (key.startsWith("copy")) {
    throw badPatch("syntax", "A patch cannot copy a file", "Add the copy as a new file.", number);
  } else if (key === "rename from") section.renamed = { ...section.renamed, from: pathOf(value) };
  else if (key === "rename to") section.renamed = { ...section.renamed, to: pathOf(value) };
}

/** The lines up to the next head. The numbers of the hunk head decide if they are right: the rest may be a signature. */
function readHunk(lines: readonly PatchLine[], from: number): { hunk: UnifiedHunk; next: number } {
  const head = lines[from] ?? { text: "", number: 0 };
  const [, oldStart, oldCount = "1", newCount = "1"] = HUNK_HEAD.exec(head.text) ?? [];
  if (oldStart === undefined) {
    throw badPatch(
      "syntax",
      `"${head.text.slice(0, 80)}" is not the head of a hunk`,
      "Write @@ -1,2 +1,3 @@.",
      head.number,
    );
  }
  let next = from + 1;
  const all: HunkLine[] = [];
  const unended = new Set<HunkLine["kind"]>();
  let left = { old: Number(oldCount), fresh: Number(newCount) };
  let counted: number | undefined;
  for (; next < lines.length; next++) {
    const { text, number } = lines[next] ?? head;
    if (left.old <= 0 && left.fresh <= 0) counted ??= all.length;
    const isOpen = left.old > 0 && left.fresh > 0;
    if (text.startsWith("@@ -") || text.startsWith(GIT_HEAD) || (!isOpen && isFileHead(lines, next))) break;
    if (text.startsWith("\\")) {
      const last = all.at(-1);
      if (last) unended.add(last.kind);
      continue;
    }
    const line = hunkLine(text);
    if (!line && counted === undefined) {
      throw badPatch(
        "syntax",
        `"${text.slice(0, 80)}" has no valid first character`,
        'Begin each line of a hunk with " " (kept), "-" (removed) or "+" (added).',
        number,
      );
    }
    if (!line) break;
    all.push(line);
    left = { old: left.old - Number(line.kind !== "add"), fresh: left.fresh - Number(line.kind !== "remove") };
  }
  if (left.old <= 0 && left.fresh <= 0) counted ??= all.length;
  const rest = counted === undefined ? [] : all.slice(counted);
  const isSignature = rest[0]?.kind === "remove" && rest[0].text.startsWith("- ");
  const used = isSignature || rest.every((line) => line.bare) ? all.slice(0, counted) : all;
  if (used.length === 0) throw badPatch("syntax", "A hunk has no lines", "Leave it out.", head.number);
  const hunk = { context: [], lines: used, endOfFile: unended.size > 0, patchLine: head.number, unended };
  return { hunk: { ...hunk, oldLine: Number(oldStart) }, next };
}

function hunkLine(text: string): HunkLine | undefined {
  if (text === "") return { kind: "keep", text: "", bare: true };
  const kind = ({ " ": "keep", "-": "remove", "+": "add" } as const)[text.charAt(0)];
  return kind && { kind, text: text.slice(1) };
}

function toChange(section: Section): FileChange {
  const { patchLine, hunks, isExecutable, renamed } = section;
  const { oldPath, newPath } = pathsOf(section);
  const added = hunks.flatMap(({ lines }) => lines);
  if (oldPath === undefined) {
    const path = named(newPath, patchLine);
    if (added.some(({ kind, bare }) => kind !== "add" && !bare)) {
      throw badPatch("syntax", `The new file ${path} has lines that are not added`, 'Begin each with "+".', patchLine);
    }
    const texts = added.filter(({ kind }) => kind === "add").map(({ text }) => text);
    const isUnended = hunks.some(({ unended }) => unended.has("add"));
    const text = texts.map((line) => `${line}\n`).join("");
    return { type: "add", path, text: isUnended ? text.slice(0, -1) : text, patchLine, isExecutable };
  }
  if (newPath === undefined) {
    const removed = added.filter(({ bare }) => !bare).map(({ text }) => text);
    return { type: "delete", path: oldPath, patchLine, removed: hunks.length > 0 ? removed : undefined };
  }
  if (hunks.length === 0 && !renamed) {
    throw badPatch(
      "syntax",
      `The diff of ${newPath} has no hunk`,
      "Give at least one, or leave the file out.",
      patchLine,
    );
  }
  const loses = hunks.some(({ unended }) => unended.has("add"));
  const gains = !loses && hunks.some(({ unended }) => unended.has("remove") && !unended.has("keep"));
  return {
    type: "update",
    path: oldPath,
    moveTo: oldPath === newPath ? undefined : newPath,
    hunks,
    patchLine,
    finalLineEnd: loses ? false : gains ? true : undefined,
  };
}

/** Without their prefixes; undefined on the side where the file does not exist. */
function pathsOf(section: Section): { oldPath?: string; newPath?: string } {
  const { renamed, git, patchLine, isNew, isDeleted } = section;
  if (renamed?.from !== undefined && renamed.to !== undefined) return { oldPath: renamed.from, newPath: renamed.to };
  const { oldPath, newPath } = section.oldPath === undefined ? gitPaths(git ?? "", patchLine) : section;
  const absent = "/dev/null";
  if (oldPath === absent || isNew) return { newPath: withoutPrefix(newPath ?? "", "bw") };
  if (newPath === absent || isDeleted) return { oldPath: withoutPrefix(oldPath ?? "", "aico") };
  const [one, other] = [oldPath ?? "", newPath ?? ""];
  const isPrefixed = one[1] === "/" && other[1] === "/" && PREFIXES.has(one.charAt(0) + other.charAt(0));
  const paths = isPrefixed ? { oldPath: one.slice(2), newPath: other.slice(2) } : { oldPath: one, newPath: other };
  if (paths.oldPath === paths.newPath) return paths;
  throw badPatch(
    "syntax",
    `The diff names two files, ${paths.oldPath} and ${paths.newPath}`,
    'Use the same name twice, or add the lines "rename from" and "rename to".',
    patchLine,
  );
}

function withoutPrefix(path: string, letters: string): string {
  return path[1] === "/" && letters.includes(path.charAt(0)) ? path.slice(2) : path;
}

/** Both names after `diff --git` are the same but for their prefixes, unless the file is renamed. */
function gitPaths(names: string, patchLine: number): { oldPath: string; newPath: string } {
  const quoted = /^("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")$/.exec(names);
  if (quoted) return { oldPath: pathOf(quoted[1] ?? ""), newPath: pathOf(quoted[2] ?? "") };
  const middle = (names.length - 1) / 2;
  const [oldPath, newPath] = [names.slice(0, middle), names.slice(middle + 1)];
  if (Number.isInteger(middle) && names[middle] === " " && oldPath.slice(2) === newPath.slice(2)) {
    return { oldPath, newPath };
  }
  throw badPatch(
    "syntax",
    `The names in "${names.slice(0, 80)}" are not clear`,
    "Add the lines --- and +++.",
    patchLine,
  );
}

function named(path: string | undefined, patchLine: number): string {
  if (path) return path;
  throw badPatch("syntax", "The path is missing", "Write it after +++.", patchLine);
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", '"': '"', "\\": "\\" };

/** Without a time stamp after it. Git quotes names with special characters and writes their bytes in octal. */
function pathOf(written: string): string {
  const path = written.replace(/\t.*$/, "").trimEnd();
  if (!/^".*"$/.test(path)) return path;
  const bytes: Buffer[] = [];
  for (const [piece, octal, escaped] of path.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8) & 0xff]));
    else bytes.push(Buffer.from(escaped === undefined ? piece : (ESCAPES[escaped] ?? escaped)));
  }
  return Buffer.concat(bytes).toString();
}
