import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { validatedInput } from "../../core/create-tool.ts";
import { attempt, errorMessage } from "../../core/error.ts";
import { type Approval, isOneLine } from "../../calls/approval.ts";
import { callKey } from "../../calls/calls.ts";
import type { Grant, GrantDraft } from "../../calls/grants.ts";
import { fromMicros } from "../../calls/limits.ts";
import type { ConfigSource } from "../../config/sources.ts";
import type { Verdict } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError, notFound } from "../../contracts/errors.ts";
import type { GrantInfo, grants as grantsContract } from "../../contracts/grants.ts";
import type {
  ExplainRequest,
  Explanation,
  GivenVerdict,
  JudgeRequest,
  policy,
  NewRuleRequest,
  RuleEffect,
  RuleInfo,
  SimulateRequest,
  Simulation,
} from "../../contracts/policy.ts";
import { canonicalJson } from "../../core/json.ts";
import { hideSecretsIn } from "../../core/secrets/mask-secrets.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type AuditEntry, type AuditFact, type AuditLog, type AuditQuery, pagesOf } from "../../gate/audit-log.ts";
import { backtest, type RecordedPage } from "../../gate/permit/history/backtest.ts";
import type { CallDigest, RecordedCall } from "../../gate/permit/history/call-digest.ts";
import { changedRules, type PolicyChange } from "../../gate/permit/history/shadow.ts";
import {
  allowedBeyond,
  type AnsweredCall,
  exampleOf,
  type Proposal,
  suggestPolicy,
  type SuggestOptions,
  WHY_LEFT,
  type WhyLeft,
} from "../../gate/permit/history/suggest.ts";
import type { PolicyLayer } from "../../gate/permit/policy-layers.ts";
import { lintRules } from "../../gate/permit/rules/lint-rules.ts";
import { type Rule, RULE_LISTS, type RuleList } from "../../gate/permit/rules/rule.ts";
import { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { previewRule } from "../../gate/permit/rules/try-rules.ts";
import { explainVisibility } from "../../gate/permit/visible-tools.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import { withAnswers } from "../../gate/tool-answers.ts";
import { stricter } from "../../gate/permit/verdict.ts";
import type { AgentCall, AgentName } from "../../models/hook-protocols.ts";
import type { Haft } from "../../runtime.ts";
import { isObject } from "../../schema/json-schema.ts";
import { STORED_RULES } from "../../store/stored-rules.ts";

/** A call that was made. */
export interface PastCall extends RecordedCall {
  /** As the record shows it: masked, and long texts cut. */
  input: unknown;
}

export type PastFilter = Pick<AuditQuery, "tool" | "session" | "user" | "since" | "until">;

/** The past calls, newest first, in pages. */
export type PastCalls = (filter?: PastFilter) => AsyncIterable<RecordedPage<PastCall>>;

/** How often the newest calls were decided by a rule, by its text. */
export type RuleHits = () => Promise<{ calls: number; hits: ReadonlyMap<string, { count: number; at: number }> }>;

export interface PolicyApiOptions {
  /** Records what a person does, before it takes effect. */
  record(fact: AuditFact): Promise<void>;
  pastCalls: PastCalls;
  ruleHits: RuleHits;
  /** Calls that asked, with the answers of people, newest first; and the proposals that nobody wants to see. */
  answeredCalls(since: number): Promise<{ calls: AnsweredCall[]; never: ReadonlySet<string> }>;
  /** The tools that judge a call of an agent, and the input for each: as for its hook. */
  mapCall?(agent: AgentName, call: AgentCall): Promise<{ tool: AnyTool; input: Record<string, unknown> }[]>;
  /** The lines of rules in their files, as they were read. */
  lineOf?(rule: Rule): number | undefined;
  /** The lines of saved rules, as their file is now. */
  savedLines?(): Promise<(list: RuleList, rule: string) => number | undefined>;
  /** The file that saved rules are written to. */
  file?: string;
  /** Rules of files that nobody has trusted yet: they have no effect, and their mistakes are found all the same. */
  untrustedRules?(): readonly UntrustedRule[];
}

export interface UntrustedRule {
  rule: string;
  file: string;
  line?: number;
}

/** What a grant is for that was given by accepting a proposal. */
const PROPOSED = "proposal";
const DEFAULT_CALLS = 200;
const EFFECT_CALLS = 2000;
const MAX_SAMPLES = 20;

interface JudgedCall {
  call: Pick<PastCall, "toolName">;
  tool: AnyTool;
  input: unknown;
  cwd: string;
}

/** The rules of a runtime. */
export function createPolicyApi(
  haft: Haft,
  {
    record,
    pastCalls,
    ruleHits,
    answeredCalls,
    mapCall,
    lineOf,
    savedLines,
    file,
    untrustedRules = () => [],
  }: PolicyApiOptions,
): Omit<Handlers<typeof policy>, "shadow" | "startShadow" | "stopShadow" | "promote" | "rollback"> {
  const cwd = haft.settings.folder;
  const ruleSet = haft.policy.rules;

  /** A past call that rules can still be tried on: the tool exists and accepts the input. */
  const readCall = async (call: PastCall): Promise<JudgedCall | undefined> => {
    const tool = haft.tools.registry.get(call.toolName);
    const input = tool && (await validatedInput(tool, call.input).catch(() => undefined));
    return tool && input !== undefined ? { call, tool, input, cwd } : undefined;
  };

  const judge = async (rules: RuleSet, { tool, input }: JudgedCall): Promise<Verdict> => {
    const verdict = await withAnswers((answers) => rules.judge({ tool, input, cwd, answers }));
    return haft.policy.required(tool, verdict);
  };

  /** A call of another program, as its hook would be judged. Of several readings the strictest verdict counts. */
  const judgeForeign = async (call: JudgeRequest["calls"][number], after: RuleSet): Promise<GivenVerdict> => {
    const { tool: name, input } = call;
    if (!isObject(input)) return { unjudged: "failed" };
    try {
      const own = call.agent === "other" ? haft.tools.registry.get(name) : undefined;
      const folder = call.cwd === undefined ? undefined : resolve(cwd, call.cwd);
      const agent = call.agent === "codex" ? "codex" : "claude";
      const readings = own ? [{ tool: own, input }] : ((await mapCall?.(agent, { name, input, cwd: folder })) ?? []);
      const judgeBy = async (rules: RuleSet): Promise<Verdict | undefined> => {
        let strictest: Verdict | undefined;
        for (const one of readings) {
          const verdict = await judge(rules, { ...one, call: { toolName: name }, cwd });
          strictest = strictest ? stricter(strictest, verdict) : verdict;
        }
        return strictest;
      };
      const [first] = readings;
      if (!first) return { unjudged: "no_tool" };
      const was = await judgeBy(ruleSet);
      const { subject } = summarizeCall(first.tool, hideSecretsIn(first.input));
      return { before: was, after: after === ruleSet ? was : await judgeBy(after), toolName: first.tool.name, subject };
    } catch {
      return { unjudged: "failed" };
    }
  };

  const isSaved = (origin: string): boolean => origin === "local" || origin === STORED_RULES || origin === file;

  /** Rules are saved and revoked while this process runs, and their lines move. */
  const lineFinder = async (): Promise<(rule: Rule) => number | undefined> => {
    const saved = await savedLines?.();
    return (rule) => (isSaved(rule.origin) ? saved?.(rule.list, rule.text) : lineOf?.(rule));
  };

  const ruleFacts = async () => ({ hits: await ruleHits(), findLine: await lineFinder() });

  const describeRule = (rule: Rule, { hits: { hits }, findLine }: Awaited<ReturnType<typeof ruleFacts>>): RuleInfo => {
    const { text, list, origin } = rule;
    return {
      rule: text,
      decision: list,
      origin,
      line: findLine(rule),
      lasts: "always",
      hits: hits.get(text)?.count ?? 0,
      lastHitAt: hits.get(text)?.at,
      canEdit: isSaved(origin),
    };
  };

  /** Yields the number of entries that it has looked at, and returns the outcome. */
  async function* simulate(request: SimulateRequest, signal?: AbortSignal) {
    const { calls, changes, tool, session, user, from: since, to: until } = request;
    const pages = pastCalls({ tool, session, user, since, until });
    const toolOf = (name: string) => haft.tools.registry.get(name);
    const compared = { before: ruleSet, after: changedRuleSet(ruleSet, request), toolOf, cwd };
    const report = yield* backtest(pages, {
      ...compared,
      required: haft.policy.required,
      maxCalls: calls,
      maxChanged: changes,
      signal,
    });
    const skipped = Object.values(report.unjudged).reduce((sum, count) => sum + count, 0);
    const changed = report.changed.map(({ call, tool: of, before, after }) => {
      const { callId, toolName, at, session: inSession, user: by, digest } = call;
      const { subject } = summarizeCall(of, digest?.input);
      return { callId, toolName, subject, at, session: inSession, user: by, before, after };
    });
    const allowed = report.changed.flatMap(({ call, after }) => (after.decision === "allow" ? call : []));
    const isWider = request.add?.some(({ decision }) => decision === "allow");
    const beyond = isWider ? allowedBeyond(allowed, compared) : undefined;
    return { ...report, skipped, changed, beyond } satisfies Simulation;
  }

  const findProposals = async (
    since = Date.now() - LEARNED_MS,
    onLeft?: SuggestOptions["onLeft"],
  ): Promise<Proposal[]> => {
    const { calls, never } = await answeredCalls(since);
    const { grants, provenance } = haft.policy;
    const { rolesOf } = provenance;
    // What was accepted as a grant is proposed again when that is over.
    const given = (await grants.list({ isOpen: true })).filter(({ why }) => why === PROPOSED);
    const allow = given.filter((grant) => grants.stateOf(grant) === "active").flatMap(({ rules }) => rules);
    return suggestPolicy(calls, {
      rules: allow.length === 0 ? ruleSet : new RuleSet([...ruleSet.sources(), { origin: PROPOSED, allow }]),
      cwd,
      toolOf: (name) => haft.tools.registry.get(name),
      rolesOf,
      never,
      onLeft,
    });
  };

  /** A call that waits for its answer within the process is not in the log yet. */
  async function* waitingAndPast(filter: { tool?: string; session?: string }): AsyncGenerator<PastCall[]> {
    const waiting = (await haft.approvals.list("pending")).filter(
      ({ toolName, caller }) =>
        (filter.tool === undefined || toolName === filter.tool) &&
        (filter.session === undefined || caller.session === filter.session),
    );
    const digest = undefined;
    yield waiting.map(({ callId, toolName, input, askedAt }) => ({ callId, toolName, input, at: askedAt, digest }));
    const known = new Set(waiting.map(({ callId }) => callId));
    for await (const { calls } of pastCalls(filter)) yield calls.filter(({ callId }) => !known.has(callId));
  }

  return {
    async show() {
      const facts = await ruleFacts();
      return {
        rules: [
          ...ruleSet.rules().map((rule) => describeRule(rule, facts)),
          ...(await sessionRules(haft)).map(({ rule, session }): RuleInfo => ({
            ...describeRule({ text: rule, list: "allow", origin: SESSION }, facts),
            lasts: "session",
            session,
            canEdit: true,
          })),
        ],
        layers: layersOf(haft).map(({ name, policy: { profile, allow, alsoAllow, deny } }) => ({
          origin: name,
          profile,
          allow,
          alsoAllow,
          deny,
        })),
        mode: ruleSet.defaultMode,
        defaultPermission: ruleSet.defaultPermission,
        calls: facts.hits.calls,
        file,
      };
    },
    explain: ({ body, identity }) => explainCall(haft, body, identity.name),
    async lint({ query: { rule: given, decision = "allow" } }) {
      const findLine = await lineFinder();
      const untrusted = untrustedRules();
      const lines = new Map(untrusted.map(({ rule, file: from, line }) => [`${from}\0${rule}`, line]));
      const sources = [...ruleSet.sources(), ...untrusted.map(({ rule, file: origin }) => ({ origin, allow: [rule] }))];
      const trial = given === undefined ? sources : [...sources, { origin: "new", [decision]: [given] }];
      const found = lintRules(trial, haft.tools.registry.list()).map(
        ({ level, message, key, values, rule, list, origin }) => ({
          level: level === "error" ? ("error" as const) : ("warning" as const),
          message,
          key,
          values,
          rule,
          decision: list === "defaultMode" || list === "limits" ? undefined : list,
          origin,
          line:
            list === "defaultMode" || list === "limits"
              ? undefined
              : (findLine({ text: rule, list, origin }) ?? lines.get(`${origin}\0${rule}`)),
        }),
      );
      const items = given === undefined ? found : found.filter(({ origin }) => origin === "new");
      return { items };
    },
    async simulate({ body: { calls = DEFAULT_CALLS, ...body } }) {
      const running = simulate({ ...body, calls });
      for (;;) {
        const { done, value } = await running.next();
        if (done) return value;
      }
    },
    async *simulateStream({ body, signal }) {
      const running = simulate(body, signal);
      for (;;) {
        const { done, value } = await running.next();
        if (signal.aborted) return;
        if (done) yield { type: "result", simulation: value } as const;
        if (done) return;
        yield { type: "progress", ...value } as const;
      }
    },
    async judge({ body: { calls, ...changes } }) {
      const { judgeFixtureCall } = await import("../../gate/permit/history/fixture.ts");
      const isChanged = Object.values(changes).some((each) => each !== undefined);
      const after = isChanged ? changedRuleSet(ruleSet, changes) : ruleSet;
      const toolOf = (name: string) => haft.tools.registry.get(name);
      const options = { before: ruleSet, after, cwd, toolOf, required: haft.policy.required };
      const items = [];
      for (const call of calls) {
        items.push(
          call.agent === undefined
            ? await judgeFixtureCall({ ...call, digest: call.digest as CallDigest | undefined }, options)
            : await judgeForeign(call, after),
        );
        if (items.length % YIELD_EVERY === 0) await setImmediate();
      }
      return { items };
    },
    async limits() {
      return { items: await haft.policy.limits.list() };
    },
    extendLimit: ({ params, body, identity }) => haft.policy.limits.extend(params.id, body.by, identity.name),
    async proposals({ query: { from } }) {
      const left: { why: WhyLeft; what: string }[] = [];
      const items = await findProposals(from, (why, { toolName, digest }) => {
        left.push({ why, what: `${toolName} ${exampleOf(digest?.input ?? {})}` });
      });
      const describeLeft = (why: WhyLeft) => {
        const all = left.flatMap((one) => (one.why === why ? one.what : []));
        const habits = [...new Set(all)].map((what) => ({ what, count: all.filter((each) => each === what).length }));
        const most = habits.toSorted((one, other) => other.count - one.count).slice(0, MAX_HABITS);
        return all.length === 0 ? [] : [{ why, questions: all.length, habits: most }];
      };
      return { items, left: WHY_LEFT.flatMap(describeLeft) };
    },
    async answerProposal({ body: { id, answer, from, grant: bounds }, identity }) {
      const proposal = (await findProposals(from)).find((each) => each.id === id);
      if (!proposal)
        throw new ApiError("not_found", "There is no such proposal now", "List them: GET /api/policy/proposals.");
      if (answer === "never") {
        const data = { neverPropose: id, rules: proposal.rules };
        await record({ kind: "note", caller: { user: identity.name }, data });
        return proposal;
      }
      const { rules } = proposal;
      if (bounds) {
        requireEnd(bounds);
        const { grants } = haft.policy;
        const draft = { ...bounds, holder: {}, rules, tools: grants.check({ rules, ...bounds }) };
        const given = await grants.give({ ...draft, why: PROPOSED, by: identity.name, via: "proposal" });
        return { ...proposal, grant: given.id };
      }
      for (const rule of rules) await addRule(haft, { rule, decision: "allow" }, identity.name);
      return proposal;
    },
    async addUserMessage({ body: { session, text, quoted } }) {
      await haft.policy.provenance.addUserMessage({ session }, text, { quoted });
      return { status: "ok" };
    },
    async addRule({ body: { rule, decision }, identity }) {
      return describeRule(await addRule(haft, { rule, decision }, identity.name), await ruleFacts());
    },
    async changeRule({ body: { rule, decision, origin = SESSION, session, to }, identity }) {
      const { grants } = haft.policy;
      const isGrant = origin === SESSION;
      const exists = isGrant
        ? decision === "allow" &&
          (await sessionRules(haft)).some((grant) => grant.rule === rule && grant.session === session)
        : isSaved(origin) &&
          ruleSet.rules().some(({ text, list, origin: from }) => text === rule && list === decision && from === origin);
      if (!exists) throw new ApiError("not_found", "This rule was not saved here", "Edit its file.");
      if (isGrant) {
        if (to && to.decision !== "allow")
          throw new ApiError("bad_request", "A rule of a session can only allow", "Revoke it, and add another rule.");
        if (to) rejectMalformed(to);
        await record({
          kind: "rule_removed",
          caller: { user: identity.name },
          data: { rule, list: decision, session },
        });
        await grants.remove(rule, session, to?.rule.trim(), identity.name);
        return { status: "ok" };
      }
      // The new one first: a rule that cannot be read loses nothing.
      if (to) await addRule(haft, to, identity.name);
      const isSame = to?.rule.trim() === rule && to.decision === decision;
      if (!isSame) await haft.policy.remove(rule, decision, origin, identity.name);
      return { status: "ok" };
    },
    /** Judged through all other rules, and with what must ask in spite of them. */
    async effect({ query: { rule, decision = "allow", tool, session }, signal }) {
      const effect: RuleEffect = { rule, tool, judged: 0, matched: 0, changed: 0, samples: [] };
      const lines = rule.split("\n").filter((line) => line.trim() !== "");
      let trial: RuleSet;
      try {
        trial = changedRuleSet(ruleSet, { add: lines.map((text) => ({ rule: text, decision })), remove: [] });
      } catch (error) {
        return { ...effect, problem: errorMessage(error) };
      }
      let looked = 0;
      for await (const page of waitingAndPast({ tool, session })) {
        const calls = page.slice(0, EFFECT_CALLS - looked);
        looked += calls.length;
        for (const call of calls) {
          const one = await readCall(call);
          if (!one) continue;
          if (++effect.judged % YIELD_EVERY === 0) await setImmediate();
          const isCovered = (await Promise.all(lines.map((text) => previewRule({ text, list: decision }, [one])))).some(
            ([outcome]) => outcome?.matches,
          );
          const after = isCovered ? await judge(trial, one) : undefined;
          if (after?.decision !== decision) continue;
          effect.matched++;
          if ((await judge(ruleSet, one)).decision !== decision) effect.changed++;
          const { callId, toolName, at } = call;
          if (effect.samples.length < MAX_SAMPLES)
            effect.samples.push({ callId, toolName, subject: summarizeCall(one.tool, one.input).subject, at });
        }
        if (looked >= EFFECT_CALLS || signal.aborted) break;
      }
      return effect;
    },
  };
}

/** Calls run between this many judgements. */
const YIELD_EVERY = 50;

/** The origin of rules that last until a session ends. */
const SESSION = "session";

/** What people allowed for sessions. */
async function sessionRules(haft: Haft): Promise<{ rule: string; session: string | undefined }[]> {
  const grants = await haft.policy.grants.list({ isOpen: true });
  const ofSessions = grants.filter(({ holder }) => holder.session !== undefined);
  return ofSessions.flatMap(({ rules, holder }) =>
    rules.map((rule) => ({ rule, session: holder.session ?? undefined })),
  );
}

async function addRule(haft: Haft, request: NewRuleRequest, by: string): Promise<Rule> {
  rejectMalformed(request);
  return haft.policy.add(request.rule, request.decision, by);
}

function rejectMalformed({ rule, decision }: NewRuleRequest): void {
  try {
    if (!isOneLine(rule.trim())) throw new TypeError("A rule is one line of text.");
    new RuleSet().add(rule, decision, "trial");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ApiError("bad_request", errorMessage(error), "Correct the rule.");
  }
}

/** What would happen to a call, and why. */
export async function explainCall(haft: Haft, request: ExplainRequest, user: string): Promise<Explanation> {
  const { tool, input = {}, mode, session } = request;
  if (!haft.tools.registry.get(tool)) {
    const next =
      "`haft tools list` shows the tools of this folder. A tool of a program is known there only: `haft.policy.explain` explains it.";
    throw new ApiError("not_found", `No tool of this folder is named "${tool}"`, next);
  }
  const { verdict, layers, steps } = await haft.policy.explain(tool, input, { mode, caller: { user, session } });
  return {
    verdict,
    steps: [
      ...layers.map(({ layer, allowed, reason }) => ({
        by: layer,
        decision: allowed ? ("none" as const) : ("deny" as const),
        reason,
      })),
      ...steps.map(({ name, rules, stepVerdict, note }) => ({
        by: name,
        decision: stepVerdict?.decision ?? ("none" as const),
        reason: stepVerdict?.reason ?? note ?? (rules ? "no rule matches" : "does not apply"),
        key: stepVerdict?.key,
        values: stepVerdict?.values,
        rule: stepVerdict?.rule,
        origin: stepVerdict?.origin,
      })),
    ],
  };
}

/** What is decided about every call of a tool. Undefined if it depends on the input. */
export function verdictOf(haft: Haft, tool: AnyTool): Verdict | undefined {
  const refused = explainVisibility(tool, layersOf(haft)).layers.find(({ allowed }) => !allowed);
  if (refused) return { decision: "deny", by: "policy", reason: refused.reason, origin: refused.layer };
  const rules = bareRules(haft.policy.rules, tool, haft.settings.folder);
  for (const list of RULE_LISTS) {
    const bare = rules?.[list].find(({ rule }) => rule.isBare)?.rule;
    if (!bare) continue;
    const reason = `A rule for all of its calls says ${list}.`;
    return { decision: list, by: "rule", reason, rule: bare.text, origin: bare.origin };
  }
  return undefined;
}

function layersOf(haft: Haft): PolicyLayer[] {
  return haft.policy.layersFor().flatMap((layer) => ("policy" in layer ? [layer] : []));
}

/** A call that only reads has its input in `call_ended`, others before. */
const INPUT_KINDS = ["call_begun", "call_ended", "call_refused", "call_waiting"] as const;
const PAGE_SIZE = 500;
const HIT_CALLS = 5000;
const MAX_SEEN = 20_000;

function pastCallOf({ callId, toolName, data, at, caller }: AuditEntry): PastCall[] {
  const { input, digest } = data;
  if (callId === undefined || toolName === undefined || input === undefined) return [];
  const { session, user } = caller ?? {};
  return [{ callId, toolName, input, at, session, user, digest: digest as CallDigest | undefined }];
}

/** Models number their calls: the same id may be of another call, also in the same session. */
function keyOf({ callId, toolName, session, user, digest, input }: PastCall): string {
  const compared = digest && digest.unjudged === undefined ? digest.input : input;
  const facts = canonicalJson([callId, toolName, session ?? null, user ?? null, compared]);
  return createHash("sha256").update(facts).digest("base64");
}

/** The calls of the audit log, with the input that it kept. */
export function pastCallsOf(log: AuditLog): PastCalls {
  return async function* (filter = {}) {
    const { count } = await log.head();
    let last = count;
    // A call that waited has several entries with its input, near to each other.
    let seen = new Set<string>();
    let older = new Set<string>();
    const isNew = (call: PastCall): boolean => {
      const key = keyOf(call);
      if (seen.has(key) || older.has(key)) return false;
      if (seen.size >= MAX_SEEN) [older, seen] = [seen, new Set()];
      seen.add(key);
      return true;
    };
    for await (const { entries } of pagesOf(log, { ...filter, kind: INPUT_KINDS, limit: PAGE_SIZE })) {
      const lowest = entries.at(-1)?.seq ?? 0;
      yield { calls: entries.flatMap(pastCallOf).filter(isNew), entries: Math.max(last - lowest, 0), of: count };
      last = lowest;
    }
  };
}

const LEARNED_MS = 30 * 86_400_000;
const MAX_LEARNED = 20_000;

/** The newest calls with their answers. An answer counts for the call of its question; a yes needs a person's name. */
export function answeredCallsOf(log: AuditLog): PolicyApiOptions["answeredCalls"] {
  return async (since) => {
    const answers = new Map<string, "yes" | "no">();
    const calls = new Map<string, AnsweredCall>();
    const never = new Set<string>();
    const kind = [...INPUT_KINDS, "approval_answered", "note"] as const;
    for await (const { entries } of pagesOf(log, { kind, since, limit: PAGE_SIZE })) {
      for (const entry of entries) {
        const { data } = entry;
        if (entry.kind === "note" && typeof data["neverPropose"] === "string") never.add(data["neverPropose"]);
        if (entry.kind === "approval_answered" && typeof data["approvalId"] === "string") {
          const isPerson = typeof data["answeredBy"] === "string" && data["answeredVia"] !== "hook";
          if (data["state"] === "denied") answers.set(data["approvalId"], "no");
          else if (entry.verdict === "allow" && isPerson && !answers.has(data["approvalId"]))
            answers.set(data["approvalId"], "yes");
        }
        const [past] = pastCallOf(entry);
        if (!past?.digest) continue;
        const { verdict } = data;
        const approvalId = isObject(verdict) ? verdict["approvalId"] : undefined;
        // Older than its answer. What was refused did not get a yes.
        const given = typeof approvalId === "string" ? answers.get(approvalId) : undefined;
        const key = keyOf(past);
        const known = calls.get(key);
        const answer = [known?.answer, given].includes("no")
          ? "no"
          : (known?.answer ?? (entry.kind === "call_refused" ? undefined : given));
        const { input: _input, ...call } = past;
        calls.set(key, { ...call, digest: strictDigest(known?.digest, call.digest), answer });
      }
      if (calls.size >= MAX_LEARNED) break;
    }
    return { calls: [...calls.values()], never };
  };
}

/** The newer one, with what is known from the moment of the question. What one of them says against learning counts. */
function strictDigest(newer: CallDigest | undefined, older: CallDigest | undefined): CallDigest | undefined {
  if (!newer || !older) return newer ?? older;
  const said = [newer.hasReadUntrusted, older.hasReadUntrusted];
  return { ...newer, hasReadUntrusted: said.includes(true) ? true : said.find((each) => each !== undefined) };
}

/** Where the rules of the configuration are. A rule that was saved since the start has no line yet. */
export function ruleLinesOf(config: { readonly sources: readonly Pick<ConfigSource, "file" | "origin" | "rules">[] }) {
  const lines = new Map<string, number | undefined>();
  let of: typeof config.sources | undefined;
  return ({ text, list, origin }: Rule): number | undefined => {
    if (of !== config.sources) {
      of = config.sources;
      lines.clear();
      for (const source of of)
        for (const { list: at, rule, line } of source.rules)
          lines.set([source.file ?? source.origin, at, rule.trim()].join("\0"), line);
    }
    return lines.get([origin, list, text].join("\0"));
  };
}

/** From the verdicts of the newest calls. A call of several entries counts once. */
export function ruleHitsOf(log: AuditLog, waiting: () => Promise<Approval[]>): RuleHits {
  return async () => {
    const hits = new Map<string, { count: number; at: number }>();
    const counted = new Set<string>();
    const count = (rule: string, at: number): void => {
      for (const text of new Set([rule, ...rule.split(", ")])) {
        const known = hits.get(text);
        hits.set(text, { count: (known?.count ?? 0) + 1, at: known?.at ?? at });
      }
    };
    // A call that waits for its answer within the process is not in the log yet.
    for (const { callId, caller, verdict, askedAt } of await waiting()) {
      counted.add(callKey(caller, callId));
      if (verdict.rule !== undefined) count(verdict.rule, askedAt);
    }
    for await (const { entries } of pagesOf(log, { kind: INPUT_KINDS, limit: PAGE_SIZE })) {
      for (const { callId, caller, data, at } of entries) {
        const { verdict } = data;
        if (callId === undefined || !isObject(verdict)) continue;
        const call = callKey(caller ?? {}, callId);
        if (counted.has(call)) continue;
        counted.add(call);
        const { rule } = verdict;
        if (typeof rule === "string") count(rule, at);
      }
      if (counted.size >= HIT_CALLS) break;
    }
    return { calls: counted.size, hits };
  };
}

export function changedRuleSet(ruleSet: RuleSet, change: PolicyChange): RuleSet {
  try {
    return changedRules(ruleSet, change);
  } catch (error) {
    throw new ApiError("bad_request", errorMessage(error), "Correct the rule.");
  }
}

/** Undefined if the tool has no signature without an input. */
function bareRules(ruleSet: RuleSet, tool: AnyTool, cwd: string) {
  return attempt(() => ruleSet.caseOf({ tool, input: {}, cwd }).rules);
}

const MAX_HABITS = 50;
/** What a person gives without a question has an end, whoever may use it. */
function requireEnd({ minutes, maxUses }: Pick<GrantDraft, "minutes" | "maxUses">): void {
  if (minutes === undefined && maxUses === undefined)
    throw new ApiError("bad_request", "When does this grant end?", "Give it minutes or a number of uses.");
}

const DEFAULT_GRANTS = 100;

export function createGrantsApi({ policy: { grants } }: Pick<Haft, "policy">): Handlers<typeof grantsContract> {
  const describe = (grant: Grant): GrantInfo => {
    const { id, holder, rules, tools, until, maxUses, used, unknown, why, by, via, createdAt } = grant;
    const { budget, spent, endedAt, endedBy } = grant;
    return {
      id,
      state: grants.stateOf(grant),
      holder,
      rules: [...rules],
      tools: Object.keys(tools),
      until,
      maxUses,
      budget: budget && { unit: budget.unit, max: fromMicros(budget.max) },
      used,
      spent: fromMicros(spent),
      unknown,
      usesLeft: maxUses === undefined ? undefined : Math.max(0, maxUses - used),
      budgetLeft: budget && fromMicros(Math.max(0, budget.max - spent)),
      why,
      by,
      via,
      createdAt,
      endedAt,
      endedBy,
    };
  };
  const find = async (id: string): Promise<Grant> => {
    const grant = await grants.get(id);
    if (grant) return grant;
    throw notFound("There is no such grant", "grants");
  };
  return {
    async list({ query: { state = "open", limit = DEFAULT_GRANTS } }) {
      return { items: (await grants.list({ isOpen: state === "open", max: limit })).map(describe) };
    },
    get: async ({ params }) => describe(await find(params.id)),
    async give({ body: { rules, user, session, agent, why, ...bounds }, identity: { name: by } }) {
      const holder = { user, session, agent };
      if (Object.values(holder).every((value) => value === undefined))
        throw new ApiError("bad_request", "Who may use this grant?", "Name a session, a user or an agent.");
      requireEnd(bounds);
      const tools = grants.check({ rules, ...bounds });
      return describe(await grants.give({ holder, rules, tools, ...bounds, why, by, via: "api" }));
    },
    extend: async ({ params, body, identity }) =>
      describe(await grants.extend((await find(params.id)).id, body, identity.name)),
    revoke: async ({ params, identity }) => describe(await grants.revoke((await find(params.id)).id, identity.name)),
    refund: async ({ params, body, identity }) =>
      describe(await grants.giveBack((await find(params.id)).id, body, identity.name)),
  };
}
