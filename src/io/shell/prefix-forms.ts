import { type CommandForm, formTable, matchForm } from "./command-form.ts";
import { gitSubcommand, normalizeProgramName, readWrapper, SHELLS } from "./command-wrappers.ts";
import { type CommandWord, isOpenWord } from "./parse-command.ts";
import { AWK, READ_ONLY_FORMS, SED } from "./read-only-forms.ts";
import { GIT_FORMS } from "./read-only-git.ts";
import { literal, type RebuiltWord } from "./rebuilt-word.ts";
import { isBuiltin, isPlainBuiltin } from "./starts-nothing.ts";

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
  if (isBuiltin(name)) {
    const [values, open] = [rest, rest.filter(isOpenWord)].map((list) => list.map(({ value }) => value));
    return { exactOnly: !isPlainBuiltin(name, values ?? [], open), spelled: [] };
  }
  const started = startedBy(name, rest);
  if (started) return started;
  const known = formOf(name, rest);
  const given = (known ? rest.slice(0, known.end) : rest).map((word) => ({ word, meant: meaningOf(word) }));
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
    );
    if ("use" in verdict) break;
    const { at } = verdict;
    const refused = at === undefined ? undefined : left[at];
    if (at === undefined || !refused || spelled.length >= MAX_SPELLED) return { exactOnly: true, spelled: [] };
    spelled.push(refused.word.source);
    left = left.toSpliced(at, 1);
  }
  // The words after `--` go to another program, such as the test runner.
  const dashes = known.end ?? rest.findIndex(({ value }) => value === "--");
  const passedOn =
    dashes < 0 || name === "git" || name === "ssh" ? [] : rest.slice(dashes).filter(({ value }) => isRisky(value));
  return { exactOnly: false, spelled: [...spelled, ...passedOn.map(({ source }) => source)] };
}

/**
 * For a program that runs the command in its words: the rule must name that command's program, and the options before it.
 * Undefined if it runs nothing. Shells and programs that run their command unchanged have their own checks.
 */
function startedBy(name: string, rest: readonly CommandWord[]): NotCovered | undefined {
  if (SHELLS.has(name) || name === "find" || name === "fd" || name === "fdfind") return undefined;
  const inner = readWrapper(
    name,
    rest.map(({ value }) => value),
  );
  if (!inner || (inner.certain && inner.commands.length + inner.texts.length === 0)) return undefined;
  const [command, ...others] = inner.commands;
  if (!command || others.length > 0 || inner.texts.length > 0) {
    const options = rest.filter(({ value }) => value.startsWith("-"));
    return { exactOnly: options.length === 0, spelled: options.map(({ source }) => source) };
  }
  const before = rest.slice(0, rest.length - command.length + 1);
  return { exactOnly: before.some(({ literal: known }) => !known), spelled: before.map(({ source }) => source) };
}

/** The words that say what a program starts: a script, a subcommand, a target, and the name of a script after `run`. */
export function namingWords(name: string, rest: readonly CommandWord[]): string[] {
  const operands = rest.filter(({ value }) => !value.startsWith("-")).map(({ source }) => source);
  const [first = ""] = operands;
  const sub = `${name} ${first}`;
  if (PREFIX_FORMS.has(name) && !NEEDS_OPERAND.has(name)) return [];
  return operands.slice(0, NEEDS_OPERAND.has(sub) || /^(?:run|exec|x|dlx|task)$/.test(first) ? 2 : 1);
}

/** No rule spells out more options. */
const MAX_SPELLED = 16;

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

interface KnownForm {
  form: CommandForm;
  skip: number;
  /** Where the words of the program end and those of a script or of another machine begin. */
  end?: number;
}

function formOf(name: string, rest: readonly CommandWord[]): KnownForm | undefined {
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
  const known = OPTION_FORMS.has(name) ? name : name.replace(/[\d.]+$/, "");
  const own = OPTION_FORMS.get(known);
  const operands = OWN_OPERANDS.get(known);
  if (own) return { form: own, skip: 0, end: operands && endOf(values, own, operands) };
  const form = PREFIX_FORMS.get(name) ?? SCRIPTS.get(name) ?? READ_ONLY_FORMS.get(name);
  return form && { form, skip: 0 };
}

/** After how many words the program has this many operands. */
function endOf(values: readonly string[], { options = "" }: CommandForm, operands: number): number | undefined {
  const takesValue = new Set(options.match(/(?<=\s|^)--?[\w-]+(?=:)/g));
  let left = operands;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? "";
    if (takesValue.has(value)) at++;
    else if ((!value.startsWith("-") || value === "-") && --left === 0) return at + 1;
  }
  return undefined;
}

