import { BoundedMap } from "../../core/bounded-map.ts";
import { type Call, type Caller, toolOf } from "../../core/call.ts";
import { toQuestion } from "../../core/search/tool-use.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise, Stage } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import { definitionText } from "./definition-cost.ts";
import { isSelection, TOOL_SEARCH } from "./shown-tools.ts";
import type { ToolUses } from "./use-by-user.ts";

/** What search learns from: the queries of `tool_search`, the user's messages too, or nothing. */
export type LearnFrom = "searches" | "messages" | "nothing";

export interface LearnOptions {
  uses: ToolUses;
  from: LearnFrom;
  find(name: string): AnyTool | undefined;
  hasReadUntrusted(call: Call): MaybePromise<boolean>;
}

/** A search that may still teach. */
interface OpenSearch {
  readonly user: string;
  readonly question: string;
  /** The tools that it may teach. */
  readonly found: Set<string>;
  readonly taught: Set<string>;
}

interface Learning {
  readonly stage: Stage;
  /** The searches of this user teach nothing more, about one tool or all. */
  forget(user: string, tool?: string): void;
}

const MAX_SESSIONS = 1_000;
const MAX_SEARCHES = 20;
/** A query that has this many words in a row from a definition quotes it. */
const QUOTED_WORDS = 4;

/**
 * Counts successful calls, and learns which question led to which tool: the last search of the session that found it, the search
 * before, if that had missed it and taught nothing, and the user's message. Not learned: text that a tool or a server may have written. So a session that has read untrusted text
 * teaches nothing, nor does a call that other code than ours makes. A query that quotes a definition teaches nothing about that tool.
 */
export function learnFromCalls({ uses, from, find, hasReadUntrusted }: LearnOptions): Learning {
  const searches = new BoundedMap<string, OpenSearch[]>(MAX_SESSIONS);
  /** What a running call teaches if it succeeds. */
  const lessons = new WeakMap<Call, () => string[]>();

  return {
    stage: {
      name: "learn",
      // A plain call has no session.
      compile: () => ({ leave }),
      enter,
      leave,
    },
    forget(user, tool) {
      for (const search of [...searches.values()].flat()) {
        if (search.user !== user) continue;
        if (tool === undefined) search.found.clear();
        else search.found.delete(tool);
      }
    },
  };

  function enter(call: Call): MaybePromise<undefined> {
    const lesson = from === "nothing" ? undefined : lessonOf(call);
    if (!lesson) return undefined;
    const learn = (isUntrusted: boolean): undefined => {
      if (!isUntrusted) lessons.set(call, lesson);
    };
    const isUntrusted = hasReadUntrusted(call);
    return isUntrusted instanceof Promise ? isUntrusted.then(learn) : learn(isUntrusted);
  }

  function leave(call: Call, result: ToolResult): ToolResult {
    // A known result is that of an earlier call, which was counted.
    if (result.status !== "completed" || result.metadata.known !== undefined) return result;
    const { name } = toolOf(call);
    const lesson = lessons.get(call);
    if (name !== TOOL_SEARCH && isOfModel(call)) uses.add(userOf(call.caller), name, lesson?.());
    else if (lesson) openSearch(call, lesson()[0], result);
    return result;
  }

  /** The questions that the call teaches. Undefined if it cannot teach. */
  function lessonOf(call: Call): (() => string[]) | undefined {
    const { caller, input, options } = call;
    if (caller.session === undefined || !isOfModel(call)) return undefined;
    const { name } = toolOf(call);
    if (name === TOOL_SEARCH) {
      const query = queryOf(input);
      return query === undefined ? undefined : () => (isSelection(query) ? [] : asQuestions(query));
    }
    const message = from === "messages" ? [options.userMessage].flat().at(-1) : undefined;
    const open = searches.get(sessionKey(caller)) ?? [];
    const at = open.findLastIndex(({ found }) => found.has(name));
    const search = open[at];
    const missed = open[at - 1];
    return () => {
      const learned = message === undefined ? [] : asQuestions(message);
      // Or forgotten while the call ran.
      if (!search?.found.has(name) || search.taught.has(name)) return learned;
      search.taught.add(name);
      learned.unshift(search.question);
      if (missed?.taught.size !== 0 || missed.found.has(name) || quotesDefinition(missed.question, find(name)))
        return learned;
      missed.taught.add(name);
      return [missed.question, ...learned];
    };
  }

  function openSearch({ caller }: Call, question: string | undefined, { metadata }: ToolResult): void {
    const names = Array.isArray(metadata["loadedTools"]) ? metadata["loadedTools"].map(String) : [];
    const key = sessionKey(caller);
    const open = searches.get(key) ?? [];
    const search =
      question === undefined ? open.at(-1) : { question, found: new Set<string>(), taught: new Set<string>() };
    // The model names a tool itself: its last search had missed it.
    if (!search || (question === undefined && search.taught.size > 0)) return;
    for (const name of names) if (!quotesDefinition(search.question, find(name))) search.found.add(name);
    if (question !== undefined) searches.set(key, [...open, { user: userOf(caller), ...search }].slice(-MAX_SEARCHES));
  }
}

function asQuestions(text: string): string[] {
  const question = toQuestion(text);
  return question === undefined ? [] : [question];
}

/** The user whose data a call uses and teaches. A subagent works for the user of its parents. */
export function userOf({ user, parent }: Partial<Caller>): string {
  return user ?? (parent ? userOf(parent) : "");
}

function sessionKey(caller: Caller): string {
  return JSON.stringify([userOf(caller), caller.session]);
}

function queryOf(input: unknown): string | undefined {
  const query: unknown = Object(input).query;
  return typeof query === "string" ? query : undefined;
}

/** Whether a model chose the call, directly or in a program: any other tool could search and call to raise a rank. */
function isOfModel({ parent }: Call): boolean {
  return parent === undefined || (parent.tool?.origin.type === "builtin" && isOfModel(parent));
}

/** Servers and plugins write their definitions; a model may copy from them. */
function quotesDefinition(question: string, tool: AnyTool | undefined): boolean {
  if (!tool || tool.origin.type === "builtin" || tool.origin.type === "own") return false;
  const words = wordsIn(question);
  const text = ` ${wordsIn(definitionText(tool)).join(" ")} `;
  for (let at = 0; at + QUOTED_WORDS <= words.length; at++) {
    if (text.includes(` ${words.slice(at, at + QUOTED_WORDS).join(" ")} `)) return true;
  }
  return false;
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
