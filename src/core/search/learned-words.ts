import { isTopic, topicsOf, topicWeight } from "./topics.ts";
import { scanWords, type WordKind } from "./words.ts";

/** The words of the questions that led to tools, of one user. The index of all tools stays as it is. */
export interface LearnedWords {
  /** Changes with every change of the questions. */
  readonly version: number;
  /** How often the questions of each tool have the word, by the tool's id. */
  counts(word: string): ReadonlyMap<string, number> | undefined;
  /** How many words the questions of each tool have, by the tool's id. */
  lengths(): Iterable<readonly [id: string, length: number]>;
  /** The tools that questions of this tool led to as well, and how likely such a question needs them, too. */
  together(id: string): Iterable<readonly [id: string, likelihood: number]>;
}

const kindWeights: Readonly<Record<WordKind, number>> = { word: 1, joined: 0.6, part: 0.3, number: 0.5 };

interface LearnedTool {
  readonly words: ReadonlyMap<string, number>;
  readonly length: number;
  readonly questions: readonly string[];
}

/** A longer question says less with each of its words. */
const usualQuestion = 10;
const shortestQuestion = 3;
/** A question that led to more tools does not say which belong together. */
const maxTogether = 20;
/** One question in common is not yet a habit. */
const unseenQuestions = 2;

/** Words of questions by tool. A question counts a word once: repeating it does not raise the tool. */
export class QuestionWords implements LearnedWords {
  version = 0;
  readonly #byWord = new Map<string, Map<string, number>>();
  readonly #byTool = new Map<string, LearnedTool>();
  readonly #byQuestion = new Map<string, Set<string>>();

  counts(word: string): ReadonlyMap<string, number> | undefined {
    return this.#byWord.get(word);
  }

  *lengths(): Iterable<readonly [string, number]> {
    for (const [id, { length }] of this.#byTool) yield [id, length];
  }

  together(id: string): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    const questions = this.#byTool.get(id)?.questions ?? [];
    for (const question of questions) {
      const others = this.#byQuestion.get(question);
      if (!others || others.size > maxTogether) continue;
      for (const other of others)
        shares.set(other, (shares.get(other) ?? 0) + 1 / (questions.length + unseenQuestions));
    }
    shares.delete(id);
    return shares;
  }

  /** Replaces the questions of a tool; an empty list removes them. */
  set(id: string, questions: readonly string[]): void {
    this.version++;
    this.#remove(id);
    if (questions.length === 0) return;
    const words = new Map<string, number>();
    for (const question of questions) {
      this.#byQuestion.set(question, (this.#byQuestion.get(question) ?? new Set()).add(id));
      for (const [word, count] of wordsOf(question)) words.set(word, (words.get(word) ?? 0) + count);
    }
    let length = 0;
    for (const [word, count] of words) {
      if (!isTopic(word)) length += count;
      const counts = this.#byWord.get(word);
      if (counts) counts.set(id, count);
      else this.#byWord.set(word, new Map([[id, count]]));
    }
    this.#byTool.set(id, { words, length, questions });
  }

  #remove(id: string): void {
    const { words, questions } = this.#byTool.get(id) ?? { words: new Map<string, number>(), questions: [] };
    for (const question of questions) {
      const tools = this.#byQuestion.get(question);
      tools?.delete(id);
      if (tools?.size === 0) this.#byQuestion.delete(question);
    }
    for (const word of words.keys()) {
      const counts = this.#byWord.get(word);
      counts?.delete(id);
      if (counts?.size === 0) this.#byWord.delete(word);
    }
    this.#byTool.delete(id);
  }
}

function wordsOf(question: string): Map<string, number> {
  const words = new Map<string, number>();
  scanWords(question, (word, kind) => words.set(word, Math.max(words.get(word) ?? 0, kindWeights[kind])));
  const scale = Math.sqrt(usualQuestion / Math.max(shortestQuestion, words.size));
  const own = [...words];
  for (const [word, weight] of own) words.set(word, weight * scale);
  for (const [word, weight] of own) {
    const topics = topicsOf(word);
    const share = (weight * topicWeight * scale) / topics.length;
    for (const topic of topics) words.set(topic, Math.min(topicWeight * scale, (words.get(topic) ?? 0) + share));
  }
  return words;
}
