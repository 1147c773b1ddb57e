import { type CommandForm, matchForm } from "./command-form.ts";
import { gitSubcommand, normalizeProgramName } from "./command-wrappers.ts";
import type { CommandWord } from "./parse-command.ts";
import { AWK, LOOK_FORMS, READ_ONLY_FORMS, SED } from "./read-only-forms.ts";
import { GIT_FORMS } from "./read-only-git.ts";
import { literal, type RebuiltWord } from "./rebuilt-word.ts";

/** What of a command a `*` in an allow rule may not stand for. */
export interface NotCovered {
  /** Only a rule without `*` may allow the command. */
  exactOnly: boolean;
  /** A rule with `*` must spell out these words: options that write elsewhere, execute or are not known. */
  spelled: string[];
}

/**
 * Decides what a rule such as `Bash(git log *)` covers: only options that are known to be harmless. Of a program that is
 * not known, it covers the options that do not look like one that writes, executes or configures.
 */
export function notCovered(words: readonly CommandWord[]): NotCovered {
  const [program, ...rest] = words;
  const name = normalizeProgramName(program?.value ?? "");
  const given = rest.map((word) => ({ word, meant: meaningOf(word) }));
  const known = formOf(name, rest);
  if (!known) {
    const isOpen = given.some(({ meant }) => mayBecomeOption(meant));
    return {
      exactOnly: isOpen,
      spelled: given.filter(({ word }) => isRisky(word.value)).map(({ word }) => word.source),
    };
  }
  const spelled: string[] = [];
  let left = given.slice(known.skip);
  for (;;) {
    const verdict = matchForm(
      { ...known.form, endsOptions: false },
      left.map(({ meant }) => meant),
      { isConfined: true },
    );
    if ("use" in verdict) break;
    const { at } = verdict;
    const refused = at === undefined ? undefined : left[at];
    if (at === undefined || !refused) return { exactOnly: true, spelled: [] };
    spelled.push(refused.word.source);
    left = left.toSpliced(at, 1);
  }
  // The words after `--` go to another program, such as the test runner.
  const dashes = rest.findIndex(({ value }) => value === "--");
  const passedOn = dashes < 0 || name === "git" ? [] : rest.slice(dashes + 1).filter(({ value }) => isRisky(value));
  return { exactOnly: false, spelled: [...spelled, ...passedOn.map(({ source }) => source)] };
}

/** How many words of a command a suggested rule keeps before its `*`; undefined if it should be the whole command. */
export function prefixLength(command: string): number | undefined {
  const [program = "", first = "", second] = command.split(" ");
  const isName = (word: string | undefined): boolean => word !== undefined && /^[A-Za-z][\w:@./-]*$/.test(word);
  if (PREFIX_FORMS.has(program)) return NEEDS_OPERAND.has(program) ? (isName(first) ? 2 : undefined) : 1;
  if (!PREFIX_FORMS.has(`${program} ${first}`)) return undefined;
  return NEEDS_OPERAND.has(`${program} ${first}`) ? (isName(second) ? 3 : undefined) : 2;
}

/** Options that a `*` stands for in a rule with this beginning, and one that it does not. For the examples of a rule. */
export function prefixExamples(prefix: string): { covered: string[]; not: string } {
  const [program = "", first = ""] = prefix.split(" ");
  const form =
    PREFIX_FORMS.get(`${program} ${first}`) ??
    PREFIX_FORMS.get(program) ??
    (program === "git" ? GIT_FORMS.get(first) : undefined);
  const flags = (form?.options ?? "").split(/\s+/).filter((word) => /^--[\w-]+$/.test(word));
  return {
    covered: flags.slice(0, 1),
    not: NOT_COVERED.get(`${program} ${first}`) ?? NOT_COVERED.get(program) ?? "--output=FILE",
  };
}

function formOf(name: string, rest: readonly CommandWord[]): { form: CommandForm; skip: number } | undefined {
  const values = rest.map(({ value }) => value);
  if (name === "git") {
    const skip = values.length - gitSubcommand(values).length;
    // A global option may set a configuration that runs programs.
    if (skip > 0 && values.slice(0, skip).some((word) => word !== "--no-pager" && word !== "-P")) {
      return { form: { operands: { kind: "none" } }, skip: 0 };
    }
    const subcommand = values[skip] ?? "";
    const form = PREFIX_FORMS.get(`git ${subcommand}`) ?? GIT_NETWORK.get(subcommand) ?? GIT_FORMS.get(subcommand);
    return form && { form, skip: skip + 1 };
  }
  const sub = PREFIX_FORMS.get(`${name} ${values[0] ?? ""}`);
  if (sub) return { form: sub, skip: 1 };
  const form = PREFIX_FORMS.get(name) ?? SCRIPTS.get(name) ?? LOOK_FORMS.get(name) ?? READ_ONLY_FORMS.get(name);
  return form && { form, skip: 0 };
}

