/**
 * The arguments with which a program changes and runs nothing. Everything else is refused: an option in another
 * spelling, an abbreviation, an extra operand.
 *
 * `options` is a list of words: `-abc` is three flags that may be clustered, `-n:number` a short option with a value,
 * `-U?` one with an optional attached number, `-#` a number as an option (`-20`), `--all` a long flag,
 * `--lines:number` a long option with a value, `--color?` one with an optional value.
 */
export interface CommandForm {
  options?: string;
  operands: OperandRule;
  /** Options that make the program write. They are refused like others, but the verdict says that it writes. */
  writes?: string;
  /** The program descends into folders: always, or with one of these options. */
  recursive?: true | string;
  /** A further check; returns the problem. */
  check?: (use: FormUse) => string | undefined;
}

export interface OperandRule {
  kind: ValueKind | "none";
  /** The first operand has this kind, unless one of the options in `firstUnless` supplies it. */
  first?: ValueKind;
  firstUnless?: readonly string[];
  max?: number;
  min?: number;
  /** Without an operand the program reads the working folder. */
  orWorkingFolder?: boolean;
}

interface FormUse {
  options: { name: string; value?: string }[];
  operands: string[];
  /** Operands and option values that name files or folders. */
  paths: string[];
  /** Whether the program descends into the folders in `paths`. */
  recursive: boolean;
}

export type FormVerdict = { use: FormUse } | { refused: string; writes: boolean };

/** Parses the arguments as GNU and BSD programs do, and refuses what the form does not list. */
export function matchForm(form: CommandForm, words: readonly string[]): FormVerdict {
  const known = optionsOf(form);
  const use: FormUse = { options: [], operands: [], paths: [], recursive: form.recursive === true };
  const refuse = (refused: string, option = ""): FormVerdict => ({ refused, writes: known.writes.has(option) });
  const afterDashes: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") {
      afterDashes.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      use.operands.push(word);
      continue;
    }
    if (known.digits && /^-\d+$/.test(word)) {
      use.options.push({ name: "-#", value: word.slice(1) });
      continue;
    }
    for (const option of word.startsWith("--") ? [splitLong(word)] : splitCluster(word, known)) {
      const takes = known.takes.get(option.name);
      if (takes === undefined) return refuse(`the option ${option.name} is not on its read-only list`, option.name);
      if (takes === "nothing" || takes === "maybe") {
        if (takes === "nothing" && option.value !== undefined) return refuse(`${option.name} takes no value`);
        use.options.push(option);
        continue;
      }
      const isSeparate = option.value === undefined;
      const value = option.value ?? words[++at];
      if (value === undefined) return refuse(`${option.name} lacks its value`);
      // Programs disagree on whether such a word is the value or the next option, except for patterns and numbers.
      const isUnclear = isSeparate && /^-./.test(value) && takes !== "pattern" && takes !== "number";
      if (isUnclear) return refuse(`the value of ${option.name} is unclear`);
      const problem = takeValue(takes, value, use);
      if (problem) return refuse(problem);
      use.options.push({ name: option.name, value });
    }
  }
  const problem = takeOperands(form.operands, afterDashes, use) ?? form.check?.(use);
  if (problem) return refuse(problem);
  if (typeof form.recursive === "string") {
    const names = form.recursive.split(" ");
    use.recursive = use.options.some(({ name }) => names.includes(name));
  }
  return { use };
}

const VALUE_KINDS = ["text", "number", "path", "glob", "pattern", "revision"] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

type Takes = ValueKind | "nothing" | "maybe";

interface KnownOptions {
  takes: Map<string, Takes>;
  digits: boolean;
  writes: ReadonlySet<string>;
}

const cache = new WeakMap<CommandForm, KnownOptions>();

function optionsOf(form: CommandForm): KnownOptions {
  const cached = cache.get(form);
  if (cached) return cached;
  const takes = new Map<string, Takes>();
  const words = form.options?.split(/\s+/).filter(Boolean) ?? [];
  for (const word of words) {
    const [, name = "", kindName, maybe] = /^(--?[^:?]+)(?::(\w+)|(\?))?$/.exec(word) ?? [];
    const kind = VALUE_KINDS.find((each) => each === kindName);
    if (kind || maybe || name.startsWith("--")) takes.set(name, kind ?? (maybe ? "maybe" : "nothing"));
    else for (const letter of name.slice(1)) takes.set(`-${letter}`, "nothing");
  }
  const options = { takes, digits: takes.delete("-#"), writes: new Set(form.writes?.split(" ")) };
  cache.set(form, options);
  return options;
}

