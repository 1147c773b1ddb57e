import { foldLookAlikes } from "./text-match.ts";

// oxfmt-ignore
/** Characters that look like others, or like nothing. */
const NAMES = new Map([
  ["\t", "tab"], [" ", "space"], ["\u00a0", "no-break space"], ["\u00ad", "soft hyphen"], ["\u00b4", "acute accent"],
  ["\u2007", "figure space"], ["\u2009", "thin space"], ["\u200b", "zero width space"],
  ["\u200c", "zero width non-joiner"], ["\u200d", "zero width joiner"], ["\u2010", "hyphen"],
  ["\u2011", "non-breaking hyphen"], ["\u2013", "en dash"], ["\u2014", "em dash"],
  ["\u2018", "left single quotation mark"], ["\u2019", "right single quotation mark"],
  ["\u201c", "left double quotation mark"], ["\u201d", "right double quotation mark"], ["\u2026", "ellipsis"],
  ["\u202f", "narrow no-break space"], ["\u2060", "word joiner"], ["\u2212", "minus sign"],
  ["\u3000", "ideographic space"], ["\ufeff", "byte order mark"],
]);

/**
 * Names the first character that makes two texts differ although they look the same. The wanted text may be a part of
 * the other one. Undefined if the texts are equal or look different.
 */
export function nameHiddenDifference(
  have: string,
  want: string,
  names: { have: string; want: string },
): string | undefined {
  const place = have === want ? undefined : findLookAlike(clustersOf(have), want);
  if (!place) return undefined;
  return nameFirstDifference(place.clusters, clustersOf(want), { ...names, column: place.column });
}

/** Names the characters at the first difference of two texts, in code points. */
export function nameFirstDifference(
  have: readonly string[],
  want: readonly string[],
  names: { have: string; want: string; column: number },
): string | undefined {
  const at = have.findIndex((cluster, index) => cluster !== want[index]);
  const index = at < 0 ? have.length : at;
  if (at < 0 && want.length <= have.length) return undefined;
  const column = names.column + have.slice(0, index).join("").length;
  const same = have[index]?.normalize() === want[index]?.normalize() ? ", the same letter in another normal form" : "";
  return `${names.have} has ${nameCharacters(have[index])} at column ${column}, ${names.want} has ${nameCharacters(want[index])}${same}`;
}

const MAX_NAMED = 3;

/** Names the characters of a text that look like others, or like nothing, and that the other text does not have. */
export function nameHiddenCharacters(text: string, other: string): string[] {
  const hidden = new Map<string, number>();
  for (const { 0: character, index } of text.matchAll(/[^\p{L}\p{N}\p{M} \t]/gu)) {
    const isHidden = NAMES.has(character) || /[\p{Z}\p{Cf}]/u.test(character);
    if (isHidden && !hidden.has(character) && !other.includes(character)) hidden.set(character, index + 1);
    if (hidden.size === MAX_NAMED) break;
  }
  return [...hidden].map(([character, column]) => `${nameCharacters(character)} at column ${column}`);
}

/** Letters with the marks that belong to them. */
export function clustersOf(text: string): string[] {
  return text.match(/\P{M}\p{M}*|\p{M}+/gsu) ?? [];
}

function nameCharacters(cluster: string | undefined): string {
  if (cluster === undefined) return "nothing";
  return Array.from(cluster, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    const name = NAMES.get(character) ?? (/[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `"${character}"` : undefined);
    return name === undefined ? `U+${code}` : `U+${code} (${name})`;
  }).join(" ");
}

/** The part of the text that looks like the wanted text, with its column from 1; only if it is not the same text. */
function findLookAlike(have: readonly string[], want: string): { clusters: string[]; column: number } | undefined {
  const wanted = foldLookAlikes(want);
  const folds = have.map(foldLookAlikes);
  const at = wanted.trim() === "" ? -1 : folds.join("").indexOf(wanted);
  if (at < 0) return undefined;
  const clusters: string[] = [];
  let [folded, column] = [0, 1];
  for (const [index, fold] of folds.entries()) {
    const cluster = have[index] ?? "";
    const end = folded + fold.length;
    if (folded < at) column += cluster.length;
    else if (folded < at + wanted.length) clusters.push(cluster);
    folded = end;
  }
  return clusters.join("") === want ? undefined : { clusters, column };
}
