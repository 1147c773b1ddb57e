/** A text in which look-alikes are equal, with the way back to the original. */
export interface NormalisedText {
  readonly text: string;
  /** For each character: where the piece of the original begins and ends that it comes from. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** What is composed together is normalised together: a letter with its marks, the parts of a Hangul syllable. */
const PIECE = /\r\n|[\u1100-\u11ff]+|[\s\S]\p{M}*/uy;
const FIRST_MARK = 0x300;
const BLANK = /^[\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]$/;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const NARROW = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}]/u;

const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ...[..."\u2018\u2019\u201a\u201b\u2032"].map((quote) => [quote, "'"] as const),
  ...[..."\u201c\u201d\u201e\u201f\u2033"].map((quote) => [quote, '"'] as const),
  ...[..."\u2010\u2011\u2012\u2013\u2014\u2015\u2212"].map((dash) => [dash, "-"] as const),
  ...[..."\u200b\u200c\u200d\u2060\ufeff\u00ad"].map((nothing) => [nothing, ""] as const),
  ["\r\n", "\n"],
]);

/**
 * Compatibility forms, quotes, dashes and line ends in their plain form; blanks at the end of a line gone, and those between
 * Chinese, Japanese or Korean and Latin writing.
 */
export function normaliseText(original: string): NormalisedText {
  const starts: number[] = [];
  const ends: number[] = [];
  const parts: string[] = [];
  /** Blanks that count only if something follows them in the line. */
  let blanks: { at: number; end: number }[] = [];
  const add = (characters: string, at: number, end: number): void => {
    parts.push(characters);
    for (let i = 0; i < characters.length; i += 1) {
      starts.push(at);
      ends.push(end);
    }
  };
  for (let index = 0, end = 0; index < original.length; index = end) {
    const piece = pieceAt(original, index);
    end = index + piece.length;
    if (BLANK.test(piece)) {
      blanks.push({ at: index, end });
      continue;
    }
    const plain = plainOf(piece);
    if (plain === "") continue;
    if (blanks.length > 0) {
      const isDropped = plain === "\n" || isBetweenScripts(parts.at(-1) ?? "", plain);
      if (!isDropped) for (const blank of blanks) add(" ", blank.at, blank.end);
      blanks = [];
    }
    add(plain, index, end);
  }
  return { text: parts.join(""), starts: Int32Array.from(starts), ends: Int32Array.from(ends) };
}

function pieceAt(text: string, index: number): string {
  const isAlone = text.charCodeAt(index) < 0x80 && !(text.charCodeAt(index + 1) >= FIRST_MARK);
  if (isAlone && !(text[index] === "\r" && text[index + 1] === "\n")) return text[index]!;
  PIECE.lastIndex = index;
  return PIECE.exec(text)?.[0] ?? text[index]!;
}

function plainOf(piece: string): string {
  if (piece.length === 1 && piece < "\u0080") return piece;
  const plain = LOOK_ALIKES.get(piece) ?? piece.normalize("NFKC");
  return LOOK_ALIKES.get(plain) ?? plain;
}

function isBetweenScripts(before: string, after: string): boolean {
  return (WIDE.test(before) && NARROW.test(after)) || (NARROW.test(before) && WIDE.test(after));
}
