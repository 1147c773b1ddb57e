import { isAbsolute, normalize, relative, resolve, sep } from "node:path";
import {
  type CommandRedirection,
  commandRoots,
  parseCommand,
  type ParsedCommand,
  plainChain,
  type PlainCommand,
} from "./parse-command.ts";
import { type FormVerdict, matchForm } from "./command-form.ts";
import { EXPRESSION_READERS, READ_ONLY_FORMS, SCRIPTED_FORMS, VERSION_QUERIES } from "./read-only-forms.ts";
import { readGit } from "./read-only-git.ts";

export type CommandClass = "read-only" | "write" | "unknown";

export interface AnalyseOptions {
  /** Working directory of the command. If omitted, absolute paths and paths with `..` are treated as outside. */
  cwd?: string;
  /** Folders that may be read. Default: the working directory. */
  roots?: readonly string[];
  /** Whether the repository's configuration is trusted: even `git status` runs programs that it names. */
  trustedRepository?: boolean;
}

export interface AnalysedCommand extends PlainCommand {
  class: CommandClass;
  /** Why it is not read-only. */
  reason?: string;
  /** It reads the contents of the folders that it names, recursively. */
  readsBelow?: boolean;
}

export interface CommandAnalysis {
  class: CommandClass;
  reason: string;
  /** The commands of a plain chain; null for any other text. */
  commands: AnalysedCommand[] | null;
  /** Files and folders that it names, for the path policy; `recursive` if it also reads below them. */
  paths: string[];
  recursive: boolean;
  /** The programs it runs, including those inside wrappers. */
  roots: string[];
  redirections: CommandRedirection[];
  problem?: ParsedCommand["problem"];
}

/** Longer chains need approval; deny rules still see all commands. */
const MAX_CHAIN = 50;

/**
 * Classifies a command by its text alone. An unknown command is never read-only. It only describes: what runs without a
 * question is decided by `rebuildCommand` and limited by the sandbox.
 */
export function analyseCommand(text: string, options: AnalyseOptions = {}): CommandAnalysis {
  const parsed = parseCommand(text);
  const chain = plainChain(parsed);
  const base = { paths: [], recursive: false, roots: commandRoots(parsed), redirections: parsed.redirections };
  if (!chain) {
    const reason = parsed.problem?.reason ?? reasonNotPlain(parsed);
    const { problem } = parsed;
    return { ...base, class: classOfText(parsed), reason, commands: null, problem };
  }
  const paths: string[] = [];
  let recursive = false;
  const commands = chain.map((command): AnalysedCommand => {
    const verdict = readCommand(command.argv, options);
    if ("refused" in verdict)
      return { ...command, class: verdict.writes ? "write" : "unknown", reason: verdict.refused };
    paths.push(...verdict.use.paths);
    recursive ||= verdict.use.recursive;
    const readsBelow = verdict.use.recursive && !LIST_ONLY.has(programOf(command.argv));
    return { ...command, class: "read-only", readsBelow };
  });
  const refused = commands.find((command) => command.class === "write") ?? commands.find(({ reason }) => reason);
  if (refused) {
    const reason = `${refused.argv[0]}: ${refused.reason}.`;
    return { ...base, paths, recursive, class: refused.class, reason, commands };
  }
  if (commands.length > MAX_CHAIN) {
    const reason = `The chain has more than ${MAX_CHAIN} commands.`;
    return { ...base, paths, recursive, class: "unknown", reason, commands };
  }
  const reason = "Every command is literal and on the list of read-only forms.";
  return { ...base, paths, recursive, class: "read-only", reason, commands };
}

/** They descend into folders but show only names and sizes, not the content of files. */
const LIST_ONLY = new Set(["find", "ls", "tree", "du"]);

const SYSTEM_FOLDER = /^\/(?:usr\/)?bin\//;

