import { forEachChild, parse } from "unbash";
import type { Command, ParsedScript, Redirection, SyntaxNode, Word } from "unbash";
import { findHiddenCharacter } from "./hidden-characters.ts";
import { literalWord } from "./literal-word.ts";

/** What keeps a text from being a chain of literal words. */
export type Construct =
  | "assignment"
  | "background"
  | "brace expansion"
  | "compound command"
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
  /** Where it begins in the text; -1 inside a substitution, which has a text of its own. */
  at: number;
  /** Without its quotes. Certain when `literal`; else what the parser made of it, with expansions as written. */
  value: string;
  literal: boolean;
}

export interface CommandRedirection {
  operator: string;
  target?: CommandWord;
  /** Of a here-document or here-string. */
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
  /** Every simple command, those in substitutions, groups, loops and functions included, an outer one before its inner. */
  commands: SimpleCommand[];
  constructs: ReadonlySet<Construct>;
  /** Set when the text was not read to its end: then `commands` is only what was seen. */
  problem?: { kind: "empty" | "malformed" | "tooComplex"; reason: string };
}

export const COMMAND_LIMITS = {
  /** Linux takes no longer single argument, so `bash -c` could not run it either. */
  characters: 128 * 1024,
  nodes: 20_000,
  depth: 48,
  commands: 500,
  // The parser rescans nested openers: unbounded, a few kilobytes of them hold it for minutes.
  openers: 256,
  bracesInARow: 256,
};

const OPENER = /\$[({[]|[<>@?*+!]\(|`/g;
const OPENERS_IN_A_ROW = new RegExp(String.raw`(?:[{(\[][^\s{(\[]{0,64}){${COMMAND_LIMITS.bracesInARow}}`);

/** Reads bash text with a real grammar. Never throws and never guesses: what was not read is said in `problem`. */
export function parseCommand(text: string): ParsedCommand {
  const reading: Reading = { text, commands: [], constructs: new Set(), nodes: 0 };
  reading.problem = findTextProblem(text);
  if (!reading.problem) {
    try {
      readScript(parse(text), reading, 0);
    } catch {
      // The parser is recursive: its stack is a limit like the others.
      reading.problem = tooComplex("is nested too deeply");
    }
  }
  const { commands, constructs, problem } = reading;
  return { text, commands, constructs, ...(problem && { problem }) };
}

interface Reading {
  text: string;
  commands: SimpleCommand[];
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
  if ((text.match(OPENER)?.length ?? 0) > COMMAND_LIMITS.openers || OPENERS_IN_A_ROW.test(text)) {
    return tooComplex("has too many expansions or brackets");
  }
  return undefined;
}

function tooComplex(what: string): { kind: "tooComplex"; reason: string } {
  return { kind: "tooComplex", reason: `The command ${what}, more than is analysed.` };
}

function readScript(script: ParsedScript, reading: Reading, depth: number): void {
  if (findHiddenCharacter(reading.text)) reading.constructs.add("hidden character");
  readNode(script, reading, depth);
}

function readNode(node: SyntaxNode, reading: Reading, depth: number): void {
  if (reading.problem?.kind === "tooComplex") return;
  reading.nodes += 1;
  if (reading.nodes > COMMAND_LIMITS.nodes) reading.problem = tooComplex(`has over ${COMMAND_LIMITS.nodes} parts`);
  else if (depth > COMMAND_LIMITS.depth) reading.problem = tooComplex("is nested too deeply");
  else if (reading.commands.length > COMMAND_LIMITS.commands) {
    reading.problem = tooComplex(`consists of over ${COMMAND_LIMITS.commands} commands`);
  }
  if (reading.problem?.kind === "tooComplex") return;

  noteConstruct(node, reading);
  if (node.type === "Command") reading.commands.push(simpleCommand(node, reading.text));
  forEachChild(node, (child) => readNode(child, reading, depth + 1));
}

function noteConstruct(node: SyntaxNode, { constructs, ...reading }: Reading): void {
  const construct = CONSTRUCT_OF.get(node.type);
  if (construct) constructs.add(construct);
  if (node.type === "Statement" && node.background) constructs.add("background");
  if (node.type === "Pipeline" && node.operators.includes("|&")) constructs.add("pipe of both streams");
  // ${x@P} expands a value as a prompt, and prompts run the substitutions that stand in them.
  if (node.type === "ParameterExpansion" && node.operation?.type === "Transform") constructs.add("prompt expansion");
  void reading;
}

const CONSTRUCT_OF: ReadonlyMap<SyntaxNode["type"], Construct> = new Map<SyntaxNode["type"], Construct>([
  ["Assignment", "assignment"],
  ["BraceExpansion", "brace expansion"],
  ["If", "compound command"],
  ["For", "compound command"],
  ["ArithmeticFor", "compound command"],
  ["Select", "compound command"],
  ["While", "compound command"],
  ["Subshell", "compound command"],
  ["BraceGroup", "compound command"],
  ["Case", "compound command"],
  ["TestCommand", "compound command"],
  ["ArithmeticCommand", "compound command"],
  ["Coproc", "coprocess"],
  ["SimpleExpansion", "expansion"],
  ["ParameterExpansion", "expansion"],
  ["ArithmeticExpansion", "expansion"],
  ["Function", "function"],
  ["Glob", "glob"],
  ["ExtendedGlob", "glob"],
  ["HereDoc", "here-document"],
  ["Negation", "negation"],
  ["ProcessSubstitution", "process substitution"],
  ["Redirect", "redirection"],
  ["HereString", "redirection"],
  ["AnsiCQuoted", "special quote"],
  ["LocaleString", "special quote"],
  ["CommandExpansion", "substitution"],
  ["ArithmeticCommandExpansion", "substitution"],
  ["Time", "time"],
]);
