import type { CommandReading, HiddenParts } from "../core/signature.ts";
import { commandPart } from "./command-part.ts";
import { carriesCommand } from "./carried-commands.ts";
import { gitSubcommand } from "./git-subcommand.ts";
import { movedPaths } from "./moved-paths.ts";
import { namedFiles } from "./named-files.ts";
import { parseCommand } from "./parse-command.ts";
import type { CommandRedirection, Construct, ParsedCommand } from "./parse-command.ts";
import { type SeenCommand, unwrapCommand } from "./unwrap-command.ts";
import { SHELLS } from "./wrapper-forms.ts";

/** Longer commands are asked about: nobody reads them, and what a rule says of their beginning says little. */
const MAX_CHARACTERS = 10_000;
const MAX_KEPT = 256;

/** Where these stand, the simple commands are not all that happens, or not what they look like. */
const CLOSED: readonly Construct[] = [
  "compound command",
  "function",
  "coprocess",
  "prompt expansion",
  "hidden character",
];

const NOTHING: HiddenParts = { commands: [], reads: [], changes: [] };

const kept = new Map<string, CommandReading>();

/** A command as permission rules see it. The same text is read once. */
export function readCommand(text: string): CommandReading {
  const before = kept.get(text);
  if (before) return before;
  const reading = read(text);
  if (text.length > MAX_CHARACTERS) return reading;
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value as string);
  kept.set(text, reading);
  return reading;
}

export interface CommandCircumstances {
  directory?: string | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  stdin?: string | undefined;
}

/** The same command with what comes to it from beside its text. */
export function readCommandWith(text: string, { directory, env, stdin }: CommandCircumstances): CommandReading {
  let reading = readCommand(text);
  if (directory !== undefined) reading = { ...reading, directory };
  for (const name of Object.keys(env ?? {})) {
    const { closed } = commandPart({ source: "", words: [], assignments: [`${name}=`], redirections: [] });
    if (closed) reading = { ...reading, undetermined: closed };
    if (carriesCommand(name)) reading = { ...reading, hides: { ...NOTHING, ...reading.hides, commands: [""] } };
  }
  if (stdin !== undefined && reading.parts.some(({ program }) => SHELLS.has(program))) {
    const seen = [...reading.seen, ...readCommand(stdin).seen];
    reading = { ...reading, seen, undetermined: "a shell runs what it is given on standard input" };
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
    reads: [...openInputs, ...openOf("reads"), ...reads.unknown],
    changes: [...openOutputs, ...openOf("changes"), ...changes.unknown],
  };
  const construct = CLOSED.find((each) => parsed.constructs.has(each));
  const closed =
    (construct && `it has a ${construct}`) ?? unknown ?? (outputs.length > 0 ? movesBefore(commands) : undefined);
  const problem = problemOf(parsed);
  return {
    text,
    parts: parsed.commands.map(commandPart),
    seen: [...new Set([...seenIn(parsed), ...commands.flatMap(namesOf), ...(problem ? crudePieces(text) : [])])],
    reads: reads.paths,
    changes: changes.paths,
    inputs,
    outputs,
    ...(Object.values(hides).some((list) => list.length > 0) && { hides }),
    ...(closed && { closed }),
    ...(problem && { problem }),
  };
}

function problemOf({ text, problem }: ParsedCommand): string | undefined {
  if (problem) return problem.reason;
  return text.length > MAX_CHARACTERS ? `The command is longer than ${MAX_CHARACTERS} characters.` : undefined;
}

/** As written: with its assignments, without them, and the whole text. */
function seenIn({ text, commands }: ParsedCommand): string[] {
  return [
    text.trim(),
    ...commands.flatMap(({ source, words }) => [source, words.map((word) => word.source).join(" ")]).filter(Boolean),
  ];
}

/** `/bin/rm x` is `rm x` too, and `git -C a push` is `git push`. */
function namesOf({ name, argv }: SeenCommand): string[] {
  const words = argv.slice(1);
  const names = [argv.join(" "), [name, ...words].join(" ")];
  if (name === "git") names.push(["git", ...gitSubcommand(words)].join(" "));
  return names;
}

/** What could not be read is cut at everything that may separate commands: enough for a rule that forbids one. */
function crudePieces(text: string): string[] {
  return text
    .split(/[;&|\n(){}`]+/, 10_000)
    .map((piece) => piece.trim())
    .filter(Boolean);
}

function redirected({ redirections }: ParsedCommand) {
  const found = {
    inputs: [] as string[],
    outputs: [] as string[],
    openInputs: [] as string[],
    openOutputs: [] as string[],
    unknown: undefined as string | undefined,
  };
  for (const redirection of redirections) {
    const { operator, target, body } = redirection;
    if (body !== undefined || !target || isStream(redirection)) continue;
    const isOutput = operator.includes(">");
    if (target.literal) found[isOutput ? "outputs" : "inputs"].push(target.value);
    else {
      found.unknown = "it redirects to or from a place that is only known when it runs";
      found[isOutput ? "openOutputs" : "openInputs"].push(target.value);
    }
  }
  return found;
}

function isStream({ target }: CommandRedirection): boolean {
  return /^(?:\d+-?|-|\/dev\/(?:null|stdin|stdout|stderr))$/.test(target?.value ?? "");
}

/** After `cd` a relative name is another file. */
function movesBefore(commands: readonly SeenCommand[]): string | undefined {
  return commands.some(({ name }) => name === "cd" || name === "pushd" || name === "popd")
    ? "it changes its folder and redirects to a file"
    : undefined;
}
