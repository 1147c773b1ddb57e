import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";
import type { LintFinding, Page, Verdict } from "../wire.ts";

export const policy: Resource<ApiContext> = {
  path: "/api/policy",
  routes({ parts: { policy: part, rules } }) {
    const effect = rules && [
      route("GET /api/policy/effect", {
        summary: "What one more rule would have meant for past calls",
        scope: "read",
        query: [
          { name: "rule", summary: "As it would be written" },
          { name: "decision", summary: "allow, ask or deny; allow where absent" },
        ],
        answers: "RuleEffect",
        async handle({ query }) {
          const rule = query.text("rule");
          const decision = query.text("decision") ?? "allow";
          if (rule === undefined || !["allow", "ask", "deny"].includes(decision)) {
            throw new HttpError(
              "bad_request",
              "Which rule, with which decision?",
              "Send `rule`, and `decision` as allow, ask or deny.",
            );
          }
          return json(await rules.effect(rule, decision as Verdict["decision"]));
        },
      }),
    ];
    const all = part && [
      route("GET /api/policy", {
        summary: "The rules in force, with where each comes from",
        scope: "read",
        answers: "PolicyInfo",
        handle: async () => json(await part.show()),
      }),
      route("POST /api/policy/explain", {
        summary: "What would happen to a call, and why; nothing runs",
        scope: "read",
        body: "ExplainRequest",
        answers: "Explanation",
        handle: async ({ body, identity }) => json(await part.explain(body, identity.name)),
      }),
      route("GET /api/policy/lint", {
        summary: "What in the rules is probably a mistake",
        scope: "read",
        answers: "LintPage",
        handle: async () => json({ items: await part.lint() } satisfies Page<LintFinding>),
      }),
      route("POST /api/policy/simulate", {
        summary: "Past calls under other rules; nothing is changed",
        scope: "read",
        body: "SimulateRequest",
        answers: "Simulation",
        handle: async ({ body }) => json(await part.simulate(body)),
      }),
    ];
    return [...(all ?? []), ...(effect ?? [])];
  },
};