const SCRIPTS: ReadonlyMap<string, CommandForm> = new Map([
  ["sed", SED],
  ["awk", AWK],
]);

function meaningOf({ source, value, literal: isLiteral }: CommandWord): RebuiltWord {
  if (isLiteral || source === "[" || source === "{}") return literal(value);
  const isGlob = !/[$`~(]/.test(source) && !source.includes("{");
  if (isGlob) return { value, text: source, kind: "glob", splits: true };
  const isQuoted = /^"[^"]*"$/.test(source) || /^[\w./=-]*"(?:[^"\\]|\\.)*"$/s.test(source);
  return { value: /^[^$`*?[{}~(\\]*/.exec(value)?.[0] ?? "", text: source, kind: "expansion", splits: !isQuoted };
}

function mayBecomeOption({ kind, value, splits }: RebuiltWord): boolean {
  if (kind === "literal") return false;
  return /^(?:-|[*?[]|$)/.test(value) || (kind === "expansion" && splits);
}

const RISKY_OPTION = new RegExp(
  `^--?(?:[\\w-]*[-_])?(?:${`output out outfile outputfile outdir exec execute command cmd eval evaluate script shell pre pager
    editor filter hook hooks plugin plugins require import loader preload config conf configuration rcfile init inspect pack
    proxy rsh rsync-path compress-program node-options options credential credentials key keyfile password token file
    env-file environment prefix root chdir directory workdir userconfig globalconfig registry`
    .trim()
    .split(/\s+/)
    .join("|")})(?:=|$)`,
  "i",
);

/** For programs that are not known: options whose name or value suggests another file, program or configuration. */
function isRisky(word: string): boolean {
  if (!word.startsWith("-")) return /^\w+::/.test(word) || /^[A-Z][A-Z_]*=/.test(word);
  if (/^-[oOcexXI](?![a-z]*[-\w]{3})/.test(word) || RISKY_OPTION.test(word)) return true;
  return /=(?:\/|~|\.\.\/|.*\/\.\.\/)/.test(word);
}

const anything = { kind: "text" } as const;

/** npm passes the words after `--` to the script. */
const npmRun: CommandForm = {
  options:
    "-s -w:text --silent --workspace:text --workspaces --if-present --ignore-scripts --loglevel:text --watch --coverage --verbose --fix --ci",
  operands: anything,
};
const cargo = `-qv -p:text -F:text -j:number --quiet --verbose --all --workspace --release --lib --bins --bin:text --test:text
  --tests --examples --example:text --all-targets --package:text --exclude:text --features:text --all-features
  --no-default-features --locked --offline --frozen --keep-going --message-format:text --profile:text`;
const go = "-v -race -short -json -tags:text -mod:text -p:number -trimpath";

/** Commands whose rule may end in `*`, with the options that it covers. Left out: those that write elsewhere or execute. */
const PREFIX_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  ["git add", { options: "-AuvnN --all --update --verbose --dry-run --intent-to-add", operands: { kind: "path" } }],
  [
    "git commit",
    {
      options: `-aqvs -m:text --all --message:text --quiet --verbose --amend --no-edit --allow-empty --signoff --author:text
        --date:text`,
      operands: { kind: "path" },
    },
  ],
  [
    "git stash",
    {
      options: "-quka -m:text --quiet --include-untracked --keep-index --index --message:text --all",
      operands: anything,
    },
  ],
  ...["npm", "pnpm", "yarn", "bun"].flatMap((name) =>
    ["run", "test"].map((subcommand) => [`${name} ${subcommand}`, npmRun] as const),
  ),
  ["npm t", npmRun],
  ["npm start", npmRun],
  ["deno task", { options: "-q --quiet", operands: anything }],
  ["cargo build", { options: cargo, operands: anything }],
  ["cargo check", { options: cargo, operands: anything }],
  ["cargo clippy", { options: cargo, operands: anything }],
  ["cargo test", { options: `${cargo} --no-run --no-fail-fast --doc`, operands: anything }],
  ["cargo fmt", { options: "-qv --all --check --package:text -p:text", operands: anything }],
  ["go build", { options: go, operands: anything, style: "words" }],
  ["go vet", { options: go, operands: anything, style: "words" }],
  [
    "go test",
    {
      options: `${go} -run:pattern -bench:pattern -skip:pattern -count:number -timeout:text -parallel:number -cpu:text -cover
        -failfast -benchmem -list:pattern`,
      operands: anything,
      style: "words",
    },
  ],
  [
    "make",
    {
      options:
        "-j? -knsBw -l? --jobs? --keep-going --dry-run --just-print --silent --quiet --always-make --print-directory",
      operands: anything,
      check: ({ operands }) => (operands.some((word) => word.includes("=")) ? "it sets a variable" : undefined),
    },
  ],
  [
    "pytest",
    {
      options: `-vqxsl -k:text -m:text -n:text -r:text --tb:text --lf --ff --last-failed --failed-first --maxfail:number
        --durations:number --collect-only --co --no-header --strict-markers --verbose --quiet --exitfirst --stepwise --sw
        --disable-warnings --showlocals --color:text`,
      operands: { kind: "path" },
    },
  ],
  [
    "tsc",
    {
      options: `-bw -p:text --noEmit --watch --pretty --strict --skipLibCheck --build --project:text --listFiles --incremental
        --noUnusedLocals --noUnusedParameters --explainFiles --traceResolution`,
      operands: { kind: "path" },
    },
  ],
  ...["vitest", "jest"].map((name): readonly [string, CommandForm] => [
    name,
    {
      options: `-uw -t:text --run --watch --coverage --silent --verbose --update --bail? --maxWorkers:text --runInBand -i
          --testNamePattern:text --project:text --changed? --passWithNoTests --watchAll --ci --detectOpenHandles --shard:text`,
      operands: anything,
    },
  ]),
  [
    "eslint",
    {
      options: "--fix --ext:text --quiet --max-warnings:number --cache --no-warn-ignored --debug --color --no-color",
      operands: { kind: "path" },
    },
  ],
  [
    "prettier",
    {
      options: "-cwl --check --write --list-different --log-level:text --ignore-unknown --no-color --cache",
      operands: { kind: "path" },
    },
  ],
  [
    "ruff",
    {
      options: `-qv --fix --select:text --ignore:text --extend-select:text --check --diff --quiet --statistics --no-cache
        --unsafe-fixes --preview --output-format:text --line-length:number`,
      operands: anything,
    },
  ],
  [
    "mypy",
    {
      options: "-v -p:text -m:text --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes",
      operands: { kind: "path" },
    },
  ],
]);

