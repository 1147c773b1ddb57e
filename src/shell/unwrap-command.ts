import { carriedCommands, carriesCommand } from "./carried-commands.ts";
import { gitSubcommand } from "./git-subcommand.ts";
import { certainStart, isOpenWord } from "./open-word.ts";
import { parseCommand } from "./parse-command.ts";
import type { ParsedCommand, SimpleCommand } from "./parse-command.ts";
import { normalizeProgramName } from "./program-name.ts";
import { readWrapper, type WrappedCommands } from "./read-wrapper.ts";
import { SHELLS } from "./wrapper-forms.ts";

/** A command that a text would run, as far as its text says. */
export interface SeenCommand {
  /** Normalised: `rm` for `/bin/rm`. */
  name: string;
  argv: string[];
  /** Every word is known as it will be. */
  literal: boolean;
  /** Words that are only known when it runs. */
  open: readonly string[];
  /** The wrappers it was found in, outermost first. */
  within: readonly string[];
}

export interface UnwrappedCommand {
  /** The wrappers themselves, and what they run, in the order of the text. */
  commands: SeenCommand[];
  /** False when something may run that is not in the list: then no rule may say "nothing forbidden here". */
  complete: boolean;
  /** How commands begin whose rest is only known when they run; an empty one may become any command. */
  openings: string[];
}

const MAX_DEPTH = 8;
const MAX_COMMANDS = 1000;

/** Sees through chains, substitutions and wrappers (sudo, env, xargs, `bash -c`, `find -exec`, …), for deny rules. */
export function unwrapCommand(text: string | ParsedCommand): UnwrappedCommand {
  const seen: UnwrappedCommand = { commands: [], complete: true, openings: [] };
  addText(typeof text === "string" ? parseCommand(text) : text, seen, []);
  return seen;
}

/** The same for words that need no shell. */
export function unwrapArgv(argv: readonly string[]): UnwrappedCommand {
  const seen: UnwrappedCommand = { commands: [], complete: true, openings: [] };
  addArgv({ argv, literal: true, open: new Set() }, seen, []);
  return seen;
}

/** The names of the programs that a text runs, wrappers included; none when the text cannot be read as bash. */
export function commandRoots(text: string | ParsedCommand): string[] {
  const parsed = typeof text === "string" ? parseCommand(text) : text;
  if (parsed.problem || parsed.constructs.has("prompt expansion")) return [];
  return unwrapCommand(parsed).commands.map(({ argv }) => argv[0]?.split(/[\\/]/).findLast(Boolean) ?? "");
}

function addText(parsed: ParsedCommand, seen: UnwrappedCommand, within: readonly string[]): void {
  if (parsed.problem || parsed.constructs.has("prompt expansion")) {
    seen.complete = false;
    seen.openings.push("");
  }
  for (const command of parsed.commands) addSimple(command, seen, within);
}

function addSimple(command: SimpleCommand, seen: UnwrappedCommand, within: readonly string[]): void {
  const { words, assignments, redirections } = command;
  if (assignments.some(carriesCommand)) seen.openings.push("");
  if (words.length === 0) return;
  // A program that is only known at run time may be any program.
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
  /** More words come behind these. */
  grows?: boolean;
  stdin?: string | undefined;
}

function addArgv(words: Words, seen: UnwrappedCommand, within: readonly string[]): void {
  const { argv, literal, open, stdin } = words;
  const [program = "", ...rest] = argv;
  const name = normalizeProgramName(program);
  if (open.has(program)) seen.openings.push("");
  if (name === "") return;
  if (within.length >= MAX_DEPTH || seen.commands.length >= MAX_COMMANDS) {
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

/** Under each of the names by which a rule may speak of it. */
function openingsOf(name: string, { argv, open, grows }: Words): string[] {
  const at = argv.findIndex((word) => open.has(word));
  if (at === 0 || (at < 0 && !grows)) return [];
  const known = argv.slice(1, at < 0 ? undefined : at);
  const start = at < 0 ? "" : certainStart(argv[at] as string);
  const openings = [argv[0] as string, name].map((each) => `${[each, ...known].join(" ")} ${start}`);
  if (name === "git") openings.push(["git", ...gitSubcommand(known), start].join(" "));
  return openings;
}

/** Of a wrapper: what it fills in by itself, and whether it may run what its words do not show. */
function readInner(name: string, { argv, open, grows = false, stdin }: Words, inner: WrappedCommands) {
  const rest = argv.slice(1);
  const isShell = SHELLS.has(name);
  // The text was expanded before it is read here, or is completed by whoever starts it.
  const isExpanded =
    inner.texts.some((text) => rest.some((word) => open.has(word) && text.includes(word))) ||
    (inner.texts.length > 0 && stdin !== undefined && inner.texts.includes(stdin) && /[$`\\]/.test(stdin));
  if (name === "xargs" || name === "parallel") {
    const at = rest.findIndex((word) => /^(?:-[IJ]|--replace)/.test(word));
    const filled = at < 0 ? "{}" : (/^(?:-[IJ]|--replace=)(.+)$/.exec(rest[at] as string)?.[1] ?? rest[at + 1] ?? "{}");
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

/** A shell whose text stands there already is not completed by further words: they are only its parameters. */
function hasText(program: string, words: readonly string[]): boolean {
  return SHELLS.has(program) && (readWrapper(program, words)?.texts.length ?? 0) > 0;
}
