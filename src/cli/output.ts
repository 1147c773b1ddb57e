import { styleText } from "node:util";
import { showHiddenCharacters } from "../io/shell/terminal-text.ts";
import { type Terminal, type TerminalOutput, usesColour } from "./terminal.ts";

export type OutputFormat = "text" | "json" | "jsonl";
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** Data goes to stdout, messages to stderr. */
export interface Output {
  readonly format: OutputFormat;
  /** For stdout. */
  readonly paint: Paint;
  readonly paintStderr: Paint;
  /** The width of the terminal; Infinity for pipes and files. */
  readonly columns: number;
  /** One document: JSON in both JSON formats, otherwise the lines of `show`. */
  data<T>(value: T, show: (value: T) => Iterable<string>): void;
  /** A list. In `jsonl`: one line per item. */
  list<T>(page: { items: readonly T[] }, show: (items: readonly T[]) => Iterable<string>): void;
  /** One item of a stream: a line of JSON in both JSON formats. */
  item<T>(value: T, show: (value: T) => Iterable<string>): void;
  /** Text of others must have passed `safe`. */
  lines(lines: Iterable<string>): void;
  /** For a person. Not printed with `-q`. */
  info(text: string): void;
  /** For a person. Printed with `-q` too. */
  notice(text: string): void;
  /** Not printed with `-q`. */
  warn(text: string): void;
  /** Unchanged, for pipes. */
  raw(text: string): void;
}

export interface OutputOptions {
  format: OutputFormat;
  quiet: boolean;
  colour: boolean;
}

const DEFAULT_COLUMNS = 100;

export function createOutput(terminal: Terminal, { format, quiet, colour }: OutputOptions): Output {
  const { stdout, stderr, env } = terminal;
  const painter = (stream: TerminalOutput): Paint =>
    colour && usesColour(stream, env)
      ? (style, text) => styleText(style, text, { validateStream: false } as never)
      : (_style, text) => text;
  const paint = painter(stdout);
  const paintStderr = painter(stderr);
  const lines = (shown: Iterable<string>): void => {
    const text = [...shown].join("\n");
    if (text !== "") stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  };
  const json = (value: unknown, indent?: number): void => void stdout.write(`${showJson(value, indent)}\n`);
  return {
    format,
    paint,
    paintStderr,
    columns: stdout.isTTY ? (stdout.columns ?? DEFAULT_COLUMNS) : Infinity,
    data: (value, show) => (format === "text" ? lines(show(value)) : json(value, format === "json" ? 2 : undefined)),
    list(page, show) {
      if (format === "text") lines(show(page.items));
      else if (format === "json") json(page, 2);
      else for (const item of page.items) json(item);
    },
    item: (value, show) => (format === "text" ? lines(show(value)) : json(value)),
    lines,
    info(text) {
      if (!quiet) stderr.write(`${text}\n`);
    },
    notice: (text) => void stderr.write(`${text}\n`),
    warn(text) {
      if (!quiet) stderr.write(`${paintStderr("yellow", "warning:")} ${text}\n`);
    },
    raw: (text) => void stdout.write(text),
  };
}

/** Text of others: characters that a terminal would hide or act on are spelled out. */
export function safe(text: string): string {
  return showHiddenCharacters(text.replaceAll("\r\n", "\n"));
}

/** The same in one line. */
export function safeLine(text: string): string {
  return safe(text).replaceAll("\n", "⏎").replaceAll("\t", " ");
}

/** JSON that a terminal neither hides nor acts on. `JSON.stringify` escapes only control characters below the space. */
export function showJson(value: unknown, indent?: number): string {
  return showHiddenCharacters(JSON.stringify(value, undefined, indent) ?? "null", escaped);
}

/** In UTF-16 units, like JSON. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** In the local time zone, in a form that sorts. */
export function showTime(at: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function showDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** A unified diff in the usual colours. */
export function paintDiff(diff: string, { paint }: Output): string {
  const style = (line: string) =>
    line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line;
  return diff.split("\n").map(style).join("\n");
}

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

/** A table: each column is as wide as its widest cell. */
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

/** Chinese, Japanese and Korean characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}