function splitLong(word: string): { name: string; value?: string } {
  const at = word.indexOf("=");
  return at < 0 ? { name: word } : { name: word.slice(0, at), value: word.slice(at + 1) };
}

function splitCluster(word: string, { takes }: KnownOptions): { name: string; value?: string }[] {
  const options: { name: string; value?: string }[] = [];
  for (let at = 1; at < word.length; at++) {
    const name = `-${word[at]}`;
    const kind = takes.get(name);
    const rest = word.slice(at + 1);
    if (kind === "maybe" && /^\d*%?$/.test(rest)) return [...options, rest ? { name, value: rest } : { name }];
    if (kind !== undefined && kind !== "nothing" && kind !== "maybe") {
      return [...options, rest ? { name, value: rest } : { name }];
    }
    options.push({ name });
  }
  return options;
}

function takeOperands(rule: OperandRule, afterDashes: readonly string[], use: FormUse): string | undefined {
  const beforeDashes = use.operands.length;
  use.operands.push(...afterDashes);
  const { length } = use.operands;
  const { kind } = rule;
  if (kind === "none") return length > 0 ? `the operand ${use.operands[0]} is not expected` : undefined;
  if (length > (rule.max ?? Infinity)) return `it has more than ${rule.max} operands`;
  if (length < (rule.min ?? 0)) return `it has fewer than ${rule.min} operands`;
  const first = use.options.some(({ name }) => rule.firstUnless?.includes(name)) ? undefined : rule.first;
  for (const [at, operand] of use.operands.entries()) {
    const expected = (at === 0 ? first : undefined) ?? kind;
    const problem = takeValue(expected === "revision" && at >= beforeDashes ? "path" : expected, operand, use);
    if (problem) return problem;
  }
  if (rule.orWorkingFolder && length <= (first ? 1 : 0)) use.paths.push(".");
  return undefined;
}

