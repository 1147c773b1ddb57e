// The judge alone, with real rules and grants. The other parties of a verdict are arguments.
import { expect, test } from "vitest";
import { z } from "zod";
import type { Call, Verdict } from "../../core/call.ts";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { RuleSet } from "./rules/rule-set.ts";
import type { RuleSource } from "./rules/rule.ts";
import { createJudge, type JudgeOptions, stricter, wouldAllow } from "./verdict.ts";

const make = (more: object = {}): AnyTool =>
  createTool({
    ...{ name: "remove", description: "Removes", kind: "write", parameters: z.object({ path: z.string().optional() }) },
    ...{ permission: "auto", run: () => "removed", ...more },
  } as never);
const tool = make();
const verdict = (decision: Verdict["decision"], by: Verdict["by"] = "hook"): Verdict => ({ decision, by, reason: by });

interface Parties extends Partial<Omit<JudgeOptions, "rules" | "hooks" | "provenance">> {
  rules?: Omit<RuleSource, "origin">;
  /** The verdicts of the other parties. */
  hook?: Verdict;
  beforeApproval?: () => Verdict | undefined | Promise<Verdict | undefined>;
  provenance?: Verdict | Promise<Verdict>;
  canLabel?: boolean;
}

function optionsOf({
  rules = {},
  hook,
  beforeApproval,
  provenance,
  canLabel = provenance !== undefined,
  ...more
}: Parties) {
  const ruleSet = new RuleSet([{ origin: "user", ...rules }]);
  const options: JudgeOptions = {
    ...{ rules: ruleSet, cwd: "/", ...more },
    hooks:
      hook || beforeApproval
        ? {
            verdictOf: () => hook,
            judges: () => hook !== undefined,
            beforeApproval: beforeApproval ?? (() => undefined),
          }
        : undefined,
    provenance: {
      verdictOf: () => provenance as Verdict,
      mayJudge: () => false,
      taint: { canLabel: () => canLabel },
    },
  };
  return { options, ruleSet };
}

function open(parties: Parties = {}) {
  const { options, ...parts } = optionsOf(parties);
  return { ...parts, options, ...createJudge(options) };
}

const makeCall = (more: Partial<Call> = {}): Call =>
  ({ id: "c", tool, input: {}, caller: { depth: 0 }, options: {}, ...more }) as Call;
const decide = async (parties: Parties, call: Call = makeCall()) => (await open(parties).judge(call)).decision;

test("the strictest of rules, hooks, taint and reviews decides, whichever it is", async () => {
  const decisions = ["allow", "ask", "deny"] as const;
  for (const byRules of decisions) {
    for (const byHook of decisions) {
      for (const byTaint of decisions) {
        const strictest = decisions[Math.max(...[byRules, byHook, byTaint].map((each) => decisions.indexOf(each)))];
        const rules = { [byRules]: ["remove"] };
        const parties = { rules, hook: verdict(byHook), provenance: verdict(byTaint, "provenance") };
        expect(await decide(parties)).toBe(strictest);
        expect(await decide({ ...parties, provenance: Promise.resolve(parties.provenance) })).toBe(strictest);
      }
    }
  }
  expect(await decide({ requiresApproval: () => "New" })).toBe("ask");
  expect(await decide({ requiresApproval: () => undefined })).toBe("allow");
  expect(await decide({ rules: { deny: ["remove"] }, requiresApproval: () => "New" })).toBe("deny");
  // Nobody else is waited for when a rule denies.
  const provenance = Promise.resolve(verdict("ask", "provenance"));
  expect(open({ rules: { deny: ["remove"] }, provenance }).judge(makeCall())).toMatchObject({ decision: "deny" });
  expect(open({ requiresApproval: () => "New" }).judge(makeCall())).toEqual(
    expect.objectContaining({ decision: "ask", by: "policy", reason: "New" }),
  );
});

test("of two equally strict verdicts the first counts, but any reason counts more than the tool's own ask", () => {
  for (const decision of ["allow", "ask", "deny"] as const) {
    expect(stricter(verdict(decision, "rule"), verdict(decision, "hook")).by).toBe("rule");
    expect(stricter(verdict(decision, "tool"), verdict(decision, "hook")).by).toBe(
      decision === "ask" ? "hook" : "tool",
    );
  }
  const ask = verdict("ask");
  expect(stricter(ask, undefined)).toBe(ask);
  expect(stricter(verdict("deny", "tool"), ask).decision).toBe("deny");
});

test("a verdict on all calls is given only if nothing can depend on the call", () => {
  const allowed = open().allowsAll(tool);
  expect(allowed).toMatchObject({ decision: "allow" });
  expect(Object.isFrozen(allowed)).toBe(true);
  expect(open({ requiresApproval: () => undefined }).allowsAll(tool)).toBeUndefined();
  expect(open({ hook: verdict("allow") }).allowsAll(tool)).toBeUndefined();
  expect(open({ beforeApproval: () => undefined }).allowsAll(tool)).toBeDefined();
  expect(open({ canLabel: true }).allowsAll(tool)).toBeUndefined();
  expect(open({ rules: { deny: ["remove"] } }).allowsAll(tool)).toBeUndefined();
  expect(open({ rules: { ask: ["remove"] } }).allowsAll(tool)).toBeUndefined();
  expect(open().allowsAll(make({ permission: () => "auto" }))).toBeUndefined();
});