/** Settings of ssh that only decide how it connects. */
const SAFE_SSH_SETTING =
  /^(?:StrictHostKeyChecking|BatchMode|ConnectTimeout|ConnectionAttempts|ServerAlive\w+|LogLevel|Port|User|Compression|AddressFamily|IdentitiesOnly|PasswordAuthentication|PreferredAuthentications|RequestTTY)[= ]/i;

const sshSettings: CommandForm["check"] = ({ options }) =>
  options.some(({ name, value = "" }) => name === "-o" && !SAFE_SSH_SETTING.test(value))
    ? "a setting may start a program"
    : undefined;

/** A value that names a file to send, or a format that writes one. */
const curlValues: CommandForm["check"] = ({ options, operands }) => {
  if (operands.some((word) => /^file:/i.test(word))) return "it reads a file";
  return options.some(({ value = "" }) => /^@|=[@<]|%output/.test(value)) ? "a value names a file" : undefined;
};

/** Options that a `*` covers for programs that reach other machines, run scripts or copy files: harmless ones. */
const OPTION_FORMS = formTable(
  `
  curl | text | -sSfLiIvkgGN46# -X:text -H:text -A:text -e:text -m:text -d:text -F:text -w:text -r:text --silent
    --show-error --fail --fail-with-body --location --include --head --verbose --insecure --globoff --get --no-buffer
    --compressed --ipv4 --ipv6 --http1.1 --http2 --request:text --header:text --user-agent:text --referer:text
    --max-time:text --connect-timeout:text --retry:number --retry-delay:number --retry-all-errors --data:text
    --data-raw:text --data-urlencode:text --data-binary:text --json:text --form:text --write-out:text --range:text
    --url:text --max-redirs:number --version --help
  wget | text | -qvSncd46 -t:number -T:number -U:text --quiet --no-verbose --server-response --spider --continue
    --timeout:number --tries:number --user-agent:text --header:text --max-redirect:number --method:text --no-cache
    --version
  ssh | text | -46CqvTtnxV -l:text -p:number -i:text -o:text
  scp | text | -46CrpqvB -P:number -i:text -l:number -o:text
  sftp | text | -46Crpqv -P:number -i:text -l:number -o:text
  rsync | text | -avrzunhPtlpgoDHxciqLRsW --archive --verbose --recursive --compress --update --dry-run --human-readable
    --progress --partial --times --links --perms --checksum --itemize-changes --stats --quiet --exclude:text
    --include:text --info:text --bwlimit:text --timeout:number --max-size:text --min-size:text
  node | text | -v -h -c -i --version --help --check --test --test-only --test-name-pattern:text --watch
    --enable-source-maps --no-warnings --trace-warnings --trace-uncaught --no-deprecation --trace-deprecation
    --experimental-strip-types --max-old-space-size:number --stack-trace-limit:number --expose-gc
    --unhandled-rejections:text
  python | text | -uBsEIqvVbhO -W:text --version --help
  ruby | text | -cvwh --version --help
  perl | text | -cvwWtTh --version --help
  php | text | -lvhim --version --help
  man | text | -kfwaK -s:text
  cp | path | -aArRpnvufidxPLHT --archive --recursive --no-clobber --verbose --force --interactive --parents --preserve?
    --no-dereference --dereference --update? --no-target-directory --reflink?
  mv | path | -fnvuiT --force --no-clobber --verbose --update? --interactive --no-target-directory
`,
  {
    curl: { check: curlValues },
    ssh: { check: sshSettings },
    scp: { check: sshSettings },
    sftp: { check: sshSettings },
  },
);

/** After so many operands, the words belong to a script or to another machine. */
const OWN_OPERANDS = new Map([
  ["ssh", 2],
  ...["node", "python", "ruby", "perl", "php"].map((name) => [name, 1] as const),
]);

