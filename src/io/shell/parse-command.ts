import {
  type Assignment,
  type Command,
  forEachChild,
  parse,
  type Redirection,
  type Script,
  type SyntaxNode,
  type Word,
} from "unbash";
import {
  carriedCommands,
  carriesCommand,
  gitSubcommand,
  normalizeProgramName,
  readWrapper,
  SHELLS,
  type WrappedCommands,
} from "./command-wrappers.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { findHiddenCharacter } from "./terminal-text.ts";

/** Syntax beyond a chain of literal words. */
export type Construct =
  | "assignment"
  | "background"
  | "brace expansion"
  | "compound command"
  | "evaluated word"
  | "coprocess"
  | "expansion"
  | "function"
  | "glob"
  | "here-document"
  | "hidden character"
  | "negation"
  | "pipe of both streams"
  | "process substitution"
  | "prompt expansion"
  | "redirection"
  | "special quote"
  | "substitution"
  | "time";

export interface CommandWord {
  /** As written. */
  source: string;
  /** Its position in the text. */
  at: number;
  /** Without its quotes. Certain if `literal`; otherwise the parser's reading, with expansions as written. */
  value: string;
  literal: boolean;
}

export interface CommandRedirection {
  operator: string;
  target?: CommandWord;
  /** Text of a here-document or here-string. */
  body?: string;
}

export interface SimpleCommand {
  /** As written, without its redirections. */
  source: string;
  words: CommandWord[];
  /** Assignments before the program, as written. */
  assignments: string[];
  redirections: CommandRedirection[];
}

export interface ParsedCommand {
  text: string;
  /** Every simple command, including those in substitutions, groups, loops and functions; outer before inner. */
  commands: SimpleCommand[];
  /** All redirections, also of groups and loops. */
  redirections: CommandRedirection[];
  constructs: ReadonlySet<Construct>;
  /** The syntax tree, unless the text was not parsed at all. */
  script?: Script;
  /** Set if the text could not be read to the end; `commands` then has what was read. */
  problem?: { kind: "empty" | "malformed" | "tooComplex"; reason: string };
}

/**
 * A text beyond one of these is not analysed, so a person decides. Callers send hostile texts, and every check of a
 * command runs on the thread that serves everybody: the limits keep all checks together in milliseconds.
 */
export const COMMAND_LIMITS = {
  characters: 10_000,
  /** Words, operators and other parts of the syntax tree. */
  nodes: 1000,
  depth: 48,
  commands: 60,
  /** Characters that may end a command, also quoted ones: they are counted before the text is parsed. */
  separators: 1000,
  // The parser reads the rest of the text again after each of these.
  openers: 128,
  braces: 128,
};