function takeValue(kind: ValueKind, value: string, use: FormUse): string | undefined {
  switch (kind) {
    case "number":
      return /^[+-]?\d+(?:[bkKMGTPE]i?B?)?$/.test(value) ? undefined : `${value} is not a number`;
    case "path":
      if (value !== "-") use.paths.push(value);
      return undefined;
    case "revision":
      use.paths.push(...pathsInRevision(value));
      return undefined;
    case "glob":
      // A glob for hidden files makes search programs read them, including secrets.
      return /(?:^|[/{,!])\.|\.\./.test(value) ? `the pattern ${value} names hidden files` : undefined;
    case "text":
    case "pattern":
      return undefined;
  }
}

/** `HEAD:src/a.ts` names a file, and so may every word that is not a range of commits. */
function pathsInRevision(value: string): string[] {
  const colon = value.indexOf(":");
  if (colon >= 0) return [value.slice(colon + 1)].filter(Boolean);
  const climbs = value.startsWith("/") || value.split("/").includes("..");
  return value.includes("..") && !climbs ? [] : [value];
}

// Sources of the lists: the manuals of GNU coreutils, findutils, grep, sed, diffutils, ripgrep, jq and tree. Left out on
// purpose: options that write (-o, -i), run a helper (--pre, --compress-program), read a list of further files
// (--files0-from), follow forever (tail -f) or show secrets (hidden files in ripgrep).

const paths: OperandRule = { kind: "path" };
const pathsOrHere: OperandRule = { kind: "path", orWorkingFolder: true };
const nothing: OperandRule = { kind: "none" };
const text: OperandRule = { kind: "text" };

const grep: CommandForm = {
  options: `-EFGPabcHhiIlLnoqRrsTUvwxyzZ -# -A:number -B:number -C:number -m:number -e:pattern -f:path
    --after-context:number --before-context:number --context:number --max-count:number --regexp:pattern --file:path
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --byte-offset --count --color? --colour?
    --files-with-matches --files-without-match --ignore-case --no-ignore-case --invert-match --line-number
    --line-regexp --no-filename --no-messages --null --null-data --only-matching --quiet --silent --recursive
    --dereference-recursive --text --with-filename --word-regexp --initial-tab --label:text
    --include:glob --exclude:text --exclude-dir:text`,
  operands: { kind: "path", first: "pattern", firstUnless: ["-e", "-f", "--regexp", "--file"], min: 0 },
  recursive: "-r -R --recursive --dereference-recursive",
  check: needsPattern,
};

const checksum: CommandForm = { options: "-btz --binary --tag --text --zero", operands: paths };

/** Programs that only read, with the arguments that they may have. */
export const READ_ONLY_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  [
    "ls",
    {
      options: `-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --classify? --color? --directory
        --escape --file-type --full-time --group-directories-first --human-readable --hyperlink? --inode --kibibytes
        --literal --no-group --numeric-uid-gid --quote-name --recursive --reverse --si --size --format:text
        --hide:text --ignore:text --ignore-backups --indicator-style:text --quoting-style:text --sort:text --time:text
        --time-style:text --width:number --dereference`,
      operands: pathsOrHere,
      recursive: "-R --recursive",
    },
  ],
  [
    "cat",
    {
      options: "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank",
      operands: paths,
    },
  ],
  [
    "head",
    {
      options: "-qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated",
      operands: paths,
    },
  ],
  [
    "tail",
    {
      options: "-qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated",
      operands: paths,
    },
  ],
  ["tac", { options: "-br -s:text --before --regex --separator:text", operands: paths }],
  ["nl", { options: "-p -b:text -i:number -n:text -s:text -v:number -w:number", operands: paths }],
  ["rev", { operands: paths }],
  ["wc", { options: "-clmLw --bytes --chars --lines --words --max-line-length --total:text", operands: paths }],
  ["grep", grep],
  ["egrep", grep],
  ["fgrep", grep],
  [
    "rg",
    {
      options: `-FHINPSUabchilnopqsvwx0 -A:number -B:number -C:number -M:number -d:number -e:pattern -f:path -g:glob -j:number
        -m:number -r:pattern -t:text -T:text --after-context:number --before-context:number --context:number
        --byte-offset --case-sensitive --color:text --column --count --count-matches --crlf --files
        --files-with-matches --files-without-match --file:path --fixed-strings --glob:glob --iglob:glob --heading
        --no-heading --ignore-case --include-zero --invert-match --json --line-number --no-line-number --line-regexp
        --max-columns:number --max-columns-preview --max-count:number --max-depth:number --max-filesize:number
        --multiline --multiline-dotall --no-config --no-filename --no-messages --null --null-data --one-file-system
        --only-matching --passthru --path-separator:text --pcre2 --pretty --quiet --regexp:pattern --replace:pattern
        --smart-case --sort:text --sortr:text --stats --text --threads:number --trim --type:text --type-list
        --type-not:text --vimgrep --with-filename --word-regexp --version`,
      operands: {
        kind: "path",
        first: "pattern",
        firstUnless: ["-e", "-f", "--regexp", "--file", "--files", "--type-list"],
        orWorkingFolder: true,
      },
      recursive: true,
    },
  ],
  [
    "sort",
    {
      options: `-bcCdfghiMmnRrsuVz -k:text -t:text --ignore-leading-blanks --dictionary-order --ignore-case
        --general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --reverse --sort:text --version-sort
        --check? --key:text --merge --stable --field-separator:text --unique --zero-terminated`,
      operands: paths,
      writes: "-o --output",
    },
  ],
  [
    "uniq",
    {
      options: `-cdDiuz -f:number -s:number -w:number --count --repeated --ignore-case --unique --skip-fields:number
        --skip-chars:number --check-chars:number --zero-terminated`,
      operands: { kind: "path", max: 1 },
    },
  ],
  [
    "cut",
    {
      options: `-nsz -b:text -c:text -d:pattern -f:text --bytes:text --characters:text --delimiter:pattern --fields:text
        --complement --only-delimited --output-delimiter:pattern --zero-terminated`,
      operands: paths,
    },
  ],
  ["tr", { options: "-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands: text }],
  ["paste", { options: "-sz -d:pattern --serial --delimiters:pattern", operands: paths }],
  [
    "join",
    { options: "-iz -a:number -v:number -j:number -1:number -2:number -t:pattern -o:text -e:text", operands: paths },
  ],
  ["comm", { options: "-123z --check-order --nocheck-order --output-delimiter:text --total", operands: paths }],
  ["fold", { options: "-bs -w:number --bytes --spaces --width:number", operands: paths }],
  ["expand", { options: "-i -t:text --initial --tabs:text", operands: paths }],
  ["column", { options: "-tx -c:number -s:pattern -o:pattern", operands: paths }],
  [
    "diff",
    {
      options: `-abBcdeEinNpqrstTuwyZ -# -C:number -U:number -W:number -x:text -L:text --brief --context? --unified?
        --color? --exclude:text --expand-tabs --ignore-all-space --ignore-blank-lines --ignore-case
        --ignore-space-change --ignore-trailing-space --label:text --minimal --new-file --no-dereference
        --recursive --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines --text
        --width:number --normal`,
      operands: { kind: "path", max: 2 },
      recursive: "-r --recursive",
    },
  ],
  [
    "cmp",
    {
      options: "-bls -i:text -n:number --bytes:number --ignore-initial:text --print-bytes --quiet --silent --verbose",
      operands: { kind: "path", max: 2 },
    },
  ],
  [
    "stat",
    { options: "-fLtx -c:text --format:text --printf:text --dereference --file-system --terse", operands: paths },
  ],
  [
    "file",
    {
      options: "-0bhiILkNr --brief --mime --mime-type --mime-encoding --no-dereference --dereference",
      operands: paths,
    },
  ],
  [
    "du",
    {
      options: `-0abcDhHklLmPsSx -d:number -t:text --all --apparent-size --bytes --total --human-readable --max-depth:number
        --si --summarize --exclude:text --time? --null --one-file-system --separate-dirs`,
      operands: pathsOrHere,
      recursive: true,
    },
  ],
  [
    "df",
    {
      options: "-ahHiklmPT --all --human-readable --inodes --local --portability --print-type --total",
      operands: paths,
    },
  ],
  ["pwd", { options: "-LP", operands: nothing }],
  ["true", { operands: text }],
  ["false", { operands: text }],
  ["which", { options: "-as", operands: { kind: "text", min: 1 } }],
  ["whoami", { operands: nothing }],
  ["id", { options: "-gGnru", operands: text }],
  ["groups", { operands: text }],
  ["hostname", { options: "-s", operands: nothing }],
  ["uname", { options: "-amnoprsv --all --kernel-name --machine --nodename --operating-system", operands: nothing }],
  ["arch", { operands: nothing }],
  ["nproc", { options: "--all", operands: nothing }],
  ["uptime", { options: "-ps", operands: nothing }],
  [
    "date",
    {
      options: "-jnRu -d:text -I? -r:path --date:text --iso-8601? --reference:path --rfc-3339:text --rfc-email --utc",
      operands: { kind: "text", max: 1 },
      writes: "-s --set",
      // Any other operand sets the clock.
      check: ({ operands }) => (operands.every((word) => word.startsWith("+")) ? undefined : "it would set the clock"),
    },
  ],
  ["basename", { options: "-az -s:text --multiple --suffix:text", operands: text }],
  ["dirname", { options: "-z --zero", operands: text }],
  ["realpath", { options: "-eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks", operands: paths }],
  ["readlink", { options: "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing", operands: paths }],
  [
    "tree",
    {
      options: `-aACdDfFghiJlnNpqrsStuvXx -I:text -L:number -P:text --charset:text --dirsfirst --du --filelimit:number
        --gitignore --matchdirs --noreport --prune --sort:text --si --timefmt:text`,
      operands: pathsOrHere,
      writes: "-o",
      recursive: true,
    },
  ],
  ["seq", { options: "-w -s:text -f:text", operands: text }],
  ["base64", { options: "-di -w:number --decode --ignore-garbage --wrap:number", operands: { kind: "path", max: 1 } }],
  ["od", { options: "-abcdfilosxv -A:text -j:number -N:number -t:text -w?", operands: paths }],
  ["hexdump", { options: "-bcCdovx -n:number -s:number", operands: paths }],
  // The second operand would be the output file.
  [
    "xxd",
    { options: "-abCEeipu -c:number -g:number -l:number -s:number", operands: { kind: "path", max: 1 }, writes: "-r" },
  ],
  ["md5sum", checksum],
  ["sha1sum", checksum],
  ["sha256sum", checksum],
  ["sha512sum", checksum],
  ["b2sum", checksum],
  ["cksum", { operands: paths }],
]);

function needsPattern({ operands, options }: FormUse): string | undefined {
  const given = options.some(({ name }) => ["-e", "-f", "--regexp", "--file"].includes(name));
  return given || operands.length > 0 ? undefined : "it has no pattern";
}

type Reader = (words: readonly string[]) => FormVerdict;

/** Programs whose arguments are not options and operands. */
export const EXPRESSION_READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["echo", () => useOf([])],
  // The printf of bash evaluates the name after -v. Printing needs no option.
  ["printf", ([format = "-"]) => (format.startsWith("-") ? refuse("it has no format") : useOf([]))],
  ["test", readTest],
  ["find", readFind],
]);

