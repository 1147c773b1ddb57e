import type { CommandForm, FormUse } from "./command-form.ts";

const paths = { kind: "path" } as const;

/** Programs whose first operand is a program of its own: only scripts of a closed, harmless grammar are listed. */
export const SCRIPTED_FORMS: ReadonlyMap<string, CommandForm> = new Map<string, CommandForm>([
  [
    "sed",
    {
      options:
        "-nErsuz -e:pattern --quiet --silent --expression:pattern --regexp-extended --separate --null-data --posix",
      operands: { ...paths, first: "pattern", firstUnless: ["-e", "--expression"] },
      writes: "-i --in-place",
      check: (use) =>
        checkScripts(use, ["-e", "--expression"], isHarmlessSed, "its script is not a plain print or replace"),
    },
  ],
  [
    "awk",
    {
      options: "-F:pattern",
      operands: { ...paths, first: "pattern" },
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
      operands: { ...paths, first: "pattern" },
      check: (use) => checkScripts(use, [], isHarmlessJq, "its filter reads the environment or other files"),
    },
  ],
]);

/** Longer ones are nobody's everyday command, and the patterns below stay fast. */
const MAX_SCRIPT = 1000;

function checkScripts(
  { options, operands }: FormUse,
  scriptOptions: readonly string[],
  isHarmless: (script: string) => boolean,
  otherwise: string,
): string | undefined {
  const given = options.filter(({ name }) => scriptOptions.includes(name)).map(({ value }) => value ?? "");
  const scripts = given.length > 0 ? given : operands.slice(0, 1);
  if (scripts.length === 0) return "it has no script";
  return scripts.every((script) => script.length <= MAX_SCRIPT && isHarmless(script)) ? undefined : otherwise;
}

// A line number, the last line or a regular expression; slashes and backslashes inside would need a parser of sed's.
const SED_ADDRESS = String.raw`(?:\d+|\$|/[^/\\\n[\]]*/)`;
const SED_RANGE = String.raw`(?:${SED_ADDRESS}(?:,(?:[+~]?\d+|${SED_ADDRESS}))?)?`;
const SED_COMMAND = new RegExp(String.raw`^${SED_RANGE} *(?:! *)?(?:[pd=]|[qQ]\d*)$`);
// Delimiters stand exactly three times and the flags exclude `e` (run) and `w` (write).
const SED_REPLACE = new RegExp(
  String.raw`^${SED_RANGE} *s([/|#,@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpIi0-9]*$`,
);

function isHarmlessSed(script: string): boolean {
  if (SED_REPLACE.test(script)) return !hasEscapedDelimiter(script);
  return script.split(";").every((command) => SED_COMMAND.test(command.trim()));
}

/** Programs differ on what an escaped delimiter is; then where the flags begin is not certain. */
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

/** jq runs nothing; what it can leak is the environment and files that the filter itself names. */
function isHarmlessJq(filter: string): boolean {
  return !/\b(?:env|ENV|import|include|modulemeta|get_search_list)\b|__prog_args/.test(filter);
}