const SCRIPTS = new Map([
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

const cargo = `-qv -p:text -F:text -j:number --quiet --verbose --all --workspace --release --lib --bins --bin:text --test:text
  --tests --examples --example:text --all-targets --package:text --exclude:text --features:text --all-features
  --no-default-features --locked --offline --frozen --keep-going --message-format:text --profile:text`;
const go = "-v -race -short -json -tags:text -mod:text -p:number -trimpath";

/** Commands whose rule may end in `*`, with the options that it covers. Left out: those that write elsewhere or execute. */
const PREFIX_FORMS = formTable(
  `
  git add | path | -AuvnN --all --update --verbose --dry-run --intent-to-add
  git commit | path | -aqvs -m:text --all --message:text --quiet --verbose --amend --no-edit --allow-empty --signoff
    --author:text --date:text
  git stash | text | -quka -m:text --quiet --include-untracked --keep-index --index --message:text --all
  npm run, npm test, pnpm run, pnpm test, yarn run, yarn test, bun run, bun test, npm t, npm start | text | -s -w:text
    --silent --workspace:text --workspaces --if-present --ignore-scripts --loglevel:text --watch --coverage --verbose
    --fix --ci
  deno task | text | -q --quiet
  cargo build, cargo check, cargo clippy | text | ${cargo}
  cargo test | text | ${cargo} --no-run --no-fail-fast --doc
  cargo fmt | text | -qv --all --check --package:text -p:text
  go build, go vet | text | ${go}
  go test | text | ${go} -run:pattern -bench:pattern -skip:pattern -count:number -timeout:text -parallel:number
    -cpu:text -cover -failfast -benchmem -list:pattern
  make | text | -j? -knsBw -l? --jobs? --keep-going --dry-run --just-print --silent --quiet --always-make
    --print-directory
  pytest | path | -vqxsl -k:text -m:text -n:text -r:text --tb:text --lf --ff --last-failed --failed-first
    --maxfail:number --durations:number --collect-only --co --no-header --strict-markers --verbose --quiet --exitfirst
    --stepwise --sw --disable-warnings --showlocals --color:text
  tsc | path | -bw -p:text --noEmit --watch --pretty --strict --skipLibCheck --build --project:text --listFiles
    --incremental --noUnusedLocals --noUnusedParameters --explainFiles --traceResolution
  vitest, jest | text | -uw -t:text --run --watch --coverage --silent --verbose --update --bail? --maxWorkers:text
    --runInBand -i --testNamePattern:text --project:text --changed? --passWithNoTests --watchAll --ci
    --detectOpenHandles --shard:text
  eslint | path | --fix --ext:text --quiet --max-warnings:number --cache --no-warn-ignored --debug --color --no-color
  prettier | path | -cwl --check --write --list-different --log-level:text --ignore-unknown --no-color --cache
  ruff | text | -qv --fix --select:text --ignore:text --extend-select:text --check --diff --quiet --statistics
    --no-cache --unsafe-fixes --preview --output-format:text --line-length:number
  mypy | path | -v -p:text -m:text --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes
`,
  {
    "go build": { style: "words" },
    "go test": { style: "words" },
    make: { check: ({ operands }) => (operands.some((word) => word.includes("=")) ? "it sets a variable" : undefined) },
  },
);

/** An address such as `ext::program` starts a program. */
const noProgram: CommandForm["check"] = ({ operands }) =>
  operands.some((word) => /^\w+::/.test(word)) ? "an address starts a program" : undefined;

/** Never suggested: their operands decide too much. */
const GIT_NETWORK = formTable(
  `
  clone | text | -qv -b:text --depth:number --branch:text --single-branch --progress --quiet --verbose --no-tags
  fetch | text | -pqvt --prune --all --tags --no-tags --depth:number --dry-run --unshallow --quiet --verbose
  pull | text | -pqvtr --prune --rebase? --no-rebase --ff-only --ff --no-ff --autostash --tags --quiet --verbose
`,
  {
    clone: { check: noProgram },
    fetch: { check: noProgram },
    pull: { check: noProgram },
  },
);

/** Their next word says what they do, so a suggested rule keeps it. */
const NEEDS_OPERAND = new Set([
  "make",
  "ruff",
  "git stash",
  "deno task",
  ...["npm", "pnpm", "yarn", "bun"].map((name) => `${name} run`),
]);

// oxfmt-ignore
/** For the examples of a rule: an option that is not covered. */
const NOT_COVERED: ReadonlyMap<string, string> = new Map([
  ["npm", "--script-shell=FILE"], ["pnpm", "--script-shell=FILE"], ["yarn", "--cwd=FOLDER"], ["bun", "--preload=FILE"],
  ["deno", "--config=FILE"], ["cargo", "--config=FILE"], ["go", "-exec=PROGRAM"], ["make", "SHELL=FILE"],
  ["pytest", "-p PLUGIN"], ["tsc", "--outDir=FOLDER"], ["vitest", "--config=FILE"], ["jest", "--config=FILE"],
  ["eslint", "--config=FILE"], ["prettier", "--plugin=FILE"], ["ruff", "--config=FILE"],
  ["mypy", "--python-executable=FILE"], ["git commit", "--gpg-sign"], ["git add", "--edit"],
]);