/**
 * Programs that may print their version. Left out: those that files of a project can replace or extend (yarn and pnpm,
 * cargo and rustc under rustup, go with a toolchain line, gradle and other wrappers).
 */
export const VERSION_QUERIES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["node", ["-v", "--version"]],
  ["npm", ["-v", "--version"]],
  ["python", ["-V", "--version"]],
  ["python3", ["-V", "--version"]],
  ["ruby", ["-v", "--version"]],
  ["java", ["-version", "--version"]],
  ...["bash", "clang", "cmake", "curl", "docker", "gcc", "jq", "make", "psql", "sqlite3", "tar"].map(
    (name) => [name, ["--version"]] as const,
  ),
]);

function readTest(words: readonly string[]): FormVerdict {
  const [operator = "", operand, ...rest] = words;
  if (operand === undefined || rest.length > 0) return refuse("only a single test of one file or text is read-only");
  if (/^-[edfhLrswx]$/.test(operator)) return useOf([operand]);
  return /^-[nz]$/.test(operator) ? useOf([]) : refuse(`the test ${operator} is not on its read-only list`);
}

const FIND_WITHOUT_VALUE = new Set(
  `-a -and -o -or -not ! , ( ) -d -daystart -depth -empty -executable -false -follow -ignore_readdir_race -ls -mount -nogroup
   -noleaf -nouser -print -print0 -prune -quit -readable -true -warn -nowarn -writable -xdev`.split(/\s+/),
);
const FIND_WITH_TEXT = new Set(
  `-amin -atime -cmin -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth
   -mindepth -mmin -mtime -name -path -perm -printf -regex -regextype -size -type -uid -used -user -wholename -xtype`.split(
    /\s+/,
  ),
);
const FIND_WITH_PATH = new Set(["-newer", "-anewer", "-cnewer", "-samefile"]);
const FIND_WRITES = new Set(["-delete", "-fls", "-fprint", "-fprint0", "-fprintf"]);

