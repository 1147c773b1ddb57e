import type { MaybePromise } from "../stage.ts";
import { hideSecrets } from "../secrets/mask-secrets.ts";

/** What the calls of one user have taught about one tool. */
export interface ToolUse {
  readonly tool: string;
  /** The questions that led to it, the newest last. */
  readonly questions: readonly string[];
  /** How often it was used. Older uses count less. */
  readonly uses: number;
  /** Unix milliseconds. */
  readonly lastUsedAt: number;
}

/** A successful call, or several of them. */
export interface ToolUseChange extends ToolUse {
  readonly user: string;
}

/** The use of tools in one workspace, by user. The user of a call without one is "". */
export interface ToolUseStore {
  /** What it keeps stays on this machine: then the user's messages teach, too. */
  readonly isLocal?: boolean;
  /** The newest `MAX_TOOLS` of a user. */
  load(user: string): MaybePromise<readonly ToolUse[]>;
  /** Adds to what is stored, as `addUse` does. */
  add(changes: readonly ToolUseChange[]): MaybePromise<void>;
  /** Removes what one user has taught, about one tool or all. Returns the number of tools. */
  forget(user: string, tool?: string): MaybePromise<number>;
}

/** Tools kept per user; those that were not used for the longest time leave first. */
export const MAX_TOOLS = 1_000;
const MAX_QUESTIONS = 20;
const MAX_QUESTION_LENGTH = 200;
/** After this time a use counts half. */
const HALF_LIFE_MS = 14 * 24 * 60 * 60_000;
/** Questions that share more of their words than this are one question. */
const SAME_QUESTION = 0.8;

/** Masks secrets and shortens. Undefined if nothing is left. */
export function toQuestion(text: string): string | undefined {
  const hidden = hideSecrets(text.slice(0, MAX_QUESTION_LENGTH * 10)).replaceAll("\0", " ");
  const plain = hidden.replaceAll(/\s+/g, " ").trim();
  const short = plain.slice(0, MAX_QUESTION_LENGTH).toWellFormed().trim();
  return /[\p{L}\p{N}]/u.test(short) ? short : undefined;
}

/** Adds uses and questions. A question that is nearly the same as an older one replaces it. */
export function addUse(known: ToolUse | undefined, change: Omit<ToolUseChange, "user">): ToolUse {
  const { tool, lastUsedAt } = change;
  if (!known) return { tool, lastUsedAt, uses: change.uses, questions: addQuestions([], change.questions) };
  const newest = Math.max(known.lastUsedAt, lastUsedAt);
  return {
    tool,
    lastUsedAt: newest,
    uses: likelihoodOf(known, newest) + likelihoodOf(change, newest),
    questions: addQuestions(known.questions, change.questions),
  };
}

/** How likely a tool is needed: frequent and recent uses count more. */
export function likelihoodOf({ uses, lastUsedAt }: Pick<ToolUse, "uses" | "lastUsedAt">, now: number): number {
  return uses * 2 ** (Math.min(0, lastUsedAt - now) / HALF_LIFE_MS);
}

export function addQuestions(known: readonly string[], added: readonly string[]): string[] {
  const read = (question: string) => ({ question, words: wordsOf(question) });
  let all = known.map(read);
  for (const next of added.map(read)) {
    all = [...all.filter(({ words }) => similarity(next.words, words) < SAME_QUESTION), next];
  }
  return all.slice(-MAX_QUESTIONS).map(({ question }) => question);
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
}

function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of one) if (other.has(word)) shared++;
  return shared / Math.max(1, one.size + other.size - shared);
}

/** The use of tools in memory: it ends with the process. */
export class MemoryToolUse implements ToolUseStore {
  readonly isLocal = true;
  readonly #byUser = new Map<string, Map<string, ToolUse>>();

  load(user: string): readonly ToolUse[] {
    return [...(this.#byUser.get(user)?.values() ?? [])];
  }

  add(changes: readonly ToolUseChange[]): void {
    for (const { user, ...change } of changes) {
      const tools = this.#byUser.get(user) ?? new Map<string, ToolUse>();
      this.#byUser.set(user, tools);
      tools.set(change.tool, addUse(tools.get(change.tool), change));
      dropOldest(tools);
    }
  }

  forget(user: string, tool?: string): number {
    const tools = this.#byUser.get(user);
    if (tool !== undefined) return tools?.delete(tool) ? 1 : 0;
    this.#byUser.delete(user);
    return tools?.size ?? 0;
  }
}

/** Drops the tool that was not used for the longest time if there are too many. Returns its name. */
export function dropOldest(tools: Map<string, ToolUse>): string | undefined {
  if (tools.size <= MAX_TOOLS) return undefined;
  const { tool } = [...tools.values()].reduce((one, other) => (other.lastUsedAt < one.lastUsedAt ? other : one));
  tools.delete(tool);
  return tool;
}
