import { scanWords, type WordKind } from "./words.ts";

/** The words of the questions that led to tools, of one user. The index of all tools stays as it is. */
export interface LearnedWords {
  /** Changes with every change of the questions. */
  readonly version: number;
  /** How often the questions of each tool have the word, by the tool's id. */
  counts(word: string): ReadonlyMap<string, number> | undefined;
  /** How many words the questions of each tool have, by the tool's id. */
  lengths(): Iterable<readonly [id: string, length: number]>;
}

const kindWeights: Readonly<Record<WordKind, number>> = { word: 1, joined: 0.6, part: 0.3, number: 0.5 };

/** Words of questions by tool. A question counts a word once: repeating it does not raise the tool. */
export class QuestionWords implements LearnedWords {
  version = 0;
  readonly #byWord = new Map<string, Map<string, number>>();
  readonly #byTool = new Map<string, { words: ReadonlyMap<string, number>; length: number }>();

  counts(word: string): ReadonlyMap<string, number> | undefined {
    return this.#byWord.get(word);
  }

  *lengths(): Iterable<readonly [string, number]> {
    for (const [id, { length }] of this.#byTool) yield [id, length];
  }

  /** Replaces the questions of a tool; an empty list removes them. */
  set(id: string, questions: readonly string[]): void {
    this.version++;
    this.#remove(id);
    if (questions.length === 0) return;
    const words = new Map<string, number>();
    for (const question of questions) {
      for (const [word, count] of wordsOf(question)) words.set(word, (words.get(word) ?? 0) + count);
    }
    let length = 0;
    for (const [word, count] of words) {
      length += count;
      const counts = this.#byWord.get(word);
      if (counts) counts.set(id, count);
      else this.#byWord.set(word, new Map([[id, count]]));
    }
    this.#byTool.set(id, { words, length });
  }

  #remove(id: string): void {
    for (const word of this.#byTool.get(id)?.words.keys() ?? []) {
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
  return words;
}
