/** Characters as ranges of code units, ordered and apart. */
export type CharSet = readonly (readonly [from: number, to: number])[];

const LAST = 0x10ffff;

export const EVERYTHING: CharSet = [[0, LAST]];
export const DIGITS: CharSet = [[0x30, 0x39]];
export const WORD: CharSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
export const BLANKS: CharSet = normal([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]);

export function single(code: number): CharSet {
  return [[code, code]];
}

export function union(sets: readonly CharSet[]): CharSet {
  return normal(sets.flat());
}

export function complement(set: CharSet): CharSet {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [start, end] of normal(set)) {
    if (start > from) rest.push([from, start - 1]);
    from = end + 1;
  }
  if (from <= LAST) rest.push([from, LAST]);
  return rest;
}

export function overlaps(a: CharSet, b: CharSet): boolean {
  return a.some(([from, to]) => b.some(([start, end]) => from <= end && start <= to));
}

function normal(ranges: CharSet): CharSet {
  const ordered = [...ranges].sort(([a], [b]) => a - b);
  const joined: [number, number][] = [];
  for (const [from, to] of ordered) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}
