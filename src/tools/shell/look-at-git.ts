import { dirname, join } from "node:path";
import { checkPath, type PathPolicy } from "../../io/files/path-policy.ts";
import type { Sandbox } from "../../io/sandbox/sandbox.ts";
import { exists, repositoryTop, stateOfObjects } from "../../io/sandbox/profiles.ts";
import { type GitUse, HARDENED_GIT_ENV, hardenedStart, TAKES_EXCLUSIONS } from "../../io/shell/read-only-git.ts";
import type { RebuiltWord } from "../../io/shell/rebuilt-word.ts";
import { startProcess } from "../../io/shell/run-process.ts";

export interface LookContext {
  sandbox: Sandbox;
  policy: PathPolicy;
  /** Without secrets. */
  env: Readonly<Record<string, string>>;
  /** The absolute path of git. */
  git: string;
}

/** What the commands would print of files that the policy denies. */
export interface PrintedSecrets {
  /** A denied path whose content the history or the index has, or why that is unknown. */
  printed?: string;
  /** Denied paths that only look changed, because the sandbox hides them from git. */
  hidden: readonly string[];
}

/** The sandbox hides denied files, but the objects of a repository contain them as well. */
export async function findPrintedSecrets(uses: readonly GitUse[], context: LookContext): Promise<PrintedSecrets> {
  const hidden = new Set<string>();
  for (const use of uses) {
    const found = await findIn(use, context);
    if (found.printed !== undefined) return found;
    for (const path of found.hidden) hidden.add(path);
  }
  return hidden.size > MAX_HIDDEN
    ? { printed: "it has many files that are hidden", hidden: [] }
    : { hidden: [...hidden] };
}

/** Each becomes a word of the command. */
const MAX_HIDDEN = 50;

async function findIn(use: GitUse, context: LookContext): Promise<PrintedSecrets> {
  const asks = (printed: string): PrintedSecrets => ({ printed, hidden: [] });
  const plan = planLook(use);
  if ("unknown" in plan) return asks(plan.unknown);
  const top = plan.objects.length === 0 && plan.names === undefined ? undefined : repositoryTop(use.folder);
  if (top === undefined) return { hidden: [] };
  // A blob or a tree without a path: nobody knows which file it was.
  for (const object of plan.objects) {
    const type = (await runGit(["cat-file", "-t", `${object}^{}`], use.folder, context))?.trim();
    const isNamed = object.includes(":") && (type === "blob" || NAMES_OF_TREE.has(use.subcommand));
    if ((type === "blob" || type === "tree") && !isNamed) return asks(`${object} is no commit`);
  }
  if (!plan.names) return { hidden: [] };
  const text = await runGit(plan.names, use.folder, context);
  if (text === undefined) return asks("its files are not known in time");
  const isDenied = (path: string): boolean =>
    checkPath(context.policy, join(top, plan.prefix ?? "", path), "read") !== null;
  const hidden: string[] = [];
  let header = "";
  for (const token of text.split("\0")) {
    if (RAW_HEADER.test(token)) header = token;
    else if (token !== "" && [token, ...suffixesOf(token)].some(isDenied)) {
      if (!OF_WORK_TREE.test(header) || !TAKES_EXCLUSIONS.has(use.subcommand)) return asks(token);
      hidden.push(token);
    }
  }
  return { hidden };
}

/** Of a tree, these print only the names. */
const NAMES_OF_TREE = new Set(["cat-file", "show"]);

/** `:100644 100644 ID ID M` before the names of a changed file. No path with a folder looks like it. */
const RAW_HEADER = /^\s*:+(?:\d{6} )+(?:[\da-f]{7,64} )+[A-Z]+\d*$/;

/** Compared with the file itself, which has no object. */
const OF_WORK_TREE = /^:\d{6} \d{6} [\da-f]+ 0+ M$/;

/** `HEAD~1:src/a.ts` and `HEAD:src:a.ts` of `git grep`, and a revision may have colons too. */
function suffixesOf(token: string): string[] {
  const parts = token.split(":").slice(1);
  return parts.length === 0 ? [] : [...parts.map((_, at) => parts.slice(at).join(":")), parts.join("/")];
}

interface LookPlan {
  /** Operands that may be objects of any kind. */
  objects: readonly string[];
  /** The arguments of a run that prints the names of all files of which the command prints something. */
  names?: readonly string[];
  /** The folder that the names are relative to, below the top of the repository. */
  prefix?: string;
}

const RAW = ["--raw", "-z", "--no-abbrev", "--no-relative", "--no-color"];
const LOG_RAW = [...RAW, "--format="];

