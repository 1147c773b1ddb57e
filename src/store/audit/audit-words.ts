import { Buffer } from "node:buffer";
import { ERROR_CODES, failedState } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { Statement } from "../database.ts";

/** What the index reads of an entry. */
export interface IndexedRow {
  seq: number;
  at: number;
  kind: string;
  tool: string | null;
  status: string | null;
  verdict: string | null;
  call_id: string | null;
  session: string | null;
  agent: string | null;
  caller_user: string | null;
  /** If the statement does not read the words itself. */
  data: string | null;
  code: string | null;
  ms: number | null;
  waited: number | null;
  bytes: number | null;
}

/** How an engine finds the words of entries: part of `SqlDatabase`. They are in the table `audit_words`. */
export interface AuditWords {
  /** Creates the table. A released migration: never edited. */
  readonly create: readonly string[];
  /** Deletes the words of all entries. */
  readonly clear: string;
  /** Rows of the entries after a number (`?`), at most `?` of them. */
  readonly read: string;
  /** Completes rows that the engine could not. */
  complete(row: IndexedRow): void;
  /** Puts the words of the rows into the index. `guard` is a condition that every statement has. */
  insert(rows: readonly IndexedRow[], guard: Statement): Statement[];
  /** Entries that have all of the words, and one word of each list of `classes`, as a source of rows in FROM, and a condition. */
  search(
    words: readonly string[],
    classes?: readonly (readonly string[])[],
  ): { from: string; condition: string; value: string; order: string };
  /** A text of the entry's data, as an expression. */
  field(name: "risk" | "toolKind" | "pending.kind"): string;
  /** The code of the error of an answered entry, as an expression. */
  readonly errorCode: string;
  /** Run once before many are deleted. */
  readonly beforeForget: readonly Statement[];
  /** Deletes the words of the entries up to a number. */
  readonly forget: string;
}

/** Written without spaces between words: each character is a word. */
export const CJK = "\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF";
const ALONE = `[${CJK}\u{20000}-\u{3FFFF}]`;
const WORD = new RegExp(`(?=[\\p{L}\\p{N}])${ALONE}|(?:(?!${ALONE})[\\p{L}\\p{N}\\p{Co}])+`, "gu");
const MAX_WORD_LENGTH = 100;
const MAX_WORDS = 2000;

/** In lower case. */
export function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(WORD) ?? []).slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_WORD_LENGTH));
}

/** What calls are filtered by: the letter begins the word of a class. */
export const CLASSES = { tool: "t", session: "s", agent: "a", user: "u", outcome: "o", risk: "r", kind: "k" } as const;
export type CallClass = keyof typeof CLASSES;
/** Words of classes begin with a private character, so they are no words of a text. */
export const MARK = "\uE000";
/** A longer value is compared with the entry itself. */
export const MAX_CLASS_LENGTH = 100;

/** The word that an answered entry of this class has. The value is in hexadecimal: it may have any characters. */
export function classWord(name: CallClass, value: string): string {
  const start = Array.from(value).slice(0, MAX_CLASS_LENGTH).join("");
  return `${MARK}${CLASSES[name]}${Buffer.from(start).toString("hex")}`;
}

function outcomeOf(status: string): string {
  return status === "unknown" ? "failed" : status;
}

/** How an answered entry ended, as lists show it. `code`: the expression of its error code. */
export function outcomeExpression({ errorCode }: Pick<AuditWords, "errorCode">, code = errorCode): string {
  const denied = DENIALS.map((each) => `'${each}'`).join(", ");
  return (
    `CASE WHEN status <> 'failed' THEN status WHEN ${code} IN (${denied}) THEN 'denied' ` +
    `WHEN ${code} = 'unknown_outcome' THEN 'unknown' ELSE status END`
  );
}

const DENIALS = Object.keys(ERROR_CODES).filter((code) => failedState(code) === "denied");

/** The risk as the entry has it. A call that only reads has none there: its risk is low. */
function classWordsOf(row: IndexedRow): string[] {
  if (row.status === null) return [];
  const data = parseData(row.data);
  const { risk, toolKind } = (isObject(data) ? data : {}) as { risk?: unknown; toolKind?: unknown };
  const values: Record<CallClass, unknown> = {
    tool: row.tool,
    session: row.session,
    agent: row.agent,
    user: row.caller_user,
    outcome: outcomeOf(row.status),
    risk: risk ?? (toolKind === "readonly" ? "low" : undefined),
    kind: toolKind,
  };
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === "string" ? [classWord(name as CallClass, value)] : [],
  );
}

/** The values of an entry that are searched, not their names. Numbers of the entry itself are times and sizes. */
function textOf({ tool, call_id, data }: IndexedRow): string {
  const found = [tool ?? "", call_id ?? ""];
  const add = (value: unknown): void => {
    if (typeof value === "string" || typeof value === "number") found.push(String(value));
    else if (Array.isArray(value)) value.forEach(add);
    else if (isObject(value)) Object.values(value).forEach(add);
  };
  const value = parseData(data);
  if (!isObject(value)) return [...found, data].join(" ");
  for (const [name, each] of Object.entries(value)) if (name !== "definition" && typeof each !== "number") add(each);
  return found.join(" ");
}

export function parseData(data: string | null): unknown {
  try {
    return JSON.parse(data ?? "");
  } catch {
    // Altered: `verify` reports it.
    return undefined;
  }
}

/** The columns of `IndexedRow` that are those of the entry. */
export const ENTRY_COLUMNS = "seq, at, kind, tool, status, verdict, call_id, session, agent, caller_user";

/** All words of an entry: of its text and of its classes. */
export function entryWordsOf(row: IndexedRow): string[] {
  return [...wordsOf(textOf(row)), ...classWordsOf(row)];
}

/** One letter begins too many words: it is searched as a word. */
export function isPrefix(word: string): boolean {
  return word.length > 1;
}
