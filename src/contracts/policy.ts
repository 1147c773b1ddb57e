import { z } from "zod";
import { CallMode, CallSubject, Count, Decision, Name, page, Text, Time, Verdict } from "./basics.ts";
import { PROVENANCE_MODES } from "../core/call-summary.ts";
import { admin, approve, eventStream, named, namedObject, objects, read } from "./contract.ts";
import { ExtendGrantRequest } from "./grants.ts";
import { Done } from "./server.ts";

export const RuleInfo = namedObject("RuleInfo", {
  rule: z.string(),
  decision: Decision,
  /** The file or layer of the rule. */
  origin: z.string(),
  line: Count.optional(),
  /** `session`: until its grant ends. */
  lasts: z.enum(["always", "session"]).optional(),
  /** The session of a rule that lasts until its end. */
  session: z.string().optional(),
  /** Of the newest `PolicyInfo.calls` calls: how many it decided. */
  hits: Count,
  /** When it last decided one of them. */
  lastHitAt: Time.optional(),
  /** Whether it can be changed and revoked here. Other rules are edited in their file. */
  canEdit: z.boolean(),
});
export type RuleInfo = z.infer<typeof RuleInfo>;

const patterns = z.array(z.string()).optional();
export const PolicyInfo = namedObject("PolicyInfo", {
  /** In the order in which they apply. */
  rules: z.array(RuleInfo),
  /** Which tools exist, layer by layer. */
  layers: objects({
    origin: z.string(),
    profile: z.string().optional(),
    allow: patterns,
    alsoAllow: patterns,
    deny: patterns,
  }),
  mode: CallMode,
  /** Of tools that do not say what they do: `confirm` asks, `auto` runs them. */
  defaultPermission: z.enum(["auto", "confirm"]),
  /** The number of calls that `hits` were counted in. */
  calls: Count,
  /** The file that saved rules are written to. */
  file: z.string().optional(),
});
export type PolicyInfo = z.infer<typeof PolicyInfo>;

export const ExplainRequest = namedObject("ExplainRequest", {
  tool: Name,
  input: z.unknown().optional(),
  mode: CallMode.optional(),
  session: Name.optional(),
});
export type ExplainRequest = z.infer<typeof ExplainRequest>;

export const Explanation = namedObject("Explanation", {
  verdict: Verdict,
  /** Everything that was evaluated, in order. */
  steps: objects({
    by: z.string(),
    decision: z.enum(["allow", "ask", "deny", "none"]),
    reason: z.string(),
    /** The key of `reason` and its values, for other languages. */
    key: z.string().optional(),
    values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    rule: z.string().optional(),
    origin: z.string().optional(),
  }),
});
export type Explanation = z.infer<typeof Explanation>;

export const LintFinding = namedObject("LintFinding", {
  level: z.enum(["error", "warning"]),
  message: z.string(),
  /** The key of `message` and its values, for other languages. */
  key: z.string().optional(),
  values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  rule: z.string().optional(),
  /** Of the rule. */
  decision: Decision.optional(),
  origin: z.string().optional(),
  line: Count.optional(),
});
export type LintFinding = z.infer<typeof LintFinding>;

const ruleTexts = z.array(Text).max(5000).optional();
const rulesToAdd = objects({ rule: Text, decision: Decision }).max(500).optional();
const wholePolicy = z
  .strictObject({
    allow: ruleTexts,
    ask: ruleTexts,
    deny: ruleTexts,
    defaultMode: CallMode.optional(),
    defaultPermission: z.enum(["auto", "confirm"]).optional(),
  })
  .optional();
export const SimulateRequest = namedObject("SimulateRequest", {
  add: rulesToAdd,
  remove: z.array(Text).max(500).optional(),
  /** Instead of all active rules. `add` and `remove` apply to it. */
  policy: wholePolicy,
  tool: Name.optional(),
  session: Name.optional(),
  user: Name.optional(),
  /** Unix milliseconds. */
  from: Count.optional(),
  to: Count.optional(),
  /** How many changed calls are listed. Default: 200. */
  changes: z.number().int().min(0).max(10_000).optional(),
  /** The number of past calls, newest first. Default: 200; as a stream: all of the history. */
  calls: z.number().int().min(1).max(10_000_000).optional(),
});
export type SimulateRequest = z.infer<typeof SimulateRequest>;

