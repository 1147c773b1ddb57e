import { parseCommand } from "./parse-command.ts";
import type { ParsedCommand, SimpleCommand } from "./parse-command.ts";
import { normalizeProgramName } from "./program-name.ts";
import { readWrapper } from "./read-wrapper.ts";

/** A command that a text would run, as far as its text says. */
export interface SeenCommand {
  /** Normalised: `rm` for `/bin/rm`. */
  name: string;
  argv: string[];
  /** Every word is known as it will be. */
  literal: boolean;
  /** The wrappers it was found in, outermost first. */
  within: readonly string[];
}

export interface UnwrappedCommand {
  /** The wrappers themselves, and what they run, in the order of the text. */
  commands: SeenCommand[];
  /** False when something may run that is not in the list: then no rule may say "nothing forbidden here". */
  complete: boolean;
}

const MAX_DEPTH = 8;
const MAX_COMMANDS = 1000;

/** Sees through chains, substitutions and wrappers (sudo, env, xargs, `bash -c`, `find -exec`, …), for deny rules. */
export function unwrapCommand(text: string | ParsedCommand): UnwrappedCommand {
  const seen: UnwrappedCommand = { commands: [], complete: true };
  addText(typeof text === "string" ? parseCommand(text) : text, seen, []);
  return seen;
}

/** The same for words that need no shell. */
export function unwrapArgv(argv: readonly string[]): UnwrappedCommand {
  const seen: UnwrappedCommand = { commands: [], complete: true };
  addArgv({ argv, literal: true }, seen, []);
  return seen;
}

/** The names of the programs that a text runs, wrappers included; none when the text cannot be read as bash. */
export function commandRoots(text: string | ParsedCommand): string[] {
  const parsed = typeof text === "string" ? parseCommand(text) : text;
  if (parsed.problem || parsed.constructs.has("prompt expansion")) return [];
  return unwrapCommand(parsed).commands.map(({ argv }) => argv[0]?.split(/[\\/]/).findLast(Boolean) ?? "");
}

function addText(parsed: ParsedCommand, seen: UnwrappedCommand, within: readonly string[]): void {
  if (parsed.problem || parsed.constructs.has("prompt expansion")) seen.complete = false;
  for (const command of parsed.commands) addSimple(command, seen, within);
}

function addSimple({ words, redirections }: SimpleCommand, seen: UnwrappedCommand, within: readonly string[]): void {
  if (words.length === 0) return;
  // A program that is only known at run time may be any program.
  if (!words[0]?.literal && /[$`*?[{~]/.test(words[0]?.source ?? "")) seen.complete = false;
  const stdin = redirections.find(({ body }) => body !== undefined)?.body;
  addArgv(
    { argv: words.map(({ value }) => value), literal: words.every(({ literal }) => literal), stdin },
    seen,
    within,
  );
}

interface Words {
  argv: readonly string[];
  literal: boolean;
  stdin?: string | undefined;
}

function addArgv({ argv, literal, stdin }: Words, seen: UnwrappedCommand, within: readonly string[]): void {
  const name = normalizeProgramName(argv[0] ?? "");
  if (name === "") return;
  if (within.length >= MAX_DEPTH || seen.commands.length >= MAX_COMMANDS) {
    seen.complete = false;
    return;
  }
  seen.commands.push({ name, argv: [...argv], literal, within });
  const inner = readWrapper(name, argv.slice(1), stdin);
  if (!inner) return;
  if (!inner.certain) seen.complete = false;
  const inside = [...within, name];
  for (const words of inner.commands) addArgv({ argv: words, literal: literal && inner.certain, stdin }, seen, inside);
  for (const text of inner.texts) addText(parseCommand(text), seen, inside);
}
