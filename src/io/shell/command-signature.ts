import { isAbsolute, join } from "node:path";
import { BoundedMap } from "../../core/bounded-map.ts";
import {
  type CommandName,
  type CommandPart,
  type CommandReading,
  type HiddenParts,
  NO_PREFIX_RULES,
  provideCommandParser,
  TRANSPARENT_WRAPPERS,
} from "../../core/signature.ts";
import { commandSteps } from "./command-steps.ts";
import { carriesCommand, gitSubcommand, normalizeProgramName, readWrapper, SHELLS } from "./command-wrappers.ts";
import {
  COMMAND_LIMITS,
  type CommandRedirection,
  type CommandWord,
  type Construct,
  isOpenWord,
  parseCommand,
  type ParsedCommand,
  type SeenCommand,
  type SimpleCommand,
  unwrapArgv,
  unwrapCommand,
} from "./parse-command.ts";
import { namingWords, notCovered, prefixExamples, prefixLength } from "./prefix-forms.ts";
import { startsNothing } from "./starts-nothing.ts";
import { isSafeEnvName } from "./shell-environment.ts";

provideCommandParser({ read: readCommand, steps: commandSteps, prefixLength, prefixExamples });

const MAX_CACHED = 256;
/** Each file is looked up on the disk. */
const MAX_PATHS = 200;

/** With one of these, the simple commands do not describe everything that happens. No allow rule matches. */
const OPAQUE_CONSTRUCTS: readonly Construct[] = [
  "compound command",
  "function",
  "coprocess",
  "prompt expansion",
  "hidden character",
];

const NOTHING_HIDDEN: HiddenParts = { commands: [], reads: [], changes: [] };

const cache = new BoundedMap<string, CommandReading>(MAX_CACHED);

/** A command as permission rules see it. Recent results are cached. */
export function readCommand(text: string): CommandReading {
  const cached = cache.get(text);
  if (cached) return cached;
  const reading = read(text);
  if (text.length > COMMAND_LIMITS.characters) return reading;
  cache.set(text, reading);
  return reading;
}

export interface CommandCircumstances {
  directory?: string | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  stdin?: string | undefined;
  /** Whether the shell finds another file under this name than the system's program. Default: never. */
  isReplaced?: (program: string) => boolean;
}

const DELETING = new Set(["rm", "rmdir", "unlink", "shred", "trash"]);
const DELETES_MANY = /^(?:-\w*[rR]\w*|--recursive|-delete)$/;

/** How many files a command deletes, as far as its text shows; `unknown` if that is only known when it runs. */
export function countDeletions(text: string): number | "unknown" {
  let count = 0;
  for (const { name, argv, open, within } of unwrapCommand(text).commands) {
    const isFind = name === "find" && argv.includes("-delete");
    const isClean = name === "git" && gitSubcommand(argv.slice(1))[0] === "clean";
    if (!DELETING.has(name) && !isFind && !isClean) continue;
    const operands = argv.slice(1).filter((word) => !word.startsWith("-"));
    const isMany =
      isFind || isClean || open.length > 0 || within.length > 0 || argv.some((word) => DELETES_MANY.test(word));
    if (isMany) return "unknown";
    count += operands.length;
  }
  return count;
}

/** Reads a command together with its working directory, variables and standard input. */
export function readCommandWith(
  text: string,
  { directory, env, stdin, isReplaced }: CommandCircumstances,
): CommandReading {
  let reading = readCommand(text);
  const replaced = isReplaced ? unwrapCommand(text).commands.filter(({ name }) => isReplaced(name)) : [];
  if (replaced.length > 0) {
    const hides = { ...NOTHING_HIDDEN, ...reading.hides };
    const names = new Set(replaced.map(({ name }) => name));
    const programs = [...new Set([...(hides.programs ?? []), ...names])];
    // What a rule for the system's program says does not hold for this one.
    const parts = reading.parts.map((part) => ({
      ...part,
      forms: part.forms.map((form) => (names.has(part.program) && !form.starts ? { ...form, exactOnly: true } : form)),
    }));
    reading = { ...reading, parts, hides: { ...hides, programs } };
  }
  if (directory !== undefined) reading = { ...reading, directory };
  for (const name of Object.keys(env ?? {})) {
    const { closed } = commandPart({ source: "", words: [], assignments: [`${name}=`], redirections: [] });
    if (closed) reading = { ...reading, undetermined: closed };
    if (carriesCommand(name)) reading = { ...reading, hides: { ...NOTHING_HIDDEN, ...reading.hides, commands: [""] } };
  }
  if (stdin !== undefined && stdin !== "") {
    const isShell = reading.parts.some(({ program }) => SHELLS.has(program));
    const seen = isShell ? [...reading.seen, ...readCommand(stdin).seen] : reading.seen;
    // Code for an interpreter, names for `xargs`, a patch: a rule knows only the text of the command.
    const undetermined = isShell ? "a shell runs its standard input" : "a rule does not cover its standard input";
    reading = { ...reading, seen, undetermined };
  }
  return reading;
}

