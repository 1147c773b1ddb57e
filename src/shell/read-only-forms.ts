import type { CommandForm, FormUse, OperandRule } from "./command-form.ts";

// Sources of the lists: the manuals of GNU coreutils, findutils, grep, sed, diffutils, ripgrep, jq and tree. Left out on
// purpose: what writes (-o, -i), runs a helper (--pre, --compress-program), reads a list of further files
// (--files0-from), follows forever (tail -f) or shows secrets (hidden files in ripgrep).

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

/** Programs whose listed forms only read, by name. */
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
  // The second operand is a file that it writes.
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
