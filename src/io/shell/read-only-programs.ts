import { matchForm, type CommandForm } from "./command-form.ts";
import { normalizeProgramName, SHELLS } from "./command-wrappers.ts";
import {
  AWK,
  FIND_EXPRESSIONS,
  isHarmlessJq,
  isHarmlessSed,
  JQ,
  NPM_FORMS,
  PIP_FORMS,
  printsVersion,
  READ_ONLY_FORMS,
  SED,
} from "./read-only-forms.ts";
import { type GitUse, HARDENED_GIT_ENV, rebuildGit } from "./read-only-git.ts";
import { literal, type RebuiltWord, withoutGlob } from "./rebuilt-word.ts";
import { isDeniedEnvName, isSafeEnvName } from "./shell-environment.ts";

/** Why a command needs approval. */
export class NotReadOnly extends Error {}

export interface CommandOptions {
  /** A program starts it, not the shell: builtins and assignments are not possible. */
  isStarted?: boolean;
}

/** What the readers of single programs need of the whole command. */
export interface ReaderContext {
  /** Rebuilds the command inside a wrapper. */
  command(words: readonly RebuiltWord[], options?: CommandOptions): string;
  /** Rebuilds the text of a nested shell. */
  subscript(text: string): string;
  /** Notes a file or folder that it reads. Refuses one that may not be read. */
  path(path: string): void;
  /** Notes that the next commands run in another folder. */
  enter(folder: string): void;
  /** The quoted absolute path of a program. */
  program(name: string): string;
  /** Notes a command of git: what it prints depends on the repository. Returns words that it needs in addition. */
  git(use: GitUse): readonly string[];
}

type Words = readonly RebuiltWord[];
type Reader = (words: Words, context: ReaderContext, options: CommandOptions) => string;

const SYSTEM_FOLDER = /^\/(?:usr\/)?bin\//;

/** The rebuilt text of one simple command. Throws `NotReadOnly` if it is not known to only read. */
export function readProgram([first, ...words]: Words, context: ReaderContext, options: CommandOptions): string {
  if (!first || first.kind !== "literal") throw new NotReadOnly("its program is only known at run time");
  const name = first.value.replace(SYSTEM_FOLDER, "");
  if (name === "" || name.includes("/"))
    throw new NotReadOnly(`${first.value} is not on the list of read-only programs`);
  const [only, ...more] = words;
  if (only?.kind === "literal" && more.length === 0 && printsVersion(name, only.value)) {
    return `${context.program(name)} ${only.text}`;
  }
  const reader = READERS.get(name);
  if (reader) return reader(words, context, options);
  return readForm(name, formOf(name), words, context);
}

function readForm(name: string, form: CommandForm, words: Words, context: ReaderContext, before = ""): string {
  const verdict = matchForm(form, words);
  if ("refused" in verdict) throw new NotReadOnly(`${name}: ${verdict.refused}`);
  for (const path of verdict.use.paths) context.path(path);
  return [context.program(name), ...(before ? [before] : []), ...verdict.use.argv].join(" ");
}

function textsOf(words: Words): string {
  return words.map(({ text }) => ` ${text}`).join("");
}

type LiteralWord = RebuiltWord & { kind: "literal" };

function isLiteral(word: RebuiltWord | undefined, value?: string | RegExp): word is LiteralWord {
  if (word?.kind !== "literal") return false;
  return value === undefined || (typeof value === "string" ? word.value === value : value.test(word.value));
}

/** A builtin of the shell, or the program of the same name if another program starts it. */
function builtin(name: string): Reader {
  return (words, context, { isStarted }) => (isStarted ? context.program(name) : name) + textsOf(words);
}

