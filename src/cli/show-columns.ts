import type { Paint, Style } from "./output.ts";

export interface ColumnOptions {
  paint: Paint;
  /** Of each column; of a cell its own, by `styleOf`. */
  styles?: readonly (Style | undefined)[];
  styleOf?: (cell: string, column: number) => Style | undefined;
  /** The last column is cut to it, so that a row stays a line. */
  columns?: number;
}

const GAP = "  ";

/** Rows under each other, every column as wide as its widest cell. */
export function showColumns(
  rows: readonly (readonly string[])[],
  { paint, styles = [], styleOf, columns }: ColumnOptions,
): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, widthOf(cell))));
  return rows.map((row) => {
    let used = 0;
    const cells = row.map((cell, at) => {
      const isLast = at === row.length - 1;
      const shown = isLast && columns !== undefined ? cut(cell, columns - used) : cell;
      used += (widths[at] ?? 0) + GAP.length;
      const style = styleOf?.(cell, at) ?? styles[at];
      const painted = style ? paint(style, shown) : shown;
      return isLast ? painted : painted + " ".repeat(widths[at]! - widthOf(cell));
    });
    return cells.join(GAP).trimEnd();
  });
}

function cut(text: string, columns: number): string {
  if (columns < 10 || widthOf(text) <= columns) return text;
  let width = 0;
  let shown = "";
  for (const character of text) {
    width += widthOf(character);
    if (width >= columns) break;
    shown += character;
  }
  return `${shown}…`;
}

/** Chinese, Japanese and Korean characters take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}
