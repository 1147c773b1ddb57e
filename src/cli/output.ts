import { styleText } from "node:util";
import { showHiddenCharacters } from "../io/shell/terminal-text.ts";
import { showJson } from "./show-json.ts";
import { type Terminal, type TerminalOutput, usesColour } from "./terminal.ts";

export type OutputFormat = "text" | "json" | "jsonl";
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";
export type Paint = (style: Style, text: string) => string;

/** Data goes to stdout, talk to stderr. Whatever is shown passes here, so that no text of others acts on the terminal. */
export interface Output {
  readonly format: OutputFormat;
  /** Of the data on stdout; of talk on stderr. */
  readonly paint: Paint;
  readonly paintStderr: Paint;
  /** Of the terminal; what is piped is not cut. */
  readonly columns: number;
  /** One document: JSON in both JSON formats, else the text that `show` makes of it. */
  data<T>(value: T, show: (value: T) => Iterable<string>): void;
  /** A list: in `jsonl` a line an item. */
  list<T>(page: { items: readonly T[] }, show: (items: readonly T[]) => Iterable<string>): void;
  /** One item of a stream that goes on: a line of JSON in both JSON formats. */
  item<T>(value: T, show: (value: T) => Iterable<string>): void;
  /** Lines of our own making; text of others in them was escaped by `safe`. */
  lines(lines: Iterable<string>): void;
  /** For a person; not in quiet runs. */
  info(text: string): void;
  /** For a person, quiet or not. */
  notice(text: string): void;
  /** Not in quiet runs. */
  warn(text: string): void;
  /** As it is, with nothing escaped: for what is piped on. */
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

/** Text of others, ready to be shown: what a reader would not see as what it is, is spelled out. */
export function safe(text: string): string {
  return showHiddenCharacters(text.replaceAll("\r\n", "\n"));
}

/** The same in one line. */
export function safeLine(text: string): string {
  return safe(text).replaceAll("\n", "⏎").replaceAll("\t", " ");
}
