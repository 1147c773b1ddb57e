import type { Caller, Verdict } from "../../core/call.ts";
import type { CompiledRule } from "./rules/compile-rule.ts";
import { type JudgedCall, RuleSet } from "./rules/rule-set.ts";

interface Grants {
  rules: string[];
  /** The book with these rules in it, and of which state of the book it was made. */
  ruleSet?: { of: readonly CompiledRule[]; with: RuleSet };
}

/** Who has made a call, as far as a grant is for them: a session's name alone is what anybody may say. */
type Grantee = Pick<Caller, "session" | "user" | "agent">;

/**
 * What a person has allowed until a session ends. Kept in memory: nothing of it outlives the runtime. Calls that name no
 * session share what is granted to one of them.
 */
export class SessionGrants {
  readonly #sessions = new Map<string, Grants>();
  readonly #ruleSet: RuleSet;

  constructor(ruleSet: RuleSet) {
    this.#ruleSet = ruleSet;
  }

  /** Throws a TypeError where it is no rule. */
  add(rule: string, to: Grantee): void {
    new RuleSet().add(rule, "allow", "session");
    const key = keyOf(to);
    const grants = this.#sessions.get(key) ?? { rules: [] };
    if (!grants.rules.includes(rule)) grants.rules.push(rule);
    delete grants.ruleSet;
    this.#sessions.set(key, grants);
  }

  judge(call: JudgedCall, by: Grantee): Verdict {
    const ruleSet = this.ruleSetOf(by);
    const verdict = ruleSet.judge(call);
    const isGranted =
      ruleSet !== this.#ruleSet && verdict.by === "rule" && verdict.origin?.includes("session") === true;
    return isGranted ? { ...verdict, by: "grant" } : verdict;
  }

  /** The rules that hold for a caller: everybody's, and what was granted to this one. */
  ruleSetOf(caller: Partial<Grantee>): RuleSet {
    const grants = this.#sessions.get(keyOf(caller));
    if (!grants) return this.#ruleSet;
    const of = this.#ruleSet.compiled();
    if (grants.ruleSet?.of !== of) {
      const sources = [...this.#ruleSet.sources(), { origin: "session", allow: grants.rules }];
      grants.ruleSet = { of, with: new RuleSet(sources) };
    }
    return grants.ruleSet.with;
  }
}

function keyOf({ session, user, agent }: Partial<Grantee>): string {
  return JSON.stringify([session, user, agent]);
}