function read(text: string): CommandReading {
  const parsed = parseCommand(text);
  const { commands, openings } = unwrapCommand(parsed);
  const { inputs, outputs, openInputs, openOutputs, unknown } = redirected(parsed);
  const named = commands.map(({ argv }) => namedFiles(argv));
  const reads = movedPaths([...inputs, ...named.flatMap((files) => files.reads)], commands);
  const changes = movedPaths([...outputs, ...named.flatMap((files) => files.changes)], commands);
  const openOf = (list: "reads" | "changes") =>
    commands.flatMap(({ open }, at) => (named[at]?.touches[list] ? open : []));
  const hides: HiddenParts = {
    commands: [...new Set(openings)],
    programs: [
      ...new Set(commands.filter((command) => !startsNothing(command)).map(({ argv: [program = ""] }) => program)),
    ],
    reads: [...openInputs, ...openOf("reads"), ...reads.unknown],
    changes: [...openOutputs, ...openOf("changes"), ...changes.unknown],
  };
  const construct = OPAQUE_CONSTRUCTS.find((each) => parsed.constructs.has(each));
  const closed =
    (construct && `it has a ${construct}`) ??
    unknown ??
    (outputs.length > 0 && changesFolder(commands) ? "it changes its folder and redirects to a file" : undefined);
  const isMany = Math.max(reads.paths.length, changes.paths.length, inputs.length, outputs.length) > MAX_PATHS;
  const problem =
    parsed.problem?.reason ?? (isMany ? `The command names over ${MAX_PATHS} files: too many to check.` : undefined);
  return {
    text,
    parts: parsed.commands.map(commandPart),
    seen: [...new Set([...seenIn(parsed), ...commands.flatMap(namesOf), ...(problem ? crudePieces(text) : [])])],
    reads: reads.paths.slice(0, MAX_PATHS),
    changes: changes.paths.slice(0, MAX_PATHS),
    inputs: inputs.slice(0, MAX_PATHS),
    outputs: outputs.slice(0, MAX_PATHS),
    hides: Object.values(hides).some((list) => list.length > 0) ? hides : undefined,
    closed,
    problem,
  };
}

/** The texts that rules match: the whole text, and each command with and without its assignments. */
function seenIn({ text, commands }: ParsedCommand): string[] {
  return [
    text.trim(),
    ...commands.flatMap(({ source, words }) => [source, words.map((word) => word.source).join(" ")]).filter(Boolean),
  ];
}

/** `/bin/rm x` also matches as `rm x`, and `git -C a push` as `git push`. */
function namesOf({ name, argv }: SeenCommand): string[] {
  const words = argv.slice(1);
  const names = [argv.join(" "), [name, ...words].join(" ")];
  if (name === "git") names.push(["git", ...gitSubcommand(words)].join(" "));
  return names;
}

