export interface Ranked {
  readonly slot: number;
  readonly score: number;
}

export interface RankRules {
  /** Asked only of slots that would make the list. */
  accepts(slot: number): boolean;
  /** Which of two equal scores comes first. */
  before(slot: number, other: number): boolean;
}

/** Sums scores by slot in memory that is kept from query to query, and picks the best. */
export interface Ranking {
  reset(slots: number): void;
  add(slot: number, score: number): void;
  best(limit: number, rules: RankRules): Ranked[];
}

export function createRanking(): Ranking {
  let scores = new Float64Array(64);
  let touched = new Int32Array(64);
  let count = 0;

  function reset(slots: number): void {
    for (let at = 0; at < count; at++) scores[touched[at] as number] = 0;
    count = 0;
    if (slots <= scores.length) return;
    const size = Math.max(slots, scores.length * 2);
    scores = new Float64Array(size);
    touched = new Int32Array(size);
  }

  function add(slot: number, score: number): void {
    if (score <= 0) return;
    const before = scores[slot] as number;
    if (before === 0) touched[count++] = slot;
    scores[slot] = before + score;
  }

  function best(limit: number, rules: RankRules): Ranked[] {
    const list: Ranked[] = [];
    let min = 0;
    for (let at = 0; at < count; at++) {
      const slot = touched[at] as number;
      const score = scores[slot] as number;
      if (score < min) continue;
      const last = list[limit - 1];
      if (last !== undefined && !comesBefore(slot, score, last, rules)) continue;
      if (!rules.accepts(slot)) continue;
      let place = list.length;
      while (place > 0 && comesBefore(slot, score, list[place - 1] as Ranked, rules)) place--;
      list.splice(place, 0, { slot, score });
      if (list.length > limit) list.pop();
      min = list[limit - 1]?.score ?? 0;
    }
    return list;
  }

  return { reset, add, best };
}

function comesBefore(slot: number, score: number, other: Ranked, rules: RankRules): boolean {
  return score > other.score || (score === other.score && rules.before(slot, other.slot));
}