/** Options of `log` with which it prints no file. */
const LISTS_COMMITS = new Set(
  `-# -g -i -n -E -F -P -s -z --abbrev --abbrev-commit --no-abbrev-commit --after --all --all-match --ancestry-path --author
   --author-date-order --basic-regexp --before --boundary --branches --cherry --cherry-mark --cherry-pick --children --color
   --no-color --committer --date --date-order --decorate --no-decorate --decorate-refs --dense --extended-regexp
   --first-parent --fixed-strings --follow --format --full-history --graph --grep --invert-grep --left-only --left-right
   --max-count --max-parents --merges --min-parents --no-max-parents --no-merges --no-notes --no-patch --no-walk --notes
   --oneline --parents --perl-regexp --pretty --regexp-ignore-case --relative-date --remotes --reverse --right-only
   --show-pulls --simplify-by-decoration --simplify-merges --since --skip --source --sparse --tags --topo-order --until
   --walk-reflogs`.split(/\s+/),
);

/** Options that change how a difference is printed, not which files it has. */
const FORMATS = new Set(
  `-a -b -p -s -u -w -z -U -W --abbrev --abbrev-commit --binary --check --children --color --no-color --color-moved
   --color-words --compact-summary --date --decorate --no-decorate --dirstat --exit-code --format --full-index
   --function-context --graph --name-only --name-status --no-patch --notes --no-notes --numstat --oneline --parents --patch
   --patch-with-stat --pretty --quiet --raw --relative --relative-date --shortstat --source --stat --summary --text
   --unified --word-diff`.split(/\s+/),
);

