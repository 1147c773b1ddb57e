import { statSync } from "node:fs";
import { parseArgs } from "node:util";
import { didYouMean } from "../core/nearest-name.ts";
import type { Command, OperandSpec, OptionSpec, OptionSpecs, OptionType } from "./command.ts";

/** The command line itself is wrong: exit code 2. `next` says what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(
    message: string,
    readonly next?: string,
  ) {
    super(message);
  }
}

export interface ParsedArguments {
  options: Record<string, unknown>;
  operands: string[];
  rest: string[];
}

/** Accepted by every command, also before its name. */
export const GLOBAL_OPTIONS = {
  folder: {
    type: "text",
    short: "C",
    value: "FOLDER",
    about: "The workspace; default: the working directory",
    completes: "folder",
  },
  url: { type: "text", value: "URL", about: "Use this server; or set HAFT_URL, with HAFT_TOKEN" },
  "no-server": { type: "flag", about: "Work in this process, even if a server of this workspace is running" },
  json: { type: "flag", about: "Print one JSON document" },
  jsonl: { type: "flag", about: "Print JSON, one item per line, as it arrives" },
  ids: { type: "flag", about: "Print only the ids of a list, one per line" },
  verbose: { type: "flag", about: "Show ids, hashes and arguments in full" },
  quiet: { type: "flag", short: "q", about: "Print only data and errors" },
  "no-color": { type: "flag", about: "No colors, like NO_COLOR" },
  help: { type: "flag", short: "h", about: "Show how to use a command" },
  version: { type: "flag", short: "v", about: "Show the version" },
} as const satisfies OptionSpecs;

/** The words of the command, and the rest in order. Before them only global options: others may take a value. */
export function splitCommand(argv: readonly string[]): { words: string[]; others: string[] } {
  const options = parserOptions(GLOBAL_OPTIONS);
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true });
  const at: number[] = [];
  for (const token of tokens) {
    if (token.kind === "option-terminator" || at.length === 2) break;
    if (token.kind === "option" && !Object.hasOwn(options, token.name)) break;
    if (token.kind === "positional") at.push(token.index);
  }
  return { words: at.map((index) => argv[index] ?? ""), others: argv.filter((_word, index) => !at.includes(index)) };
}

/** The value of an option that was not given. */
const EMPTY: Readonly<Partial<Record<OptionType, unknown>>> = { flag: false, list: [] };

export function parseArguments(argv: readonly string[], specs: OptionSpecs, takesRest = false): ParsedArguments {
  const { tokens } = parseArgs({
    args: [...argv],
    options: parserOptions(specs),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const end = tokens.find(({ kind }) => kind === "option-terminator")?.index ?? argv.length;
  const options: Record<string, unknown> = Object.fromEntries(
    Object.entries(specs).map(([name, { type }]) => [name, EMPTY[type]]),
  );
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional" && (token.index < end || !takesRest)) operands.push(token.value);
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (!spec) throw unknownOption(token.rawName, specs);
    if (spec.type === "flag" && token.value !== undefined) throw new UsageError(`${token.rawName} takes no value.`);
    options[token.name] = readValue(spec, token.rawName, token.value, options[token.name]);
  }
  return { options, operands, rest: takesRest ? argv.slice(end + 1) : [] };
}

function parserOptions(specs: OptionSpecs): Record<string, ParserOption> {
  const options: Record<string, ParserOption> = {};
  for (const [name, { type, short }] of Object.entries(specs)) {
    const option: ParserOption = (options[name] = { type: type === "flag" ? "boolean" : "string" });
    // parseArgs refuses undefined.
    if (short !== undefined) option.short = short;
  }
  return options;
}

interface ParserOption {
  type: "boolean" | "string";
  short?: string;
}

function unknownOption(rawName: string, specs: OptionSpecs): UsageError {
  const names = Object.keys(specs).map((name) => `--${name}`);
  return new UsageError(`There is no option ${rawName}.`, didYouMean(rawName, names));
}

function readValue(spec: OptionSpec, name: string, value: string | undefined, before: unknown): unknown {
  if (spec.type === "flag") return true;
  if (value === undefined || value === "")
    throw new UsageError(`${name} needs a value${spec.value ? `: ${name} ${spec.value}` : ""}.`);
  if (spec.oneOf && !spec.oneOf.includes(value)) {
    throw new UsageError(`${name} is one of: ${spec.oneOf.join(", ")}.`, didYouMean(value, spec.oneOf));
  }
  switch (spec.type) {
    case "text":
      return value;
    case "list":
      return [...(before as string[]), ...value.split(",").filter(Boolean)];
    case "number":
      if (!/^\d{1,15}$/.test(value)) throw new UsageError(`${name} takes a whole number, not "${value}".`);
      return inRange(Number(value), name, spec.range);
    case "duration":
      return readDuration(value, name);
    case "moment":
      return readMoment(value, name);
  }
}

function inRange(number: number, name: string, [min, max]: readonly number[] = []): number {
  if (min === undefined || max === undefined || (number >= min && number <= max)) return number;
  throw new UsageError(`${name} takes a whole number from ${min} to ${max}, not ${number}.`);
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `5m`, `2h`, `30d`, in milliseconds. The unit is required. */
export function readDuration(text: string, name: string): number {
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (amount === undefined) throw new UsageError(`${name} takes a time such as 30s, 5m, 2h or 30d, not "${text}".`);
  return Math.round(Number(amount) * (UNITS[unit] ?? 1));
}

/** A time ago (`2h`) or a date, in Unix milliseconds. */
export function readMoment(text: string, name: string, now: number = Date.now()): number {
  if (/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) return now - readDuration(text, name);
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(date))
    throw new UsageError(`${name} takes 2h (ago), 2026-11-15 or 2026-11-15T08:30:00Z, not "${text}".`);
  return date;
}

/** Throws if a required word is missing or there is one too many. */
export function checkOperands(operands: readonly string[], { operands: specs = [] }: Pick<Command, "operands">): void {
  const missing = specs.find((spec, at) => !spec.isOptional && operands[at] === undefined);
  if (missing) throw new UsageError(`${missing.name} is missing.`);
  specs.forEach(({ name, oneOf, isRest }, at) => {
    const word = operands[at];
    if (isRest || !oneOf || word === undefined || oneOf.includes(word)) return;
    throw new UsageError(`${name} is one of: ${oneOf.join(", ")}. It is "${word}".`, didYouMean(word, oneOf));
  });
  if (operands.length <= specs.length || specs.at(-1)?.isRest) return;
  throw new UsageError(`"${operands[specs.length]}" is one word too many.`);
}

/** Before anything is opened in it: a later error would be about the store or a file. */
export function checkFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new UsageError(`There is no folder ${folder}.`, "Create it first, or use another one.");
}

/** A line for every operand whose values are known: where to find them. */
export function describeChoices(operands: readonly OperandSpec[]): string[] {
  return operands.flatMap(({ name, listedBy, oneOf }) => [
    ...(oneOf ? [`${name}: ${oneOf.join(", ")}`] : []),
    ...(listedBy === undefined ? [] : [`${name}: see \`${listedBy}\``]),
  ]);
}

export function showOperand({ name, isOptional, isRest }: OperandSpec): string {
  const shown = isRest ? `${name}…` : name;
  return isOptional ? `[${shown}]` : shown;
}
