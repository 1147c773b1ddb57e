import { shownText } from "./shown-text.ts";

/** The last lines of something that may never stop talking. */
export interface RecentLines {
  push(line: string): void;
  lines(): string[];
  /** Of all that were pushed. */
  readonly count: number;
}

const KEPT = 20;
const MAX_LINE_LENGTH = 300;

export function createRecentLines(): RecentLines {
  const kept: string[] = [];
  let count = 0;
  return {
    push(line) {
      count++;
      kept.push(line.slice(0, MAX_LINE_LENGTH + 1));
      if (kept.length > KEPT) kept.shift();
    },
    lines: () => kept.map((line) => shownText(line, MAX_LINE_LENGTH)),
    get count() {
      return count;
    },
  };
}