function planLook({ subcommand, options, words }: GitUse): LookPlan | { unknown: string } {
  const has = (...names: string[]): boolean => options.some(({ name }) => names.includes(name));
  const isPlain = options.every(({ name }) => LISTS_COMMITS.has(name));
  const nothing: LookPlan = { objects: [] };
  if (subcommand === "log" && isPlain) return nothing;
  if (subcommand === "status") {
    return has("-v") ? { objects: [], names: [...hardenedStart("diff"), ...RAW, "HEAD"] } : nothing;
  }
  if (subcommand === "ls-files" && !has("-s", "-u", "--stage", "--unmerged")) return nothing;
  if (subcommand === "stash" && words.before[0]?.value === "list" && isPlain) return nothing;
  if (!PRINTS_FILES.has(subcommand)) return nothing;
  if (words.before.some(({ kind }) => kind === "expansion")) return { unknown: "a revision is only known at run time" };
  // A submodule has files of its own.
  if (options.some(({ name, value }) => SHOWS_SUBMODULES.get(name)?.test(value ?? "")) || has("--stdin")) {
    return { unknown: "it prints more than its own files" };
  }
  // A glob of the shell gives names of files. Without them more is looked at.
  const operands = words.before.filter(({ kind }) => kind === "literal").map(({ value }) => value);
  const paths = pathspecs(words.after);
  const kept = options.filter(({ name }) => !FORMATS.has(name));
  switch (subcommand) {
    case "cat-file":
      return { objects: operands };
    case "grep": {
      const revisions = has("-e") ? operands : operands.slice(1);
      const where = kept.filter(({ name }) => name === "--cached" || name === "--untracked");
      const names = [
        ...hardenedStart("grep"),
        "-lz",
        "--full-name",
        "--no-color",
        ...argumentsOf(where),
        "-e",
        "",
        ...revisions,
      ];
      return { objects: revisions.filter((each) => !each.includes(":")), names: [...names, ...paths] };
    }
    case "ls-files":
      return { objects: [], names: [...hardenedStart("ls-files"), "-z", "--full-name", ...operands, ...paths] };
    case "ls-tree": {
      const flags = kept.filter(({ name }) => /^-[drt]$|^--full-tree$/.test(name));
      const prefix = operands[0]?.split(":").slice(1).join(":");
      return {
        objects: [],
        names: [
          ...hardenedStart("ls-tree"),
          "-z",
          "--name-only",
          "--full-name",
          ...argumentsOf(flags),
          ...operands,
          ...paths,
        ],
        prefix,
      };
    }
    case "range-diff":
      if (!operands.every((each) => each.includes(".."))) return { unknown: "its ranges are not plain" };
      return { objects: [], names: [...hardenedStart("log"), "-m", ...LOG_RAW, ...operands, ...paths] };
    case "stash":
      return {
        objects: [],
        names: [
          ...hardenedStart("stash"),
          operands[0] ?? "show",
          ...(operands[0] === "list" ? LOG_RAW : RAW),
          ...argumentsOf(kept),
          ...operands.slice(1),
        ],
      };
    case "show":
      if (isPlain && has("-s", "--no-patch")) return { objects: operands };
      break;
  }
  // `-L` is printed as a difference only, and follows a file under its earlier names: all commits are looked at.
  const limits = has("-L") ? /^(?:-L|-n|-#|--max-count|--skip)$/ : /^$/;
  const selecting = argumentsOf(kept.filter(({ name }) => !limits.test(name)));
  const raw = subcommand.startsWith("diff") ? [...RAW, ...(subcommand === "diff-tree" ? ["-r"] : [])] : LOG_RAW;
  const objects = /^(?:diff|show|diff-tree|diff-index)$/.test(subcommand) ? operands : [];
  return { objects, names: [...hardenedStart(subcommand), ...raw, ...selecting, ...operands, ...paths] };
}

const PRINTS_FILES = new Set(
  "cat-file diff diff-files diff-index diff-tree grep log ls-files ls-tree range-diff show stash whatchanged".split(
    " ",
  ),
);

const SHOWS_SUBMODULES: ReadonlyMap<string, RegExp> = new Map([
  ["--submodule", /^diff$/],
  ["--ignore-submodules", /^(?!all$|$)/],
]);

/** None if one is only known at run time: then all files are looked at. */
function pathspecs(words: readonly RebuiltWord[]): string[] {
  return words.length > 0 && words.every(({ kind }) => kind === "literal")
    ? ["--", ...words.map(({ value }) => value)]
    : [];
}

function argumentsOf(options: GitUse["options"]): string[] {
  return options.map(({ name, value }) => {
    if (name === "-#") return `-${value}`;
    return value === undefined ? name : name.startsWith("--") ? `${name}=${value}` : `${name}${value}`;
  });
}

/** What was found out about a repository, until it or the policy changes. */
const knownHistories = new WeakMap<PathPolicy, Map<string, { state: string; holds: Promise<boolean> }>>();

/**
 * Whether the objects of a `.git` folder hold a file that the policy denies, or one without a name, as `git add` leaves behind. A
 * program that reads them meets no name that the sandbox could hide. What is not known in time counts as one.
 */
export function holdsSecrets(repository: string, context: LookContext): Promise<boolean> {
  const known = knownHistories.get(context.policy) ?? new Map<string, { state: string; holds: Promise<boolean> }>();
  knownHistories.set(context.policy, known);
  const state = stateOfObjects(repository);
  const last = known.get(repository);
  if (last?.state === state) return last.holds;
  const holds = searchHistory(repository, context).catch(() => true);
  known.set(repository, { state, holds });
  return holds;
}

async function searchHistory(repository: string, context: LookContext): Promise<boolean> {
  // The names of submodules begin elsewhere.
  if (exists(join(repository, "modules"))) return true;
  const top = dirname(repository);
  const isDenied = (path: string): boolean =>
    path !== "" && checkPath(context.policy, join(top, path), "read") !== null;
  const git = (subcommand: string, ...args: string[]): Promise<string | undefined> =>
    runGit([...hardenedStart(subcommand), ...args], top, context);
  const [changed, indexed, named, all] = await Promise.all([
    git("log", "--all", "--reflog", "-m", "--root", "--no-renames", "--name-only", "--format=", "-z"),
    git("ls-files", "-z"),
    git("rev-list", "--objects", "--all", "--reflog", "--indexed-objects"),
    git("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objecttype) %(objectname)"),
  ]);
  if (changed === undefined || indexed === undefined || named === undefined || all === undefined) return true;
  if (`${changed}\0${indexed}`.split("\0").some((path) => isDenied(path.replace(/^\n/, "")))) return true;
  const found = new Set<string>();
  for (const line of named.split("\n")) {
    const [object, path] = splitOnce(line);
    if (isDenied(path)) return true;
    found.add(object);
  }
  return all.split("\n").some((line) => line.startsWith("blob ") && !found.has(line.slice("blob ".length)));
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(" ");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

/** A range that takes longer, or prints more names, is not looked at to its end. */
const MAX_MS = 3000;
const MAX_BYTES = 4 * 1024 * 1024;

/** What git prints, confined like the command itself. Undefined if it is not known. */
async function runGit(
  args: readonly string[],
  folder: string,
  { sandbox, env, git }: LookContext,
): Promise<string | undefined> {
  const confined = await sandbox.confine("look", [git, ...args], { cwd: folder, terminal: false });
  const process = await startProcess({
    argv: confined.command,
    cwd: folder,
    env: { ...env, ...HARDENED_GIT_ENV, ...confined.env },
    timeoutMs: MAX_MS,
    leftBehind: "kill",
    isSupervised: true,
    output: { maxBytes: 4 * MAX_BYTES, separateStreams: true },
  });
  const exit = await process.wait();
  await confined.finish();
  const { stdout } = process.output.snapshot();
  const isWhole = exit.exitCode === 0 && stdout !== undefined && stdout.omittedBytes === 0;
  // `git grep` ends with 1 if it finds nothing.
  if (isWhole || (exit.exitCode === 1 && stdout?.totalBytes === 0)) return `${stdout.head}${stdout.tail}`;
  return undefined;
}
