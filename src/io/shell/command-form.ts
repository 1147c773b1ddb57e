import { certainPath, literal, quoteWord, type RebuiltWord, withoutGlob } from "./rebuilt-word.ts";

/**
 * The arguments with which a program changes and runs nothing. Everything else is refused: an option in another
 * spelling, an abbreviation, an extra operand.
 *
 * `options` is a list of words: `-abc` is three flags that may be clustered, `-n:number` a short option with a value,
 * `-U?` one with an optional attached number, `-#` a number as an option (`-20`), `--all` a long flag,
 * `--lines:number` a long option with a value, `--color?` one with an optional value.
 */
export interface CommandForm {
  options?: string;
  operands: OperandRule;
  /**
   * How the program reads short options. `late`: in a cluster, the values are the next words, in order. `words`: each
   * option is a word of its own, whatever its length. Default: as getopt does.
   */
  style?: "late" | "words";
  /** Whether the program reads `--` as the end of its options. Default: true. */
  endsOptions?: boolean;
  /** A further check; returns the problem. */
  check?: (use: FormUse) => string | undefined;
}

const VALUE_KINDS = ["text", "number", "path", "pattern", "revision"] as const;

export interface OperandRule {
  kind: ValueKind | "none";
  /** The first operand has this kind, unless one of the options in `firstUnless` supplies it. */
  first?: ValueKind;
  firstUnless?: readonly string[];
  max?: number;
  min?: number;
  /** Without an operand the program reads the working folder. */
  orWorkingFolder?: boolean;
}

export interface FormUse {
  options: { name: string; value?: string }[];
  operands: string[];
  /** The same before and after `--`, as words. */
  words: { before: readonly RebuiltWord[]; after: readonly RebuiltWord[] };
  /** Operands and option values that name files or folders. */
  paths: string[];
  /** The rebuilt arguments for a shell: one option a word, `--` before the operands. */
  argv: string[];
}

/** `at` is the position of a refused option among the words. */
export type FormVerdict = { use: FormUse } | { refused: string; at?: number };

/**
 * Forms as a table: `names | operands | options`, where a line without `|` has more options. Operands: `path ..1` is at most
 * one file, `text 1..` at least one text, `pattern(-e) path` a pattern (unless `-e` gives it) before files, `path or .`
 * the working folder by default. `more` has what a table cannot say, by the first name.
 */
export function formTable(
  table: string,
  more: Readonly<Record<string, Partial<CommandForm>>> = {},
): ReadonlyMap<string, CommandForm> {
  const rows = table.trim().split(/\n(?=.*\|)/);
  return new Map(
    rows.flatMap((row) => {
      const [names = "", operands = "", options = ""] = row.split("|").map((cell) => cell.trim());
      const [first = "", ...others] = names.split(", ");
      const form = { options, operands: readOperands(operands), ...more[first] };
      return [first, ...others].map((name) => [name, form] as const);
    }),
  );
}

function readOperands(text: string): OperandRule {
  const [, first, unless, kind, min, max, here] =
    /^(?:(\w+)(?:\(([^)]*)\))? )??(\w+)(?: (\d*)\.\.(\d*))?( or \.)?$/.exec(text) ?? [];
  return {
    kind: VALUE_KINDS.find((each) => each === kind) ?? "none",
    first: VALUE_KINDS.find((each) => each === first),
    firstUnless: unless?.split(" "),
    min: min ? Number(min) : undefined,
    max: max ? Number(max) : undefined,
    orWorkingFolder: here !== undefined,
  };
}