test("a verdict on all calls is kept until a rule or a grant changes", () => {
  const { allowsAll, ruleSet, changes } = open();
  const first = allowsAll(tool);
  expect(allowsAll(tool)).toBe(first);
  expect(changes).toEqual([ruleSet.changes]);
  ruleSet.add("remove", "deny", "user");
  expect(allowsAll(tool)).toBeUndefined();
});

test("a call without a mode uses the verdict on all calls, and another one is judged itself", async () => {
  const { judge, allowsAll } = open();
  const all = allowsAll(tool);
  expect(judge(makeCall())).toBe(all);
  expect(judge(makeCall({ options: { mode: "default" } } as never))).not.toBe(all);
  expect(await decide({}, makeCall({ options: { mode: "plan" } } as never))).toBe("deny");
});

test("the second pass of a call keeps its verdict, but not against a denial", async () => {
  const secondPass = { kind: "job", id: "j", verdict: verdict("ask", "rule") } as const;
  const call = makeCall({ secondPass });
  expect(await open().judge(call)).toBe(secondPass.verdict);
  expect(await open({ rules: { ask: ["remove"] } }).judge(call)).toBe(secondPass.verdict);
  expect(await decide({ rules: { deny: ["remove"] } }, call)).toBe("deny");
  expect(await decide({ hook: verdict("deny") }, call)).toBe("deny");
  expect(await decide({ provenance: verdict("deny", "provenance") }, call)).toBe("deny");
});

test("in the mode dontAsk what would be asked is denied", async () => {
  const rules = { defaultMode: "dontAsk" } as const;
  expect(await decide({ rules })).toBe("allow");
  expect(await decide({ rules, requiresApproval: () => "New" })).toBe("deny");
  expect(await decide({ rules, provenance: verdict("ask", "provenance") })).toBe("deny");
  expect(
    await decide({}, makeCall({ options: { mode: "dontAsk" }, tool: make({ permission: "confirm" }) } as never)),
  ).toBe("deny");
});

test("hooks before a question run only if there is one, once for each call, and can only be stricter", async () => {
  let runs = 0;
  const answer = (decision: Verdict["decision"]) => () => {
    runs++;
    return verdict(decision);
  };
  const rules = { ask: ["remove"] };
  for (const decision of ["allow", "ask", "deny"] as const) {
    for (const beforeApproval of [answer(decision), async () => answer(decision)()]) {
      expect(await decide({ rules, beforeApproval })).toBe(decision === "deny" ? "deny" : "ask");
    }
  }
  runs = 0;
  expect(await decide({ beforeApproval: answer("deny") })).toBe("allow");
  const ownMode = makeCall({ options: { mode: "default" } } as never);
  expect(await decide({ beforeApproval: answer("deny") }, ownMode)).toBe("allow");
  expect(await decide({ hook: verdict("deny"), beforeApproval: answer("ask") })).toBe("deny");
  expect(await decide({ rules: { deny: ["remove"] }, beforeApproval: answer("deny") })).toBe("deny");
  expect(runs).toBe(0);
  const { judge } = open({ rules, beforeApproval: answer("ask") });
  const call = makeCall();
  await judge(call);
  await judge(call);
  expect(runs).toBe(1);
});

test("a tool that says later what it needs is waited for, and the others still count", async () => {
  const slow = make({ permission: async () => "auto" });
  const clock = createFakeClock();
  const call = () => makeCall({ tool: slow });
  expect(await decide({ clock }, call())).toBe("allow");
  expect(await decide({ clock, provenance: verdict("ask", "provenance") }, call())).toBe("ask");
  expect(clock.pendingTimers).toBe(0);
});

test("rules would allow a call only if nothing else asks, and hooks before a question do not run for it", async () => {
  const asks = makeCall({ tool: make({ permission: "confirm" }) });
  const allows = (rules: readonly string[], parties: Parties = {}) =>
    wouldAllow(rules, asks, optionsOf(parties).options);
  expect(await allows(["remove"])).toBe(true);
  expect(await allows([])).toBe(false);
  expect(await wouldAllow([], makeCall(), optionsOf({}).options)).toBe(false);
  expect(await allows(["other"])).toBe(false);
  expect(await allows(["remove"], { rules: { ask: ["remove"] } })).toBe(false);
  expect(await allows(["remove"], { rules: { deny: ["remove"] } })).toBe(false);
  expect(await allows(["remove"], { hook: verdict("ask") })).toBe(false);
  expect(await allows(["remove"], { hook: verdict("allow") })).toBe(true);
  expect(await allows(["remove"], { provenance: verdict("ask", "provenance") })).toBe(false);
  expect(await allows(["remove"], { requiresApproval: () => "New" })).toBe(false);
  let runs = 0;
  const beforeApproval = (): undefined => {
    runs++;
  };
  expect(await allows(["remove"], { rules: { ask: ["remove"] }, beforeApproval })).toBe(false);
  expect(runs).toBe(0);
});
