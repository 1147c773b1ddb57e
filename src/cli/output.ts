import { styleText } from "node:util";
import { showHiddenCharacters } from "../io/shell/terminal-text.ts";
import { columnsOf, type Terminal, type TerminalOutput, usesColour } from "./terminal.ts";

export type OutputFormat = "text" | "json" | "jsonl";
type Format = "bold" | "dim" | "inverse" | "red" | "green" | "yellow" | "cyan";
/** One format, or several at once. */
export type Style = Format | readonly Format[];
export type Paint = (style: Style, text: string) => string;

/** Data goes to stdout, messages to stderr. */
export interface Output {
  readonly format: OutputFormat;
  /** For stdout. */
  readonly paint: Paint;
  readonly paintStderr: Paint;
  /** The width of stdout now; Infinity for pipes and files. */
  readonly columns: number;
  /** `--verbose`: ids and hashes in full, every argument. */
  readonly isVerbose: boolean;
  /** One document: JSON in both JSON formats, otherwise the lines of `show`. */
  data<T>(value: T, show: (value: T) => Iterable<string>): void;
  /** A list. In `jsonl`: one line per item. With `--ids`: only their ids, or names where they have none. */
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
  /** `--ids`. */
  idsOnly?: boolean;
  colour: boolean;
  verbose?: boolean;
}

export function createOutput(terminal: Terminal, options: OutputOptions): Output {
  const { stdout, stderr, env } = terminal;
  const { format, colour, idsOnly = false, verbose = false } = options;
  const quiet = options.quiet || idsOnly;
  const paint = colour ? painterOf(stdout, env) : plain;
  const paintStderr = colour ? painterOf(stderr, env) : plain;
  const lines = (shown: Iterable<string>): void => {
    const text = [...shown].join("\n");
    if (text !== "") stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  };
  const json = (value: unknown, indent?: number): void => void stdout.write(`${showJson(value, indent)}\n`);
  return {
    format,
    paint,
    paintStderr,
    get columns() {
      return columnsOf(stdout, env);
    },
    isVerbose: verbose,
    data: (value, show) => (format === "text" ? lines(show(value)) : json(value, format === "json" ? 2 : undefined)),
    list(page, show) {
      if (format === "text") lines(idsOnly ? page.items.map(idOf) : show(page.items));
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

function idOf(item: unknown): string {
  const { id, name } = item as { id?: unknown; name?: unknown };
  return safeLine(String(id ?? name ?? ""));
}

export function painterOf(stream: TerminalOutput, env: Terminal["env"]): Paint {
  if (!usesColour(stream, env)) return plain;
  // Node checks the streams of this process otherwise, and `stream` may be another one.
  return (style, text) => styleText(style as never, text, { validateStream: false } as never);
}

const plain: Paint = (_style, text) => text;

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

export interface SarifResult {
  rule: string;
  level: "error" | "warning" | "note";
  message: string;
  file?: string | undefined;
  line?: number | undefined;
}

/** Findings as SARIF 2.1.0. */
export function sarifLog(
  name: string,
  rules: Readonly<Record<string, string>>,
  results: readonly SarifResult[],
): object {
  const driver = {
    name,
    rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text: `${text}.` } })),
  };
  const located = results.map(({ rule, level, message, file, line = 1 }) => ({
    ruleId: rule,
    level,
    message: { text: safe(message) },
    locations:
      file === undefined
        ? undefined
        : [{ physicalLocation: { artifactLocation: { uri: file }, region: { startLine: line } } }],
  }));
  const $schema = "https://json.schemastore.org/sarif-2.1.0.json";
  return { $schema, version: "2.1.0", runs: [{ tool: { driver }, results: located }] };
}
