import { z } from "zod";
import { CallMode, Count, Decision, Name, page, Text, Time, Verdict } from "./basics.ts";
import { endpoint, named } from "./contract.ts";

export const RuleInfo = named(
  "RuleInfo",
  z.strictObject({
    rule: z.string(),
    decision: Decision,
    /** The file or layer of the rule. */
    origin: z.string(),
    line: Count.optional(),
    /** `session`: until the session ends. */
    lasts: z.enum(["always", "session"]).optional(),
  }),
);
export type RuleInfo = z.infer<typeof RuleInfo>;

const patterns = z.array(z.string()).optional();
export const PolicyInfo = named(
  "PolicyInfo",
  z.strictObject({
    /** In the order in which they apply. */
    rules: z.array(RuleInfo),
    /** Which tools exist, layer by layer. */
    layers: z.array(
      z.strictObject({
        origin: z.string(),
        profile: z.string().optional(),
        allow: patterns,
        alsoAllow: patterns,
        deny: patterns,
      }),
    ),
    mode: CallMode,
  }),
);
export type PolicyInfo = z.infer<typeof PolicyInfo>;

export const ExplainRequest = named(
  "ExplainRequest",
  z.strictObject({
    tool: Name,
    input: z.unknown().optional(),
    mode: CallMode.optional(),
    session: Name.optional(),
  }),
);
export type ExplainRequest = z.infer<typeof ExplainRequest>;

export const Explanation = named(
  "Explanation",
  z.strictObject({
    verdict: Verdict,
    /** Everything that was evaluated, in order. */
    steps: z.array(
      z.strictObject({
        by: z.string(),
        decision: z.enum(["allow", "ask", "deny", "none"]),
        reason: z.string(),
        rule: z.string().optional(),
        origin: z.string().optional(),
      }),
    ),
  }),
);
export type Explanation = z.infer<typeof Explanation>;

export const LintFinding = named(
  "LintFinding",
  z.strictObject({
    level: z.enum(["error", "warning"]),
    message: z.string(),
    rule: z.string().optional(),
    origin: z.string().optional(),
    line: Count.optional(),
  }),
);
export type LintFinding = z.infer<typeof LintFinding>;

export const SimulateRequest = named(
  "SimulateRequest",
  z.strictObject({
    add: z
      .array(z.strictObject({ rule: Text, decision: Decision }))
      .max(500)
      .optional(),
    remove: z.array(Text).max(500).optional(),
    /** The number of past calls, newest first. Default: 200. */
    calls: z.number().int().min(1).max(10_000).optional(),
  }),
);
export type SimulateRequest = z.infer<typeof SimulateRequest>;

/** Past calls with other decisions under the changed rules. */
export const Simulation = named(
  "Simulation",
  z.strictObject({
    judged: Count,
    changed: z.array(
      z.strictObject({
        callId: z.string(),
        toolName: z.string(),
        display: z.string(),
        before: Verdict,
        after: Verdict,
      }),
    ),
  }),
);
export type Simulation = z.infer<typeof Simulation>;

export const RuleEffect = named(
  "RuleEffect",
  z.strictObject({
    rule: z.string(),
    judged: Count,
    matched: Count,
    samples: z.array(z.strictObject({ callId: z.string(), toolName: z.string(), display: z.string(), at: Time })),
    /** Why the rule cannot be saved. */
    problem: z.string().optional(),
  }),
);
export type RuleEffect = z.infer<typeof RuleEffect>;

export const policy = {
  show: endpoint("GET /api/policy", {
    summary: "The active rules, each with its origin",
    scope: "read",
    output: PolicyInfo,
  }),
  explain: endpoint("POST /api/policy/explain", {
    summary: "What would happen to a call, and why; nothing runs",
    scope: "read",
    body: ExplainRequest,
    output: Explanation,
  }),
  lint: endpoint("GET /api/policy/lint", {
    summary: "Probable mistakes in the rules",
    scope: "read",
    output: page("LintPage", LintFinding),
  }),
  simulate: endpoint("POST /api/policy/simulate", {
    summary: "Past calls under other rules; nothing is changed",
    scope: "read",
    body: SimulateRequest,
    output: Simulation,
  }),
  effect: endpoint("GET /api/policy/effect", {
    summary: "What one more rule would have meant for past calls",
    scope: "read",
    query: z.strictObject({
      rule: z.string().describe("As it would be written"),
      decision: Decision.optional().describe("Default: allow"),
    }),
    output: RuleEffect,
  }),
};
