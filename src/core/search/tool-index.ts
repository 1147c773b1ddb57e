import type { LearnedWords } from "./learned-words.ts";
import { rarityOf, readQuery } from "./query.ts";
import { createNearWords } from "./similar-words.ts";
import { isTopic, topicsOf, topicWeight } from "./topics.ts";
import { foldCase, scanWords, type WordKind } from "./words.ts";

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
  /** Max hits. Default: 10. */
  readonly limit?: number;
  /** Filters ids before the list is cut. */
  readonly filter?: (id: string) => boolean;
  /** Words of past questions, which count as text of their tools in this search. */
  readonly learned?: LearnedWords;
}

export interface SearchHit {
  readonly id: string;
  /** Comparable only within one answer. */
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

/** One word of the vocabulary with its postings. */
interface Term {
  readonly word: string;
  /** Alternating: a tool's slot, and how often it has the word, weighted by field, in whole units. */
  postings: number[];
  /** Occurrences in the tool that is being added. */
  tally: number;
  /** Whether a mistyped word may match it; joined words and parts do not. */
  suggested: boolean;
  /** Each tool that has the word has these, too. */
  readonly topics: readonly Term[];
}

interface Entry {
  readonly id: string;
  readonly fields: SearchFields;
  readonly length: number;
  readonly order: number;
}

/** Shared by all words that no tool has yet; never written to. */
const none: number[] = [];

const fieldWeights = {
  name: 2,
  alias: 2,
  title: 2,
  tag: 1.5,
  category: 1,
  description: 1,
  parameter: 0.45,
  parameterText: 0.45,
};
/** Of words in past questions, measured on labelled sets (docs/decisions/0036). */
const learnedWeight = 0.7;
/** How much of the length of past questions counts as length of the tool's text. */
const learnedLength = 0.7;
/** How many of the best tools raise those that they were used with, and by how much of their score. */
const companionsOf = 10;
const companionWeight = 0.3;
const kindWeights: Readonly<Record<WordKind, number>> = { word: 1, joined: 0.6, part: 0.3, number: 0.5 };

/** BM25 parameters: saturation of term frequency, and the penalty for long texts. */
const saturation = 0.9;
const lengthPenalty = 0.5;
/** Counts are stored as integers of this unit: V8 keeps integer arrays compact. */
const countUnit = 32;
const exactNameBonus = 1000;
const mentionedNameBonus = 100;
const nameBeginningBonus = 50;
const longestText = 8_000;

/**
 * Adds a posting for the tool and returns this word's part of its length. Most words occur in one tool: an array
 * with one posting is smaller than what the first push would reserve.
 */
function post(term: Term, slot: number): number {
  const count = Math.max(1, Math.round(term.tally * countUnit));
  if (term.postings.length === 0) term.postings = [slot, count];
  else term.postings.push(slot, count);
  term.tally = 0;
  return count;
}

function frequencyOf(term: Term | undefined): number {
  return term === undefined ? 0 : term.postings.length / 2;
}

/** Ranked search over tools: BM25 with field weights, exact names and prefixes first. Words are indexed lazily. */
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
  /** Counts changes of the indexed tools. */
  let changes = 0;

  function add(id: string, fields: SearchFields): void {
    remove(id);
    waiting.set(id, { fields, order: nextOrder++ });
  }

  function remove(id: string): boolean {
    if (waiting.delete(id)) return true;
    const slot = slotById.get(id);
    const entry = slot === undefined ? undefined : entries[slot];
    if (slot === undefined || entry === undefined) return false;
    changes++;
    for (const name of namesOf(entry.fields)) names.remove(name, slot);
    gatherAll(entry.fields);
    for (const term of gathered) withdraw(term, slot);
    totalLength -= entry.length;
    slotById.delete(id);
    entries[slot] = undefined;
    freeSlots.push(slot);
    return true;
  }

  function withdraw(term: Term, slot: number): void {
    const { postings } = term;
    term.tally = 0;
    let at = 0;
    while (postings[at] !== slot) at += 2;
    const lastCount = postings.pop();
    const lastSlot = postings.pop();
    if (at < postings.length && lastSlot !== undefined && lastCount !== undefined) {
      postings[at] = lastSlot;
      postings[at + 1] = lastCount;
    }
    if (postings.length > 0) return;
    vocabulary.delete(term.word);
    if (term.suggested) nearWords.remove(term.word);
  }

  /** State while indexing: the field's weight, and the tool's counts so far. */
  let fieldWeight = 0;
  const gathered: Term[] = [];

  function termOf(word: string): Term {
    let term = vocabulary.get(word);
    if (term === undefined) {
      term = { word, postings: none, tally: 0, suggested: false, topics: topicsOf(word).map(termOf) };
      vocabulary.set(word, term);
    }
    return term;
  }

  function gather(word: string, kind: WordKind): void {
    const term = termOf(word);
    if (kind === "word" && !term.suggested) {
      term.suggested = true;
      nearWords.add(word);
    }
    const weight = kind === "word" ? fieldWeight : fieldWeight * kindWeights[kind];
    count(term, weight);
    const { topics } = term;
    for (let at = 0; at < topics.length; at++) count(topics[at] as Term, (weight * topicWeight) / topics.length);
  }

