import { indentOf, isBlank } from "./split-lines.ts";

/** Where new lines go: their index among all new lines, and the indentation of the file's line there. */
export interface NewLinesAt {
  index: number;
  indent: string;
}

/** Moves new lines from the indentation the model wrote to the one the file has. */
export type Reindent = (lines: readonly string[], at: NewLinesAt) => string[];

const TAB_WIDTHS = [4, 2, 8, 3];

interface Indents {
  model: string;
  file: string;
}

/** The one shift that carries every line the model wrote onto its line in the file; undefined where no single one does. */
export function findReindent(modelLines: readonly string[], fileLines: readonly string[]): Reindent | undefined {
  const pairs = pairIndents(modelLines, fileLines);
  return findShift(pairs) ?? findConversion(pairs) ?? findFirstLineShift(pairs);
}

/**
 * For text whose indentation was lost altogether: every line the model wrote stands at one depth, and new lines go to
 * the depth of the line they replace.
 */
export function findFlatReindent(modelLines: readonly string[], fileLines: readonly string[]): Reindent | undefined {
  const pairs = pairIndents(modelLines, fileLines);
  const flat = pairs[0]?.model;
  if (flat === undefined || pairs.length < 2 || pairs.some((pair) => pair.model !== flat)) return undefined;
  return (lines, at) =>
    mapIndents((indent) => at.indent + (indent.startsWith(flat) ? indent.slice(flat.length) : ""))(lines, at);
}

function pairIndents(modelLines: readonly string[], fileLines: readonly string[]): Indents[] {
  const pairs: Indents[] = [];
  modelLines.forEach((line, index) => {
    if (!isBlank(line)) pairs.push({ model: indentOf(line), file: indentOf(fileLines[index] ?? "") });
  });
  return pairs;
}

function findShift(pairs: readonly Indents[]): Reindent | undefined {
  const first = pairs[0];
  if (first === undefined) return undefined;
  const added = first.file.length - first.model.length;
  if (added >= 0) {
    const prefix = first.file.slice(0, added);
    if (pairs.every(({ model, file }) => file === prefix + model)) return mapIndents((indent) => prefix + indent);
    return undefined;
  }
  const prefix = first.model.slice(0, -added);
  if (!pairs.every(({ model, file }) => model === prefix + file)) return undefined;
  return mapIndents((indent) => (indent.startsWith(prefix) ? indent.slice(prefix.length) : ""));
}

/** Tabs against blanks: some tab width makes the difference the same on every line. */
function findConversion(pairs: readonly Indents[]): Reindent | undefined {
  const toTabs = pairs.every(({ file }) => !file.includes(" "));
  if (!toTabs && pairs.some(({ file }) => file.includes("\t"))) return undefined;
  let fit: Reindent | undefined;
  for (const tab of TAB_WIDTHS) {
    const shifts = new Set(pairs.map(({ model, file }) => widthOf(file, tab) - widthOf(model, tab)));
    const [shift] = shifts;
    if (shifts.size !== 1 || shift === undefined || (fit !== undefined && shift !== 0)) continue;
    fit = mapIndents((indent) => {
      const width = Math.max(0, widthOf(indent, tab) + shift);
      return toTabs ? "\t".repeat(Math.floor(width / tab)) + " ".repeat(width % tab) : " ".repeat(width);
    });
    if (shift === 0) return fit;
  }
  return fit;
}

/** A quotation that begins at the first word of its first line: only that line lacks its indentation. */
function findFirstLineShift(pairs: readonly Indents[]): Reindent | undefined {
  const [first, ...rest] = pairs;
  if (first === undefined || first.model !== "" || rest.some(({ model, file }) => model !== file)) return undefined;
  return (lines, at) =>
    lines.map((line, index) => (at.index + index === 0 && !isBlank(line) ? first.file + line : line));
}

function mapIndents(map: (indent: string) => string): Reindent {
  return (lines) =>
    lines.map((line) => {
      if (isBlank(line)) return line;
      const indent = indentOf(line);
      return map(indent) + line.slice(indent.length);
    });
}

function widthOf(indent: string, tab: number): number {
  let width = 0;
  for (const char of indent) width += char === "\t" ? tab - (width % tab) : 1;
  return width;
}
