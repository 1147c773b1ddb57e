import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type CommandForm, formTable, type FormUse, matchForm } from "./command-form.ts";
import { literal, type RebuiltWord } from "./rebuilt-word.ts";

// Left out on purpose: --output (writes); --ext-diff, --textconv, --show-signature, -O, --open-files-in-pager, --exec
// and --upload-pack (run helpers); --no-index (reads anywhere).
const DIFF = `-abBpRsuwz -D -U? -M? -C? -S:pattern -G:pattern --abbrev? --binary --check --color? --no-color
  --color-moved? --color-words --compact-summary --cc --diff-algorithm:text --diff-filter:text --dirstat? --exit-code
  --find-copies? --find-renames? --full-index --function-context --histogram --ignore-all-space --ignore-blank-lines
  --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-submodules? --minimal --name-only --name-status
  --no-ext-diff --no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patch-with-stat --patience
  --pickaxe-all --pickaxe-regex --quiet --raw --relative --shortstat --stat? --submodule? --summary --text
  --unified:number --word-diff? -W`;
const LOG = `${DIFF} -# -c -g -i -m -n:number -E -F -P -L:text --abbrev-commit --no-abbrev-commit --after:text --all
  --all-match --ancestry-path --author:text --author-date-order --basic-regexp --before:text --boundary --branches?
  --cherry --cherry-mark --cherry-pick --children --committer:text --date:text --date-order --decorate? --no-decorate
  --decorate-refs:text --dense --extended-regexp --first-parent --fixed-strings --follow --full-history --graph
  --grep:pattern --invert-grep --left-only --left-right --max-count:number --max-parents:number --merges
  --min-parents:number --no-max-parents --no-merges --no-notes --no-walk? --notes? --oneline --parents --perl-regexp
  --regexp-ignore-case --relative-date --remotes? --reverse --right-only --show-pulls --simplify-by-decoration
  --simplify-merges --since:text --skip:number --source --sparse --tags? --topo-order --until:text --walk-reflogs`;
const FORMAT = "--format:text --pretty?";

/** The subcommands that only read, by name. */
export const GIT_FORMS = formTable(
  `
  status | path | -bsvz -u? --ahead-behind --no-ahead-behind --branch --column? --find-renames? --ignored?
    --ignore-submodules? --long --no-column --no-renames --null --porcelain? --renames --short --show-stash
    --untracked-files?
  diff | revision | ${DIFF} --cached --staged --merge-base
  log, show, whatchanged | revision | ${LOG} ${FORMAT}
  shortlog | revision | -cens --author:text --since:text --until:text --all --no-merges
  rev-list | revision | -n:number -# --all --count --max-count:number --since:text --until:text --no-merges --merges
    --reverse
  rev-parse | revision | -q --abbrev-ref? --absolute-git-dir --git-common-dir --git-dir --is-bare-repository
    --is-inside-git-dir --is-inside-work-tree --quiet --short? --show-cdup --show-prefix --show-toplevel --symbolic
    --symbolic-full-name --verify
  branch | text | -arvi --all --color? --no-color --column? --no-column --contains:text --no-contains:text --format:text
    --ignore-case --list --merged? --no-merged? --points-at:text --remotes --show-current --sort:text --verbose
  tag | text | -l -n? --list --contains:text --points-at:text --sort:text --merged? --no-merged? --format:text
  worktree | text 1..1 | -v --porcelain
  reflog | text ..1 | -# -n:number --date:text --oneline --all
  ls-files | path | -cdikmostuvz --cached --deleted --exclude-standard --full-name --ignored --killed --modified
    --others --stage --unmerged --error-unmatch
  ls-tree | revision | -drtlz --full-name --full-tree --long --name-only --name-status --abbrev?
  cat-file | revision | -epst
  describe | revision | --all --tags --long --always --abbrev? --contains --exact-match --match:text --first-parent
  merge-base | revision | -a --all --is-ancestor --octopus --fork-point
  show-ref | text | -ds --branches --heads --tags --hash? --verify --quiet
  show-branch | text | -ar --all --remotes --list --sha1-name
  name-rev | revision | --name-only --tags --all --always
  blame | revision | -bcefhlnstw -C? -L:text -M? --date:text --line-porcelain --porcelain --root --show-email
  grep | pattern(-e) revision | -EFGPHIahilLnopqvwWz -# -A:number -B:number -C:number -e:pattern -m:number --and --or
    --not --all-match --break --cached --color? --column --count --extended-regexp --files-with-matches
    --files-without-match --fixed-strings --full-name --function-context --heading --ignore-case --invert-match
    --line-number --name-only --no-color --only-matching --perl-regexp --quiet --show-function --untracked --word-regexp
    -c
  check-ignore | path | -nqvz --no-index --non-matching --quiet --verbose
  count-objects | none | -vH
  version | none | --build-options
  remote | text ..2 | -v --verbose --all --push
  stash | text 1..2 | ${DIFF} -# --oneline --format:text --pretty?
  config | text 1..2 | -z --get --get-all --local --global --show-origin --show-scope --default:text --type:text --bool
    --int
  symbolic-ref | text 1..1 | -q --short --quiet
  for-each-ref | text | --count:number --sort:text --format:text --points-at:text --merged? --no-merged? --contains?
    --no-contains? --ignore-case
  cherry | revision | -v --abbrev?
  diff-tree | revision | ${DIFF} -rtmc --root --no-commit-id --always --stdin --pretty? --format:text
  diff-files | path | ${DIFF}
  diff-index | revision | ${DIFF} --cached -m
  range-diff | revision | ${DIFF} --creation-factor:number --no-dual-color
  check-attr | text | -az --all --cached
  ls-remote | none
  bisect | text 1..1
  notes | text ..2
`,
  {
    log: { check: runsNoSignatureCheck },
    // An operand without --list would create a branch.
    branch: {
      check: ({ operands, options }) =>
        operands.length === 0 || options.some(({ name }) => name === "--list") ? undefined : "it would create a branch",
    },
    tag: {
      check: ({ operands, options }) =>
        operands.length === 0 || options.some(({ name }) => name === "-l" || name === "--list")
          ? runsNoSignatureCheck({ options })
          : "it would create a tag",
    },
    worktree: { check: onlySubcommand("list") },
    reflog: { check: onlySubcommand("show") },
    remote: {
      check: ({ operands }) => (operands.length === 0 || operands[0] === "get-url" ? undefined : "it changes a remote"),
    },
    stash: {
      check: ({ operands }) => (/^(?:list|show)$/.test(operands[0] ?? "") ? undefined : "it changes the stash"),
    },
    // Only names that hold no credentials.
    config: {
      check: ({ operands, options }) => {
        const names = operands[0] === "get" ? operands.slice(1) : operands;
        const isGet = operands[0] === "get" || options.some(({ name }) => name === "--get" || name === "--get-all");
        const isPlain =
          names.length === 1 &&
          /^(?:user|core|init|branch|pull|push|remote|color|diff|merge|commit)\./i.test(names[0] ?? "");
        return isGet && isPlain ? undefined : "it may change or reveal settings";
      },
    },
    "for-each-ref": { check: runsNoSignatureCheck },
    "ls-remote": { check: () => "it uses the network" },
    bisect: { check: ({ operands }) => (operands[0] === "log" ? undefined : "it changes files") },
    notes: {
      check: ({ operands }) => (/^(?:list|show)$/.test(operands[0] ?? "list") ? undefined : "it changes notes"),
    },
  },
);

