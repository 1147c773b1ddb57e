import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { CommandPart, CommandReading, Effects, Signature } from "../../../core/signature.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { foldName, realName } from "../../../io/files/path-name.ts";
import { isObject } from "../../../schema/json-schema.ts";
import { isAnswerPending, isAutoNow, readSignature, type ToolAnswers } from "../../tool-answers.ts";

/** Rules about a resource instead of one tool: `Read(…)` matches every tool that reads a file. */
export type RuleFamily = "reads" | "changes" | "command" | "urls";

/** The base folders of paths and patterns, each as given and, if it differs, as a real path. */
export interface PathBases {
  cwd: readonly string[];
  /** The same, folded for deny and ask rules. */
  foldedCwd: readonly string[];
  home: readonly string[];
  /** The folder of the rule's file. */
  source?: readonly string[] | undefined;
}

/** A path that a call touches. Its real path is resolved only if a rule needs it. */
export interface SubjectPath {
  given: string;
  name: string;
  real(): string;
  foldedName(): string;
  foldedReal(): string;
}

/** One call, as rules see it. */
export interface Subject {
  tool: AnyTool;
  input: unknown;
  text: string | undefined;
  command: CommandReading | undefined;
  reads: readonly SubjectPath[];
  changes: readonly SubjectPath[];
  urls: readonly string[];
  effects: Effects | undefined;
  /** Files that a command names, for deny and ask rules. */
  commandReads(): readonly SubjectPath[];
  commandChanges(): readonly SubjectPath[];
  inputs(): readonly SubjectPath[];
  outputs(): readonly SubjectPath[];
  /** The resources that rules can match. */
  has: Readonly<Record<RuleFamily, boolean>>;
  bases: PathBases;
  /** Set if the tool's signature failed. */
  failed: boolean;
  /** For a tool that returns promises: what they gave. */
  answers: ToolAnswers | undefined;
}

const NONE: readonly never[] = [];
const none = (): readonly never[] => NONE;

export function readSubject(tool: AnyTool, input: unknown, bases: PathBases, answers?: ToolAnswers): Subject {
  let signature: Signature | undefined;
  let failed = false;
  try {
    signature = readSignature(tool, input, answers);
  } catch (thrown) {
    if (isAnswerPending(thrown)) throw thrown;
    failed = true;
  }
  const command = signature?.command;
  const [cwd = "/"] = bases.cwd;
  const [home] = bases.home;
  const pathsOf = (given: readonly string[] | undefined, folder = cwd): readonly SubjectPath[] =>
    given === undefined || given.length === 0 ? NONE : given.map((path) => subjectPath(path, folder, home));
  const ofCommand = (list: "reads" | "changes" | "inputs" | "outputs"): (() => readonly SubjectPath[]) => {
    if (!command || command[list].length === 0) return none;
    let paths: readonly SubjectPath[] | undefined;
    return () => {
      const folder = command.directory === undefined ? cwd : subjectPath(command.directory, cwd, home).name;
      return (paths ??= pathsOf(command[list], folder));
    };
  };
  return {
    tool,
    input,
    text: signature?.text,
    command,
    reads: pathsOf(signature?.reads),
    changes: pathsOf(signature?.changes),
    urls: signature?.urls ?? NONE,
    commandReads: ofCommand("reads"),
    commandChanges: ofCommand("changes"),
    effects: signature?.effects,
    inputs: ofCommand("inputs"),
    outputs: ofCommand("outputs"),
    has: {
      reads: (signature?.reads?.length ?? 0) + (command?.reads.length ?? 0) > 0,
      changes: (signature?.changes?.length ?? 0) + (command?.changes.length ?? 0) > 0,
      command: command !== undefined,
      urls: (signature?.urls?.length ?? 0) > 0,
    },
    bases,
    failed,
    answers,
  };
}

function subjectPath(given: string, folder: string, home: string | undefined): SubjectPath {
  const expanded = given === "~" || given.startsWith("~/") ? join(home ?? homedir(), given.slice(1)) : given;
  const name = resolve(folder, expanded);
  let real: string | undefined;
  let foldedName: string | undefined;
  let foldedReal: string | undefined;
  const path: SubjectPath = {
    given,
    name,
    // For the system a NUL ends the name; the tool refuses it.
    real: () => (real ??= name.includes("\0") ? name : realName(name)),
    foldedName: () => (foldedName ??= foldName(name)),
    foldedReal: () => (foldedReal ??= path.real() === name ? path.foldedName() : foldName(path.real())),
  };
  return path;
}

/** A folder as given, and its real path if it differs. */
export function folderNames(folder: string): readonly string[] {
  const name = resolve(folder);
  const real = realName(name);
  return real === name ? [name] : [name, real];
}

export function pathBasesFor(cwd: string, home: string): PathBases {
  const names = folderNames(cwd);
  return { cwd: names, foldedCwd: names.map(foldName), home: folderNames(home) };
}

/** Whether a part of a command needs no rule: the tool does not ask for this part alone. */
export function isReadOnlyPart({ forms: [written] }: CommandPart, { tool, input, command }: Subject): boolean {
  if (!isObject(input) || written === undefined) return false;
  const parameter = Object.keys(input).find((name) => input[name] === command?.text);
  return parameter !== undefined && isAutoNow(tool, { ...input, [parameter]: written.text });
}
