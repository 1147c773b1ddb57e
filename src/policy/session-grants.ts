import type { Call, Verdict } from "../core/call.ts";
import type { CompiledRule } from "./rules/compiled-rule.ts";
import { type JudgedCall, RuleBook } from "./rules/rule-book.ts";

/** Of calls that name no session: what is granted to one of them is granted to all, until the runtime ends. */
const NO_SESSION = "";

interface Grants {
  rules: string[];
  /** The book with these rules in it, and of which state of the book it was made. */
  book?: { of: readonly CompiledRule[]; with: RuleBook };
}

/** What a person has allowed until a session ends. Kept in memory: nothing of it outlives the runtime. */
export class SessionGrants {
  readonly #sessions = new Map<string, Grants>();
  readonly #book: RuleBook;

  constructor(book: RuleBook) {
    this.#book = book;
  }

  /** Throws a TypeError where it is no rule. */
  add(rule: string, { caller }: Pick<Call, "caller">): void {
    new RuleBook().add(rule, "allow", "session");
    const key = caller.session ?? NO_SESSION;
    const grants = this.#sessions.get(key) ?? { rules: [] };
    if (!grants.rules.includes(rule)) grants.rules.push(rule);
    delete grants.book;
    this.#sessions.set(key, grants);
  }

  end(session: string): void {
    this.#sessions.delete(session);
  }

  rulesOf(session: string | undefined): readonly string[] {
    return this.#sessions.get(session ?? NO_SESSION)?.rules ?? [];
  }

  judge(call: JudgedCall, session: string | undefined): Verdict {
    const book = this.bookOf(session);
    const verdict = book.judge(call);
    const isGranted = book !== this.#book && verdict.by === "rule" && verdict.origin?.includes("session") === true;
    return isGranted ? { ...verdict, by: "grant" } : verdict;
  }

  /** The rules that hold in a session: everybody's, and what was granted in it. */
  bookOf(session: string | undefined): RuleBook {
    const grants = this.#sessions.get(session ?? NO_SESSION);
    if (!grants) return this.#book;
    const of = this.#book.compiled();
    if (grants.book?.of !== of) {
      const sources = [...this.#book.sources(), { origin: "session", allow: grants.rules }];
      grants.book = { of, with: new RuleBook(sources) };
    }
    return grants.book.with;
  }
}
