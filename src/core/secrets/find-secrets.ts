import { OWN_RULES, type OwnRule } from "./own-rules.ts";
import { GITLEAKS_RULES } from "./rule-data.ts";

/** A part of a text: from its first character to the one after its last. */
export type Span = readonly [from: number, to: number];

/** The secrets that a text contains, by their shape. In time linear in its length, whatever it contains. */
export function findSecrets(text: string): Span[] {
  if (text.length < 8) return [];
  const found: Span[] = [];
  index ??= buildIndex();
  if (text.includes("PRIVATE KEY"))
    for (const { 0: key, index: at } of text.matchAll(PRIVATE_KEY)) found.push([at, at + key.length]);
  for (const rule of index.always) rule.search(text, [0, text.length], found);
  for (const [rule, windows] of keywordWindows(text, index))
    for (let at = 0; at < windows.length; at += 2)
      rule.search(text, [windows[at] as number, Math.min(windows[at + 1] as number, text.length)], found);
  return found;
}

/** To its last line, or to the end of the text. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[^-\n]{0,20}-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^-\n]{0,20}-----|$)/g;

/** How far a secret reaches around a keyword. A longer one is followed to its end. */
const BEFORE = 100;
const AFTER = 500;

/** The text without the parts, each shown as `[hidden]`. */
export function hideSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let shown = "";
  let done = 0;
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (to <= done) continue;
    // Of two that overlap, the second continues the first.
    if (from >= done) shown += `${text.slice(done, from)}[hidden]`;
    done = to;
  }
  return shown + text.slice(done);
}

class Rule {
  readonly #rule: OwnRule;
  #pattern: RegExp | undefined;

  constructor(rule: OwnRule) {
    this.#rule = rule;
  }

  /** Adds what it finds in a part of the text. */
  search(text: string, [from, to]: Span, found: Span[]): void {
    // Compiled when a text first has its keyword: a process meets few of them.
    this.#pattern ??= new RegExp(this.#rule.pattern, "gd");
    const part = from === 0 && to === text.length ? text : text.slice(from, to);
    const { entropy = 0, isToken = false } = this.#rule;
    this.#pattern.lastIndex = 0;
    for (let match = this.#pattern.exec(part); match; match = this.#pattern.exec(part)) {
      const [start, end] = match.indices?.find((span, group) => group > 0 && span) ?? match.indices?.[0] ?? [0, 0];
      const secret = part.slice(start, end);
      if (isPlaceholder(secret) || (entropy > 0 && entropyOf(secret) < entropy) || (isToken && !hasRandomPart(secret)))
        continue;
      found.push([from + start, end === part.length ? endOfToken(text, from + end) : from + end]);
    }
  }
}

/** Where a token ends that was cut at a limit: only such a one goes on without a separator. */
export function endOfToken(text: string, at: number): number {
  TOKEN.lastIndex = at;
  return at + (TOKEN.exec(text)?.[0].length ?? 0);
}

const TOKEN = /[\w.~+/=%-]*/y;

/** What stands for a value that is not there: a variable, a template, `<token>`, `***`. */
export function isPlaceholder(value: string): boolean {
  return /^(?:\$(?:[({]|[A-Za-z_]\w*$)|[<{%[*#@]|\.\.\.|…)|\$\{|\{\{|^(.)\1*$|^(?:your|my|some|example)[_-]|hidden\]/i.test(
    value,
  );
}

/** Words joined by separators have neither a long run of letters nor one with digits in it. */
export function hasRandomPart(token: string): boolean {
  return (token.match(/[A-Za-z0-9]{8,}/g) ?? []).some((run) => run.length >= 20 || /\d/.test(run));
}

/** Bits per character, of the first hundred. */
export function entropyOf(text: string): number {
  const length = Math.min(text.length, 100);
  const counts = new Uint8Array(128);
  for (let at = 0; at < length; at++) counts[text.charCodeAt(at) & 127]!++;
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / length) * Math.log2(count / length);
  return bits;
}

interface Index {
  always: Rule[];
  /** For the first two characters of a text, which of `keywords` may begin there; 0 if none. */
  pairs: Uint16Array;
  keywords: readonly (readonly Keyword[])[];
}

interface Keyword {
  text: string;
  rules: Rule[];
}

let index: Index | undefined;

function buildIndex(): Index {
  const keywords = new Map<string, Keyword>();
  const always: Rule[] = [];
  const gitleaks = GITLEAKS_RULES.map(([, words, pattern, entropy]) => ({ keywords: words, pattern, entropy }));
  for (const each of [...OWN_RULES, ...gitleaks]) {
    const rule = new Rule(each);
    if (each.keywords.length === 0) always.push(rule);
    for (const text of each.keywords) {
      const keyword = keywords.get(text) ?? { text, rules: [] };
      keyword.rules.push(rule);
      keywords.set(text, keyword);
    }
  }
  const pairs = new Uint16Array(128 * 128);
  const lists: Keyword[][] = [[]];
  for (const keyword of keywords.values()) {
    const pair = keyword.text.charCodeAt(0) * 128 + keyword.text.charCodeAt(1);
    pairs[pair] ||= lists.push([]) - 1;
    lists[pairs[pair]]?.push(keyword);
  }
  return { always, pairs, keywords: lists };
}

/** For each rule the parts of the text around its keywords, joined where they touch, as pairs of places. */
function keywordWindows(text: string, { pairs, keywords }: Index): Map<Rule, number[]> {
  const windows = new Map<Rule, number[]>();
  let before = foldedAt(text, 0);
  for (let at = 1; at < text.length; at++) {
    const code = foldedAt(text, at);
    const list = pairs[before * 128 + code] ?? 0;
    before = code;
    if (list === 0) continue;
    for (const keyword of keywords[list] ?? []) {
      if (startsWith(text, keyword.text, at - 1)) for (const rule of keyword.rules) widen(windows, rule, at);
    }
  }
  return windows;
}

function widen(windows: Map<Rule, number[]>, rule: Rule, at: number): void {
  const known = windows.get(rule);
  if (known === undefined) windows.set(rule, [Math.max(0, at - BEFORE), at + AFTER]);
  else if (at - BEFORE <= (known[known.length - 1] as number)) known[known.length - 1] = at + AFTER;
  else known.push(at - BEFORE, at + AFTER);
}

function startsWith(text: string, keyword: string, at: number): boolean {
  for (let i = 2; i < keyword.length; i++) if (foldedAt(text, at + i) !== keyword.charCodeAt(i)) return false;
  return true;
}

/** The code of a character, of a letter in lower case; 0 if it is not ASCII. */
function foldedAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 65 && code <= 90) return code + 32;
  return code < 128 ? code : 0;
}
