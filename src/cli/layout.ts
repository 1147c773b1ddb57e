/** Text that fits the width of a terminal: tables, wrapped lines, cut lines. */
import type { Paint, Style } from "./output.ts";

export interface ColumnOptions {
  paint: Paint;
  /** One per column. */
  styles?: readonly (Style | undefined)[];
  /** Of a single cell; overrides the style of its column. */
  styleOf?: (cell: string, column: number) => Style | undefined;
  /** The width of the terminal. The last column is cut to fit. */
  columns?: number;
}

const GAP = "  ";

/** A table: each column is as wide as its widest cell. If the last one has no room, each row takes several lines. */
export function showColumns(
  rows: readonly (readonly string[])[],
  { paint, styles = [], styleOf, columns }: ColumnOptions,
): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, widthOf(cell))));
  const lastWidth = widths.at(-1) ?? 0;
  const left = (columns ?? Infinity) - widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  if (columns !== undefined && left < Math.min(MIN_FLEXIBLE_WIDTH, lastWidth)) {
    return rows.flatMap((row) => stackCells(row, columns, (cell, at) => styleOf?.(cell, at) ?? styles[at], paint));
  }
  return rows.map((row) => {
    let used = 0;
    const cells = row.map((cell, at) => {
      const isLast = at === row.length - 1;
      const width = widths[at] ?? 0;
      const shown = isLast && columns !== undefined ? cut(cell, columns - used) : cell;
      used += width + GAP.length;
      const style = styleOf?.(cell, at) ?? styles[at];
      const painted = style ? paint(style, shown) : shown;
      return isLast ? painted : painted + " ".repeat(width - widthOf(cell));
    });
    return cells.join(GAP).trimEnd();
  });
}

/** A row in as many lines as it needs, indented after the first. Cells stay whole; only the last one is broken. */
function stackCells(
  row: readonly string[],
  columns: number,
  styleOf: (cell: string, column: number) => Style | undefined,
  paint: Paint,
): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  const show = (cell: string, at: number): string => {
    const style = styleOf(cell, at);
    return style ? paint(style, cell) : cell;
  };
  for (const [at, cell] of row.entries()) {
    if (cell.trim() === "") continue;
    if (used > 0 && used + GAP.length + widthOf(cell) <= columns) {
      line += GAP + show(cell, at);
      used += GAP.length + widthOf(cell);
      continue;
    }
    if (used > 0) lines.push(line);
    const indent = lines.length > 0 ? GAP : "";
    const pieces = wrap(cell, columns - indent.length);
    lines.push(...pieces.slice(0, -1).map((piece) => indent + show(piece, at)));
    line = indent + show(pieces.at(-1) ?? "", at);
    used = indent.length + widthOf(pieces.at(-1) ?? "");
  }
  return used > 0 ? [...lines, line] : lines;
}

/** A column of a table that fits a width. */
export interface FittedColumn<Row> {
  name: string;
  cell(row: Row): string;
  style?: Style | ((row: Row) => Style | undefined);
  /** Gets the remaining width. One column of a table has it. */
  isFlexible?: boolean;
  /** If the table is too wide, the column with the highest number is left out first. Default: it always stays. */
  leftOut?: number;
}

const MIN_FLEXIBLE_WIDTH = 16;
/** If no more columns can be left out. */
const MIN_CUT_WIDTH = 8;

/** A table with a head that fits the width: one column is cut, and the least important ones are left out. */
export function showFittedTable<Row>(
  rows: readonly Row[],
  columns: readonly FittedColumn<Row>[],
  { paint, width }: { paint: Paint; width: number },
): string[] {
  const measured = columns.map((column) => {
    const cells = rows.map((row) => column.cell(row));
    return { column, cells, width: cells.reduce((max, cell) => Math.max(max, widthOf(cell)), widthOf(column.name)) };
  });
  let shown = measured;
  const fixedWidth = (): number =>
    shown.reduce((sum, { column, width: own }) => sum + (column.isFlexible ? 0 : own + GAP.length), 0);
  for (;;) {
    const flexible = shown.find(({ column }) => column.isFlexible);
    const wanted = Math.min(flexible?.width ?? 0, MIN_FLEXIBLE_WIDTH);
    const leaves = shown.reduce((max, { column }) => Math.max(max, column.leftOut ?? 0), 0);
    if (fixedWidth() + wanted <= width || leaves === 0) break;
    shown = shown.filter(({ column }) => column.leftOut !== leaves);
  }
  const left = Math.max(MIN_CUT_WIDTH, width - fixedWidth());
  const widths = shown.map(({ column, width: own }) => (column.isFlexible ? Math.min(own, left) : own));
  const line = (cells: readonly { text: string; style: Style | undefined }[]): string =>
    cells
      .map(({ text, style }, at) => {
        const fitting = cut(text, widths[at] ?? 0);
        const padding = " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(fitting)));
        return (style ? paint(style, fitting) : fitting) + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    line(shown.map(({ column }) => ({ text: column.name, style: "dim" }))),
    ...rows.map((row, at) =>
      line(
        shown.map(({ column: { style }, cells }) => ({
          text: cells[at] ?? "",
          style: typeof style === "function" ? style(row) : style,
        })),
      ),
    ),
  ];
}

/** Cut to the width, with a mark at the end. */
export function cut(text: string, columns: number): string {
  if (columns < 4 || widthOf(text) <= columns) return text;
  let width = 0;
  let shown = "";
  for (const character of text) {
    width += widthOf(character);
    if (width >= columns) break;
    shown += character;
  }
  return `${shown}…`;
}

/** Lines of at most this width, broken between words. Only a word that is longer than a line is broken itself. */
export function wrap(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const lines: string[] = [];
  let line = "";
  let width = 0;
  for (const word of text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text]) {
    const shown = line === "" && lines.length > 0 ? word.trimStart() : word;
    const wordWidth = widthOf(shown);
    if (width + wordWidth <= columns) {
      line += shown;
      width += wordWidth;
      continue;
    }
    if (line !== "") lines.push(line);
    const pieces = breakWord(word.trimStart(), columns);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? "";
    width = widthOf(line);
  }
  return line === "" ? lines : [...lines, line];
}

/** Exactly the text, in pieces of at most this width. */
function breakWord(word: string, columns: number): string[] {
  const pieces: string[] = [];
  for (let rest = word; rest !== "";) {
    const fits = lengthWithin(rest, columns);
    // Of a path or an address, whole parts stay together.
    const part = fits < rest.length ? rest.lastIndexOf("/", fits - 1) + 1 : 0;
    const length = part > fits / 2 ? part : fits;
    pieces.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return pieces;
}

/** How many UTF-16 units of the text fit this width; at least one character. */
export function lengthWithin(text: string, columns: number): number {
  let width = 0;
  let length = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > columns && length > 0) break;
    length += character.length;
  }
  return length;
}

/** Chinese, Japanese and Korean characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const COMBINING = /\p{M}/u;

export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : COMBINING.test(character) ? 0 : 1;
  return width;
}
