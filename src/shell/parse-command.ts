import { forEachChild, parse } from "unbash";
import type { Assignment, Command, Redirection, SyntaxNode, Word } from "unbash";
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
  /** Where it begins in the text. */
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
  /** Of simple commands, groups and loops alike. */
  redirections: CommandRedirection[];
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
  // The parser rescans what follows each of these: unbounded, a few kilobytes of them hold it for minutes.
  openers: 256,
  bracesTimesCharacters: 20_000_000,
};

const OPENER = /\$[({[]|[<>@?*+!]\(|`|<</g;

/** Reads bash text with a real grammar. Never throws and never guesses: what was not read is said in `problem`. */
export function parseCommand(text: string): ParsedCommand {
  const reading: Reading = { commands: [], redirections: [], constructs: new Set(), nodes: 0 };
  reading.problem = findTextProblem(text);
  if (findHiddenCharacter(text)) reading.constructs.add("hidden character");
  if (!reading.problem) {
    try {
      readNode(parse(text), text, reading, 0);
    } catch {
      // The parser is recursive: its stack is a limit like the others.
      reading.problem = tooComplex("is nested too deeply");
    }
  }
  const { commands, redirections, constructs, problem } = reading;
  return { text, commands, redirections, constructs, ...(problem && { problem }) };
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
  if (openers > COMMAND_LIMITS.openers || braces * text.length > COMMAND_LIMITS.bracesTimesCharacters) {
    return tooComplex("has too many expansions or brackets");
  }
  return undefined;
}

function tooComplex(what: string): { kind: "tooComplex"; reason: string } {
  return { kind: "tooComplex", reason: `The command ${what}, more than is analysed.` };
}

/** `source` is the text that the node's positions count in: backquotes inside backquotes have one of their own. */
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
    case "Command":
      reading.commands.push(readSimpleCommand(node, source));
      break;
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
  if (reading.nodes >= COMMAND_LIMITS.nodes) reading.problem = tooComplex(`has over ${COMMAND_LIMITS.nodes} parts`);
  else if (depth > COMMAND_LIMITS.depth) reading.problem = tooComplex("is nested too deeply");
  else if (reading.commands.length > COMMAND_LIMITS.commands) {
    reading.problem = tooComplex(`consists of over ${COMMAND_LIMITS.commands} commands`);
  } else return false;
  return true;
}

function readSimpleCommand(node: Command, source: string): SimpleCommand {
  const command: SimpleCommand = { source: "", words: [], assignments: [], redirections: [] };
  const kept: string[] = [];
  let end = node.pos;
  for (const part of [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix]) {
    if (part.type === "Word" || part.type === "Assignment") {
      if (part.type === "Assignment" && command.words.length === 0) command.assignments.push(part.text);
      else command.words.push(readWord(part));
      kept.push(source.slice(end, part.end));
    } else {
      command.redirections.push(readRedirection(part));
    }
    end = part.end;
  }
  command.source = kept.join("").trim();
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
  if (node.type === "HereString") return { operator: node.operator, ...(target && { body: target.value }) };
  return { operator: node.operator, ...(target && { target }) };
}

function noteConstruct(node: SyntaxNode, constructs: Set<Construct>): void {
  const construct = CONSTRUCT_OF.get(node.type);
  if (construct) constructs.add(construct);
  if (node.type === "Statement" && node.background) constructs.add("background");
  if (node.type === "Pipeline" && node.operators.includes("|&")) constructs.add("pipe of both streams");
  // ${x@P} expands a value as a prompt, and a prompt runs the substitutions that stand in it.
  if (node.type === "ParameterExpansion" && node.operation?.type === "Transform") constructs.add("prompt expansion");
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