/** Parses the arguments as the program does, and refuses what the form does not list. */
export function matchForm(form: CommandForm, words: readonly RebuiltWord[]): FormVerdict {
  const known = optionsOf(form);
  const use: FormUse = { options: [], operands: [], words: { before: [], after: [] }, paths: [], argv: [] };
  const refuse = (refused: string): FormVerdict => ({ refused });
  const operands: RebuiltWord[] = [];
  const afterDashes: RebuiltWord[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as RebuiltWord;
    if (word.value === "--" && word.kind !== "expansion") {
      afterDashes.push(...words.slice(at + 1));
      break;
    }
    if (!word.value.startsWith("-") || (word.value === "-" && word.kind === "literal")) {
      operands.push(word);
      continue;
    }
    if (known.digits && /^-\d+$/.test(word.value)) {
      use.options.push({ name: "-#", value: word.value.slice(1) });
      use.argv.push(word.value);
      continue;
    }
    const isLong = word.value.startsWith("--");
    // Of an option that is only known at run time, at least the name must be certain.
    if (word.kind === "expansion" && (word.splits || !/^--[^=]+=/.test(word.value))) {
      return refuse("an option is only known at run time");
    }
    for (const option of isLong ? [splitLong(word.value)] : splitShort(word.value, known, form.style)) {
      const takes = known.takes.get(option.name);
      if (takes === undefined) {
        return { refused: `the option ${option.name} is not on its read-only list`, at };
      }
      if (takes === "nothing" || takes === "maybe") {
        if (takes === "nothing" && option.value !== undefined) return refuse(`${option.name} takes no value`);
        use.options.push(option);
        use.argv.push(word.kind === "expansion" ? word.text : optionWord(option));
        continue;
      }
      const separate = option.value === undefined ? words[++at] : undefined;
      const value = option.value ?? separate?.value;
      if (value === undefined) return refuse(`${option.name} lacks its value`);
      // Programs disagree on whether such a word is the value or the next option, except for patterns and numbers.
      const isUnclear = separate !== undefined && /^-./.test(value) && takes !== "pattern" && takes !== "number";
      if (isUnclear || separate?.splits) return refuse(`the value of ${option.name} is unclear`);
      const meant = separate ?? (word.kind === "expansion" ? { ...word, value } : literal(value));
      const problem = takeValue(takes, withoutGlob(meant), use);
      if (problem) return refuse(problem);
      use.options.push({ name: option.name, value });
      if (word.kind === "expansion") use.argv.push(word.text);
      else if (isLong) use.argv.push(`${quoteWord(option.name)}=${withoutGlob(meant).text}`);
      else use.argv.push(option.name, withoutGlob(meant).text);
    }
  }
  use.operands = [...operands, ...afterDashes].map(({ value }) => value);
  use.words = { before: operands, after: afterDashes };
  const problem =
    takeOperands(form.operands, { operands, afterDashes, use }) ??
    emitOperands(form, operands, afterDashes, use) ??
    form.check?.(use);
  return problem ? refuse(problem) : { use };
}

export type ValueKind = (typeof VALUE_KINDS)[number];

type Takes = ValueKind | "nothing" | "maybe";

interface KnownOptions {
  takes: Map<string, Takes>;
  digits: boolean;
}

const known = new WeakMap<CommandForm, KnownOptions>();

function optionsOf(form: CommandForm): KnownOptions {
  const cached = known.get(form);
  if (cached) return cached;
  const takes = new Map<string, Takes>();
  for (const word of (form.options ?? "").split(/\s+/).filter(Boolean)) {
    const [, name = "", kindName, maybe] = /^(--?[^:?]+)(?::(\w+)|(\?))?$/.exec(word) ?? [];
    const kind = VALUE_KINDS.find((each) => each === kindName);
    const isWord = name.startsWith("--") || form.style === "words";
    if (kind || maybe || isWord) takes.set(name, kind ?? (maybe ? "maybe" : "nothing"));
    else for (const letter of name.slice(1)) takes.set(`-${letter}`, "nothing");
  }
  const options = { takes, digits: takes.delete("-#") };
  known.set(form, options);
  return options;
}

function splitLong(word: string): { name: string; value?: string } {
  const at = word.indexOf("=");
  return at < 0 ? { name: word } : { name: word.slice(0, at), value: word.slice(at + 1) };
}

function splitShort(
  word: string,
  known: KnownOptions,
  style: CommandForm["style"],
): { name: string; value?: string }[] {
  if (style === "words") {
    const [, name = word, value] = /^(-[a-z])(\d+)$/.exec(word) ?? /^(-[\w-]+)=(.*)$/s.exec(word) ?? [];
    return [value === undefined ? { name } : { name, value }];
  }
  if (style === "late") return Array.from(word.slice(1), (letter) => ({ name: `-${letter}` }));
  return splitCluster(word, known);
}