function onlyInShell(name: string, { isStarted }: CommandOptions): void {
  if (isStarted) throw new NotReadOnly(`${name} is not a program`);
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["echo", builtin("echo")],
  ["true", builtin("true")],
  ["false", builtin("false")],
  [":", (words, _, options) => (onlyInShell(":", options), `:${textsOf(words)}`)],
  ["printf", readPrintf],
  ["cd", readCd],
  ["test", readTest],
  ["[", readBracket],
  ["read", readRead],
  ["set", readSet],
  ["exit", readJump("exit")],
  ["break", readJump("break")],
  ["continue", readJump("continue")],
  ["command", readCommandBuiltin],
  ["type", (words, _, options) => (onlyInShell("type", options), `type${textsOf(namesOnly(words, /^-[aptP]+$/))}`)],
  ["env", readEnv],
  [
    "timeout",
    wrapper("timeout", {
      flags: /^(?:-v|-f|--foreground|--preserve-status|--verbose)$/,
      values: /^-[ks]$/,
      operands: 1,
    }),
  ],
  ["nice", wrapper("nice", { flags: /^-(?:n?\d+|-adjustment=\d+)$/, values: /^-n$/, operands: 0 })],
  ["stdbuf", wrapper("stdbuf", { flags: /^-[ioe][L0-9KM]+$/, values: /^-[ioe]$/, operands: 0 })],
  ["xargs", readXargs],
  ["find", readFind],
  ["git", readGitCommand],
  ["sed", readSed],
  ["awk", readAwk("awk")],
  ["gawk", readAwk("gawk")],
  ["mawk", readAwk("mawk")],
  ["jq", readJq],
  ["rg", (words, context) => readForm("rg", formOf("rg"), words, context, "--no-config")],
  ["ps", readPs],
  ["tar", readTar],
  ["npm", readSubcommand("npm", NPM_FORMS, "npm_config_logs_max=0 npm_config_offline=true")],
  ["pnpm", readSubcommand("pnpm", NPM_FORMS, "npm_config_offline=true")],
  ["pip", readSubcommand("pip", PIP_FORMS, "")],
  ["pip3", readSubcommand("pip3", PIP_FORMS, "")],
  ["go", readGo],
  ["python", readPython("python")],
  ["python3", readPython("python3")],
  ["node", readNode],
  ...[...SHELLS].map((name) => [name, readShell] as const),
]);

function formOf(name: string): CommandForm {
  const form = READ_ONLY_FORMS.get(name);
  if (!form) throw new NotReadOnly(`${name} is not on the list of read-only programs`);
  return form;
}

/** The printf of bash evaluates the name after -v. */
function readPrintf(words: Words, context: ReaderContext, options: CommandOptions): string {
  const rest = isLiteral(words[0], "--") ? words.slice(1) : words;
  const [format] = rest;
  if (!format || format.splits || format.value.startsWith("-")) throw new NotReadOnly("printf has no format");
  return `${options.isStarted ? context.program("printf") : "printf"} --${textsOf(rest)}`;
}

function readCd(words: Words, context: ReaderContext, options: CommandOptions): string {
  onlyInShell("cd", options);
  const operands = words.filter((word) => !isLiteral(word, /^-[LP-]$/));
  const [folder] = operands;
  if (operands.length !== 1 || !isLiteral(folder) || folder.value === "-") {
    throw new NotReadOnly("the folder of cd is only known at run time");
  }
  context.enter(folder.value);
  return `cd -- ${folder.text}`;
}

const TESTS_FILE = /^-[bcdefghkLprsSuwxGNO]$/;

/** Of the shell's own test, -v evaluates a subscript in its word. The program has no such test. */
function readTest(words: Words, context: ReaderContext, { isStarted }: CommandOptions): string {
  for (const [at, word] of words.entries()) {
    if (isLiteral(word, /^-[vR]$/)) throw new NotReadOnly(`the test ${word.value} evaluates its word`);
    const before = words[at - 1];
    if (isLiteral(word) && isLiteral(before, TESTS_FILE)) context.path(word.value);
  }
  const isCertain = words.every(({ kind }) => kind === "literal");
  return (isCertain && !isStarted ? "test" : context.program("test")) + textsOf(words);
}