function readFind(words: readonly string[]): FormVerdict {
  const paths: string[] = [];
  let at = 0;
  while (["-H", "-L", "-P"].includes(words[at] ?? "")) at++;
  for (let word = words[at]; word !== undefined && !/^[-!(),]/.test(word); word = words[++at]) paths.push(word);
  if (paths.length === 0) paths.push(".");
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (FIND_WITHOUT_VALUE.has(word)) continue;
    if (!FIND_WITH_TEXT.has(word) && !FIND_WITH_PATH.has(word)) {
      return { refused: `the expression ${word} is not on its read-only list`, writes: FIND_WRITES.has(word) };
    }
    const value = words[++at];
    if (value === undefined) return refuse(`${word} lacks its value`);
    if (FIND_WITH_PATH.has(word)) paths.push(value);
  }
  return useOf(paths, true);
}

function useOf(paths: string[], recursive = false): FormVerdict {
  const use: FormUse = { options: [], operands: [], paths, recursive };
  return { use };
}

function refuse(refused: string): FormVerdict {
  return { refused, writes: false };
}

/** Programs whose first operand is a script. Only scripts of a small harmless grammar are accepted. */
export const SCRIPTED_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  [
    "sed",
    {
      options:
        "-nErsuz -e:pattern --quiet --silent --expression:pattern --regexp-extended --separate --null-data --posix",
      operands: { kind: "path", first: "pattern", firstUnless: ["-e", "--expression"] },
      writes: "-i --in-place",
      check: (use) =>
        checkScripts(use, ["-e", "--expression"], isHarmlessSed, "its script is not a plain print or replace"),
    },
  ],
  [
    "awk",
    {
      options: "-F:pattern",
      operands: { kind: "path", first: "pattern" },
      check: (use) =>
        checkScripts(use, [], isPrintOnlyAwk, "its script does more than print fields") ??
        (use.operands.slice(1).some((word) => word.includes("=")) ? "it sets a variable" : undefined),
    },
  ],
  [
    "jq",
    {
      options: `-acCejMnrsS --ascii-output --color-output --compact-output --exit-status --indent:number --join-output
        --monochrome-output --null-input --raw-input --raw-output --slurp --sort-keys --tab -R`,
      operands: { kind: "path", first: "pattern" },
      check: (use) => checkScripts(use, [], isHarmlessJq, "its filter reads the environment or other files"),
    },
  ],
]);

