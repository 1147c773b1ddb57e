import { type Approval, isAsked, isOneLine } from "../../calls/approval.ts";
import { shownInput, type WholePreview } from "../../calls/shown-question.ts";
import type { CallSummary } from "../../core/call-summary.ts";
import type {
  ApprovalAnswered,
  ApprovalAnswerRequest,
  ApprovalBatchItem,
  ApprovalInfo,
  approvals,
  ApprovalState,
  GrantChoice,
  PreviewPart,
  UserQuestion,
} from "../../contracts/approvals.ts";
import type { ToolResult } from "../../contracts/basics.ts";
import type { HandlerRequest, Handlers } from "../../contracts/contract.ts";
import { ApiError, notFound } from "../../contracts/errors.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import { errorMessage } from "../../core/error.ts";
import { RuleSet } from "../../gate/permit/rules/rule-set.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import type { Haft } from "../../runtime.ts";
import { toErrorAnswer } from "./to-api-error.ts";
import { ruleExamples } from "../../gate/permit/rules/rule-examples.ts";

/** Why a rule that is newer than the question denies the call, in every mode. */
async function denialOf({ toolName, input, caller, state }: Approval, haft: Haft): Promise<string | undefined> {
  if (state !== "pending" || !haft.tools.registry.get(toolName)) return undefined;
  const { verdict } = await haft.policy.explain(toolName, input, { caller });
  return verdict.decision === "deny" && verdict.by === "rule" ? verdict.reason : undefined;
}

/** How long an answer waits for the approved call. A longer one is asked for again. */
const DEFAULT_WAIT_MS = 20_000;
/** In characters. */
const DEFAULT_PART = 100_000;