/** An address such as `ext::program` starts a program. */
const noProgram: CommandForm["check"] = ({ operands }) =>
  operands.some((word) => /^\w+::/.test(word)) ? "an address starts a program" : undefined;

/** Never suggested: their operands decide too much. */
const GIT_NETWORK: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  [
    "clone",
    {
      options: "-qv -b:text --depth:number --branch:text --single-branch --progress --quiet --verbose --no-tags",
      operands: anything,
      check: noProgram,
    },
  ],
  [
    "fetch",
    {
      options: "-pqvt --prune --all --tags --no-tags --depth:number --dry-run --unshallow --quiet --verbose",
      operands: anything,
      check: noProgram,
    },
  ],
  [
    "pull",
    {
      options: "-pqvtr --prune --rebase? --no-rebase --ff-only --ff --no-ff --autostash --tags --quiet --verbose",
      operands: anything,
      check: noProgram,
    },
  ],
]);

/** Their next word says what they do, so a suggested rule keeps it. */
const NEEDS_OPERAND = new Set([
  "make",
  "ruff",
  "git stash",
  "deno task",
  ...["npm", "pnpm", "yarn", "bun"].map((name) => `${name} run`),
]);

/** For the examples of a rule: an option that is not covered. */
const NOT_COVERED: ReadonlyMap<string, string> = new Map([
  ["npm", "--script-shell=FILE"],
  ["pnpm", "--script-shell=FILE"],
  ["yarn", "--cwd=FOLDER"],
  ["bun", "--preload=FILE"],
  ["deno", "--config=FILE"],
  ["cargo", "--config=FILE"],
  ["go", "-exec=PROGRAM"],
  ["make", "SHELL=FILE"],
  ["pytest", "-p PLUGIN"],
  ["tsc", "--outDir=FOLDER"],
  ["vitest", "--config=FILE"],
  ["jest", "--config=FILE"],
  ["eslint", "--config=FILE"],
  ["prettier", "--plugin=FILE"],
  ["ruff", "--config=FILE"],
  ["mypy", "--python-executable=FILE"],
  ["git commit", "--gpg-sign"],
  ["git add", "--edit"],
]);