function readBracket(words: Words, context: ReaderContext, options: CommandOptions): string {
  if (!isLiteral(words.at(-1), "]")) throw new NotReadOnly("a test is not closed");
  return readTest(words.slice(0, -1), context, options);
}

/** Names with a subscript would be evaluated. */
function readRead(words: Words, _: ReaderContext, options: CommandOptions): string {
  onlyInShell("read", options);
  const isPlain = words.every(
    (word, at) =>
      isLiteral(word, /^-(?:r|d|ra|n\d+|t\d+)$/) ||
      (isLiteral(words[at - 1], "-d") && isLiteral(word)) ||
      (isLiteral(word, /^[A-Za-z_]\w*$/) && !isDeniedEnvName(word.value) && process.env[word.value] === undefined),
  );
  if (!isPlain || words.some(({ value }) => value === "-ra")) throw new NotReadOnly("read evaluates its names");
  return `read${textsOf(words)}`;
}

function readSet(words: Words, _: ReaderContext, options: CommandOptions): string {
  onlyInShell("set", options);
  const isPlain = words.every((word) => isLiteral(word, /^(?:[-+][eufx]*o?|pipefail)$/));
  if (!isPlain || words.length === 0) throw new NotReadOnly("set changes the shell");
  return `set${textsOf(words)}`;
}

function readJump(name: string): Reader {
  return (words, _, options) => {
    onlyInShell(name, options);
    const isPlain = words.length <= 1 && words.every((word) => isLiteral(word, /^\d{1,3}$/) || word.text === "${?}");
    if (!isPlain) throw new NotReadOnly(`${name} has an unexpected word`);
    return name + textsOf(words);
  };
}

function namesOnly(words: Words, flags: RegExp): Words {
  const isPlain = words.every((word) => isLiteral(word, flags) || !word.value.startsWith("-"));
  if (!isPlain || words.length === 0) throw new NotReadOnly("an option is not on its read-only list");
  return words;
}

function readCommandBuiltin(words: Words, context: ReaderContext, options: CommandOptions): string {
  if (isLiteral(words[0], /^-[vV]$/)) {
    onlyInShell("command", options);
    return `command${textsOf(namesOnly(words, /^-[vV]$/))}`;
  }
  if (words[0]?.value.startsWith("-")) throw new NotReadOnly("command has an unexpected option");
  return context.command(words, options);
}

/** The environment has no secrets: see where unasked commands start. */
function readEnv(words: Words, context: ReaderContext): string {
  const at = words.findIndex((word) => !isLiteral(word, /^[A-Za-z_]\w*=/));
  const settings = at < 0 ? words : words.slice(0, at);
  const unsafe = settings.find(({ value }) => !isSafeEnvName(value.split("=", 1)[0] ?? ""));
  if (unsafe) throw new NotReadOnly(`it sets ${unsafe.value.split("=", 1)[0]}`);
  if (at < 0) return `${context.program("env")}${textsOf(settings)}`;
  if (words[at]?.value.startsWith("-")) throw new NotReadOnly("env has an unexpected option");
  return `${context.program("env")}${textsOf(settings)} ${context.command(words.slice(at), { isStarted: true })}`;
}

interface WrapperWords {
  flags: RegExp;
  values: RegExp;
  operands: number;
}

/** A program that runs the command after its own words unchanged. */
function wrapper(name: string, { flags, values, operands }: WrapperWords): Reader {
  return (words, context) => {
    let at = 0;
    while (isLiteral(words[at], /^-/)) at += isLiteral(words[at], values) ? 2 : isLiteral(words[at], flags) ? 1 : 99;
    const own = words.slice(0, at + operands);
    if (at > words.length || !own.every((word) => isLiteral(word, /^[\w.=-]+$/))) {
      throw new NotReadOnly(`${name} has an unexpected option`);
    }
    return `${context.program(name)}${textsOf(own)} ${context.command(words.slice(at + operands), { isStarted: true })}`;
  };
}

