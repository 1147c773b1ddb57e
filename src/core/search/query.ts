import type { NearWord } from "./similar-words.ts";
import { topicsOf } from "./topics.ts";
import { scanWords, stem, type WordKind } from "./words.ts";

export interface Query {
  readonly text: string;
  /** Pieces that look like names (read_file, readFile, fs.read). */
  readonly identifiers: readonly string[];
  /** The search terms with their weights. */
  readonly words: ReadonlyMap<string, number>;
}

export interface Vocabulary {
  /** How many tools have the word. */
  frequency(word: string): number;
  /** Of how many tools. */
  readonly size: number;
  near(word: string): readonly NearWord[];
}

const maxQueryLength = 1_000;
const kindWeights: Readonly<Record<WordKind, number>> = { word: 1, joined: 0.4, part: 0.25, number: 0.3 };
const repetitionWeight = 0.3;
const synonymWeight = 0.2;
/** The weight of a synonym for a word that no tool has. */
const substituteWeight = 0.6;
/** A synonym that this many tools have is not useful and slow. */
const frequentShare = 0.05;
const nearWordWeight = 0.5;
const halfWeight = 0.6;
const minHalfLength = 3;
/** Of a topic, for the rarity of the word that has it; and of one that many words of the query have. */
const topicWeight = 0.25;
const maxTopicWeight = 2;
/** A topic that more tools have says little and is slow. */
const maxTopicTools = 1_000;
/** The search for similar words is the slow part of a query. Longer words are similar to none. */
const maxNearLookups = 6;
const maxNearLength = 40;

/** Parses a query; text beyond the limit is ignored. */
export function readQuery(query: string, vocabulary: Vocabulary): Query {
  const text = query.slice(0, maxQueryLength).trim();
  const words = new Map<string, number>();
  scanWords(
    text,
    (word, kind) => {
      const before = words.get(word);
      const weight = kindWeights[kind];
      words.set(word, before === undefined ? weight : Math.max(before, weight) + repetitionWeight * weight);
    },
    { joinAll: true },
  );
  const frequent = Math.max(50, vocabulary.size * frequentShare);
  let lookups = 0;
  for (const [word, weight] of [...words]) {
    const known = vocabulary.frequency(word) > 0;
    const topics = topicsOf(word);
    const share = topicWeight * weight * rarityOf(vocabulary.frequency(word), vocabulary.size);
    for (const topic of topics) {
      if (vocabulary.frequency(topic) > maxTopicTools) continue;
      words.set(topic, Math.min(maxTopicWeight, (words.get(topic) ?? 0) + share / topics.length));
    }
    const synonyms = synonymsOf(word);
    for (const synonym of synonyms) {
      const frequency = vocabulary.frequency(synonym);
      if (frequency === 0 || (known && frequency > frequent)) continue;
      raise(words, synonym, weight * (known ? synonymWeight : substituteWeight));
    }
    if (known || synonyms.length > 0 || weight < 1 || lookups >= maxNearLookups || word.length > maxNearLength)
      continue;
    lookups++;
    const halves = halvesOf(word, vocabulary);
    for (const half of halves) raise(words, half, halfWeight);
    if (halves.length > 0) continue;
    for (const { word: near, closeness } of vocabulary.near(word)) raise(words, near, nearWordWeight * closeness);
  }
  return { text, identifiers: identifiersIn(text), words };
}

/** How much a word that so many tools have says about them. */
export function rarityOf(frequency: number, size: number): number {
  return Math.log(1 + (size - frequency + 0.5) / (frequency + 0.5));
}

/** The two known words that an unknown one consists of (timezone → time, zone), or none. */
function halvesOf(word: string, vocabulary: Vocabulary): readonly string[] {
  let best: readonly string[] = [];
  let balance = 0;
  for (let at = minHalfLength; at <= word.length - minHalfLength; at++) {
    if (Math.min(at, word.length - at) <= balance) continue;
    const halves = [stem(word.slice(0, at)), word.slice(at)] as const;
    if (!halves.every((half) => vocabulary.frequency(half) > 0)) continue;
    best = halves;
    balance = Math.min(at, word.length - at);
  }
  return best;
}

function raise(words: Map<string, number>, word: string, weight: number): void {
  if ((words.get(word) ?? 0) < weight) words.set(word, weight);
}

/** The pattern takes a time that grows with the square of a word's length. */
const maxIdentifierLength = 128;

function identifiersIn(query: string): string[] {
  const text = query
    .split(/\s+/)
    .filter(({ length }) => length <= maxIdentifierLength)
    .join(" ");
  const pieces = text.match(/[\p{L}\p{N}]+(?:[_.\-/:]+[\p{L}\p{N}]+)+|\p{L}*\p{Ll}\p{Lu}[\p{L}\p{N}]*/gu) ?? [];
  return [...new Set(pieces)].slice(0, 16);
}

/** Synonyms; one meaning between bars; subjects are topics. Kept short: each slows every query a little. */
const groups = `
get fetch retrieve obtain show read view lookup | find search locate lookup query discover | list enumerate browse | create add make new insert
generate build | delete remove erase clear drop | update modify edit change alter set | send post deliver | calculate compute determine estimate
evaluate | convert transform translate | book reserve reservation | buy purchase order shop | cancel revoke abort | start launch begin run execute
open | stop end terminate kill close | download save export | upload import attach | check verify validate test | schedule plan appointment calendar |
compare difference versus | recommend suggest suggestion | summarize summary abstract condense | message msg text sms chat | directory folder dir |
repository repo | database db sql | document doc | configuration config setting | price cost fee pricing | nearby near close closest nearest | route
direction navigate path | user account profile | person contact people`;

const related = new Map<string, readonly string[]>();

/** Stems of the synonyms of this stem. */
function synonymsOf(word: string): readonly string[] {
  if (related.size === 0) fill();
  return related.get(word) ?? [];
}

function fill(): void {
  for (const group of groups.split("|")) {
    const stems = [...new Set(group.trim().split(/\s+/).map(stem))];
    for (const one of stems) {
      const others = stems.filter((other) => other !== one);
      related.set(one, [...new Set([...(related.get(one) ?? []), ...others])]);
    }
  }
}
