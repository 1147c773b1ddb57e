import { constants } from "node:os";

export type KillReason = "timeout" | "aborted" | "killed";

/** How a process ended, and who ended it. */
export interface Exit {
  reason: "exited" | "signalled" | KillReason;
  /** 128 + the signal's number after a signal, as shells say it; null only when the process could not be ended. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
  /** A background child still held the output when reading stopped. */
  leftBehind: boolean;
  /** Processes that outlived a kill. */
  survivors: readonly number[];
  /** What an ending that looks odd usually means. */
  hint?: string;
}

export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export function describeEnd(
  end: ProcessEnd | undefined,
  killReason: KillReason | undefined,
): Pick<Exit, "reason" | "exitCode" | "signal" | "hint"> {
  if (!end) return { reason: killReason ?? "killed", exitCode: null, signal: null };
  const { signal } = end;
  const exitCode = signal ? 128 + constants.signals[signal] : end.code;
  const reason = killReason ?? (signal ? "signalled" : "exited");
  const hint = killReason ? undefined : explainExitCode(exitCode);
  return { reason, exitCode, signal, hint: hint || undefined };
}

function explainExitCode(exitCode: number | null): string | undefined {
  switch (exitCode) {
    case 126:
      return "126: the command was found but may not be executed.";
    case 127:
      return "127: a command was not found.";
    case 137:
      return "137: ended by SIGKILL, which this runtime did not send; most often the system ran out of memory.";
    case 139:
      return "139: the program crashed (segmentation fault).";
    default:
      return undefined;
  }
}

export interface ExitMeaning {
  /** The command did its work, and the exit code is its answer. */
  completed: boolean;
  /** What the code says, for commands that answer with it. */
  note?: string;
}

/**
 * Some programs answer with their exit code: 1 of grep means "no match", of diff "they differ". This reads the command
 * only as far as plain words go; whatever is not certain is a failure, as exit codes usually are.
 * `stderrBytes` tells `cd x && grep y` with nothing found from a `cd` that failed: both exit with 1.
 */
export function exitMeaning(command: string, exitCode: number | null, stderrBytes: number): ExitMeaning {
  if (exitCode === 0) return { completed: true };
  const simple = exitCode === null ? undefined : lastSimpleCommand(command, stderrBytes === 0);
  const note = simple && answerOf(simple, exitCode as number);
  return note ? { completed: true, note } : { completed: false };
}

const NO_MATCH = "nothing matched";
const DIFFERENT = "the inputs differ";
const FALSE = "the condition is false";
const NOT_FOUND = "nothing was found";

const ANSWERS = new Map<string, string>([
  ...["grep", "egrep", "fgrep", "zgrep", "pgrep", "rg", "ag", "ack", "look"].map((name) => [name, NO_MATCH] as const),
  ...["diff", "cmp", "zdiff", "zcmp", "colordiff", "diff3"].map((name) => [name, DIFFERENT] as const),
  ...["test", "[", "[["].map((name) => [name, FALSE] as const),
  ...["which", "pidof"].map((name) => [name, NOT_FOUND] as const),
]);

function answerOf(words: readonly string[], exitCode: number): string | undefined {
  if (exitCode !== 1) return undefined;
  const [program = "", ...rest] = words;
  const name = program.startsWith("/") ? program.slice(program.lastIndexOf("/") + 1) : program;
  if (name === "[" && rest.at(-1) !== "]") return undefined;
  if (name === "[[" && rest.at(-1) !== "]]") return undefined;
  if (name === "command") return rest[0] === "-v" || rest[0] === "-V" ? NOT_FOUND : undefined;
  if (name === "git") return answerOfGit(rest);
  return ANSWERS.get(name);
}

function answerOfGit(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => !word.startsWith("-"));
  // `-C dir` and `-c key=value` take a word: then the subcommand is not simply the next one.
  if (words.slice(0, at).some((word) => word !== "--no-pager")) return undefined;
  const options = words.slice(at + 1);
  switch (words[at]) {
    case "grep":
      return NO_MATCH;
    case "diff":
      return options.some((word) => ["--exit-code", "--quiet", "--no-index", "--check"].includes(word))
        ? DIFFERENT
        : undefined;
    case "check-ignore":
      return NOT_FOUND;
    case "merge-base":
      return options.includes("--is-ancestor") ? FALSE : undefined;
    default:
      return undefined;
  }
}

const KEYWORDS = new Set(
  "! if then else elif fi for while until do done case esac select function coproc time { } trap exec eval".split(" "),
);

/** The words of the command whose exit code is the code of the whole, when that is certain. */
function lastSimpleCommand(command: string, silent: boolean): string[] | undefined {
  const parts = splitCommand(command);
  if (!parts) return undefined;
  for (const { words } of parts) {
    const [first = ""] = words;
    if (KEYWORDS.has(first) || first === "set" || first === "exit" || first === "return") return undefined;
    if (words.some((word) => word.includes("pipefail") || word.includes("errexit"))) return undefined;
  }
  const last = parts.at(-1) as Part;
  // In `a && b` the code may be that of `a`. Only `cd` is common and harmless enough, and it complains when it fails.
  let at = parts.length - 1;
  while (at > 0 && parts[at]?.before === "|") at--;
  while (at > 0 && parts[at]?.before === "&&") {
    at--;
    if (parts[at]?.words[0] !== "cd" || !silent) return undefined;
  }
  return last.words;
}

interface Part {
  /** The operator that stands before it. */
  before: string;
  words: string[];
}

/** Plain words and operators only; undefined for everything that a shell would do more with. */
function splitCommand(command: string): Part[] | undefined {
  const parts: Part[] = [];
  let part: Part = { before: "", words: [] };
  const rest = command.trim().replace(/;$/, "");
  TOKEN.lastIndex = 0;
  let at = 0;
  while (at < rest.length) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(rest);
    if (!token) return undefined;
    at = TOKEN.lastIndex;
    const { blank, redirection, operator, word } = token.groups as Record<string, string | undefined>;
    if (blank !== undefined || redirection !== undefined) continue;
    if (word !== undefined) {
      const isAssignment = part.words.length === 0 && /^[A-Za-z_]\w*=/.test(word);
      if (!isAssignment) part.words.push(word.replace(/["'\\]/g, ""));
      continue;
    }
    if (part.words.length === 0) return undefined;
    parts.push(part);
    part = { before: (operator as string).startsWith("\n") ? ";" : (operator as string), words: [] };
  }
  if (part.words.length === 0) return undefined;
  parts.push(part);
  return parts.some(({ words }) => /[$*?~]/.test(words[0] as string)) ? undefined : parts;
}

/** No token matches a substitution, a group, a here-document, a comment or a single `&`. */
const WORD = `(?:${[
  String.raw`[^\s|&;<>()\x60"'\\#$]`,
  String.raw`\\[^\n]`,
  String.raw`'[^']*'`,
  String.raw`"(?:[^"\x60\\$]|\\.|\$(?!\())*"`,
  String.raw`\$(?![('"])`,
  String.raw`(?<=[^\s|&;<>()])#`,
].join("|")})+`;
const TOKEN = new RegExp(
  [
    String.raw`(?<blank>[ \t]+|\\\n)`,
    String.raw`(?<redirection>\d?>{1,2}&\d|\d?(?:>{1,2}|<)(?![<>&(|])[ \t]*${WORD})`,
    String.raw`(?<operator>\|\||&&|\||;|\n\s*)`,
    String.raw`(?<word>${WORD})`,
  ].join("|"),
  "y",
);
