/** The names closest to a wrong one, best first: with them a model usually corrects its call. */
export function nearestNames(wrong: string, names: Iterable<string>, max = 3): string[] {
  const target = fold(wrong);
  if (!target) return [];
  const scored: { name: string; distance: number }[] = [];
  for (const name of new Set(names)) {
    const candidate = fold(name);
    const allowed = Math.max(1, Math.floor(Math.max(target.length, candidate.length) * 0.4));
    const contains =
      target.length > 2 && candidate.length > 2 && (candidate.includes(target) || target.includes(candidate));
    const distance = contains ? 0.5 : editDistance(target, candidate, allowed);
    if (distance <= allowed) scored.push({ name, distance: candidate === target ? 0 : distance });
  }
  return scored
    .sort((a, b) => a.distance - b.distance || a.name.length - b.name.length || (a.name < b.name ? -1 : 1))
    .slice(0, max)
    .map(({ name }) => name);
}

/** `Did you mean …?`, or undefined if no name is close. */
export function didYouMean(wrong: string, names: Iterable<string>): string | undefined {
  const near = nearestNames(wrong, names);
  if (near.length === 0) return undefined;
  return `Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
}

function fold(name: string): string {
  return name
    .slice(0, 128)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** Levenshtein distance with transpositions; stops above `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let best = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
      best = Math.min(best, cost);
    }
    if (best > limit) return Number.POSITIVE_INFINITY;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
