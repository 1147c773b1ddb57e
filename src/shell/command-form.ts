/**
 * How a program may be used without changing or running anything. Everything that is not listed is refused: an option
 * under another spelling, an abbreviation, one operand too many.
 *
 * `options` is a list of words: `-abc` three flags that may be clustered, `-n:number` a short option with a value,
 * `-U?` one with an optional attached number, `-#` a number as an option (`-20`), `--all` a long flag, `--lines:number`
 * a long option with a value, `--color?` one with an optional value.
 */
export interface CommandForm {
  options?: string;
  operands: OperandRule;
  /** Options that make the program write; naming them says more than "unknown option". */
  writes?: string;
  /** The program goes down into folders: always, or with one of these options. */
  recursive?: true | string;
  /** What holds beyond options and operands; returns what is wrong. */
  check?: (use: FormUse) => string | undefined;
}

export type ValueKind = "text" | "number" | "path" | "glob" | "pattern" | "revision";

export interface OperandRule {
  kind: ValueKind | "none";
  /** The first operand is of another kind, unless one of these options already gave it. */
  first?: ValueKind;
  firstUnless?: readonly string[];
  max?: number;
  min?: number;
  /** Without an operand the program looks at the working folder. */
  orWorkingFolder?: boolean;
}

export interface FormUse {
  options: { name: string; value?: string }[];
  operands: string[];
  /** Operands and option values that name files or folders. */
  paths: string[];
  /** Whether the program goes below the folders in `paths`. */
  recursive: boolean;
}

export type FormVerdict = { use: FormUse } | { refused: string; writes: boolean };

/** Reads the words after the program as GNU and BSD programs do, and refuses what the form does not list. */
export function matchForm(form: CommandForm, words: readonly string[]): FormVerdict {
  const known = optionsOf(form);
  const use: FormUse = { options: [], operands: [], paths: [], recursive: form.recursive === true };
  const refuse = (refused: string, option = ""): FormVerdict => ({ refused, writes: known.writes.has(option) });
  const afterDashes: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--") {
      afterDashes.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      use.operands.push(word);
      continue;
    }
    if (known.digits && /^-\d+$/.test(word)) {
      use.options.push({ name: "-#", value: word.slice(1) });
      continue;
    }
    for (const option of word.startsWith("--") ? [splitLong(word)] : splitCluster(word, known)) {
      const takes = known.takes.get(option.name);
      if (takes === undefined) return refuse(`the option ${option.name} is not on its read-only list`, option.name);
      if (takes === "nothing" || takes === "maybe") {
        if (takes === "nothing" && option.value !== undefined) return refuse(`${option.name} takes no value`);
        use.options.push(option);
        continue;
      }
      const isSeparate = option.value === undefined;
      const value = option.value ?? words[++at];
      if (value === undefined) return refuse(`${option.name} lacks its value`);
      // Programs disagree on whether such a word is the value or the next option; for patterns and numbers they agree.
      const isUnclear = isSeparate && /^-./.test(value) && takes !== "pattern" && takes !== "number";
      if (isUnclear) return refuse(`the value of ${option.name} is unclear`);
      const problem = takeValue(takes, value, use);
      if (problem) return refuse(problem);
      use.options.push({ name: option.name, value });
    }
  }
  const problem = takeOperands(form.operands, afterDashes, use) ?? form.check?.(use);
  if (problem) return refuse(problem);
  if (typeof form.recursive === "string") {
    const names = form.recursive.split(" ");
    use.recursive = use.options.some(({ name }) => names.includes(name));
  }
  return { use };
}

type Takes = ValueKind | "nothing" | "maybe";

interface KnownOptions {
  takes: Map<string, Takes>;
  digits: boolean;
  writes: ReadonlySet<string>;
}

const known = new WeakMap<CommandForm, KnownOptions>();

function optionsOf(form: CommandForm): KnownOptions {
  const before = known.get(form);
  if (before) return before;
  const takes = new Map<string, Takes>();
  const words = form.options?.split(/\s+/).filter(Boolean) ?? [];
  for (const word of words) {
    const [, name, kind, maybe] = /^(--?[^:?]+)(?::(\w+)|(\?))?$/.exec(word) as unknown as [
      string,
      string,
      Takes?,
      string?,
    ];
    if (kind || maybe || name.startsWith("--")) takes.set(name, kind ?? (maybe ? "maybe" : "nothing"));
    else for (const letter of name.slice(1)) takes.set(`-${letter}`, "nothing");
  }
  const options = { takes, digits: takes.delete("-#"), writes: new Set(form.writes?.split(" ")) };
  known.set(form, options);
  return options;
}

function splitLong(word: string): { name: string; value?: string } {
  const at = word.indexOf("=");
  return at < 0 ? { name: word } : { name: word.slice(0, at), value: word.slice(at + 1) };
}

function splitCluster(word: string, { takes }: KnownOptions): { name: string; value?: string }[] {
  const options: { name: string; value?: string }[] = [];
  for (let at = 1; at < word.length; at++) {
    const name = `-${word[at]}`;
    const kind = takes.get(name);
    const rest = word.slice(at + 1);
    if (kind === "maybe" && /^\d*%?$/.test(rest)) return [...options, rest ? { name, value: rest } : { name }];
    if (kind !== undefined && kind !== "nothing" && kind !== "maybe") {
      return [...options, rest ? { name, value: rest } : { name }];
    }
    options.push({ name });
  }
  return options;
}

function takeOperands(rule: OperandRule, afterDashes: readonly string[], use: FormUse): string | undefined {
  const beforeDashes = use.operands.length;
  use.operands.push(...afterDashes);
  const { length } = use.operands;
  if (rule.kind === "none" && length > 0) return `the operand ${use.operands[0]} is not expected`;
  if (length > (rule.max ?? Infinity)) return `it has more than ${rule.max} operands`;
  if (length < (rule.min ?? 0)) return `it has fewer than ${rule.min} operands`;
  const hasFirst = rule.first && !use.options.some(({ name }) => rule.firstUnless?.includes(name));
  for (const [at, operand] of use.operands.entries()) {
    const listed = hasFirst && at === 0 ? (rule.first as ValueKind) : (rule.kind as ValueKind);
    const problem = takeValue(listed === "revision" && at >= beforeDashes ? "path" : listed, operand, use);
    if (problem) return problem;
  }
  if (rule.orWorkingFolder && length <= (hasFirst ? 1 : 0)) use.paths.push(".");
  return undefined;
}

function takeValue(kind: ValueKind, value: string, use: FormUse): string | undefined {
  switch (kind) {
    case "number":
      return /^[+-]?\d+(?:[bkKMGTPE]i?B?)?$/.test(value) ? undefined : `${value} is not a number`;
    case "path":
      if (value !== "-") use.paths.push(value);
      return undefined;
    case "revision":
      use.paths.push(...pathsInRevision(value));
      return undefined;
    case "glob":
      // A glob that names hidden files makes search programs read them, secrets included.
      return /(?:^|[/{,!])\.|\.\./.test(value) ? `the pattern ${value} names hidden files` : undefined;
    case "text":
    case "pattern":
      return undefined;
  }
}

/** `HEAD:src/a.ts` names a file, and so may every word that is no range of commits. */
function pathsInRevision(value: string): string[] {
  const colon = value.indexOf(":");
  if (colon >= 0) return [value.slice(colon + 1)].filter(Boolean);
  const climbs = value.startsWith("/") || value.split("/").includes("..");
  return value.includes("..") && !climbs ? [] : [value];
}