const UNJUDGED = ["no_digest", "no_tool", "secret", "too_long", "asynchronous", "failed"] as const;
const fields = z.record(z.string(), z.unknown());

/** Calls that are given, not recorded here. */
export const JudgeRequest = namedObject("JudgeRequest", {
  calls: objects({
    tool: Text,
    input: z.unknown(),
    /** Nothing of the input is hidden or cut, so it is checked against the tool's schema. */
    isWhole: z.boolean(),
    /** The agent that made it, with its own names of the tool and the parameters. `other`: names of any program. */
    agent: z.enum(["claude", "codex", "other"]).optional(),
    /** Where the agent worked; relative: to the workspace. */
    cwd: z.string().max(4096).optional(),
    /** What a record kept for a judge, as the audit log has it. Without it only calls of an agent can be judged. */
    digest: z
      .strictObject({
        input: fields,
        without: z.record(z.string(), z.enum(["secret", "too_long"])).optional(),
        plain: z.array(z.string()).readonly().optional(),
        signature: z
          .strictObject({
            text: z.string(),
            changes: z.array(z.string()).readonly().optional(),
            reads: z.array(z.string()).readonly().optional(),
            urls: z.array(z.string()).readonly().optional(),
          })
          .optional(),
        permission: z.enum(["auto", "confirm"]).nullable().optional(),
        effects: fields.optional(),
        folders: z.array(z.string()).readonly().optional(),
        hasReadUntrusted: z.boolean().optional(),
        mode: CallMode.optional(),
        said: z.strictObject({ decision: Decision, by: Verdict.shape.by, origin: z.string().optional() }).optional(),
        /** What a shadow said. It decides nothing here either. */
        shadow: fields.optional(),
        unjudged: z.enum(UNJUDGED).optional(),
      })
      .optional(),
  }).max(500),
  add: rulesToAdd,
  remove: z.array(Text).max(500).optional(),
  policy: wholePolicy,
});
export type JudgeRequest = z.infer<typeof JudgeRequest>;

export const GivenVerdict = namedObject("GivenVerdict", {
  /** Of the active rules. */
  before: Verdict.optional(),
  /** Of the changed rules. */
  after: Verdict.optional(),
  /** Why it cannot be judged. */
  unjudged: z.enum(UNJUDGED).optional(),
  /** Why the tool's schema does not accept the input. */
  invalid: z.string().optional(),
  /** The hash of the tool's definition. */
  definition: z.string().optional(),
  /** What judged a call of an agent, and what the call is about: masked. */
  toolName: z.string().optional(),
  subject: CallSubject.optional(),
});
export type GivenVerdict = z.infer<typeof GivenVerdict>;

/** Past calls with other decisions under the changed rules. */
export const Simulation = namedObject("Simulation", {
  judged: Count,
  /** Calls that cannot be judged again. */
  skipped: Count,
  /** The same by the reason: what the record kept of a call is not enough for these rules, or its tool is gone. */
  unjudged: z.strictObject({
    no_digest: Count.optional(),
    no_tool: Count.optional(),
    secret: Count.optional(),
    too_long: Count.optional(),
    asynchronous: Count.optional(),
    failed: Count.optional(),
  }),
  /** Calls with another decision, by the new one. */
  newly: z.strictObject({ allow: Count, ask: Count, deny: Count }),
  /** By tool, the most changes first. */
  tools: objects({ tool: z.string(), before: Decision, after: Decision, count: Count }),
  /** The newest, up to `changes`. */
  changed: objects({
    callId: z.string(),
    toolName: z.string(),
    subject: CallSubject,
    at: Time,
    session: z.string().optional(),
    user: z.string().optional(),
    before: Verdict,
    after: Verdict,
  }),
  /** Made-up calls beside those that are newly allowed, and known attacks: how many of them are newly allowed, too. */
  beyond: z.strictObject({ tried: Count, count: Count, allowed: z.array(z.string()) }).optional(),
});
export type Simulation = z.infer<typeof Simulation>;

