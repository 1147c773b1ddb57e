const NOT_ASCII = /[^\x00-\x7f]/;
const PLAIN_WORD = /^[!-~]*$/;

const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201A\u201B\u2032\u00B4\u02B9\u02BC]/g, "'"],
  [/[\u201C\u201D\u201E\u201F\u2033\u00AB\u00BB]/g, '"'],
  [/[\u2010-\u2015\u2212\uFE58\uFE63]/g, "-"],
  [/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, " "],
  [/[\u00AD\u200B-\u200D\u2060\uFEFF]/g, ""],
];

/** What a line looks like: typographic quotes, dashes and spaces as ASCII, invisible characters gone, the rest NFKC. */
export function foldLookAlikes(line: string): string {
  if (!NOT_ASCII.test(line)) return line;
  let folded = line;
  for (const [pattern, plain] of LOOK_ALIKES) folded = folded.replace(pattern, plain);
  return folded.normalize("NFKC");
}

/** A line with only those blanks left that part two words: `f( a,  b )` and `f(a, b)` fold alike, `ab` and `a b` do not. */
export function foldInnerBlanks(line: string): string {
  return foldLookAlikes(line)
    .trim()
    .replace(/\s+/g, " ")
    .replace(/(?<![\p{L}\p{N}_]) | (?![\p{L}\p{N}_])/gu, "");
}

/** The loosest key: equal for all lines that any other folding makes equal, and for some more. */
export function withoutBlanks(line: string): string {
  const trimmed = line.trim();
  return PLAIN_WORD.test(trimmed) ? trimmed : foldLookAlikes(trimmed).replace(/\s+/g, "");
}