function splitCluster(word: string, { takes }: KnownOptions): { name: string; value?: string }[] {
  const options: { name: string; value?: string }[] = [];
  for (let at = 1; at < word.length; at++) {
    const name = `-${word[at]}`;
    const kind = takes.get(name);
    const rest = word.slice(at + 1);
    if (kind === "maybe" && /^(?:\d*%?|no|normal|all)$/.test(rest)) {
      return [...options, rest ? { name, value: rest } : { name }];
    }
    if (kind !== undefined && kind !== "nothing" && kind !== "maybe") {
      return [...options, rest ? { name, value: rest } : { name }];
    }
    options.push({ name });
  }
  return options;
}

/** An option without a value, or with one that must be attached. */
function optionWord({ name, value }: { name: string; value?: string }): string {
  if (value === undefined) return quoteWord(name);
  return quoteWord(name.startsWith("--") ? `${name}=${value}` : `${name}${value}`);
}

interface Operands {
  operands: readonly RebuiltWord[];
  afterDashes: readonly RebuiltWord[];
  use: FormUse;
}

function takeOperands(rule: OperandRule, { operands, afterDashes, use }: Operands): string | undefined {
  const all = [...operands, ...afterDashes];
  const { length } = all;
  const { kind } = rule;
  if (kind === "none") return length > 0 ? `the operand ${all[0]?.value} is not expected` : undefined;
  if (length > (rule.max ?? Infinity)) return `it has more than ${rule.max} operands`;
  if (length < (rule.min ?? 0)) return `it has fewer than ${rule.min} operands`;
  if (rule.max !== undefined && all.some(({ splits }) => splits)) return "the number of its operands is unknown";
  const first = use.options.some(({ name }) => rule.firstUnless?.includes(name)) ? undefined : rule.first;
  for (const [at, operand] of all.entries()) {
    const expected = (at === 0 ? first : undefined) ?? kind;
    const meant = expected === "revision" && at >= operands.length ? "path" : expected;
    const problem = takeValue(meant, operand, use);
    if (problem) return problem;
  }
  if (rule.orWorkingFolder && length <= (first ? 1 : 0)) use.paths.push(".");
  return undefined;
}

/** Without `--`, an operand that is only known at run time may become an option. */
function emitOperands(
  { endsOptions = true, operands: { kind } }: CommandForm,
  operands: readonly RebuiltWord[],
  afterDashes: readonly RebuiltWord[],
  use: FormUse,
): string | undefined {
  const texts = (words: readonly RebuiltWord[]): string[] => words.map(({ text }) => text);
  if (endsOptions) {
    if (kind !== "none") use.argv.push("--", ...texts(operands), ...texts(afterDashes));
    return undefined;
  }
  const unclear = operands.find(({ kind: known, value }) => known !== "literal" && /^(?:-|[*?[]|$)/.test(value));
  if (unclear) return "an operand may become an option";
  use.argv.push(...texts(operands), ...(afterDashes.length > 0 ? ["--", ...texts(afterDashes)] : []));
  return undefined;
}

function takeValue(kind: ValueKind, word: RebuiltWord, use: FormUse): string | undefined {
  const { value } = word;
  switch (kind) {
    case "number":
      if (word.kind === "expansion") return undefined;
      return /^[+-]?\d+(?:[bkKMGTPE]i?B?)?$/.test(value) ? undefined : `${value} is not a number`;
    case "path": {
      const path = certainPath(word);
      if (path !== undefined && path !== "-") use.paths.push(path);
      return undefined;
    }
    case "revision":
      if (word.kind === "literal") use.paths.push(...pathsInRevision(value));
      else use.paths.push(...[certainPath(word)].filter((path) => path !== undefined));
      return undefined;
    case "text":
    case "pattern":
      return undefined;
  }
}

/** `HEAD:src/a.ts` and `:0:src/a.ts` name a file, and so may every word that is not a range of commits. */
function pathsInRevision(value: string): string[] {
  // A colon may also stand in a search for a commit, so each could be the one before the path.
  const parts = value.split(":");
  if (parts.length > 1)
    return parts
      .slice(1)
      .map((_, at) => parts.slice(at + 1).join(":"))
      .filter(Boolean);
  const climbs = value.startsWith("/") || value.split("/").includes("..");
  return value.includes("..") && !climbs ? [] : [value];
}