/** The last frame is `result`. Closing the stream cancels the simulation. */
export const SimulationFrame = named(
  "SimulationFrame",
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("progress"), looked: Count, of: Count }),
    z.strictObject({ type: z.literal("result"), simulation: Simulation }),
  ]),
);
export type SimulationFrame = z.infer<typeof SimulationFrame>;

export const NewRuleRequest = namedObject("NewRuleRequest", { rule: Text, decision: Decision });
export type NewRuleRequest = z.infer<typeof NewRuleRequest>;

/** Names a saved rule. Without `to` it is revoked. */
export const ChangeRuleRequest = namedObject("ChangeRuleRequest", {
  rule: Text,
  decision: Decision,
  /** As in `RuleInfo`; omitted for a rule of a session. */
  origin: z.string().max(4096).optional(),
  session: Name.optional(),
  to: NewRuleRequest.optional(),
});
export type ChangeRuleRequest = z.infer<typeof ChangeRuleRequest>;

export const RuleEffect = namedObject("RuleEffect", {
  rule: z.string(),
  /** The tool whose calls were judged; omitted if all calls were. */
  tool: z.string().optional(),
  /** Calls that were judged with the rule, through the whole policy: those that wait for an answer, then past ones; at most 2,000. */
  judged: Count,
  /** Of these: calls that the rule covers, and that have its decision if it is added. */
  matched: Count,
  /** Of these: calls with another decision than without the rule, for an allow rule those that would not ask any more. */
  changed: Count,
  /** Of `matched`, newest first. */
  samples: objects({ callId: z.string(), toolName: z.string(), subject: CallSubject, at: Time }),
  /** Why the rule cannot be saved. */
  problem: z.string().optional(),
});
export type RuleEffect = z.infer<typeof RuleEffect>;

export const PolicyProposal = namedObject("PolicyProposal", {
  /** Of its rules. */
  id: z.string(),
  tool: z.string(),
  /** What accepting it saves. */
  rules: z.array(z.string()),
  /** Questions that it would have saved and that no earlier proposal saves. */
  saved: Count,
  /** In how many sessions. */
  sessions: Count,
  /** Recorded calls that it would newly allow and that no person has said yes to. */
  unanswered: Count,
  /** Made-up calls that were tried: other paths, larger amounts, other options. It allows none of them. */
  neighbours: Count,
  examples: z.array(z.string()),
  /** What it leaves open. */
  risk: z.string(),
  /** The grant that accepting it gave. */
  grant: z.string().optional(),
});
export type PolicyProposal = z.infer<typeof PolicyProposal>;

/**
 * Questions that a person said yes to and that no proposal saves. `untrusted`: the session had read text of others, or the record
 * does not say. `open`: no narrow rule can name its values. `few`: fewer than 3 times, or in one session. `ruled`: allowed by now, or
 * a rule decides. `denied`: a rule would allow what a person denied. `neighbour`, `attack`: it would allow made-up calls.
 */
export const LeftQuestions = namedObject("LeftQuestions", {
  why: z.enum(["untrusted", "no_tool", "open", "few", "ruled", "denied", "neighbour", "attack", "never"]),
  questions: Count,
  /** What was asked, the most frequent first. */
  habits: objects({ what: z.string(), count: Count }),
});
export type LeftQuestions = z.infer<typeof LeftQuestions>;

/** `never`: it is not proposed again while the record keeps this answer. */
export const ProposalAnswer = namedObject("ProposalAnswer", {
  id: Name,
  answer: z.enum(["accept", "never"]),
  /** Give a grant with these bounds, to everybody but subagents, instead of saving the rules. */
  grant: ExtendGrantRequest.optional(),
  /** The time that it was listed with. */
  from: Count.optional(),
});
export type ProposalAnswer = z.infer<typeof ProposalAnswer>;