/** A word that contains what a program inserts at run time. */
function inserted(word: RebuiltWord, mark: string): RebuiltWord {
  const at = word.value.indexOf(mark);
  if (at < 0 || word.kind !== "literal") return word;
  return { value: word.value.slice(0, at), text: word.text, kind: "expansion", splits: false };
}

/** Its command gets further operands, which follow `--`. */
function readXargs(words: Words, context: ReaderContext): string {
  let at = 0;
  let mark: string | undefined;
  for (; isLiteral(words[at], /^-/); at++) {
    const { value } = words[at] as RebuiltWord;
    if (value.startsWith("-I")) mark = value.slice(2) || words[++at]?.value;
    else if (/^-[ndLPs]$/.test(value)) at++;
    else if (!/^(?:-[0rtx]+|-[nLPs]\d+|-d.|--null|--no-run-if-empty|--max-args=\d+|--max-procs=\d+)$/.test(value)) {
      throw new NotReadOnly(`xargs: the option ${value} is not on its read-only list`);
    }
  }
  const own = words.slice(0, at);
  if (!own.every((word) => isLiteral(word))) throw new NotReadOnly("xargs has an unexpected option");
  const command = words.slice(at).map((word) => (mark ? inserted(word, mark) : word));
  const [program] = command;
  const name = normalizeProgramName(program?.value ?? "");
  // Their operands are not files, or they do not read `--` as the end of their options.
  if (mark === undefined && GROWS_UNCLEAR.has(name)) throw new NotReadOnly(`xargs adds unknown words to ${name}`);
  const inner = command.length === 0 ? context.program("echo") : context.command(command, { isStarted: true });
  return `${context.program("xargs")}${textsOf(own)} ${inner}`;
}

const GROWS_UNCLEAR = new Set(
  "find git sed awk gawk mawk xxd xargs timeout nice stdbuf env node npm pnpm test [".split(" "),
);

