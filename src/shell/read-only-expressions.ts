import type { FormUse, FormVerdict } from "./command-form.ts";

type Reader = (words: readonly string[]) => FormVerdict;

/** Programs that do not read their words as options and operands. */
export const EXPRESSION_READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["echo", () => useOf([])],
  // bash's own printf evaluates the name after -v; no option is needed for anything that only prints.
  ["printf", ([format = "-"]) => (format.startsWith("-") ? refuse("it has no format") : useOf([]))],
  ["test", readTest],
  ["find", readFind],
]);

/**
 * Programs that may be asked for their version. Left out: those that a project's own files may replace or extend before
 * they answer (yarn and pnpm, cargo and rustc under rustup, go with a toolchain line, gradle and other wrappers).
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
  for (; at < words.length && !/^[-!(),]/.test(words[at] as string); at++) paths.push(words[at] as string);
  if (paths.length === 0) paths.push(".");
  for (; at < words.length; at++) {
    const word = words[at] as string;
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