export const PolicyChange = namedObject("PolicyChange", {
  ...SimulateRequest.pick({ add: true, remove: true, policy: true }).shape,
  /** Another mode of provenance. */
  provenance: z.enum(PROVENANCE_MODES).optional(),
});
export type PolicyChange = z.infer<typeof PolicyChange>;

/** A policy that runs beside the active one, and decides nothing. */
export const ShadowInfo = namedObject("ShadowInfo", {
  id: z.string(),
  /** The rule, or the file that it was read from. */
  name: z.string(),
  change: PolicyChange,
  startedAt: Time,
  startedBy: z.string().optional(),
});
export type ShadowInfo = z.infer<typeof ShadowInfo>;

const ListedRule = z.strictObject({ list: Decision, rule: z.string() });
/** A policy that becomes, or became, the active one as one change. */
export const PromotionInfo = namedObject("PromotionInfo", {
  id: z.string(),
  name: z.string(),
  at: Time,
  by: z.string().optional(),
  /** In the place of saved rules. */
  plan: z.strictObject({
    add: z.array(ListedRule),
    remove: z.array(ListedRule),
    defaultMode: CallMode.optional(),
    defaultPermission: z.enum(["auto", "confirm"]).optional(),
    provenance: z.enum(PROVENANCE_MODES).optional(),
  }),
});
export type PromotionInfo = z.infer<typeof PromotionInfo>;

/** The shadow policy, and the calls that it decided in another way. */
export const ShadowReport = namedObject("ShadowReport", {
  shadow: ShadowInfo.optional(),
  /** Calls that were recorded since it started; at most the newest 20,000. */
  calls: Count,
  /** Calls that it could not judge. They are not in `newly`. */
  failed: Count,
  newly: Simulation.shape.newly,
  tools: Simulation.shape.tools,
  /** The newest, up to 200. */
  changed: objects({
    callId: z.string(),
    toolName: z.string(),
    subject: CallSubject,
    at: Time,
    session: z.string().optional(),
    user: z.string().optional(),
    before: Decision,
    after: Decision,
    /** What decided. */
    by: z.string().optional(),
    rule: z.string().optional(),
  }),
  /** What `rollback` would take back. */
  promotion: PromotionInfo.optional(),
});
export type ShadowReport = z.infer<typeof ShadowReport>;

export const PromoteRequest = namedObject("PromoteRequest", {
  /** Only if this shadow still runs: a person has read its report. */
  shadow: z.string().optional(),
  /** Without a shadow. */
  change: PolicyChange.optional(),
  name: Name.optional(),
  /** Only say what would be changed. */
  isPreview: z.boolean().optional(),
});
export type PromoteRequest = z.infer<typeof PromoteRequest>;

export const UserMessageRequest = namedObject("UserMessageRequest", {
  /** As the calls name it. */
  session: Name,
  text: z.string().min(1).max(200_000),
  /** The user only pastes what somebody else wrote: it vouches for nothing. */
  quoted: z.boolean().optional(),
});
export type UserMessageRequest = z.infer<typeof UserMessageRequest>;

/** How much of a limit somebody used: calls, or in its unit. */
export const LimitUseInfo = named(
  "LimitUse",
  z.object({
    id: Name,
    /** The limit and whom it counts, in words. */
    limit: z.string(),
    used: z.number(),
    max: z.number(),
    left: z.number(),
    /** Omitted: it counts calls. */
    unit: z.string().optional(),
    freesAt: Count.optional().describe("Unix milliseconds: when the next part frees up, if nothing is left"),
  }),
);
export type LimitUseInfo = z.infer<typeof LimitUseInfo>;

export const ExtendLimitRequest = namedObject("ExtendLimitRequest", {
  by: z.number().positive().describe("Calls, or in the unit of the limit"),
});
export type ExtendLimitRequest = z.infer<typeof ExtendLimitRequest>;