function readCommand(argv: readonly string[], options: AnalyseOptions): FormVerdict {
  const words = argv.slice(1);
  const name = programOf(argv);
  const refuse = (refused: string): FormVerdict => ({ refused, writes: isKnownToWrite(name, words) });
  if (argv.some((word) => /[\p{Cc}]/u.test(word.replaceAll("\t", "")))) return refuse("a word contains a line break");
  const verdict = readByForm(name, words);
  if (!verdict) return refuse("it is not on the list of read-only programs");
  if ("refused" in verdict) return { ...verdict, writes: verdict.writes || isKnownToWrite(name, words) };
  if (name === "git" && !options.trustedRepository) {
    return refuse("the configuration of a repository that is not trusted may make git run programs");
  }
  const outside = verdict.use.paths.find((path) => !isInside(path, options));
  return outside === undefined ? verdict : refuse(`${outside} is outside the folders that may be read`);
}

function programOf([program = ""]: readonly string[]): string {
  return program.replace(SYSTEM_FOLDER, "");
}

function readByForm(name: string, words: readonly string[]): FormVerdict | undefined {
  const [first = ""] = words;
  if (words.length === 1 && VERSION_QUERIES.get(name)?.includes(first)) {
    return { use: { options: [], operands: [], paths: [], recursive: false, argv: [] } };
  }
  if (name === "git") return readGit(words);
  const form = READ_ONLY_FORMS.get(name) ?? SCRIPTED_FORMS.get(name);
  return form ? matchForm(form, words) : EXPRESSION_READERS.get(name)?.(words);
}

/** Compares names only: the path policy resolves links, because it opens what it checks. */
function isInside(path: string, { cwd, roots }: AnalyseOptions): boolean {
  if (cwd === undefined) return !isAbsolute(path) && normalize(path).split(sep)[0] !== "..";
  const absolute = resolve(cwd, path);
  // These do not contain ordinary files but environments, memory and devices.
  if (/^\/(?:proc|sys|dev)(?:\/|$)/.test(absolute)) return false;
  return (roots ?? [cwd]).some((root) => {
    const path = relative(root, absolute);
    return !isAbsolute(path) && path.split(sep)[0] !== "..";
  });
}

function reasonNotPlain({ constructs }: ParsedCommand): string {
  const found = [...constructs].join(", ");
  return found
    ? `It is not a chain of literal words: it has ${found}.`
    : "It is not a chain of literal words: a word or a separator is not plain.";
}

/** `write` only for text with nothing but words and redirections; everything else is `unknown`. */
function classOfText({ commands, redirections, constructs, problem }: ParsedCommand): CommandClass {
  const isReadable = [...constructs].every((construct) => construct === "redirection" || construct === "here-document");
  if (problem || !isReadable) return "unknown";
  const writes =
    redirections.some(writesFile) ||
    commands.some(({ words: [program, ...words] }) => {
      return isKnownToWrite(
        program?.value ?? "",
        words.map(({ value }) => value),
      );
    });
  return writes ? "write" : "unknown";
}

function writesFile({ operator, target }: CommandRedirection): boolean {
  return operator.includes(">") && target !== undefined && !/^(?:\d+-?|-|\/dev\/null)$/.test(target.value);
}

const WRITING_PROGRAMS = new Set(
  `apt apt-get brew chgrp chmod chown cp crontab dd dnf fallocate install kill killall ln losetup mkdir mkfifo mkfs mknod
   mktemp mount mv patch pip pip3 pkill poweroff reboot rm rmdir rsync shred shutdown split systemctl tee touch truncate
   umount unlink unzip useradd userdel usermod yum`.split(/\s+/),
);

/** Whether this command is known to change something. False does not mean that it only reads. */
function isKnownToWrite(name: string, words: readonly string[]): boolean {
  if (WRITING_PROGRAMS.has(name) || name.startsWith("mkfs.")) return true;
  if (name !== "git") return false;
  const verdict = readGit(words);
  return "refused" in verdict && verdict.writes;
}