  function count(term: Term, weight: number): void {
    if (term.tally === 0) gathered.push(term);
    term.tally += weight;
  }

  function read(text: string | undefined, weight: number): void {
    if (text === undefined || text === "") return;
    fieldWeight = weight;
    scanWords(text.length > longestText ? text.slice(0, longestText) : text, gather);
  }

  function gatherAll(fields: SearchFields): void {
    gathered.length = 0;
    read(fields.name, fieldWeights.name);
    for (const alias of fields.aliases ?? []) read(alias, fieldWeights.alias);
    read(fields.title, fieldWeights.title);
    for (const tag of fields.tags ?? []) read(tag, fieldWeights.tag);
    read(fields.category, fieldWeights.category);
    read(fields.description, fieldWeights.description);
    for (const parameter of fields.parameters ?? []) read(parameter, fieldWeights.parameter);
    read(fields.parameterText, fieldWeights.parameterText);
  }

  function readWaiting(): void {
    for (const [id, { fields, order }] of waiting) store(id, fields, order);
    waiting.clear();
  }

  function store(id: string, fields: SearchFields, order: number): void {
    changes++;
    const slot = freeSlots.pop() ?? entries.length;
    gatherAll(fields);
    let length = 0;
    for (const term of gathered) {
      const count = post(term, slot);
      if (!isTopic(term.word)) length += count;
    }
    for (const name of namesOf(fields)) names.add(name, slot);
    entries[slot] = { id, fields, length, order };
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
    const { learned } = options;
    const limit = Math.max(0, Math.floor(options.limit ?? 10));
    if (slotById.size === 0 || limit === 0) return [];
    ranking.reset(entries.length);
    const requested = readQuery(query, {
      size: slotById.size,
      frequency: (word) => Math.max(frequencyOf(vocabulary.get(word)), learned?.counts(word)?.size ?? 0),
      near: (word) => nearWords.near(word),
    });
    const slots = learned && slotsOf(learned);
    const rules: RankRules = {
      accepts: (slot) => isHit(slot, options.filter),
      before: (one, other) => orderOf(one) < orderOf(other),
    };
    for (const [word, weight] of requested.words) score(word, weight, slots);
    if (learned) raiseCompanions(learned, ranking.best(companionsOf, rules));
    scoreNames(requested.text, requested.identifiers);
    return ranking
      .best(limit, rules)
      .map(({ slot, score: points }) => ({ id: entries[slot]?.id ?? "", score: points }));
  }

  function score(word: string, weight: number, learned: LearnedSlots | undefined): void {
    const postings = vocabulary.get(word)?.postings ?? none;
    const fromQuestions = learned?.postings(word);
    const count = slotById.size;
    const rarity = weight * rarityOf(postings.length / 2 + (fromQuestions?.onlyHere ?? 0), count);
    const fixed = countUnit * saturation * (1 - lengthPenalty);
    const byLength = (countUnit * saturation * lengthPenalty * count) / Math.max(totalLength, 1);
    const addScore = (slot: number, occurrences: number): void => {
      const length = (lengths[slot] as number) + (learned ? (learned.lengths[slot] as number) : 0);
      ranking.add(slot, (rarity * occurrences * (saturation + 1)) / (occurrences + fixed + byLength * length));
    };
    const more = learned?.fill(fromQuestions);
    for (let at = 0; at < postings.length; at += 2) {
      const slot = postings[at] as number;
      if (!more) addScore(slot, postings[at + 1] as number);
      else {
        addScore(slot, (postings[at + 1] as number) + (more[slot] as number));
        more[slot] = 0;
      }
    }
    if (!more || !fromQuestions) return;
    for (const slot of fromQuestions.slots) {
      if (more[slot] !== 0) addScore(slot, more[slot] as number);
      more[slot] = 0;
    }
  }

  const known = new WeakMap<LearnedWords, LearnedSlots>();

  /** Kept until the tools or the questions change. */
  function slotsOf(learned: LearnedWords): LearnedSlots {
    let slots = known.get(learned);
    if (slots?.changes !== changes || slots.version !== learned.version) {
      const size = entries.length;
      const postingsOf = (word: string): readonly number[] => vocabulary.get(word)?.postings ?? none;
      slots = new LearnedSlots(learned, { size, changes, slotOf: (id) => slotById.get(id), postingsOf });
      known.set(learned, slots);
    }
    return slots;
  }

