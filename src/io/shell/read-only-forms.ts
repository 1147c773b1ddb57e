import type { CommandForm, FormUse, OperandRule } from "./command-form.ts";

// Sources of the lists: the manuals of GNU coreutils, findutils, grep, sed, diffutils, ripgrep, jq and tree. Left out on
// purpose: options that write (-o, -i), run a helper (--pre, --compress-program) or read a list of further files
// (--files0-from).

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
    --include:text --exclude:text --exclude-dir:text
    -d:text -D:text --directories:text --devices:text --binary-files:text --exclude-from:path --line-buffered`,
  operands: { kind: "path", first: "pattern", firstUnless: ["-e", "-f", "--regexp", "--file"], min: 0 },
  check: needsPattern,
};

const checksum: CommandForm = {
  options: `-btz --binary --tag --text --zero
    -cw --check --quiet --status --strict --warn --ignore-missing -a:text -l:number`,
  operands: paths,
};

const list: CommandForm = {
  options: `-aAbBdDfFgGhHiIlLmMnoOrRsStTuUxX1@ --all --git --header --icons? --level:number --long --oneline --recurse --reverse
    --sort:text --tree --color? --group-directories-first --git-ignore --only-dirs --time-style:text`,
  operands: pathsOrHere,
};
const fd: CommandForm = {
  options: `-0aAHILsSijplgFuv1 -d:number -E:text -e:text -t:text -c:text --hidden --no-ignore --absolute-path --case-sensitive
    --ignore-case --glob --fixed-strings --extension:text --exclude:text --type:text --max-depth:number --min-depth:number
    --max-results:number --follow --full-path --list-details --size:text --changed-within:text --changed-before:text
    --color:text --print0`,
  operands: { kind: "path", first: "pattern" },
};
const bat: CommandForm = {
  options:
    "-Anpu -l:text -r:text --plain --number --language:text --line-range:text --style:text --color:text --theme:text --paging:text",
  operands: paths,
};
const decompress: CommandForm = { options: "-cdfkqvl --stdout --decompress --list --quiet", operands: paths };

/** Programs that only read, with the arguments that they may have. The kernel hides secrets and refuses writes. */
export const READ_ONLY_FORMS: ReadonlyMap<string, CommandForm> = new Map(
  Object.entries<CommandForm>({
    ls: {
      options: `-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --classify? --color? --directory
        --escape --file-type --full-time --group-directories-first --human-readable --hyperlink? --inode --kibibytes
        --literal --no-group --numeric-uid-gid --quote-name --recursive --reverse --si --size --format:text
        --hide:text --ignore:text --ignore-backups --indicator-style:text --quoting-style:text --sort:text --time:text
        --time-style:text --width:number --dereference`,
      operands: pathsOrHere,
    },
    cat: {
      options: "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank",
      operands: paths,
    },
    head: {
      options: "-qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated",
      operands: paths,
    },
    tail: {
      options: `-qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated
        -fF -s:number --follow? --retry --sleep-interval:number`,
      operands: paths,
    },
    tac: { options: "-br -s:text --before --regex --separator:text", operands: paths },
    nl: { options: "-p -b:text -i:number -n:text -s:text -v:number -w:number", operands: paths },
    rev: { operands: paths },
    wc: { options: "-clmLw --bytes --chars --lines --words --max-line-length --total:text", operands: paths },
    grep: grep,
    egrep: grep,
    fgrep: grep,
    rg: {
      options: `-FHINPSUabchilnopqsvwx0 -A:number -B:number -C:number -M:number -d:number -e:pattern -f:path -g:text -j:number
        -m:number -r:pattern -t:text -T:text --after-context:number --before-context:number --context:number
        --byte-offset --case-sensitive --color:text --column --count --count-matches --crlf --files
        --files-with-matches --files-without-match --file:path --fixed-strings --glob:text --iglob:text --heading
        --no-heading --ignore-case --include-zero --invert-match --json --line-number --no-line-number --line-regexp
        --max-columns:number --max-columns-preview --max-count:number --max-depth:number --max-filesize:number
        --multiline --multiline-dotall --no-config --no-filename --no-messages --null --null-data --one-file-system
        --only-matching --passthru --path-separator:text --pcre2 --pretty --quiet --regexp:pattern --replace:pattern
        --smart-case --sort:text --sortr:text --stats --text --threads:number --trim --type:text --type-list
        --type-not:text --vimgrep --with-filename --word-regexp --version
        -uL -. -E:text --hidden --no-hidden --follow --no-follow --no-ignore --no-ignore-dot --no-ignore-vcs
        --no-ignore-parent --no-ignore-global --unrestricted --encoding:text --engine:text --field-match-separator:text
        --glob-case-insensitive --ignore-file:path --no-ignore-files --no-ignore-exclude --no-pcre2-unicode --sort-files
        --block-buffered --line-buffered --no-unicode --auto-hybrid-regex`,
      operands: {
        kind: "path",
        first: "pattern",
        firstUnless: ["-e", "-f", "--regexp", "--file", "--files", "--type-list"],
        orWorkingFolder: true,
      },
    },
    sort: {
      options: `-bcCdfghiMmnRrsuVz -k:text -t:text --ignore-leading-blanks --dictionary-order --ignore-case
        --general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --reverse --sort:text --version-sort
        --check? --key:text --merge --stable --field-separator:text --unique --zero-terminated`,
      operands: paths,
    },
    uniq: {
      options: `-cdDiuz -f:number -s:number -w:number --count --repeated --ignore-case --unique --skip-fields:number
        --skip-chars:number --check-chars:number --zero-terminated`,
      operands: { kind: "path", max: 1 },
    },
    cut: {
      options: `-nsz -b:text -c:text -d:pattern -f:text --bytes:text --characters:text --delimiter:pattern --fields:text
        --complement --only-delimited --output-delimiter:pattern --zero-terminated`,
      operands: paths,
    },
    tr: { options: "-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands: text },
    paste: { options: "-sz -d:pattern --serial --delimiters:pattern", operands: paths },
    join: {
      options: "-iz -a:number -v:number -j:number -1:number -2:number -t:pattern -o:text -e:text",
      operands: paths,
    },
    comm: { options: "-123z --check-order --nocheck-order --output-delimiter:text --total", operands: paths },
    fold: { options: "-bs -w:number --bytes --spaces --width:number", operands: paths },
    expand: { options: "-i -t:text --initial --tabs:text", operands: paths },
    column: { options: "-tx -c:number -s:pattern -o:pattern", operands: paths },
    diff: {
      options: `-abBcdeEinNpqrstTuwyZ -# -C:number -U:number -W:number -x:text -L:text --brief --context? --unified?
        --color? --exclude:text --expand-tabs --ignore-all-space --ignore-blank-lines --ignore-case
        --ignore-space-change --ignore-trailing-space --label:text --minimal --new-file --no-dereference
        --recursive --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines --text
        --width:number --normal`,
      operands: { kind: "path", max: 2 },
    },
    cmp: {
      options: "-bls -i:text -n:number --bytes:number --ignore-initial:text --print-bytes --quiet --silent --verbose",
      operands: { kind: "path", max: 2 },
    },
    stat: { options: "-fLtx -c:text --format:text --printf:text --dereference --file-system --terse", operands: paths },
    file: {
      options: "-0bhiILkNr --brief --mime --mime-type --mime-encoding --no-dereference --dereference",
      operands: paths,
    },
    du: {
      options: `-0abcDhHklLmPsSx -d:number -t:text --all --apparent-size --bytes --total --human-readable --max-depth:number
        --si --summarize --exclude:text --time? --null --one-file-system --separate-dirs`,
      operands: pathsOrHere,
    },
    df: {
      options: "-ahHiklmPT --all --human-readable --inodes --local --portability --print-type --total",
      operands: paths,
    },
    pwd: { options: "-LP", operands: nothing },
    true: { operands: text },
    false: { operands: text },
    which: { options: "-as", operands: { kind: "text", min: 1 } },
    whoami: { operands: nothing },
    id: { options: "-gGnru", operands: text },
    groups: { operands: text },
    hostname: { options: "-s", operands: nothing },
    uname: { options: "-amnoprsv --all --kernel-name --machine --nodename --operating-system", operands: nothing },
    arch: { operands: nothing },
    nproc: { options: "--all", operands: nothing },
    uptime: { options: "-ps", operands: nothing },
    date: {
      options: "-jnRu -d:text -I? -r:path --date:text --iso-8601? --reference:path --rfc-3339:text --rfc-email --utc",
      operands: { kind: "text", max: 1 },
      // Any other operand sets the clock.
      check: ({ operands }) => (operands.every((word) => word.startsWith("+")) ? undefined : "it would set the clock"),
    },
    basename: { options: "-az -s:text --multiple --suffix:text", operands: text },
    dirname: { options: "-z --zero", operands: text },
    realpath: { options: "-eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks", operands: paths },
    readlink: { options: "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing", operands: paths },
    tree: {
      options: `-aACdDfFghiJlnNpqrsStuvXx -I:text -L:number -P:text --charset:text --dirsfirst --du --filelimit:number
        --gitignore --matchdirs --noreport --prune --sort:text --si --timefmt:text`,
      operands: pathsOrHere,
      style: "late",
    },
    seq: { options: "-w -s:text -f:text", operands: text },
    base64: { options: "-di -w:number --decode --ignore-garbage --wrap:number", operands: { kind: "path", max: 1 } },
    od: { options: "-abcdfilosxv -A:text -j:number -N:number -t:text -w?", operands: paths },
    hexdump: { options: "-bcCdovx -n:number -s:number", operands: paths },
    // The second operand would be the output file.
    xxd: {
      options: `-a -b -C -E -e -i -p -ps -plain -u -d -autoskip -bits -capitalize -EBCDIC -include -postscript -uppercase
        -c:number -g:number -l:number -s:number -cols:number -groupsize:number -len:number -seek:number`,
      operands: { kind: "path", max: 1 },
      style: "words",
      endsOptions: false,
    },
    md5sum: checksum,
    sha1sum: checksum,
    sha256sum: checksum,
    sha512sum: checksum,
    b2sum: checksum,
    cksum: { operands: paths },
    sleep: { operands: { kind: "text", min: 1 } },
    printenv: { options: "-0 --null", operands: text },
    shuf: {
      options: "-ezr -n:number -i:text --echo --head-count:number --input-range:text",
      operands: paths,
    },
    fmt: { options: "-cstu -w:number -p:text", operands: paths },
    unexpand: { options: "-a -t:text --all", operands: paths },
    numfmt: {
      options: "--from:text --to:text --field:text --format:text --suffix:text --padding:number --header?",
      operands: text,
    },
    tsort: { operands: paths },
    factor: { operands: text },
    expr: { operands: text },
    bc: { options: "-lqs", operands: paths },
    cal: { options: "-13jmwy", operands: text },
    iconv: { options: "-cls -f:text -t:text --from-code:text --to-code:text --list", operands: paths },
    strings: { options: "-af -n:number -t:text -e:text --all --bytes:number", operands: paths },
    nm: { options: "-ACDgnPprSu --demangle? --dynamic --extern-only --undefined-only", operands: paths },
    readelf: { options: "-adehlnrsSWV --all --headers --dynamic --symbols --sections --wide", operands: paths },
    size: { options: "-ABdotx", operands: paths },
    shasum: { ...checksum, options: "-bcpUs -a:number --check --binary" },
    md5: { options: "-qr", operands: paths },
    sum: { options: "-rs", operands: paths },
    sha224sum: checksum,
    sha384sum: checksum,
    base32: { options: "-di -w:number --decode --wrap:number", operands: { kind: "path", max: 1 } },
    hd: { options: "-bcCdovx -n:number -s:number", operands: paths },
    zcat: decompress,
    bzcat: decompress,
    xzcat: decompress,
    zstdcat: decompress,
    gzip: { ...decompress, check: printsArchive },
    gunzip: { ...decompress, check: printsArchive },
    tar: {
      options:
        "-tvzjJ -f:path -C:path --list --verbose --file:path --gzip --bzip2 --xz --exclude:text --wildcards --full-time",
      operands: { kind: "text" },
      check: ({ options }) =>
        options.some(({ name }) => name === "-t" || name === "--list") ? undefined : "it does not list",
    },
    unzip: {
      options: "-lpvZ1q",
      operands: { kind: "path", min: 1 },
      check: ({ options }) =>
        options.some(({ name }) => ["-l", "-p", "-Z", "-v"].includes(name)) ? undefined : "it extracts files",
    },
    zipinfo: { options: "-1smlvhtz", operands: paths },
    fd: fd,
    fdfind: fd,
    bat: bat,
    batcat: bat,
    eza: list,
    exa: list,
    tokei: { options: "-f -e:text -t:text --files --exclude:text --type:text --sort:text", operands: pathsOrHere },
    yq: {
      options:
        "-rPMCNeos -p:text -I:number --unwrapScalar --prettyPrint --no-colors --output-format:text --input-format:text",
      operands: { kind: "path", first: "pattern" },
      endsOptions: false,
      check: ({ operands }) =>
        /\b(?:load\w*|env\w*|strenv|system|eval)\b/.test(operands[0] ?? "")
          ? "its filter reads other files"
          : undefined,
    },
    free: { options: "-bkmgthwlv --human --mega --giga --kilo --bytes --total", operands: nothing },
    vmstat: { options: "-adfmnstw", operands: text },
    lscpu: { options: "-abcepJxy", operands: nothing },
    lsblk: { options: "-abdfilmnoprtJO", operands: text },
    lsb_release: { options: "-vidrcas", operands: nothing },
    sw_vers: { options: "-productName -productVersion", operands: nothing, style: "words" },
    who: { options: "-abHlmqrsTu", operands: text },
    w: { options: "-hsfi", operands: text },
    locale: { options: "-amck", operands: text },
    getconf: { options: "-a", operands: text },
    tty: { options: "-s", operands: nothing },
    logname: { operands: nothing },
    whereis: { options: "-bms", operands: { kind: "text", min: 1 } },
    pgrep: { options: "-aclnoxfvi -u:text -P:text -d:text", operands: text },
    pidof: { options: "-sx", operands: text },
    pstree: { options: "-aAcghlnpsSu", operands: text },
    top: {
      options: "-bciHS -n:number -p:text -o:text -d:text -u:text -w:number",
      operands: nothing,
      check: ({ options }) => (options.some(({ name }) => name === "-b") ? undefined : "it needs a terminal"),
    },
  }),
);

function needsPattern({ operands, options }: FormUse): string | undefined {
  const given = options.some(({ name }) => ["-e", "-f", "--regexp", "--file"].includes(name));
  return given || operands.length > 0 ? undefined : "it has no pattern";
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

/** The expressions of find that read: without a value, with a text, with the name of a file. */
export const FIND_EXPRESSIONS = {
  plain: FIND_WITHOUT_VALUE,
  text: FIND_WITH_TEXT,
  path: FIND_WITH_PATH,
  writes: FIND_WRITES,
};

export const SED: CommandForm = {
  options: `-nErsuz -e:pattern --quiet --silent --expression:pattern --regexp-extended --separate --null-data --posix
    -l:number --debug --line-length:number --unbuffered --zero-terminated`,
  operands: { kind: "path", first: "pattern", firstUnless: ["-e", "--expression"] },
  check: (use) =>
    checkScripts(use, ["-e", "--expression"], isHarmlessSed, "its script is not a plain print or replace"),
};

export const AWK: CommandForm = {
  options: "-F:pattern -v:text",
  operands: { kind: "path", first: "pattern" },
  check: (use) =>
    checkScripts(use, [], isReadingAwk, "its script does more than print") ??
    (use.operands.slice(1).some((word) => word.includes("=")) ? "it sets a variable" : undefined),
};

export const JQ: CommandForm = {
  options: `-acCejMnrsS --ascii-output --color-output --compact-output --exit-status --indent:number --join-output
    --monochrome-output --null-input --raw-input --raw-output --slurp --sort-keys --tab -R`,
  operands: nothing,
  endsOptions: false,
};

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

export function isHarmlessSed(script: string): boolean {
  if (SED_REPLACE.test(script)) return !hasEscapedDelimiter(script);
  return script.split(";").every((command) => SED_COMMAND.test(command.trim()));
}

/** Programs treat an escaped delimiter differently, so it is not certain where the flags begin. */
function hasEscapedDelimiter(script: string): boolean {
  return /\\[/|#,@]/.test(script);
}

/** No system, pipe, redirection, getline or extension; strings and comparisons may contain their characters. */
function isReadingAwk(script: string): boolean {
  const code = script.replace(/"(?:[^"\\\n]|\\.)*"/g, '""').replace(/([(,~!;{&|]|^)\s*\/(?:[^/\\\n]|\\.)+\//g, "$1//");
  if (/["@]/.test(code.replaceAll('""', ""))) return false;
  if (/\b(?:system|getline|close|fflush)\b/.test(code) || /(?<!\|)\|(?!\|)/.test(code)) return false;
  return !/\bprintf?\b[^;}\n]*>/.test(code);
}

/** jq runs nothing, but a filter can leak the environment and files that it names. */
export function isHarmlessJq(filter: string): boolean {
  return !/\b(?:env|ENV|import|include|modulemeta|get_search_list)\b|__prog_args/.test(filter);
}

function printsArchive({ options }: FormUse): string | undefined {
  const isPrinted = options.some(({ name }) => ["-c", "--stdout", "-l", "--list"].includes(name));
  return isPrinted ? undefined : "it replaces the file";
}

const npmList: CommandForm = {
  options: `-agl -w:text --all --global --long --json --parseable --depth:text --omit:text --include:text --link --dev --prod
    --production --workspaces --workspace:text --only:text --package-lock-only --no-unicode`,
  operands: text,
  endsOptions: false,
};
const npmFact: CommandForm = { options: "-g --global --json", operands: nothing, endsOptions: false };

/** Subcommands of npm and pnpm that only read. */
export const NPM_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  ...["ls", "list", "ll", "la"].map((name) => [name, npmList] as const),
  ...["explain", "why"].map(
    (name) => [name, { ...npmList, operands: { kind: "text", min: 1 } } as CommandForm] as const,
  ),
  ...["root", "prefix", "bin"].map((name) => [name, npmFact] as const),
  // Without a name they list the scripts.
  ...["run", "run-script"].map((name) => [name, npmFact] as const),
  [
    "pkg",
    {
      options: "--json",
      operands: { kind: "text", min: 1 },
      endsOptions: false,
      check: ({ operands }) => (operands[0] === "get" ? undefined : "it changes package.json"),
    },
  ],
  ["query", { operands: { kind: "text", min: 1, max: 1 }, endsOptions: false }],
]);

const pip: CommandForm = {
  options: "-elov --outdated --user --format:text --local --editable --not-required --verbose --files --all",
  operands: text,
  endsOptions: false,
};

/** Subcommands of pip that only read. */
export const PIP_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  ...["list", "freeze", "show", "check"].map((name) => [name, pip] as const),
]);

/** Whether the program, with only this argument, prints its version and ends. */
export function printsVersion(name: string, option: string): boolean {
  if (!PRINTS_VERSION.has(name)) return false;
  if (option === "-v") return SHORT_VERSION.has(name);
  return option === "version" ? VERSION_SUBCOMMAND.has(name) : /^(?:-V|-version|--version)$/.test(option);
}

const SHORT_VERSION = new Set(
  "node npm npx pnpm yarn bun ruby gem bundle mvn gradle php perl lua docker tsc eslint prettier vitest jest nginx".split(
    " ",
  ),
);
const VERSION_SUBCOMMAND = new Set("go terraform helm gh openssl".split(" "));

/** Programs of the project are not among them: they have another path. */
const PRINTS_VERSION: ReadonlySet<string> = new Set(
  `node npm npx pnpm yarn bun deno corepack python python3 pip pip3 pipx uv poetry pdm ruby gem bundle rake java javac kotlin
   kotlinc scala sbt mvn gradle go gofmt cargo rustc rustup gcc g++ cc c++ clang clang++ cmake ctest make gmake ninja meson git
   gh docker docker-compose podman kubectl helm terraform ansible tsc eslint prettier vitest jest pytest ruff mypy black isort
   flake8 php composer perl lua luajit swift dotnet elixir mix erl ghc stack julia Rscript bash zsh sh curl wget ssh rsync tar
   zip unzip gzip sed awk gawk grep rg fd jq yq tree vim nvim nano emacs sqlite3 psql mysql redis-cli mongosh openssl ffmpeg
   convert pandoc code bat hugo protoc buf nginx`.split(/\s+/),
);