export const policy = {
  show: read("GET /api/policy", { summary: "The active rules, each with its origin", output: PolicyInfo }),
  explain: read("POST /api/policy/explain", {
    summary: "What would happen to a call, and why; nothing runs",
    body: ExplainRequest,
    output: Explanation,
  }),
  lint: read("GET /api/policy/lint", {
    summary: "Probable mistakes in the rules, or in a rule that is not saved yet",
    query: z.strictObject({
      rule: z.string().optional().describe("Only this rule, as it would be written"),
      decision: Decision.optional().describe("Of that rule. Default: allow"),
    }),
    output: page("LintPage", LintFinding),
  }),
  limits: read("GET /api/policy/limits", {
    summary: "How much of each limit was used, by whom, and when it frees up",
    output: page("LimitPage", LimitUseInfo),
  }),
  extendLimit: approve("POST /api/policy/limits/{id}/extend", {
    summary: "Add to a limit that was used: for one more period, or for good if it has none",
    body: ExtendLimitRequest,
    output: LimitUseInfo,
  }),
  simulate: read("POST /api/policy/simulate", {
    summary: "Past calls under other rules; nothing is changed",
    body: SimulateRequest,
    variant: { field: "answer", value: "result", isDefault: true },
    output: Simulation,
  }),
  simulateStream: read("POST /api/policy/simulate", {
    summary: "The whole history under other rules, with progress; closing the stream cancels it",
    body: SimulateRequest,
    variant: { field: "answer", value: "events" },
    stream: eventStream(SimulationFrame),
  }),
  judge: read("POST /api/policy/judge", {
    summary: "What the active and the changed rules say about given calls; nothing runs and nothing is recorded",
    body: JudgeRequest,
    output: page("GivenVerdictPage", GivenVerdict),
  }),
  proposals: read("GET /api/policy/proposals", {
    summary: "Rules that would have saved questions, learned from the answers of people",
    query: z.strictObject({ from: Count.optional().describe("Unix milliseconds; default: 30 days ago") }),
    output: namedObject("PolicyProposalPage", {
      items: z.array(PolicyProposal),
      left: z.array(LeftQuestions).describe("Why there are no more"),
    }),
  }),
  answerProposal: approve("POST /api/policy/proposals/answer", {
    summary: "Save the rules of a proposal, give them as a grant, or never see it again",
    body: ProposalAnswer,
    output: PolicyProposal,
  }),
  shadow: read("GET /api/policy/shadow", {
    summary: "The shadow policy, and the calls that it decided in another way",
    output: ShadowReport,
  }),
  startShadow: approve("POST /api/policy/shadow", {
    summary: "Judge calls by another policy too, without effect; it replaces a shadow that runs",
    body: namedObject("ShadowRequest", { name: Name, change: PolicyChange }),
    output: ShadowInfo,
  }),
  stopShadow: approve("POST /api/policy/shadow/stop", { summary: "End the shadow policy", output: Done }),
  promote: admin("POST /api/policy/promote", {
    summary: "Make the shadow, or another policy, active as one change",
    body: PromoteRequest,
    output: PromotionInfo,
  }),
  rollback: admin("POST /api/policy/rollback", {
    summary: "Take the last promotion back; refused if the saved rules have changed since",
    output: PromotionInfo,
  }),
  addUserMessage: approve("POST /api/policy/user-messages", {
    summary: "Remember what the user wrote in a session: the values in it need no question",
    // As an answer to a question does, it lets calls run.
    body: UserMessageRequest,
    output: Done,
  }),
  addRule: approve("POST /api/policy/rules", {
    summary: "Save a rule for this workspace",
    body: NewRuleRequest,
    output: RuleInfo,
  }),
  changeRule: approve("POST /api/policy/rules/change", {
    summary: "Change or revoke a saved rule",
    body: ChangeRuleRequest,
    output: Done,
  }),
  effect: read("GET /api/policy/effect", {
    summary: "What one more rule would have meant for past calls",
    query: z.strictObject({
      rule: z.string().describe("As it would be written"),
      decision: Decision.optional().describe("Default: allow"),
      tool: z.string().optional().describe("Only calls of this tool"),
      session: z.string().optional().describe("Only calls of this session"),
    }),
    output: RuleEffect,
  }),
};