const OPENER = /\$[({[]|[<>@?*+!]\(|`|<</g;
const MAX_CACHED = 16;
const cache = new BoundedMap<string, ParsedCommand>(MAX_CACHED);

/** Parses bash text. Never throws or guesses: see `problem`. Cached, because many checks parse one call. */
export function parseCommand(text: string): ParsedCommand {
  const cached = cache.get(text);
  if (cached) return cached;
  const reading: Reading = { commands: [], redirections: [], constructs: new Set(), nodes: 0 };
  reading.problem = findTextProblem(text);
  let script: Script | undefined;
  if (findHiddenCharacter(text)) reading.constructs.add("hidden character");
  if (!reading.problem) {
    try {
      script = parse(text);
      readNode(script, text, reading, 0);
    } catch {
      // The parser is recursive and may overflow the stack.
      reading.problem = tooComplex("is nested too deeply");
    }
  }
  const { commands, redirections, constructs, problem } = reading;
  const parsed: ParsedCommand = { text, commands, redirections, constructs, script, problem };
  if (text.length > COMMAND_LIMITS.characters) return parsed;
  cache.set(text, parsed);
  return parsed;
}

interface Reading {
  commands: SimpleCommand[];
  redirections: CommandRedirection[];
  constructs: Set<Construct>;
  nodes: number;
  problem?: ParsedCommand["problem"];
}

function findTextProblem(text: string): ParsedCommand["problem"] {
  if (text.trim() === "") return { kind: "empty", reason: "The command is empty." };
  if (text.length > COMMAND_LIMITS.characters) {
    return tooComplex(`is longer than ${COMMAND_LIMITS.characters} characters`);
  }
  if (text.includes("\0")) return { kind: "malformed", reason: "The command contains a NUL character." };
  if (!text.isWellFormed()) {
    return { kind: "malformed", reason: "The command contains half a character (an unpaired surrogate)." };
  }
  const openers = text.match(OPENER)?.length ?? 0;
  const braces = text.match(/\{/g)?.length ?? 0;
  const separators = text.match(/[;&|\n]/g)?.length ?? 0;
  if (separators > COMMAND_LIMITS.separators) return tooManyParts();
  if (openers > COMMAND_LIMITS.openers || braces > COMMAND_LIMITS.braces) {
    return tooComplex("has too many expansions or brackets");
  }
  return undefined;
}

function tooComplex(what: string): { kind: "tooComplex"; reason: string } {
  return { kind: "tooComplex", reason: `The command ${what}. That is too complex to analyse.` };
}

function tooManyParts(): ParsedCommand["problem"] {
  return tooComplex(`has over ${COMMAND_LIMITS.nodes} parts`);
}

/** The start of a command that is over the limit: enough for the rules that name it, and quick to check. */
function headOf(node: Command): Command {
  return { ...node, prefix: node.prefix.slice(0, 20), suffix: node.suffix.slice(0, 20) };
}

/** Positions of the node refer to `source`. Nested backquotes have their own source. */
function readNode(node: SyntaxNode, source: string, reading: Reading, depth: number): void {
  if (isOverLimit(reading, depth)) return;
  reading.nodes += 1;
  noteConstruct(node, reading.constructs);
  let childSource = source;
  switch (node.type) {
    case "Script": {
      const [error] = node.errors ?? [];
      if (error) reading.problem ??= { kind: "malformed", reason: `The command is not valid bash: ${error.message}.` };
      childSource = node.source ?? source;
      break;
    }
    case "Command": {
      const isLong = node.prefix.length + node.suffix.length >= COMMAND_LIMITS.nodes - reading.nodes;
      reading.commands.push(readSimpleCommand(isLong ? headOf(node) : node, source));
      if (isLong) reading.problem = tooManyParts();
      break;
    }
    case "Redirect":
    case "HereString":
    case "HereDoc":
      reading.redirections.push(readRedirection(node));
      break;
    default:
      break;
  }
  forEachChild(node, (child) => readNode(child, childSource, reading, depth + 1));
}

function isOverLimit(reading: Reading, depth: number): boolean {
  if (reading.problem?.kind === "tooComplex") return true;
  if (reading.nodes >= COMMAND_LIMITS.nodes) reading.problem = tooManyParts();
  else if (depth > COMMAND_LIMITS.depth) reading.problem = tooComplex("is nested too deeply");
  else if (reading.commands.length > COMMAND_LIMITS.commands) {
    reading.problem = tooComplex(`consists of over ${COMMAND_LIMITS.commands} commands`);
  } else return false;
  return true;
}

function readSimpleCommand(node: Command, source: string): SimpleCommand {
  const command: SimpleCommand = { source: "", words: [], assignments: [], redirections: [] };
  const pieces: string[] = [];
  let end = node.pos;
  for (const part of [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix]) {
    if (part.type === "Word" || part.type === "Assignment") {
      if (part.type === "Assignment" && command.words.length === 0) command.assignments.push(part.text);
      else command.words.push(readWord(part));
      pieces.push(source.slice(end, part.end));
    } else {
      command.redirections.push(readRedirection(part));
    }
    end = part.end;
  }
  command.source = pieces.join("").trim();
  return command;
}

function readWord(word: Word | Assignment): CommandWord {
  const literal = literalWord(word.text);
  const asParsed = word.type === "Word" ? word.value : word.text;
  return { source: word.text, at: word.pos, value: literal ?? asParsed, literal: literal !== undefined };
}

function readRedirection(node: Redirection): CommandRedirection {
  if (node.type === "HereDoc") return { operator: node.operator, body: node.body.text };
  const target = node.target && readWord(node.target);
  if (node.type === "HereString") return { operator: node.operator, body: target?.value };
  return { operator: node.operator, target };
}

function noteConstruct(node: SyntaxNode, constructs: Set<Construct>): void {
  const construct = CONSTRUCT_OF.get(node.type);
  if (construct) constructs.add(construct);
  if (node.type === "Statement" && node.background) constructs.add("background");
  if (node.type === "Pipeline" && node.operators.includes("|&")) constructs.add("pipe of both streams");
  if (evaluatesWords(node)) constructs.add("evaluated word");
  // ${x@P} expands a value as a prompt, and a prompt runs the substitutions inside it.
  if (node.type === "ParameterExpansion" && node.operation?.type === "Transform") constructs.add("prompt expansion");
}

/**
 * A subscript or an arithmetic expression is evaluated, and the value may contain a command: `a[$(x)]`. So may the value of
 * a variable that programs read.
 */
function evaluatesWords(node: SyntaxNode): boolean {
  switch (node.type) {
    case "TestUnary":
      return node.operator === "-v" || node.operator === "-R";
    case "TestBinary":
      return /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator) && !(isNumber(node.left.text) && isNumber(node.right.text));
    case "ArithmeticWord":
      return !isNumber(node.value);
    case "ParameterExpansion":
      if (node.operation?.type === "Slice") {
        const { offset, length } = node.operation;
        if (![offset, length].every((word) => word === undefined || /^\s*-?\d*$/.test(word.text))) return true;
      }
      if (node.operation?.type === "Default" && node.operation.operator.endsWith("=") && carriesCommand(node.parameter))
        return true;
      return node.index !== undefined || node.prefix === "!";
    case "For":
    case "Select":
      return carriesCommand(node.name.text);
    case "Assignment":
      return node.index !== undefined;
    default:
      return false;
  }
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

// oxfmt-ignore
const CONSTRUCT_OF: ReadonlyMap<SyntaxNode["type"], Construct> = new Map<SyntaxNode["type"], Construct>([
  ["Assignment", "assignment"], ["BraceExpansion", "brace expansion"], ["If", "compound command"],
  ["For", "compound command"], ["ArithmeticFor", "compound command"], ["Select", "compound command"],
  ["While", "compound command"], ["Subshell", "compound command"], ["BraceGroup", "compound command"],
  ["Case", "compound command"], ["TestCommand", "compound command"], ["ArithmeticCommand", "compound command"],
  ["Coproc", "coprocess"], ["SimpleExpansion", "expansion"], ["ParameterExpansion", "expansion"],
  ["ArithmeticExpansion", "expansion"], ["Function", "function"], ["Glob", "glob"], ["ExtendedGlob", "glob"],
  ["HereDoc", "here-document"], ["Negation", "negation"], ["ProcessSubstitution", "process substitution"],
  ["Redirect", "redirection"], ["HereString", "redirection"], ["AnsiCQuoted", "special quote"],
  ["LocaleString", "special quote"], ["CommandExpansion", "substitution"],
  ["ArithmeticCommandExpansion", "substitution"], ["Time", "time"],
]);

// Characters without a special meaning inside a word; `~` and `#` only where they cannot begin an expansion or comment.
// `{`, `[`, `*`, `?`, `\`, `$` and the rest are never literal outside quotes.
const UNQUOTED = String.raw`[A-Za-z0-9_\-./:=@%+,^!#~\u0080-\u{10ffff}]+`;
const SINGLE_QUOTED = String.raw`'[^']*'`;
// A `$` is literal only before a character that cannot continue it, a backslash only before one it does not escape.
const DOUBLE_QUOTED = String.raw`"(?:[^"\\$\x60]|\\(?![\\$\x60"\n])|\$(?=[" |)]))*"`;
const CONTINUATION = String.raw`\\\n`;
const PIECE = new RegExp(`${CONTINUATION}|${SINGLE_QUOTED}|${DOUBLE_QUOTED}|(${UNQUOTED})`, "uy");
const EXPANDED_TILDE_OR_COMMENT = /(?:^|[:=])~|^#/;

/** The value of one word if it is certain without running anything; narrower than the grammar on purpose. */
export function literalWord(source: string): string | undefined {
  let value = "";
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < source.length) {
    const piece = PIECE.exec(source);
    if (!piece) return undefined;
    const [text, unquoted] = piece;
    if (unquoted === undefined) value += text.startsWith("\\") ? "" : text.slice(1, -1);
    else if (EXPANDED_TILDE_OR_COMMENT.test(unquoted)) return undefined;
    else value += unquoted;
  }
  return source === "" ? undefined : value;
}

const CHAIN_OPERATORS = ["&&", "||", ";", "|"] as const;

export type ChainOperator = (typeof CHAIN_OPERATORS)[number];

export interface PlainCommand {
  /** The operator before it; undefined for the first command. */
  operator?: ChainOperator;
  argv: string[];
}

const BLANKS = String.raw`(?:[ \t]|\\\n)`;
const BEFORE_FIRST = /^[ \t\n]*$/;
const BETWEEN_WORDS = new RegExp(`^${BLANKS}+$`);
const BETWEEN_COMMANDS = new RegExp(String.raw`^${BLANKS}*(&&|\|\||;|\|)${BLANKS}*$`);
const AFTER_LAST = /^[ \t]*;?[ \t\n]*$/;
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[|\+?=)/;

/**
 * The commands of a chain or pipe (`&&`, `||`, `;`, `|`) of literal words; null for any other text. The parser only
 * provides the positions of words. That they are literal, with only blanks and the four operators between them, is
 * verified on the text itself, so a mistake of the parser cannot hide anything.
 */
export function plainChain({ text, commands, constructs, problem }: ParsedCommand): PlainCommand[] | null {
  if (problem || constructs.size > 0) return null;
  const chain: PlainCommand[] = [];
  let end = 0;
  for (const { words, assignments, redirections } of commands) {
    const first = words[0];
    if (!first || assignments.length > 0 || redirections.length > 0 || ASSIGNMENT.test(first.source)) return null;
    const before = text.slice(end, first.at);
    const operator = CHAIN_OPERATORS.find((each) => each === BETWEEN_COMMANDS.exec(before)?.[1]);
    if (chain.length === 0 ? !BEFORE_FIRST.test(before) : !operator) return null;
    const argv: string[] = [];
    for (const word of words) {
      if (!word.literal || text.slice(word.at, word.at + word.source.length) !== word.source) return null;
      if (word !== first && !BETWEEN_WORDS.test(text.slice(end, word.at))) return null;
      argv.push(word.value);
      end = word.at + word.source.length;
    }
    chain.push({ operator, argv });
  }
  return chain.length > 0 && AFTER_LAST.test(text.slice(end)) ? chain : null;
}

/** A command that a text would run, as far as the text shows. */
export interface SeenCommand {
  /** Normalised: `rm` for `/bin/rm`. */
  name: string;
  argv: string[];
  /** The value of every word is certain. */
  literal: boolean;
  /** Words that are only known at run time. */
  open: readonly string[];
  /** The wrappers around it, outermost first. */
  within: readonly string[];
}

export interface UnwrappedCommand {
  /** The wrappers and what they run, in the order of the text. */
  commands: SeenCommand[];
  /** False if something may run that is not in the list: then the absence of a denied command proves nothing. */
  complete: boolean;
  /** Prefixes of commands whose rest is only known at run time; an empty prefix may become any command. */
  openings: string[];
}

const MAX_DEPTH = 8;
/** Of all commands together. A wrapper repeats the words of the command in it. */
const MAX_WORDS = 3000;

interface Unwrapping extends UnwrappedCommand {
  words: number;
}

/** Finds the commands in chains, substitutions and wrappers (sudo, env, xargs, `bash -c`, `find -exec`), for deny rules. */
export function unwrapCommand(text: string | ParsedCommand): UnwrappedCommand {
  const parsed = typeof text === "string" ? parseCommand(text) : text;
  const known = unwrapped.get(parsed);
  if (known) return known;
  const seen: Unwrapping = { commands: [], complete: true, openings: [], words: 0 };
  addText(parsed, seen, []);
  unwrapped.set(parsed, seen);
  return seen;
}

const unwrapped = new WeakMap<ParsedCommand, UnwrappedCommand>();

/** The same for an argv list, which needs no shell. */
export function unwrapArgv(argv: readonly string[]): UnwrappedCommand {
  const seen: Unwrapping = { commands: [], complete: true, openings: [], words: 0 };
  addArgv({ argv, literal: true, open: new Set() }, seen, []);
  return seen;
}

function addText(parsed: ParsedCommand, seen: Unwrapping, within: readonly string[]): void {
  if (parsed.problem || parsed.constructs.has("prompt expansion")) {
    seen.complete = false;
    seen.openings.push("");
  }
  if (parsed.constructs.has("evaluated word")) seen.openings.push("");
  for (const command of parsed.commands) addSimple(command, seen, within);
}

function addSimple(command: SimpleCommand, seen: Unwrapping, within: readonly string[]): void {
  const { words, assignments, redirections } = command;
  if (assignments.some(carriesCommand)) seen.openings.push("");
  if (words.length === 0) return;
  // A program name that is only known at run time may be any program.
  if (!words[0]?.literal && /[$`*?[{~]/.test(words[0]?.source ?? "")) seen.complete = false;
  const stdin = redirections.find(({ body }) => body !== undefined)?.body;
  const open = new Set(words.filter(isOpenWord).map(({ value }) => value));
  addArgv(
    { argv: words.map(({ value }) => value), literal: words.every(({ literal }) => literal), open, stdin },
    seen,
    within,
  );
}

interface Words {
  argv: readonly string[];
  literal: boolean;
  open: ReadonlySet<string>;
  /** More words are appended at run time. */
  grows?: boolean;
  stdin?: string | undefined;
}

function addArgv(words: Words, seen: Unwrapping, within: readonly string[]): void {
  const { argv, literal, open, stdin } = words;
  const [program = "", ...rest] = argv;
  const name = normalizeProgramName(program);
  if (open.has(program)) seen.openings.push("");
  if (name === "") return;
  seen.words += argv.length;
  if (within.length >= MAX_DEPTH || seen.words > MAX_WORDS) {
    seen.complete = false;
    seen.openings.push("");
    return;
  }
  seen.commands.push({ name, argv: [...argv], literal, open: argv.filter((word) => open.has(word)), within });
  seen.openings.push(...openingsOf(name, words), ...carriedCommands(name, rest, (word) => open.has(word)));
  const inner = readWrapper(name, rest, stdin);
  if (!inner) return;
  if (!inner.certain) seen.complete = false;
  const inside = [...within, name];
  const { filled, grows, isHidden } = readInner(name, words, inner);
  if (isHidden) seen.openings.push("");
  for (const command of inner.commands) {
    const openInside = new Set([...open, ...command.filter((word) => filled !== undefined && word.includes(filled))]);
    addArgv({ argv: command, literal: literal && inner.certain, open: openInside, grows, stdin }, seen, inside);
  }
  for (const text of inner.texts) addText(parseCommand(text), seen, inside);
}

/** The known beginning of the command, under each name that a rule may use for it. */
function openingsOf(name: string, { argv, open, grows }: Words): string[] {
  const at = argv.findIndex((word) => open.has(word));
  if (at === 0 || (at < 0 && !grows)) return [];
  const [program = "", ...known] = at < 0 ? argv : argv.slice(0, at);
  const start = at < 0 ? "" : certainStart(argv[at] ?? "");
  const openings = [program, name].map((each) => `${[each, ...known].join(" ")} ${start}`);
  if (name === "git") openings.push(["git", ...gitSubcommand(known), start].join(" "));
  return openings;
}

/** For a wrapper: the placeholder it fills in, and whether it may run what its words do not show. */
function readInner(name: string, { argv, open, grows = false, stdin }: Words, inner: WrappedCommands) {
  const rest = argv.slice(1);
  const isShell = SHELLS.has(name);
  // The shell expands the text before the wrapper runs it.
  const isExpanded =
    inner.texts.some((text) => rest.some((word) => open.has(word) && text.includes(word))) ||
    (inner.texts.length > 0 && stdin !== undefined && inner.texts.includes(stdin) && /[$`\\]/.test(stdin));
  if (name === "xargs" || name === "parallel") {
    const at = rest.findIndex((word) => /^(?:-[IJ]|--replace)/.test(word));
    const filled = at < 0 ? "{}" : (/^(?:-[IJ]|--replace=)(.+)$/.exec(rest[at] ?? "")?.[1] ?? rest[at + 1] ?? "{}");
    const runsOthers = inner.commands.some(([first = "", ...more]) => {
      const program = normalizeProgramName(first);
      return program !== "" && readWrapper(program, more) !== undefined && !hasText(program, more);
    });
    return { filled, grows: true, isHidden: isExpanded || runsOthers || name === "parallel" };
  }
  if (name === "find" || name === "fd" || name === "fdfind") return { filled: "{}", grows, isHidden: isExpanded };
  const isUncertain = !inner.certain && (isShell ? inner.texts.length === 0 : name !== "eval");
  return { filled: undefined, grows, isHidden: isExpanded || isUncertain || (grows && !isShell) };
}

/** A shell that already has its text is not extended by further words: they are only its parameters. */
function hasText(program: string, words: readonly string[]): boolean {
  return SHELLS.has(program) && (readWrapper(program, words)?.texts.length ?? 0) > 0;
}

/** Whether the shell may expand the word: a variable, a glob, braces, a substitution. */
export function isOpenWord({ literal, source }: CommandWord): boolean {
  if (literal || source === "[" || source === "{}") return false;
  // `~/` always expands to the same home folder.
  return /[$`*?[{(~]/.test(source.replace(/^~\//, ""));
}

/** The literal beginning of a word. */
function certainStart(value: string): string {
  return /^[^$`*?[{}~(\\]*/.exec(value)?.[0] ?? "";
}