/** Keeps the regular expressions below fast. */
const MAX_SCRIPT_LENGTH = 1000;

function checkScripts(
  { options, operands }: FormUse,
  scriptOptions: readonly string[],
  isHarmless: (script: string) => boolean,
  otherwise: string,
): string | undefined {
  const given = options.filter(({ name }) => scriptOptions.includes(name)).map(({ value }) => value ?? "");
  const scripts = given.length > 0 ? given : operands.slice(0, 1);
  if (scripts.length === 0) return "it has no script";
  return scripts.every((script) => script.length <= MAX_SCRIPT_LENGTH && isHarmless(script)) ? undefined : otherwise;
}

// A line number, the last line or a regular expression; slashes and backslashes inside would need a real sed parser.
const SED_ADDRESS = String.raw`(?:\d+|\$|/[^/\\\n[\]]*/)`;
const SED_RANGE = String.raw`(?:${SED_ADDRESS}(?:,(?:[+~]?\d+|${SED_ADDRESS}))?)?`;
const SED_COMMAND = new RegExp(String.raw`^${SED_RANGE} *(?:! *)?(?:[pd=]|[qQ]\d*)$`);
// The delimiter occurs exactly three times, and the flags exclude `e` (run) and `w` (write).
const SED_REPLACE = new RegExp(
  String.raw`^${SED_RANGE} *s([/|#,@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpIi0-9]*$`,
);

function isHarmlessSed(script: string): boolean {
  if (SED_REPLACE.test(script)) return !hasEscapedDelimiter(script);
  return script.split(";").every((command) => SED_COMMAND.test(command.trim()));
}

/** Programs treat an escaped delimiter differently, so it is not certain where the flags begin. */
function hasEscapedDelimiter(script: string): boolean {
  return /\\[/|#,@]/.test(script);
}

const AWK_FIELD = String.raw`(?:\$(?:\d+|NF)|NR|NF|"[\w :,.|;-]*")`;
const PRINT_ONLY_AWK = new RegExp(
  String.raw`^(?:NR *(?:==|>|<|>=|<=) *\d+ *)?(?:\{ *print(?: +${AWK_FIELD}(?: *(?:, *)?${AWK_FIELD})*)? *(?:; *)?\})?$`,
);

function isPrintOnlyAwk(script: string): boolean {
  return script !== "" && PRINT_ONLY_AWK.test(script);
}

/** jq runs nothing, but a filter can leak the environment and files that it names. */
function isHarmlessJq(filter: string): boolean {
  return !/\b(?:env|ENV|import|include|modulemeta|get_search_list)\b|__prog_args/.test(filter);
}