export function createApprovalsApi(haft: Haft): Handlers<typeof approvals> {
  const find = async (id: string): Promise<Approval> => {
    // A store may fail on a NUL character, and keeps none.
    const approval = id.includes("\0") ? undefined : await haft.approvals.get(id);
    if (approval) return approval;
    throw notFound("There is no such approval", "approvals");
  };

  const answer = async (
    id: string,
    {
      decision,
      rule,
      answers,
      reason,
      confirmUnshown,
      confirmBroader,
      waitMs = DEFAULT_WAIT_MS,
    }: ApprovalAnswerRequest,
    identity: Identity,
  ): Promise<ApprovalAnswered> => {
    requireScope(identity, "approve", "To answer");
    const asked = await find(id);
    const denial = decision === "deny" || decision === "answer" ? undefined : await denialOf(asked, haft);
    if (denial !== undefined)
      throw new ApiError(
        "conflict",
        `A rule denies this call now, so a yes would not let it run: ${denial}`,
        "Deny it, or change the rule first: `haft policy explain` shows it.",
      );
    const by = { by: identity.name, via: "http", rights: identity.scopes };
    if (decision === "answer" && answers === undefined) throw missingAnswers();
    if (decision !== "answer" && answers !== undefined) throw unusedAnswers(decision);
    const grant = {
      scope: decision === "deny" || decision === "answer" ? undefined : decision,
      rule: rule === undefined ? undefined : linesOf(rule),
      answers,
      confirmUnshown,
      confirmBroader,
    };
    const result =
      decision === "deny"
        ? await resultWithin(haft.approvals.deny(id, reason, by), waitMs, haft)
        : waitMs === 0
          ? void (await haft.approvals.save(id, { ...by, ...grant, reason, approved: true }))
          : await resultWithin(haft.approvals.approve(id, { ...by, ...grant, reason }), waitMs, haft);
    const approval = describe(await find(id), haft, identity);
    return {
      approval,
      result: endOf(result, id),
      rule: decision === "session" || decision === "always" ? approval.rule : undefined,
    };
  };

  /** Only waits: running a call needs the scope of an answer. */
  const resultOf = async (
    id: string,
    waitMs: number,
    { identity, signal }: Pick<HandlerRequest, "identity" | "signal">,
  ): Promise<ApprovalAnswered> => {
    await find(id);
    const approval = await haft.approvals.waitForEnd(id, { ms: waitMs, signal });
    const result = seesAnswers(approval, identity) ? endOf(await haft.approvals.result(id), id) : undefined;
    return { approval: describe(approval, haft, identity), result };
  };

  const wholeOf = async (id: string): Promise<WholePreview> => haft.approvals.whole((await find(id)).id);

  const answerOne = async (id: string, given: ApprovalAnswerRequest, by: Identity): Promise<ApprovalBatchItem> => {
    try {
      return { id, answered: await answer(id, given, by) };
    } catch (thrown) {
      return { id, ...toErrorAnswer(thrown) };
    }
  };

  return {
    async list({ query: { brief = false, ...query }, identity }) {
      const { items, next, total } = await haft.approvals.page(query);
      return {
        items: items.map((approval) => (brief ? describeBriefly : describe)(approval, haft, identity)),
        next,
        total,
      };
    },
    get: async ({ params, identity }) => describe(await find(params.id), haft, identity),
    async preview({ params, query: { offset = 0, limit = DEFAULT_PART } }) {
      const { text, missing } = await wholeOf(params.id);
      return { ...partOf(text, offset, limit), missing };
    },
    async previewText({ params, setHeader }) {
      const { text, missing } = await wholeOf(params.id);
      setHeader("content-disposition", `attachment; filename="${params.id}-preview.txt"`);
      return missing === undefined ? text : `${text}\n[not in this file: ${missing}]\n`;
    },
    async input({ params, setHeader }) {
      const { input } = await find(params.id);
      setHeader("content-disposition", `attachment; filename="${params.id}-arguments.json"`);
      return `${JSON.stringify(input ?? {}, undefined, 2)}\n`;
    },
    async grant({ params, query: { scope, rule } }) {
      const { toolName: tool, caller, suggestedRules } = await find(params.id);
      const rules = linesOf(rule);
      if (rules.length === 0)
        throw new ApiError("bad_request", "There is no rule to describe", "Give one rule a line.");
      const isBroader = !rules.every((each) => suggestedRules.includes(each));
      return copyGrant(haft.policy.describeGrant(rules, { scope, tool, caller, isBroader }));
    },
    answer: ({ params, body, identity }) => answer(params.id, body, identity),
    result: (request) => resultOf(request.params.id, request.query.waitMs ?? 0, request),
    async answerMany({ body, identity }) {
      const items = body.answers.map(({ id, ...given }) => answerOne(id, given, identity));
      return { items: await Promise.all(items) };
    },
  };
}

function missingAnswers(): ApiError {
  return new ApiError("bad_request", 'The decision "answer" needs `answers`', "Give one for each question.");
}

function unusedAnswers(decision: string): ApiError {
  const next = 'Use the decision "answer" for a question; an approval has no answers.';
  return new ApiError("bad_request", `The decision "${decision}" takes no \`answers\``, next);
}

/** Checked before the answer: an approval is not used up by a rule that cannot be saved. */
function linesOf(rules: string): string[] {
  const lines = rules.split(/\r?\n/).filter((line) => line.trim() !== "");
  for (const line of lines) {
    const problem = isOneLine(line) ? problemOf(line) : `"${line}" has a control character.`;
    if (problem !== undefined) throw new ApiError("bad_request", problem, "Correct it, or answer with once.");
  }
  return lines;
}

function problemOf(rule: string): string | undefined {
  try {
    new RuleSet().add(rule, "allow", "the answer");
    return undefined;
  } catch (error) {
    if (error instanceof TypeError) return errorMessage(error);
    throw error;
  }
}

/** The result, if it comes soon; the call continues in any case. */
async function resultWithin(running: Promise<ToolResult>, waitMs: number, haft: Haft): Promise<ToolResult | undefined> {
  let onLate: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => (onLate = () => resolve(undefined)));
  const timer = haft.settings.clock.after(waitMs, () => onLate());
  try {
    return await Promise.race([running, late]);
  } finally {
    timer.cancel();
    running.catch(() => undefined);
  }
}