  /** Raises the tools that past questions needed together with the best ones. */
  function raiseCompanions(learned: LearnedWords, best: readonly Ranked[]): void {
    const raised = new Map<number, number>();
    for (const { slot, score: points } of best) {
      const strength = (companionWeight * points * points) / (best[0]?.score ?? points);
      for (const [id, likelihood] of learned.together(entries[slot]?.id ?? "")) {
        const other = slotById.get(id);
        if (other !== undefined) raised.set(other, Math.max(raised.get(other) ?? 0, strength * likelihood));
      }
    }
    for (const [slot, points] of raised) ranking.add(slot, points);
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

function namesOf({ name, aliases }: SearchFields): readonly string[] {
  return aliases === undefined || aliases.length === 0 ? [name] : [name, ...aliases];
}

interface SlotCounts {
  readonly slots: readonly number[];
  readonly counts: readonly number[];
  /** How many of the tools have the word only in past questions. */
  readonly onlyHere: number;
}

/** The words of past questions by slot, in the unit of postings. Tools that are gone are left out. */
class LearnedSlots {
  readonly version: number;
  readonly changes: number;
  readonly lengths: Float64Array;
  readonly #learned: LearnedWords;
  readonly #index: { slotOf(id: string): number | undefined; postingsOf(word: string): readonly number[] };
  readonly #byWord = new Map<string, SlotCounts | undefined>();
  /** All zero between the words of a query. */
  readonly #counts: Float64Array;

  constructor(
    learned: LearnedWords,
    index: {
      size: number;
      changes: number;
      slotOf(id: string): number | undefined;
      postingsOf(word: string): readonly number[];
    },
  ) {
    this.version = learned.version;
    this.changes = index.changes;
    this.#learned = learned;
    this.#index = index;
    this.#counts = new Float64Array(index.size);
    this.lengths = new Float64Array(index.size);
    for (const [id, length] of learned.lengths()) {
      const slot = index.slotOf(id);
      if (slot !== undefined) this.lengths[slot] = length * learnedLength * countUnit;
    }
  }

  postings(word: string): SlotCounts | undefined {
    if (this.#byWord.has(word)) return this.#byWord.get(word);
    const found = this.#read(word);
    this.#byWord.set(word, found);
    return found;
  }

  /** The counts of a word, dense. The caller sets those that it has read to zero. */
  fill(postings: SlotCounts | undefined): Float64Array | undefined {
    if (!postings) return undefined;
    for (const [at, slot] of postings.slots.entries()) this.#counts[slot] = postings.counts[at] as number;
    return this.#counts;
  }

  #read(word: string): SlotCounts | undefined {
    const slots: number[] = [];
    const counts: number[] = [];
    for (const [id, occurrences] of this.#learned.counts(word) ?? []) {
      const slot = this.#index.slotOf(id);
      if (slot === undefined) continue;
      slots.push(slot);
      counts.push(occurrences * learnedWeight * countUnit);
    }
    if (slots.length === 0) return undefined;
    const found = new Set(slots);
    const postings = this.#index.postingsOf(word);
    for (let at = 0; at < postings.length; at += 2) found.delete(postings[at] as number);
    return { slots, counts, onlyHere: found.size };
  }
}

const bucketLetters = 2;

/** Names without regard to case and separators: readFile, read_file and "read file" are one. */
function createNameLookup() {
  const slotsByName = new Map<string, number[]>();
  const namesByBeginning = new Map<string, Set<string>>();

  function add(name: string, slot: number): void {
    const squashed = squash(name);
    if (squashed === "") return;
    const slots = slotsByName.get(squashed);
    if (slots !== undefined) {
      if (!slots.includes(slot)) slots.push(slot);
      return;
    }
    slotsByName.set(squashed, [slot]);
    const beginning = squashed.slice(0, bucketLetters);
    const names = namesByBeginning.get(beginning);
    if (names === undefined) namesByBeginning.set(beginning, new Set([squashed]));
    else names.add(squashed);
  }

  function remove(name: string, slot: number): void {
    const squashed = squash(name);
    const rest = slotsByName.get(squashed)?.filter((other) => other !== slot) ?? [];
    if (rest.length > 0) {
      slotsByName.set(squashed, rest);
      return;
    }
    slotsByName.delete(squashed);
    namesByBeginning.get(squashed.slice(0, bucketLetters))?.delete(squashed);
  }

  function exact(name: string): readonly number[] {
    return slotsByName.get(squash(name)) ?? [];
  }

  /** Slots with the share of their name that the prefix covers. */
  function startingWith(beginning: string): { slot: number; share: number }[] {
    const squashed = squash(beginning);
    if (squashed.length < bucketLetters) return [];
    const found: { slot: number; share: number }[] = [];
    for (const name of namesByBeginning.get(squashed.slice(0, bucketLetters)) ?? []) {
      if (!name.startsWith(squashed)) continue;
      for (const slot of slotsByName.get(name) ?? []) found.push({ slot, share: squashed.length / name.length });
    }
    return found;
  }

  return { add, remove, exact, startingWith };
}

function squash(name: string): string {
  if (/^[a-z0-9_]*$/.test(name)) return name.replaceAll("_", "");
  if (/^[\x20-\x7e]*$/.test(name)) return name.toLowerCase().replace(/[^a-z0-9]+/g, "");
  return foldCase(name).replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}

export interface Ranked {
  readonly slot: number;
  readonly score: number;
}

export interface RankRules {
  /** Called only for slots that would be in the list. */
  accepts(slot: number): boolean;
  /** Which of two equal scores comes first. */
  before(slot: number, other: number): boolean;
}

/** Sums scores by slot in reused memory, and picks the best. */
function createRanking() {
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
