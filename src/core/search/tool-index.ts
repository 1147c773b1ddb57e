import { createNameLookup } from "./name-lookup.ts";
import { createNearWords } from "./near-words.ts";
import { readQuery } from "./query.ts";
import { createRanking } from "./ranking.ts";
import { scanWords } from "./words.ts";
import type { WordKind } from "./words.ts";

export interface SearchFields {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly category?: string;
  /** Names of the parameters. */
  readonly parameters?: readonly string[];
  /** Descriptions of the parameters. */
  readonly parameterText?: string;
}

export interface SearchOptions {
  /** How many hits at most; 10 where nothing is said. */
  readonly limit?: number;
  /** Only ids that pass are hits; asked before the list is cut. */
  readonly filter?: (id: string) => boolean;
}

export interface SearchHit {
  readonly id: string;
  /** Comparable within one answer only. */
  readonly score: number;
}

export interface SearchIndex {
  readonly size: number;
  /** Adds a tool, or replaces the one of this id. */
  add(id: string, fields: SearchFields): void;
  remove(id: string): boolean;
  /** Best first; equal scores in the order of adding. */
  search(query: string, options?: SearchOptions): SearchHit[];
}

/** One word of the vocabulary with the tools it occurs in. */
interface Term {
  readonly word: string;
  readonly slots: number[];
  /** Occurrences, weighted by field, beside slots. */
  readonly counts: number[];
  /** Occurrences in the tool that is being added. */
  tally: number;
  /** Whether a mistyped word may mean it; joined words are too many and mean nothing alone. */
  suggested: boolean;
}

interface Entry {
  readonly id: string;
  readonly names: readonly string[];
  readonly terms: readonly Term[];
  readonly length: number;
  readonly order: number;
}

const fieldWeights = { name: 2, alias: 2, title: 2, tag: 1.5, category: 1, description: 1, parameter: 0.45, parameterText: 0.45 };
const kindWeights: Readonly<Record<WordKind, number>> = { word: 1, joined: 0.6, part: 0.3, number: 0.5 };

/** How soon further occurrences stop to count, and how much long texts are held back. */
const saturation = 0.9;
const lengthPenalty = 0.5;
const exactNameBonus = 1000;
const mentionedNameBonus = 100;
const nameBeginningBonus = 50;
const longestText = 8_000;

/**
 * Ranked search over tools: BM25 with field weights, exact and beginning names first. Adding only takes note; the words
 * are read at the next search.
 */