const RUNS_DIFF_HELPERS = new Set(["blame", "diff", "log", "show", "whatchanged"]);

/** With this environment and `HARDENED_CONFIG`, git starts no helper that the repository's configuration names. */
export const HARDENED_GIT_ENV = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
} as const;

const HARDENED_CONFIG = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.pager=cat",
  "core.askPass=",
  "core.sshCommand=/bin/false",
  "credential.helper=",
  "diff.external=",
  // A submodule has its own configuration.
  "diff.ignoreSubmodules=all",
  "diff.submodule=short",
  "gpg.program=/bin/false",
  "gpg.openpgp.program=/bin/false",
  "gpg.ssh.program=/bin/false",
  "gpg.x509.program=/bin/false",
  "log.showSignature=false",
  "protocol.allow=never",
];

const NO_DIFF_HELPERS = ["--no-ext-diff", "--no-textconv"];

/** The arguments of git up to those of the subcommand. */
export function hardenedStart(subcommand: string): string[] {
  const helpers = RUNS_DIFF_HELPERS.has(subcommand) ? NO_DIFF_HELPERS : [];
  return ["--no-pager", ...HARDENED_CONFIG.flatMap((setting) => ["-c", setting]), subcommand, ...helpers];
}

/** A command of git as it was understood. */
export interface GitUse extends Pick<FormUse, "options" | "words"> {
  subcommand: string;
  /** Where it runs, relative to the working folder. */
  folder: string;
}

/** Commands that compare with the files of the work tree. */
export const TAKES_EXCLUSIONS: ReadonlySet<string> = new Set(["diff", "diff-files", "diff-index"]);

/** The words that leave out paths from the top of the repository. */
export function exclusionsOf({ subcommand }: GitUse, paths: readonly string[]): string[] {
  if (!TAKES_EXCLUSIONS.has(subcommand)) return [];
  return paths.map((path) => literal(`:(exclude,top,literal)${path}`).text);
}