/** Splits unparsable text at everything that may separate commands. Good enough for deny rules. */
function crudePieces(text: string): string[] {
  return text
    .split(/[;&|\n(){}`]+/, 10_000)
    .map((piece) => piece.trim())
    .filter(Boolean);
}

interface Redirected {
  inputs: string[];
  outputs: string[];
  /** Targets that are only known at run time. */
  openInputs: string[];
  openOutputs: string[];
  unknown: string | undefined;
}

function redirected({ redirections }: ParsedCommand): Redirected {
  const found: Redirected = { inputs: [], outputs: [], openInputs: [], openOutputs: [], unknown: undefined };
  for (const redirection of redirections) {
    const { operator, target, body } = redirection;
    if (body !== undefined || !target || isStream(redirection)) continue;
    const isOutput = operator.includes(">");
    if (target.literal) found[isOutput ? "outputs" : "inputs"].push(target.value);
    else {
      found.unknown = "it redirects to or from a file that is only known at run time";
      found[isOutput ? "openOutputs" : "openInputs"].push(target.value);
    }
  }
  return found;
}

function isStream({ target }: CommandRedirection): boolean {
  return /^(?:\d+-?|-|\/dev\/(?:null|stdin|stdout|stderr))$/.test(target?.value ?? "");
}

/** After `cd` a relative name means another file. */
function changesFolder(commands: readonly SeenCommand[]): boolean {
  return commands.some(({ name }) => name === "cd" || name === "pushd" || name === "popd");
}

const FIND_ACTION = /^-(?:exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/;
const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=/;

/** One simple command as allow rules see it. Words stay as written, because rules match the written text. */
function commandPart({ words, assignments }: SimpleCommand): CommandPart {
  const unsafe = assignments.find((assignment) => !isSafeEnvName(ASSIGNMENT.exec(assignment)?.[1] ?? ""));
  const closed = unsafe === undefined ? undefined : `it sets ${unsafe.split("=")[0] ?? unsafe}`;
  const [first] = words;
  if (!first) return closed ? { program: "", forms: [], closed } : { program: "", forms: [], harmless: true };
  if (!first.literal && first.source !== "[") {
    return { program: first.source, forms: [], closed: "its program is only known at run time" };
  }
  const forms = formsOf(words);
  const runs = innerCommands(words.slice(-(forms.at(-1)?.words ?? 0)));
  return {
    program: normalizeProgramName(first.value),
    forms: forms.map(({ words: _words, ...form }) => form),
    runs,
    closed,
  };
}

/** The commands inside a shell or another wrapper; allow rules do not look inside. */
function innerCommands(words: readonly CommandWord[]): string[] | undefined {
  const { commands, complete } = unwrapArgv(words.map(({ value }) => value));
  const [outer, ...inner] = commands;
  if (!outer || (inner.length === 0 && complete)) return undefined;
  if (!complete || !words.every(({ literal }) => literal)) return [];
  const wrappers = new Set(inner.flatMap(({ within }) => within));
  return inner.filter(({ name }) => !wrappers.has(name)).map(({ argv }) => argv.map(quoteWord).join(" "));
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** No rule is meant for what more wrappers run. */
const MAX_WRAPPERS = 8;

function formsOf(words: readonly CommandWord[]): (CommandName & { words: number })[] {
  const forms: (CommandName & { words: number })[] = [];
  let rest = words;
  for (;;) {
    const inner = forms.length < MAX_WRAPPERS ? innerWords(rest) : undefined;
    const text = rest.map(({ source }) => source).join(" ");
    const { exactOnly, spelled } = notCovered(rest);
    forms.push({
      text,
      exactOnly: exactOnly || inner !== undefined || forms.length === MAX_WRAPPERS || isOpaque(rest),
      spelled: spelled.length > 0 ? spelled : undefined,
      starts: startsOf(rest),
      words: rest.length,
    });
    if (inner === undefined) return forms;
    rest = inner;
  }
}

/** The words that say what it starts; undefined if it starts nothing. */
function startsOf(words: readonly CommandWord[]): string[] | undefined {
  const argv = words.map(({ value }) => value);
  const name = normalizeProgramName(argv[0] ?? "");
  const open = words.filter(isOpenWord).map(({ value }) => value);
  if (startsNothing({ name, argv, open, literal: open.length === 0, within: [] })) return undefined;
  // A program that is given by its path is itself what is started.
  return argv[0]?.includes("/") ? [] : namingWords(name, words.slice(1));
}

/** The words of the wrapped command; undefined if they are not certain. */
function innerWords(words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  // A path could name any program, so only the bare name qualifies.
  const name = words[0]?.value ?? "";
  if (!TRANSPARENT_WRAPPERS.has(name) || words.length < 2) return undefined;
  const inner = name === "xargs" || name === "noglob" ? wordsAfterBare(words) : wordsAfterOptions(name, words);
  if (!inner || inner.length === 0) return undefined;
  const wrapper = words.slice(0, words.length - inner.length);
  return wrapper.every(({ literal }) => literal) && inner[0]?.literal ? inner : undefined;
}

function wordsAfterBare(words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  return words[1]?.value.startsWith("-") ? undefined : words.slice(1);
}

function wordsAfterOptions(name: string, words: readonly CommandWord[]): readonly CommandWord[] | undefined {
  const read = readWrapper(
    name,
    words.slice(1).map(({ value }) => value),
  );
  const [command] = read?.commands ?? [];
  return read?.certain && read.texts.length === 0 && command ? words.slice(words.length - command.length) : undefined;
}

function isOpaque([first, ...rest]: readonly CommandWord[]): boolean {
  const name = normalizeProgramName(first?.value ?? "");
  if (NO_PREFIX_RULES.has(name)) return true;
  // A word that is not literal may expand to such an action.
  return name === "find" && rest.some(({ value, literal }) => !literal || FIND_ACTION.test(value));
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

const READS = words(`
  cat tac head tail less more most bat nl wc od xxd hexdump strings base64 base32 cut paste sort uniq comm join diff cmp
  file stat md5sum sha1sum sha256sum sha512sum cksum source . grep egrep fgrep zgrep rg ag sed awk gawk mawk jq yq column
  fold rev cp install rsync scp tar zip gzip bzip2 xz openssl ls tree du find fd python python3 node ruby perl bash sh zsh
`);
const CHANGES = words(`
  rm rmdir unlink shred truncate touch mkdir tee chmod chown chgrp ln cp mv install patch rename dd rsync
`);
/** Their first operand is an expression, unless an option supplies it. */
const EXPRESSION_FIRST = words("grep egrep fgrep zgrep rg ag sed awk gawk mawk jq yq chmod chown chgrp");
const EXPRESSION_OPTION = /^-(?:e|f|-expression|-regexp|-file)/;

interface NamedFiles {
  reads: string[];
  changes: string[];
  /** What the program does with its file operands. */
  touches: { reads: boolean; changes: boolean };
}

/** The files that a command names, for deny rules: a false positive is better than a missed file. */
function namedFiles(argv: readonly string[]): NamedFiles {
  const name = normalizeProgramName(argv[0] ?? "");
  const isInPlace = name === "sed" && argv.some((word) => /^-(?:[a-zA-Z]*i|-in-place)/.test(word));
  const reads = READS.has(name) || name === "mv";
  const changes = CHANGES.has(name) || isInPlace;
  const touches = { reads, changes };
  if (!reads && !changes) return { reads: [], changes: [], touches };
  const rest = argv.slice(1);
  const operands = rest.flatMap(operandOf);
  if (EXPRESSION_FIRST.has(name) && !rest.some((word) => EXPRESSION_OPTION.test(word))) operands.shift();
  return { reads: reads ? operands : [], changes: changes ? operands : [], touches };
}

/** `--file=x` and `of=x` name x; other options name no file. */
function operandOf(word: string): string[] {
  const value = /^(?:--[\w-]+|if|of)=(.+)$/s.exec(word)?.[1];
  if (value !== undefined) return [value];
  return word.startsWith("-") || word === "" ? [] : [word];
}

const MAX_MOVED = 1000;
const MOVES = new Set(["cd", "pushd", "popd", "chdir"]);

/**
 * The paths, plus what they become if the command changes its folder, for deny rules. Every combination of the named
 * folders is included. `unknown` has the paths whose folder cannot be determined.
 */
function movedPaths(paths: string[], commands: readonly SeenCommand[]): { paths: string[]; unknown: string[] } {
  const relative = paths.filter((path) => !isAbsolute(path) && !/^~(?:\/|$)/.test(path));
  const moves = commands.filter(({ name }) => MOVES.has(name));
  const usesEnvChdir = commands.some(
    ({ name, argv }) => name === "env" && argv.some((word) => /^(?:-C|--chdir)/.test(word)),
  );
  if (relative.length === 0 || (moves.length === 0 && !usesEnvChdir)) return { paths, unknown: [] };
  const targets = moves.map(({ argv }) => argv.slice(1).filter((word) => word === "-" || !/^[-+]/.test(word)));
  const isKnown = moves.every(
    ({ open }, at) => open.length === 0 && targets[at]?.length === 1 && targets[at]?.[0] !== "-",
  );
  if (!isKnown || usesEnvChdir || moves.length * relative.length > MAX_MOVED) return { paths, unknown: relative };
  let through = "";
  const folders = targets.flatMap(([target = ""]) => {
    through = isAbsolute(target) || target.startsWith("~") ? target : join(through, target);
    return [target, through];
  });
  return { paths: [...paths, ...folders.flatMap((folder) => relative.map((path) => join(folder, path)))], unknown: [] };
}
