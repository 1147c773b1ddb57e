import { constants } from "node:os";

/** `limit`: it used more than it may; see `TreeLimits`. */
export type KillReason = "timeout" | "aborted" | "killed" | "limit";

/** How a process ended and why. */
export interface Exit {
  reason: "exited" | "signalled" | KillReason;
  /** 128 + the signal number after a signal, as in shells; null only if the process could not be killed. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
  /** A background child still held the output open when reading stopped. */
  leftBehind: boolean;
  /** Process ids that survived the kill. */
  survivors: readonly number[];
  /** The usual meaning of an unusual exit code. */
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
  return { reason, exitCode, signal, hint };
}

function explainExitCode(exitCode: number | null): string | undefined {
  switch (exitCode) {
    case 126:
      return "126: the command was found but is not executable.";
    case 127:
      return "127: a command was not found.";
    case 137:
      return "137: killed by SIGKILL, which this runtime did not send; usually the system ran out of memory.";
    case 139:
      return "139: the program crashed (segmentation fault).";
    default:
      return undefined;
  }
}

export interface ExitMeaning {
  /** The command did its work: exit code 0, or a code that is its result. */
  completed: boolean;
  /** The meaning of a code other than 0. */
  note?: string;
}

/**
 * Some programs report their result as an exit code: 1 means "no match" for grep and "they differ" for diff. Only
 * plain words are understood; in all other cases a code other than 0 is a failure. `stderrBytes` distinguishes
 * `cd x && grep y` without a match from a failed `cd`: both exit with 1.
 */
export function exitMeaning(command: string, exitCode: number | null, stderrBytes: number): ExitMeaning {
  if (exitCode === 0) return { completed: true };
  const words = exitCode === 1 ? lastSimpleCommand(command, stderrBytes === 0) : undefined;
  const note = words && meaningOfOne(words);
  return note ? { completed: true, note } : { completed: false };
}

const NO_MATCH = "nothing matched";
const DIFFERENT = "the inputs differ";
const FALSE = "the condition is false";
const NOT_FOUND = "nothing was found";

const MEANINGS_OF_ONE = new Map<string, string>([
  ...["grep", "egrep", "fgrep", "zgrep", "pgrep", "rg", "ag", "ack", "look"].map((name) => [name, NO_MATCH] as const),
  ...["diff", "cmp", "zdiff", "zcmp", "colordiff", "diff3"].map((name) => [name, DIFFERENT] as const),
  ...["test", "[", "[["].map((name) => [name, FALSE] as const),
  ...["which", "pidof"].map((name) => [name, NOT_FOUND] as const),
]);

function meaningOfOne(words: readonly string[]): string | undefined {
  const [program = "", ...rest] = words;
  const name = program.startsWith("/") ? program.slice(program.lastIndexOf("/") + 1) : program;
  if (name === "[" && rest.at(-1) !== "]") return undefined;
  if (name === "[[" && rest.at(-1) !== "]]") return undefined;
  if (name === "command") return rest[0] === "-v" || rest[0] === "-V" ? NOT_FOUND : undefined;
  if (name === "git") return meaningOfOneForGit(rest);
  return MEANINGS_OF_ONE.get(name);
}

function meaningOfOneForGit(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => !word.startsWith("-"));
  // Global options such as `-C dir` take a word, so the next word may not be the subcommand.
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

/** The words of the command that determines the exit code; undefined if that is not certain. */
function lastSimpleCommand(command: string, silent: boolean): string[] | undefined {
  const parts = splitCommand(command);
  if (!parts) return undefined;
  for (const { words } of parts) {
    const [first = ""] = words;
    if (KEYWORDS.has(first) || first === "set" || first === "exit" || first === "return") return undefined;
    if (words.some((word) => word.includes("pipefail") || word.includes("errexit"))) return undefined;
  }
  // In `a && b` the code may come from `a`. Only `cd` is accepted there, because it prints an error when it fails.
  let at = parts.length - 1;
  while (at > 0 && parts[at]?.before === "|") at--;
  while (at > 0 && parts[at]?.before === "&&") {
    at--;
    if (parts[at]?.words[0] !== "cd" || !silent) return undefined;
  }
  return parts.at(-1)?.words;
}

interface Part {
  /** The operator before it. */
  before: string;
  words: string[];
}

/** Splits plain words and operators; undefined if the text has any other shell syntax. */
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
    const { blank, redirection, operator = "", word } = token.groups ?? {};
    if (blank !== undefined || redirection !== undefined) continue;
    if (word !== undefined) {
      const isAssignment = part.words.length === 0 && /^[A-Za-z_]\w*=/.test(word);
      if (!isAssignment) part.words.push(word.replace(/["'\\]/g, ""));
      continue;
    }
    if (part.words.length === 0) return undefined;
    parts.push(part);
    part = { before: operator.startsWith("\n") ? ";" : operator, words: [] };
  }
  if (part.words.length === 0) return undefined;
  parts.push(part);
  return parts.some(({ words }) => /[$*?~]/.test(words[0] ?? "")) ? undefined : parts;
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