/** The arguments of git for a shell, hardened: no setting of the repository starts a program, except filters. */
export function rebuildGit(
  words: readonly RebuiltWord[],
): { words: string[]; paths: string[]; use: GitUse } | { refused: string } {
  const folders: RebuiltWord[] = [];
  let at = 0;
  for (; ["--no-pager", "-P", "-C"].includes(words[at]?.value ?? ""); at++) {
    if (words[at]?.value !== "-C") continue;
    const folder = words[++at];
    if (folder?.kind !== "literal") return { refused: "its folder is only known at run time" };
    folders.push(folder);
  }
  const [first, ...rest] = words.slice(at);
  const subcommand = first?.kind === "literal" ? first.value : "";
  const form = GIT_FORMS.get(subcommand);
  if (!form) return { refused: `the subcommand ${subcommand || "(none)"} is not on its read-only list` };
  const verdict = matchForm({ ...form, endsOptions: false }, rest);
  if ("refused" in verdict) return verdict;
  const { argv, paths } = verdict.use;
  const moves = folders.flatMap(({ text }) => ["-C", text]);
  const start = hardenedStart(subcommand).map((word) => literal(word).text);
  // Paths are relative to the last folder.
  const base = folders.map(({ value }) => value).join("/");
  const named = base === "" ? paths : [base, ...paths.map((path) => (path.startsWith("/") ? path : `${base}/${path}`))];
  const { options, words: operands } = verdict.use;
  const use = { subcommand, options, words: operands, folder: base === "" ? "." : base };
  const args = HAS_COMMANDS.has(subcommand) ? commandFirst(subcommand, argv, operands) : argv;
  return { words: [...moves, ...start, ...args], paths: named, use };
}

/** Their first operand is a command, and options are those of the command. */
const HAS_COMMANDS = new Set(["notes", "reflog", "remote", "stash", "worktree"]);

function commandFirst(subcommand: string, argv: readonly string[], { before, after }: GitUse["words"]): string[] {
  const [command] = before;
  if (command === undefined) return [...argv];
  const at = argv.length - before.length - (after.length > 0 ? after.length + 1 : 0);
  const helpers = subcommand === "stash" ? NO_DIFF_HELPERS : [];
  return [command.text, ...helpers, ...argv.toSpliced(at, 1)];
}

function runsNoSignatureCheck({
  options,
}: {
  options: readonly { name: string; value?: string }[];
}): string | undefined {
  return options.some(({ value }) => value?.includes("%G") || value?.includes("%(signature"))
    ? "its format runs the signature program"
    : undefined;
}

function onlySubcommand(name: string): CommandForm["check"] {
  return ({ operands }) =>
    operands[0] === undefined || operands[0] === name ? undefined : `${operands[0]} is not read-only`;
}

/** Settings that name no program. All others may: filters, drivers, helpers, includes. */
const PLAIN_SETTINGS: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    core: /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)$/,
    remote: /^(?:url|pushurl|fetch)$/,
    branch: /^(?:remote|merge|rebase|description)$/,
    user: /^(?:name|email)$/,
    init: /^defaultbranch$/,
    pull: /^(?:rebase|ff)$/,
    push: /^(?:default|autosetupremote)$/,
    color: /^\w+$/,
  }),
);
const MAX_CONFIG_LENGTH = 64 * 1024;

/**
 * Whether git, started in the folder, finds an ordinary repository below `top` whose configuration names no program.
 * False if git would look elsewhere (a link, a `.git` file, a bare repository inside a folder).
 */
export function isPlainRepository(folder: string, top: string): boolean {
  for (let at = folder; at === top || at.startsWith(`${top}/`); at = dirname(at)) {
    if (existsSync(join(at, "HEAD")) && existsSync(join(at, "objects"))) return false;
    const stat = lstatSync(join(at, ".git"), { throwIfNoEntry: false });
    if (stat) return stat.isDirectory() && hasPlainFolder(join(at, ".git")) && !existsSync(join(at, ".gitmodules"));
    if (at === dirname(at)) return false;
  }
  return false;
}

function hasPlainFolder(folder: string): boolean {
  if (["commondir", "config.worktree", "modules"].some((name) => existsSync(join(folder, name)))) return false;
  try {
    const text = readFileSync(join(folder, "config"), "utf8");
    return text.length <= MAX_CONFIG_LENGTH && isPlainConfig(text);
  } catch {
    return false;
  }
}

/** Narrower than git's syntax: an unknown line makes the configuration not plain. */
function isPlainConfig(text: string): boolean {
  let allowed: RegExp | undefined;
  return text.split("\n").every((raw) => {
    const line = raw.trim();
    if (line === "" || /^[#;]/.test(line)) return true;
    if (line.endsWith("\\")) return false;
    const section = /^\[([A-Za-z]+)(?: "(?:[^"\\]|\\["\\])*")?\]$/.exec(line)?.[1];
    if (section !== undefined) {
      allowed = PLAIN_SETTINGS.get(section.toLowerCase());
      return allowed !== undefined;
    }
    const name = /^([A-Za-z][\w-]*)\s*(?:=|$)/.exec(line)?.[1];
    return name !== undefined && (allowed?.test(name.toLowerCase()) ?? false);
  });
}
