import { type CommandForm, formTable, type FormUse, type OperandRule } from "./command-form.ts";

// Sources of the lists: the manuals of GNU coreutils, findutils, grep, sed, diffutils, ripgrep, jq and tree. Left out on
// purpose: options that write (-o, -i), run a helper (--pre, --compress-program) or read a list of further files
// (--files0-from).

const nothing: OperandRule = { kind: "none" };
const text: OperandRule = { kind: "text" };

/** Programs that only read, with the arguments that they may have. The kernel hides secrets and refuses writes. */
export const READ_ONLY_FORMS = formTable(
  `
  ls | path or . | -aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --classify? --color? --directory
    --escape --file-type --full-time --group-directories-first --human-readable --hyperlink? --inode --kibibytes
    --literal --no-group --numeric-uid-gid --quote-name --recursive --reverse --si --size --format:text --hide:text
    --ignore:text --ignore-backups --indicator-style:text --quoting-style:text --sort:text --time:text --time-style:text
    --width:number --dereference
  cat | path | -AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank
  head | path | -qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated
  tail | path | -qvz -# -n:number -c:number --lines:number --bytes:number --quiet --silent --verbose --zero-terminated
    -fF -s:number --follow? --retry --sleep-interval:number
  tac | path | -br -s:text --before --regex --separator:text
  nl | path | -p -b:text -i:number -n:text -s:text -v:number -w:number
  rev, cksum, tsort | path
  wc | path | -clmLw --bytes --chars --lines --words --max-line-length --total:text
  grep, egrep, fgrep | pattern(-e -f --regexp --file) path | -EFGPabcHhiIlLnoqRrsTUvwxyzZ -# -A:number -B:number
    -C:number -m:number -e:pattern -f:path --after-context:number --before-context:number --context:number
    --max-count:number --regexp:pattern --file:path --extended-regexp --fixed-strings --basic-regexp --perl-regexp
    --byte-offset --count --color? --colour? --files-with-matches --files-without-match --ignore-case --no-ignore-case
    --invert-match --line-number --line-regexp --no-filename --no-messages --null --null-data --only-matching --quiet
    --silent --recursive --dereference-recursive --text --with-filename --word-regexp --initial-tab --label:text
    --include:text --exclude:text --exclude-dir:text -d:text -D:text --directories:text --devices:text
    --binary-files:text --exclude-from:path --line-buffered
  rg | pattern(-e -f --regexp --file --files --type-list) path or . | -FHINPSUabchilnopqsvwx0 -A:number -B:number
    -C:number -M:number -d:number -e:pattern -f:path -g:text -j:number -m:number -r:pattern -t:text -T:text
    --after-context:number --before-context:number --context:number --byte-offset --case-sensitive --color:text --column
    --count --count-matches --crlf --files --files-with-matches --files-without-match --file:path --fixed-strings
    --glob:text --iglob:text --heading --no-heading --ignore-case --include-zero --invert-match --json --line-number
    --no-line-number --line-regexp --max-columns:number --max-columns-preview --max-count:number --max-depth:number
    --max-filesize:number --multiline --multiline-dotall --no-config --no-filename --no-messages --null --null-data
    --one-file-system --only-matching --passthru --path-separator:text --pcre2 --pretty --quiet --regexp:pattern
    --replace:pattern --smart-case --sort:text --sortr:text --stats --text --threads:number --trim --type:text
    --type-list --type-not:text --vimgrep --with-filename --word-regexp --version -uL -. -E:text --hidden --no-hidden
    --follow --no-follow --no-ignore --no-ignore-dot --no-ignore-vcs --no-ignore-parent --no-ignore-global
    --unrestricted --encoding:text --engine:text --field-match-separator:text --glob-case-insensitive --ignore-file:path
    --no-ignore-files --no-ignore-exclude --no-pcre2-unicode --sort-files --block-buffered --line-buffered --no-unicode
    --auto-hybrid-regex
  sort | path | -bcCdfghiMmnRrsuVz -k:text -t:text --ignore-leading-blanks --dictionary-order --ignore-case
    --general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --reverse --sort:text --version-sort
    --check? --key:text --merge --stable --field-separator:text --unique --zero-terminated
  uniq | path ..1 | -cdDiuz -f:number -s:number -w:number --count --repeated --ignore-case --unique --skip-fields:number
    --skip-chars:number --check-chars:number --zero-terminated
  cut | path | -nsz -b:text -c:text -d:pattern -f:text --bytes:text --characters:text --delimiter:pattern --fields:text
    --complement --only-delimited --output-delimiter:pattern --zero-terminated
  tr | text | -cCdst --complement --delete --squeeze-repeats --truncate-set1
  paste | path | -sz -d:pattern --serial --delimiters:pattern
  join | path | -iz -a:number -v:number -j:number -1:number -2:number -t:pattern -o:text -e:text
  comm | path | -123z --check-order --nocheck-order --output-delimiter:text --total
  fold | path | -bs -w:number --bytes --spaces --width:number
  expand | path | -i -t:text --initial --tabs:text
  column | path | -tx -c:number -s:pattern -o:pattern
  diff | path ..2 | -abBcdeEinNpqrstTuwyZ -# -C:number -U:number -W:number -x:text -L:text --brief --context? --unified?
    --color? --exclude:text --expand-tabs --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change
    --ignore-trailing-space --label:text --minimal --new-file --no-dereference --recursive --report-identical-files
    --side-by-side --strip-trailing-cr --suppress-common-lines --text --width:number --normal
  cmp | path ..2 | -bls -i:text -n:number --bytes:number --ignore-initial:text --print-bytes --quiet --silent --verbose
  stat | path | -fLtx -c:text --format:text --printf:text --dereference --file-system --terse
  file | path | -0bhiILkNr --brief --mime --mime-type --mime-encoding --no-dereference --dereference
  du | path or . | -0abcDhHklLmPsSx -d:number -t:text --all --apparent-size --bytes --total --human-readable
    --max-depth:number --si --summarize --exclude:text --time? --null --one-file-system --separate-dirs
  df | path | -ahHiklmPT --all --human-readable --inodes --local --portability --print-type --total
  pwd | none | -LP
  true, false, groups, factor, expr | text
  which | text 1.. | -as
  whoami, arch, logname | none
  id | text | -gGnru
  hostname, tty | none | -s
  uname | none | -amnoprsv --all --kernel-name --machine --nodename --operating-system
  nproc | none | --all
  uptime | none | -ps
  date | text ..1 | -jnRu -d:text -I? -r:path --date:text --iso-8601? --reference:path --rfc-3339:text --rfc-email --utc
  basename | text | -az -s:text --multiple --suffix:text
  dirname | text | -z --zero
  realpath | path | -eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks
  readlink | path | -efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing
  tree | path or . | -aACdDfFghiJlnNpqrsStuvXx -I:text -L:number -P:text --charset:text --dirsfirst --du
    --filelimit:number --gitignore --matchdirs --noreport --prune --sort:text --si --timefmt:text
  seq | text | -w -s:text -f:text
  base64 | path ..1 | -di -w:number --decode --ignore-garbage --wrap:number
  od | path | -abcdfilosxv -A:text -j:number -N:number -t:text -w?
  hexdump, hd | path | -bcCdovx -n:number -s:number
  xxd | path ..1 | -a -b -C -E -e -i -p -ps -plain -u -d -autoskip -bits -capitalize -EBCDIC -include -postscript
    -uppercase -c:number -g:number -l:number -s:number -cols:number -groupsize:number -len:number -seek:number
  md5sum, sha1sum, sha256sum, sha512sum, b2sum, sha224sum, sha384sum | path | -btz --binary --tag --text --zero -cw
    --check --quiet --status --strict --warn --ignore-missing -a:text -l:number
  sleep | text 1..
  printenv | text | -0 --null
  shuf | path | -ezr -n:number -i:text --echo --head-count:number --input-range:text
  fmt | path | -cstu -w:number -p:text
  unexpand | path | -a -t:text --all
  numfmt | text | --from:text --to:text --field:text --format:text --suffix:text --padding:number --header?
  bc | path | -lqs
  cal | text | -13jmwy
  iconv | path | -cls -f:text -t:text --from-code:text --to-code:text --list
  strings | path | -af -n:number -t:text -e:text --all --bytes:number
  nm | path | -ACDgnPprSu --demangle? --dynamic --extern-only --undefined-only
  readelf | path | -adehlnrsSWV --all --headers --dynamic --symbols --sections --wide
  size | path | -ABdotx
  shasum | path | -bcpUs -a:number --check --binary
  md5 | path | -qr
  sum | path | -rs
  base32 | path ..1 | -di -w:number --decode --wrap:number
  zcat, bzcat, xzcat, zstdcat | path | -cdfkqvl --stdout --decompress --list --quiet
  gzip, gunzip | path | -cdfkqvl --stdout --decompress --list --quiet
  tar | text | -tvzjJ -f:path -C:path --list --verbose --file:path --gzip --bzip2 --xz --exclude:text --wildcards
    --full-time
  unzip | path 1.. | -lpvZ1q
  zipinfo | path | -1smlvhtz
  fd, fdfind | pattern path | -0aAHILsSijplgFuv1 -d:number -E:text -e:text -t:text -c:text --hidden --no-ignore
    --absolute-path --case-sensitive --ignore-case --glob --fixed-strings --extension:text --exclude:text --type:text
    --max-depth:number --min-depth:number --max-results:number --follow --full-path --list-details --size:text
    --changed-within:text --changed-before:text --color:text --print0
  bat, batcat | path | -Anpu -l:text -r:text --plain --number --language:text --line-range:text --style:text
    --color:text --theme:text --paging:text
  eza, exa | path or . | -aAbBdDfFgGhHiIlLmMnoOrRsStTuUxX1@ --all --git --header --icons? --level:number --long
    --oneline --recurse --reverse --sort:text --tree --color? --group-directories-first --git-ignore --only-dirs
    --time-style:text
  tokei | path or . | -f -e:text -t:text --files --exclude:text --type:text --sort:text
  yq | pattern path | -rPMCNeos -p:text -I:number --unwrapScalar --prettyPrint --no-colors --output-format:text
    --input-format:text
  free | none | -bkmgthwlv --human --mega --giga --kilo --bytes --total
  vmstat | text | -adfmnstw
  lscpu | none | -abcepJxy
  lsblk | text | -abdfilmnoprtJO
  lsb_release | none | -vidrcas
  sw_vers | none | -productName -productVersion
  who | text | -abHlmqrsTu
  w | text | -hsfi
  locale | text | -amck
  getconf | text | -a
  whereis | text 1.. | -bms
  pgrep | text | -aclnoxfvi -u:text -P:text -d:text
  pidof | text | -sx
  pstree | text | -aAcghlnpsSu
  top | none | -bciHS -n:number -p:text -o:text -d:text -u:text -w:number
`,
  {
    grep: { check: needsPattern },
    // Any other operand sets the clock.
    date: {
      check: ({ operands }) => (operands.every((word) => word.startsWith("+")) ? undefined : "it would set the clock"),
    },
    tree: { style: "late" },
    // Its second operand would be the output file.
    xxd: { style: "words", endsOptions: false },
    gzip: { check: printsArchive },
    tar: {
      check: ({ options }) =>
        options.some(({ name }) => name === "-t" || name === "--list") ? undefined : "it does not list",
    },
    unzip: {
      check: ({ options }) =>
        options.some(({ name }) => ["-l", "-p", "-Z", "-v"].includes(name)) ? undefined : "it extracts files",
    },
    yq: {
      endsOptions: false,
      check: ({ operands }) =>
        /\b(?:load\w*|env\w*|strenv|system|eval)\b/.test(operands[0] ?? "")
          ? "its filter reads other files"
          : undefined,
    },
    sw_vers: { style: "words" },
    top: { check: ({ options }) => (options.some(({ name }) => name === "-b") ? undefined : "it needs a terminal") },
  },
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
