import type { Caller, Verdict } from "../core/call.ts";
import type { CompiledRule } from "./rules/compiled-rule.ts";
import { type JudgedCall, RuleBook } from "./rules/rule-book.ts";

interface Grants {
  rules: string[];
  /** The book with these rules in it, and of which state of the book it was made. */
  book?: { of: readonly CompiledRule[]; with: RuleBook };
}

/** Who has made a call, as far as a grant is for them: a session's name alone is what anybody may say. */
type Grantee = Pick<Caller, "session" | "user" | "agent">;

/**
 * What a person has allowed until a session ends. Kept in memory: nothing of it outlives the runtime. Calls that name no
 * session share what is granted to one of them.
 */
export class SessionGrants {
  readonly #sessions = new Map<string, Grants>();
  readonly #book: RuleBook;

  constructor(book: RuleBook) {
    this.#book = book;
  }

  /** Throws a TypeError where it is no rule. */
  add(rule: string, to: Grantee): void {
    new RuleBook().add(rule, "allow", "session");
    const key = keyOf(to);
    const grants = this.#sessions.get(key) ?? { rules: [] };
    if (!grants.rules.includes(rule)) grants.rules.push(rule);
    delete grants.book;
    this.#sessions.set(key, grants);
  }

  judge(call: JudgedCall, by: Grantee): Verdict {
    const book = this.bookOf(by);
    const verdict = book.judge(call);
    const isGranted = book !== this.#book && verdict.by === "rule" && verdict.origin?.includes("session") === true;
    return isGranted ? { ...verdict, by: "grant" } : verdict;
  }

  /** The rules that hold for a caller: everybody's, and what was granted to this one. */
  bookOf(caller: Partial<Grantee>): RuleBook {
    const grants = this.#sessions.get(keyOf(caller));
    if (!grants) return this.#book;
    const of = this.#book.compiled();
    if (grants.book?.of !== of) {
      const sources = [...this.#book.sources(), { origin: "session", allow: grants.rules }];
      grants.book = { of, with: new RuleBook(sources) };
    }
    return grants.book.with;
  }
}

function keyOf({ session, user, agent }: Partial<Grantee>): string {
  return JSON.stringify([session, user, agent]);
}
