import { z } from "zod";
import type * as wire from "../wire.ts";
import { Decision, Mode, Verdict, any, count, name, text, time, typed } from "./basics.ts";

const RuleInfo = typed<wire.RuleInfo>(
  z.strictObject({
    rule: z.string(),
    decision: Decision,
    origin: z.string(),
    line: count.optional(),
    lasts: z.enum(["always", "session"]).optional(),
  }),
);
const stringList = z.array(z.string()).optional();
export const PolicyInfo = typed<wire.PolicyInfo>(
  z.strictObject({
    rules: z.array(RuleInfo),
    layers: z.array(
      z.strictObject({
        origin: z.string(),
        profile: z.string().optional(),
        allow: stringList,
        alsoAllow: stringList,
        deny: stringList,
      }),
    ),
    mode: Mode,
  }),
);
export const ExplainRequest = typed<wire.ExplainRequest>(
  z.strictObject({ tool: name, input: any.optional(), mode: Mode.optional(), session: name.optional() }),
);
export const Explanation = typed<wire.Explanation>(
  z.strictObject({
    verdict: Verdict,
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
export const LintFinding = typed<wire.LintFinding>(
  z.strictObject({
    level: z.enum(["error", "warning"]),
    message: z.string(),
    rule: z.string().optional(),
    origin: z.string().optional(),
    line: count.optional(),
  }),
);
export const SimulateRequest = typed<wire.SimulateRequest>(
  z.strictObject({
    add: z
      .array(z.strictObject({ rule: text, decision: Decision }))
      .max(500)
      .optional(),
    remove: z.array(text).max(500).optional(),
    calls: z.number().int().min(1).max(10_000).optional(),
  }),
);
export const Simulation = typed<wire.Simulation>(
  z.strictObject({
    judged: count,
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
export const RuleEffect = typed<wire.RuleEffect>(
  z.strictObject({
    rule: z.string(),
    judged: count,
    matched: count,
    samples: z.array(z.strictObject({ callId: z.string(), toolName: z.string(), display: z.string(), at: time })),
    problem: z.string().optional(),
  }),
);