function readFind(words: Words, context: ReaderContext): string {
  const argv: string[] = [];
  let at = 0;
  while (isLiteral(words[at], /^(?:-[HLP]|-O\d)$/)) argv.push((words[at++] as RebuiltWord).text);
  let folders = 0;
  for (let word = words[at]; word && !/^[-!(),]/.test(word.value); word = words[++at]) {
    const path = word.kind === "literal" ? word.value : /^[^*?[]*\//.exec(word.value)?.[0];
    if (word.kind !== "literal" && path === undefined) throw new NotReadOnly("a folder of find may become an option");
    context.path(path ?? ".");
    argv.push(word.text);
    folders++;
  }
  if (folders === 0) argv.push(".");
  for (; at < words.length; at++) {
    const word = words[at] as RebuiltWord;
    if (!isLiteral(word)) throw new NotReadOnly("an expression of find is only known at run time");
    if (word.value === "-exec") {
      const end = words.findIndex((each, index) => index > at && isLiteral(each, /^(?:;|\+)$/));
      if (end < 0) throw new NotReadOnly("find: -exec has no end");
      const command = words.slice(at + 1, end).map((each) => inserted(each, "{}"));
      argv.push("-exec", context.command(command, { isStarted: true }), (words[end] as RebuiltWord).text);
      at = end;
      continue;
    }
    argv.push(word.text);
    if (FIND_EXPRESSIONS.plain.has(word.value)) continue;
    const takesPath = FIND_EXPRESSIONS.path.has(word.value);
    if (!takesPath && !FIND_EXPRESSIONS.text.has(word.value)) {
      throw new NotReadOnly(`find: the expression ${word.value} is not on its read-only list`);
    }
    const value = words[++at];
    if (!value || value.kind === "expansion") throw new NotReadOnly(`find: the value of ${word.value} is unclear`);
    if (takesPath) context.path(value.value);
    argv.push(withoutGlob(value).text);
  }
  return [context.program("find"), ...argv].join(" ");
}

function readGitCommand(words: Words, context: ReaderContext, { isStarted }: CommandOptions): string {
  const argv = rebuildGit(words);
  if ("refused" in argv) throw new NotReadOnly(`git: ${argv.refused}`);
  for (const path of argv.paths) context.path(path);
  const excluded = context.git(argv.use);
  const settings = Object.entries(HARDENED_GIT_ENV).map(([name, value]) => `${name}=${value}`);
  return [
    ...(isStarted ? [context.program("env")] : []),
    ...settings,
    context.program("git"),
    ...argv.words,
    ...excluded,
  ].join(" ");
}

/** With --sandbox, GNU sed refuses scripts that run, read or write. */
function readSed(words: Words, context: ReaderContext): string {
  const scripts = scriptsOf(words, /^(?:-e|--expression)$/, /^(?:-e|--expression=)(.+)$/s, /^-[lF]$/);
  const isHarmless = scripts.every((word) => word.kind === "literal" && isHarmlessSed(word.value));
  if (isHarmless) return readForm("sed", SED, words, context);
  if (scripts.some(({ value }) => mayRunSed(value))) throw new NotReadOnly("sed: its script may run or write");
  return readForm("sed", { ...SED, check: undefined }, words, context, "--sandbox");
}

/** The scripts among the words: the values of the option, else the first operand. */
function scriptsOf(words: Words, option: RegExp, attached: RegExp, withValue: RegExp): RebuiltWord[] {
  const scripts: RebuiltWord[] = [];
  let first: RebuiltWord | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as RebuiltWord;
    if (isLiteral(word, option)) scripts.push(...words.slice(++at, at + 1));
    else if (attached.test(word.value)) scripts.push({ ...word, value: attached.exec(word.value)?.[1] ?? "" });
    else if (isLiteral(word, /^-[nErsuz]+e$/)) scripts.push(...words.slice(++at, at + 1));
    else if (withValue.test(word.value)) at++;
    else if (!word.value.startsWith("-")) first ??= word;
  }
  return scripts.length > 0 ? scripts : first ? [first] : [];
}

/** The commands e, r, R, w, W, and the flags e and w of s; it also finds some that are none of these. */
function mayRunSed(script: string): boolean {
  return (
    /(?:^|[\d;{}$!/\n ])\s*[erRwW](?:\s|$|[;}])/.test(script) ||
    /[/|,#@!:~][gpiImM\d]*[ew][gpiImM\d]*\s*(?:$|[\s;}])/.test(script)
  );
}

function readAwk(name: string): Reader {
  return (words, context) => readForm(name, AWK, words, context);
}

/** jq runs nothing and writes nothing. */
function readJq(words: Words, context: ReaderContext): string {
  const settings: string[] = [];
  const rest: RebuiltWord[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as RebuiltWord;
    if (!isLiteral(word, /^--arg(?:json)?$/)) {
      rest.push(word);
      continue;
    }
    const [name, value] = [words[at + 1], words[at + 2]];
    if (!isLiteral(name, /^\w+$/) || !value || value.splits) throw new NotReadOnly("jq: a variable is not plain");
    settings.push(word.text, name.text, withoutGlob(value).text);
    at += 2;
  }
  if (rest.some((word) => word.kind === "expansion" && word.value.startsWith("-"))) {
    throw new NotReadOnly("jq: an option is only known at run time");
  }
  const operands = rest.filter(({ value }) => !value.startsWith("-"));
  const [filter, ...files] = operands;
  if (filter && (filter.kind !== "literal" || !isHarmlessJq(filter.value))) {
    throw new NotReadOnly("jq: its filter reads the environment or other files");
  }
  const options = rest.filter(({ value }) => value.startsWith("-"));
  const verdict = readForm("jq", JQ, options, context);
  for (const file of files) if (file.kind === "literal") context.path(file.value);
  return `${verdict}${settings.map((word) => ` ${word}`).join("")} ${filter?.text ?? "."}${textsOf(files)}`;
}