function describe(approval: Approval, haft: Haft, identity: Identity): ApprovalInfo {
  const rules = approval.rules ?? approval.suggestedRules;
  const { steps } = summaryOf(approval, haft);
  return {
    ...describeBriefly(approval, haft, identity),
    steps: steps && [...steps],
    input: shownInput(approval.input ?? {}),
    verdict: approval.verdict,
    cwd: approval.binding.cwd,
    preview: mayApprove(identity) ? approval.preview : undefined,
    hash: approval.hash,
    rule: rules.length > 0 ? rules.join("\n") : undefined,
    ruleExamples: rules.length > 0 ? rules.map(ruleExamples) : undefined,
    grants: approval.grants?.map(copyGrant),
  };
}

/** A row of a list: ten thousand previews would be hundreds of megabytes. */
function describeBriefly(approval: Approval, haft: Haft, identity: Identity): ApprovalInfo {
  const { id, callId, toolName, caller, reason, askedAt, expiresAt } = approval;
  const answers = seesAnswers(approval, identity) ? approval.answers : undefined;
  const tool = haft.tools.registry.get(toolName);
  const { subject, risk } = summaryOf(approval, haft);
  return {
    id,
    callId,
    parentId: approval.parentId,
    toolName,
    kind: tool?.kind,
    title: tool?.title,
    subject,
    risk: { level: risk.level, reasons: [...risk.reasons] },
    input: null,
    caller,
    reason,
    askedAt,
    expiresAt,
    waitsUntil: approval.waitsUntil,
    hasCallerEnded: approval.hasCallerEnded,
    unseen: mayApprove(identity) ? approval.unseen : undefined,
    call: approval.call,
    replaces: approval.replaces && { id: approval.replaces.id, changes: [...approval.replaces.changes] },
    state: STATE[approval.state],
    answeredBy: approval.answeredBy,
    answeredAt: approval.answeredAt,
    note: approval.note,
    questions: approval.questions?.map(copyQuestion),
    answers: answers?.map(({ choices, text }) => ({ choices: choices && [...choices], text })),
  };
}

/** A call that is approved and has not ended has no result yet: `approval.call` says how far it is. */
function endOf(result: ToolResult | undefined, id: string): ToolResult | undefined {
  const isOpen = result?.status === "pending" && (result.pending.kind === "job" || result.pending.id === id);
  return isOpen ? undefined : result;
}

/** What a call would do is for those who decide about it: its caller could read there what it may not read itself. */
function mayApprove({ scopes }: Identity): boolean {
  return scopes.includes("approve");
}

/** From `offset`, up to the last line end before `limit`. */
function partOf(text: string, offset: number, limit: number): Omit<PreviewPart, "missing"> {
  const total = text.length;
  const from = Math.min(offset, total);
  const max = Math.min(from + limit, total);
  const lineEnd = max < total ? text.lastIndexOf("\n", max - 1) + 1 : total;
  const end = lineEnd > from ? lineEnd : max;
  return { text: text.slice(from, end), offset: from, next: end < total ? end : undefined, total };
}

/** What a person has said is for the agent that asked: others with the scope `read` do not get it. */
function seesAnswers({ questions, caller }: Approval, { name, scopes }: Identity): boolean {
  return questions === undefined || isAsked(caller, { by: name, rights: scopes });
}

function copyGrant(grant: NonNullable<Approval["grants"]>[number]): GrantChoice {
  return { ...grant, rules: [...grant.rules], values: { ...grant.values } };
}

function copyQuestion({ options, ...asked }: NonNullable<Approval["questions"]>[number]): UserQuestion {
  return { ...asked, options: options?.map(({ fields, ...option }) => ({ ...option, fields: fields && [...fields] })) };
}

function summaryOf({ summary, toolName, input }: Approval, haft: Haft): CallSummary {
  return summary ?? summarizeCall(haft.tools.registry.get(toolName), input);
}

/** An approval that was cancelled, or whose call changed, cannot be answered any more. */
const STATE: Record<Approval["state"], ApprovalState> = {
  pending: "pending",
  approved: "approved",
  denied: "denied",
  expired: "expired",
  cancelled: "expired",
  changed: "expired",
};
