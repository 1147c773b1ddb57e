import { expect, test } from "vitest";
import { OTHER_PERSONAS } from "../../../../bench/other-personas.mjs";
import { PERSONAS, workOf } from "../../../../bench/personas.mjs";
import { RuleSet } from "../rules/rule-set.ts";
import { openTools } from "./history-tools.fixture.ts";
import { type AnsweredCall, ATTACKS, suggestPolicy } from "./suggest.ts";

// The first four were written before the suggester, the others before it was changed for them.
const personas = { ...PERSONAS, ...OTHER_PERSONAS };
test.each(Object.keys(personas))(
  "what is learned from the first half of the work of the %s saves the questions of the second half, and allows nothing else",
  async (name) => {
    const { folder, toolOf, rules, digest, decide } = openTools();
    const work = workOf(name, { calls: 5000, seed: 3, personas });
    const asked = work.filter(({ tool, input }) => decide(rules, tool, input) === "ask");
    const half = asked.filter(({ id }) => Number(id.split("-").at(-1)) < 2500);
    const rest = asked.filter(({ id }) => Number(id.split("-").at(-1)) >= 2500);
    const calls = half.map(({ id, at, session, user, tool, input, isTainted, answer }): AnsweredCall => ({
      ...{ callId: id, toolName: tool, at, session, user, answer },
      digest: digest(tool, input, isTainted),
    }));
    const proposals = await suggestPolicy(calls, { rules, cwd: folder, toolOf });
    const accepted = new RuleSet([{ origin: "accepted", allow: proposals.flatMap((each) => each.rules) }]);
    const allowed = rest.filter(({ tool, input }) => decide(accepted, tool, input) === "allow");
    const yes = rest.filter(({ answer }) => answer === "yes");
    const share = allowed.filter(({ answer }) => answer === "yes").length / yes.length;
    expect(allowed.filter(({ answer }) => answer === "no")).toEqual([]);
    for (const [tool, input] of ATTACKS) expect([input, decide(accepted, tool, input)]).not.toEqual([input, "allow"]);
    expect(share).toBeGreaterThanOrEqual(0.8);
  },
  300_000,
);