export function createSearchIndex(): SearchIndex {
  const waiting = new Map<string, { fields: SearchFields; order: number }>();
  const slotById = new Map<string, number>();
  const entries: (Entry | undefined)[] = [];
  const freeSlots: number[] = [];
  const vocabulary = new Map<string, Term>();
  const nearWords = createNearWords();
  const names = createNameLookup();
  const ranking = createRanking();
  let lengths = new Float64Array(64);
  let totalLength = 0;
  let nextOrder = 0;

  function add(id: string, fields: SearchFields): void {
    remove(id);
    waiting.set(id, { fields, order: nextOrder++ });
  }

  function remove(id: string): boolean {
    if (waiting.delete(id)) return true;
    const slot = slotById.get(id);
    const entry = slot === undefined ? undefined : entries[slot];
    if (slot === undefined || entry === undefined) return false;
    for (const name of entry.names) names.remove(name, slot);
    for (const term of entry.terms) withdraw(term, slot);
    totalLength -= entry.length;
    slotById.delete(id);
    entries[slot] = undefined;
    freeSlots.push(slot);
    return true;
  }

  function withdraw(term: Term, slot: number): void {
    const at = term.slots.indexOf(slot);
    const lastSlot = term.slots.pop();
    const lastCount = term.counts.pop();
    if (at < term.slots.length && lastSlot !== undefined && lastCount !== undefined) {
      term.slots[at] = lastSlot;
      term.counts[at] = lastCount;
    }
    if (term.slots.length > 0) return;
    vocabulary.delete(term.word);
    if (term.suggested) nearWords.remove(term.word);
  }

  function termOf(word: string, kind: WordKind): Term {
    let term = vocabulary.get(word);
    if (term === undefined) {
      term = { word, slots: [], counts: [], tally: 0, suggested: false };
      vocabulary.set(word, term);
    }
    if (kind === "word" && !term.suggested) {
      term.suggested = true;
      nearWords.add(word);
    }
    return term;
  }

  function readWaiting(): void {
    for (const [id, { fields, order }] of waiting) store(id, fields, order);
    waiting.clear();
  }

  function store(id: string, fields: SearchFields, order: number): void {
    const slot = freeSlots.pop() ?? entries.length;
    const terms: Term[] = [];
    let length = 0;
    const take = (text: string | undefined, weight: number, acrossBlanks: boolean): void => {
      if (text === undefined || text === "") return;
      scanWords(
        text.length > longestText ? text.slice(0, longestText) : text,
        (word, kind) => {
          const term = termOf(word, kind);
          const counted = weight * kindWeights[kind];
          if (term.tally === 0) terms.push(term);
          term.tally += counted;
          length += counted;
        },
        { acrossBlanks },
      );
    };
    take(fields.name, fieldWeights.name, true);
    for (const alias of fields.aliases ?? []) take(alias, fieldWeights.alias, true);
    take(fields.title, fieldWeights.title, true);
    for (const tag of fields.tags ?? []) take(tag, fieldWeights.tag, true);
    take(fields.category, fieldWeights.category, true);
    take(fields.description, fieldWeights.description, false);
    for (const parameter of fields.parameters ?? []) take(parameter, fieldWeights.parameter, false);
    take(fields.parameterText, fieldWeights.parameterText, false);
    for (const term of terms) {
      term.slots.push(slot);
      term.counts.push(term.tally);
      term.tally = 0;
    }
    const ownNames = [fields.name, ...(fields.aliases ?? [])];
    for (const name of ownNames) names.add(name, slot);
    entries[slot] = { id, names: ownNames, terms, length, order };
    slotById.set(id, slot);
    totalLength += length;
    if (slot >= lengths.length) {
      const grown = new Float64Array(lengths.length * 2);
      grown.set(lengths);
      lengths = grown;
    }
    lengths[slot] = length;
  }

  function search(query: string, options: SearchOptions = {}): SearchHit[] {
    readWaiting();
    const limit = Math.max(0, Math.floor(options.limit ?? 10));
    if (slotById.size === 0 || limit === 0) return [];
    ranking.reset(entries.length);
    const read = readQuery(query, {
      size: slotById.size,
      frequency: (word) => vocabulary.get(word)?.slots.length ?? 0,
      near: (word) => nearWords.near(word),
    });
    for (const [word, weight] of read.words) score(word, weight);
    scoreNames(read.text, read.identifiers);
    return ranking.best(limit, {
      accepts: (slot) => isHit(slot, options.filter),
      before: (one, other) => orderOf(one) < orderOf(other),
    }).map(({ slot, score: points }) => ({ id: entries[slot]?.id ?? "", score: points }));
  }

  function score(word: string, weight: number): void {
    const term = vocabulary.get(word);
    if (term === undefined) return;
    const { slots, counts } = term;
    const count = slotById.size;
    const rarity = weight * Math.log(1 + (count - slots.length + 0.5) / (slots.length + 0.5));
    const fixed = saturation * (1 - lengthPenalty);
    const byLength = (saturation * lengthPenalty * count) / Math.max(totalLength, 1e-9);
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] as number;
      const occurrences = counts[at] as number;
      const held = occurrences + fixed + byLength * (lengths[slot] as number);
      ranking.add(slot, (rarity * occurrences * (saturation + 1)) / held);
    }
  }

  function scoreNames(text: string, identifiers: readonly string[]): void {
    for (const slot of names.exact(text)) ranking.add(slot, exactNameBonus);
    for (const identifier of identifiers) {
      for (const slot of names.exact(identifier)) ranking.add(slot, mentionedNameBonus);
    }
    for (const { slot, share } of names.startingWith(text)) ranking.add(slot, nameBeginningBonus * (1 + share));
  }

  function isHit(slot: number, filter: SearchOptions["filter"]): boolean {
    const entry = entries[slot];
    return entry !== undefined && (filter === undefined || filter(entry.id));
  }

  function orderOf(slot: number): number {
    return entries[slot]?.order ?? 0;
  }

  return {
    get size() {
      return slotById.size + waiting.size;
    },
    add,
    remove,
    search,
  };
}
