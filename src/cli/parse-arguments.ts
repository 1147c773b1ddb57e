import { parseArgs } from "node:util";
import { didYouMean } from "../core/nearest-name.ts";
import type { Command, OperandSpec, OptionSpec, OptionSpecs, OptionType } from "./command.ts";
import { readDuration, readMoment } from "./read-time.ts";
import { UsageError } from "./usage-error.ts";

export interface ParsedArguments {
  options: Record<string, unknown>;
  operands: string[];
  rest: string[];
}

/** Options may stand anywhere, also before the command's own name. */
export const GLOBAL_OPTIONS = {
  folder: {
    type: "text",
    short: "C",
    value: "FOLDER",
    about: "The workspace; the working directory unless said",
    completes: "folder",
  },
  url: { type: "text", value: "URL", about: "A running server instead of this folder; or HAFT_URL, with HAFT_TOKEN" },
  json: { type: "flag", about: "Print one JSON document" },
  jsonl: { type: "flag", about: "Print JSON, one item a line, as it comes" },
  quiet: { type: "flag", short: "q", about: "Say nothing that is not data or an error" },
  "no-color": { type: "flag", about: "No colours, as with NO_COLOR" },
  help: { type: "flag", short: "h", about: "Show how a command is used" },
  version: { type: "flag", short: "V", about: "Show the version" },
} as const satisfies OptionSpecs;

/** What an option is where nobody says it. */
const EMPTY: Readonly<Partial<Record<OptionType, unknown>>> = { flag: false, list: [] };

export function parseArguments(argv: readonly string[], specs: OptionSpecs, takesRest = false): ParsedArguments {
  const known = Object.fromEntries(
    Object.entries(specs).map(([name, { type, short }]) => [
      name,
      { type: type === "flag" ? ("boolean" as const) : ("string" as const), short: short || undefined },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options: known,
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
      if (!/^\d{1,15}$/.test(value)) throw new UsageError(`${name} takes a whole number, and not "${value}".`);
      return inRange(Number(value), name, spec.range);
    case "duration":
      return readDuration(value, name);
    case "moment":
      return readMoment(value, name);
  }
}

function inRange(number: number, name: string, [min, max]: readonly number[] = []): number {
  if (min === undefined || max === undefined || (number >= min && number <= max)) return number;
  throw new UsageError(`${name} takes a whole number from ${min} to ${max}, and not ${number}.`);
}

/** As many as the command takes, by their names. */
export function checkOperands(operands: readonly string[], { operands: specs = [] }: Pick<Command, "operands">): void {
  const missing = specs.find((spec, at) => !spec.isOptional && operands[at] === undefined);
  if (missing) throw new UsageError(`${missing.name} is missing.`);
  if (operands.length <= specs.length || specs.at(-1)?.isRest) return;
  throw new UsageError(`"${operands[specs.length]}" is one word too many.`);
}

export function showOperand({ name, isOptional, isRest }: OperandSpec): string {
  const shown = isRest ? `${name}…` : name;
  return isOptional ? `[${shown}]` : shown;
}