/** In the letters without a dash, `e` shows the environment of processes. */
function readPs(words: Words, context: ReaderContext): string {
  const isPlain = words.every(
    (word) => isLiteral(word, /^(?:-[\w,.:%=+-]+|[\w,.:%=+-]+)$/) && !isLiteral(word, /^[a-z]*e[a-z]*$/),
  );
  if (!isPlain) throw new NotReadOnly("ps: an option is not on its read-only list");
  return `${context.program("ps")}${textsOf(words)}`;
}

function readTar(words: Words, context: ReaderContext): string {
  const [first, ...rest] = words;
  const dashed = isLiteral(first, /^[tvzjJf]+$/) ? [literal(`-${first.value}`), ...rest] : words;
  return readForm("tar", formOf("tar"), dashed, context);
}

function readSubcommand(name: string, forms: ReadonlyMap<string, CommandForm>, settings: string): Reader {
  return ([first, ...words], context, { isStarted }) => {
    const form = isLiteral(first) ? forms.get(first.value) : undefined;
    if (!form || !first) throw new NotReadOnly(`${name}: the subcommand is not on its read-only list`);
    const verdict = matchForm(form, words);
    if ("refused" in verdict) throw new NotReadOnly(`${name} ${first.value}: ${verdict.refused}`);
    const before = settings === "" ? [] : [...(isStarted ? [context.program("env")] : []), settings];
    return [...before, context.program(name), first.text, ...verdict.use.argv].join(" ");
  };
}

function readGo(words: Words, context: ReaderContext): string {
  const [first, ...names] = words;
  const isPlain = isLiteral(first, "env") && names.every((word) => isLiteral(word, /^(?:[A-Z]\w*|-json)$/));
  if (!isPlain) throw new NotReadOnly("go: the subcommand is not on its read-only list");
  return `${context.program("go")} env${textsOf(names)}`;
}

/** `python -m json.tool FILE`; with -I no module of the project is loaded. */
function readPython(name: string): Reader {
  return (words, context) => {
    const [flag, module, ...rest] = words;
    if (!isLiteral(flag, "-m") || !isLiteral(module, "json.tool")) throw new NotReadOnly(`${name} runs a program`);
    const form: CommandForm = {
      options: "--sort-keys --indent:number --compact --json-lines",
      operands: { kind: "path", max: 1 },
    };
    return readForm(name, form, rest, context, "-I -m json.tool");
  };
}

const PRINTS_JSON = /^require\((['"])(\.\/[\w./-]+\.json)\1\)(?:\.\w+|\[(?:\d+|(['"])[\w@/. -]+\3)\])*$/;

/** `node -p "require('./package.json').version"` */
function readNode(words: Words, context: ReaderContext): string {
  const [flag, code, ...rest] = words;
  const expression = isLiteral(flag, "-e")
    ? /^console\.log\((.+)\);?$/.exec(code?.value ?? "")?.[1]
    : isLiteral(flag, "-p")
      ? code?.value
      : undefined;
  const file = PRINTS_JSON.exec(expression ?? "")?.[2];
  if (!isLiteral(code) || file === undefined || rest.length > 0) throw new NotReadOnly("node runs a program");
  context.path(file);
  return `${context.program("node")} ${flag?.text} ${code.text}`;
}

/** `bash -c 'text'`: the text itself is rebuilt. */
function readShell(words: Words, context: ReaderContext, options: CommandOptions): string {
  onlyInShell("a nested shell", options);
  const [flag, text, ...rest] = words;
  if (!isLiteral(flag, /^-l?c$/) || !isLiteral(text) || rest.length > 0)
    throw new NotReadOnly("a shell runs a program");
  return context.subscript(text.value);
}
