import type { Caller, Verdict } from "../../core/call.ts";
import { ChangeCounter } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { CompiledRule } from "./rules/compile-rule.ts";
import { type JudgedCall, RuleSet } from "./rules/rule-set.ts";

interface Grants {
  rules: string[];
  /** The rule set with these rules, and the version that it was made from. */
  ruleSet?: { of: readonly CompiledRule[]; with: RuleSet };
}

/** The key of a grant: the caller and the session, because any caller may claim a session's name. */
type Grantee = Pick<Caller, "session" | "user" | "agent">;

/**
 * What a person has allowed until a session ends, in memory only. Calls without
 * a session share their grants.
 */
export class SessionGrants {
  /** Of the rules and the grants. */
  readonly changes: readonly ChangeCounter[];
  readonly #added = new ChangeCounter();
  readonly #sessions = new Map<string, Grants>();
  readonly #ruleSet: RuleSet;

  constructor(ruleSet: RuleSet) {
    this.#ruleSet = ruleSet;
    this.changes = [ruleSet.changes, this.#added];
  }

  /** Throws a TypeError if it is not a rule. */
  add(rule: string, to: Grantee): void {
    new RuleSet().add(rule, "allow", "session");
    this.#added.count++;
    const key = keyOf(to);
    const grants = this.#sessions.get(key) ?? { rules: [] };
    if (!grants.rules.includes(rule)) grants.rules.push(rule);
    delete grants.ruleSet;
    this.#sessions.set(key, grants);
  }

  /** All grants, for people. */
  list(): (Partial<Grantee> & { rule: string })[] {
    return [...this.#sessions].flatMap(([key, { rules }]) => {
      const [session, user, agent] = JSON.parse(key) as (string | null)[];
      const of = { session: session ?? undefined, user: user ?? undefined, agent: agent ?? undefined };
      return rules.map((rule) => ({ rule, ...of }));
    });
  }

  /** Removes a rule from every caller of the session, or replaces it; false if none has it. */
  remove(rule: string, session: string | undefined, to?: string): boolean {
    if (to !== undefined) new RuleSet().add(to, "allow", "session");
    let isRemoved = false;
    for (const [key, grants] of this.#sessions) {
      const [of] = JSON.parse(key) as (string | null)[];
      if ((of ?? undefined) !== session || !grants.rules.includes(rule)) continue;
      const others = grants.rules.filter((text) => text !== rule && text !== to);
      grants.rules = to === undefined ? others : [...others, to];
      delete grants.ruleSet;
      if (grants.rules.length === 0) this.#sessions.delete(key);
      isRemoved = true;
    }
    if (isRemoved) this.#added.count++;
    return isRemoved;
  }

  /** The rules' verdict on every call of the tool. Undefined if it depends on the call. */
  verdictOnAll(tool: AnyTool, cwd: string): Verdict | undefined {
    return this.#sessions.size === 0 ? this.#ruleSet.verdictOnAll(tool, cwd) : undefined;
  }

  judge(call: JudgedCall, by: Grantee): Verdict {
    const ruleSet = this.ruleSetOf(by);
    const verdict = ruleSet.judge(call);
    const isGranted =
      ruleSet !== this.#ruleSet && verdict.by === "rule" && verdict.origin?.includes("session") === true;
    return isGranted ? { ...verdict, by: "grant" } : verdict;
  }

  /** The rules for a caller: the common ones and its own grants. */
  ruleSetOf(caller: Partial<Grantee>): RuleSet {
    // Most runtimes have no grants: making the key of an empty map was a tenth of the time of a call.
    const grants = this.#sessions.size === 0 ? undefined : this.#sessions.get(keyOf(caller));
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
