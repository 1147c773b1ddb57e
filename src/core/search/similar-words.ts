export interface NearWord {
  readonly word: string;
  /** 1 is the same word. */
  readonly closeness: number;
}

const minLength = 4;
const maxLength = 24;
/** How many letters a shortened word may lack (config → configuration). */
const maxCompletionLength = 8;
const maxAnswers = 3;

/** Finds words for a mistyped or shortened one, by first letter and length: a wrong first letter finds none. */
export function createNearWords() {
  /** Each word with the set of its letters as bits, which excludes most candidates. */
  const buckets = new Map<string, Map<string, number>>();

  function add(word: string): void {
    if (word.length < minLength) return;
    const key = keyOf(word, word.length);
    const bucket = buckets.get(key);
    if (bucket === undefined) buckets.set(key, new Map([[word, lettersOf(word)]]));
    else bucket.set(word, lettersOf(word));
  }

  function remove(word: string): void {
    buckets.get(keyOf(word, word.length))?.delete(word);
  }

  function near(word: string): NearWord[] {
    if (word.length < minLength || word.length > maxLength || /\d/.test(word)) return [];
    const allowed = word.length < 8 ? 1 : 2;
    const letters = lettersOf(word);
    const found: NearWord[] = [];
    for (let length = word.length - allowed; length <= word.length + maxCompletionLength; length++) {
      for (const [candidate, others] of buckets.get(keyOf(word, length)) ?? []) {
        if (differingLetters(letters & ~others) > allowed) continue;
        const closeness = closenessOf(word, candidate, allowed);
        if (closeness > 0) found.push({ word: candidate, closeness });
      }
    }
    found.sort((one, other) => other.closeness - one.closeness || (one.word < other.word ? -1 : 1));
    return found.slice(0, maxAnswers);
  }

  return { add, remove, near };
}

function keyOf(word: string, length: number): string {
  return word.slice(0, 1) + length;
}

function lettersOf(word: string): number {
  let letters = 0;
  for (let at = 0; at < word.length; at++) letters |= 1 << (word.charCodeAt(at) & 31);
  return letters;
}

function differingLetters(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

function closenessOf(word: string, candidate: string, allowed: number): number {
  if (candidate.length > word.length && candidate.startsWith(word)) return 0.5 + (0.5 * word.length) / candidate.length;
  if (Math.abs(candidate.length - word.length) > allowed) return 0;
  const distance = editDistance(word, candidate, allowed);
  return distance > allowed ? 0 : 1 - distance / word.length;
}

/** The edit distance (a swap of neighbors is one edit), or any number above the bound. */
export function editDistance(one: string, other: string, bound: number): number {
  if (Math.abs(one.length - other.length) > bound) return bound + 1;
  const width = other.length + 1;
  const rows = new Uint8Array(3 * width).fill(bound + 1);
  for (let column = 0; column <= Math.min(bound, other.length); column++) rows[column] = column;
  for (let row = 1; row <= one.length; row++) {
    const current = (row % 3) * width;
    const last = ((row + 2) % 3) * width;
    const beforeLast = ((row + 1) % 3) * width;
    let best = bound + 1;
    for (let column = Math.max(0, row - bound - 1); column <= Math.min(other.length, row + bound + 1); column++) {
      let cost = column === 0 ? row : bound + 1;
      if (column > 0 && Math.abs(column - row) <= bound) {
        const same = one.charCodeAt(row - 1) === other.charCodeAt(column - 1);
        cost = Math.min(
          (rows[last + column] as number) + 1,
          (rows[current + column - 1] as number) + 1,
          (rows[last + column - 1] as number) + (same ? 0 : 1),
        );
        const swapped =
          row > 1 &&
          column > 1 &&
          one.charCodeAt(row - 1) === other.charCodeAt(column - 2) &&
          one.charCodeAt(row - 2) === other.charCodeAt(column - 1);
        if (swapped) cost = Math.min(cost, (rows[beforeLast + column - 2] as number) + 1);
      }
      rows[current + column] = Math.min(cost, bound + 1);
      if (cost < best) best = cost;
    }
    if (best > bound) return bound + 1;
  }
  return rows[(one.length % 3) * width + other.length] as number;
}
