import { type Approval, isAsked, isOneLine } from "../../calls/approval.ts";
import type { CallSummary } from "../../core/call-summary.ts";
import type {
  ApprovalAnswered,
  ApprovalAnswerRequest,
  ApprovalBatchItem,
  ApprovalInfo,
  approvals,
  ApprovalState,
  UserQuestion,
} from "../../contracts/approvals.ts";
import type { ToolResult } from "../../contracts/basics.ts";
import type { HandlerRequest, Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import { parseRule } from "../../gate/permit/rules/rule.ts";
import { summarizeCall } from "../../gate/summarize-call.ts";
import type { Haft } from "../../runtime.ts";
import { toErrorAnswer } from "./to-api-error.ts";
import { ruleExamples } from "../../gate/permit/rules/rule-examples.ts";

/** How long an answer waits for the approved call. A longer one is asked for again. */
const DEFAULT_WAIT_MS = 20_000;

export function createApprovalsApi(haft: Haft): Handlers<typeof approvals> {
  const find = async (id: string): Promise<Approval> => {
    // A store may fail on a NUL character, and keeps none.
    const approval = id.includes("\0") ? undefined : await haft.approvals.get(id);
    if (approval) return approval;
    throw new ApiError("not_found", "There is no such approval", "Look at GET /api/approvals.");
  };

  const answer = async (
    id: string,
    { decision, rule, answers, reason, confirmUnshown, waitMs = DEFAULT_WAIT_MS }: ApprovalAnswerRequest,
    identity: Identity,
  ): Promise<ApprovalAnswered> => {
    requireScope(identity, "approve", "To answer");
    await find(id);
    const by = { by: identity.name, via: "http", rights: identity.scopes };
    if (decision === "answer" && answers === undefined) throw missingAnswers();
    if (decision !== "answer" && answers !== undefined) throw unusedAnswers(decision);
    const grant = {
      scope: decision === "deny" || decision === "answer" ? undefined : decision,
      rule: rule === undefined ? undefined : linesOf(rule),
      answers,
      confirmUnshown,
    };
    const result =
      decision === "deny"
        ? await resultWithin(haft.deny(id, reason, by), waitMs, haft)
        : waitMs === 0
          ? void (await haft.approvals.answer(id, { ...by, ...grant, reason, approved: true }))
          : await resultWithin(haft.approve(id, { ...by, ...grant, reason }), waitMs, haft);
    const approval = describe(await find(id), haft, identity);
    return { approval, result, rule: decision === "session" || decision === "always" ? approval.rule : undefined };
  };

  /** Only waits: running a call needs the scope of an answer. */
  const resultOf = async (
    id: string,
    waitMs: number,
    { identity, signal }: Pick<HandlerRequest, "identity" | "signal">,
  ): Promise<ApprovalAnswered> => {
    await find(id);
    const approval = await haft.approvals.waitForEnd(id, { ms: waitMs, signal });
    const result = seesAnswers(approval, identity) ? await haft.approvals.result(id) : undefined;
    return { approval: describe(approval, haft, identity), result };
  };

  const answerOne = async (id: string, given: ApprovalAnswerRequest, by: Identity): Promise<ApprovalBatchItem> => {
    try {
      return { id, answered: await answer(id, given, by) };
    } catch (thrown) {
      return { id, ...toErrorAnswer(thrown) };
    }
  };

  return {
    async list({ query: { state, brief = false }, identity }) {
      const all = await haft.approvals.list(state === "pending" || state === "answered" ? state : undefined);
      const items = all.map((approval) => (brief ? describeBriefly : describe)(approval, haft, identity));
      return {
        items: items.filter((info) => state === undefined || state === "answered" || info.state === state).reverse(),
      };
    },
    get: async ({ params, identity }) => describe(await find(params.id), haft, identity),
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
    const problem = isOneLine(line) ? parseRule(line).problem : "it has a control character";
    if (problem === undefined) continue;
    throw new ApiError("bad_request", `"${line}" cannot be saved: ${problem}`, "Correct it, or answer with once.");
  }
  return lines;
}

/** The result, if it comes soon; the call continues in any case. */
async function resultWithin(running: Promise<ToolResult>, waitMs: number, haft: Haft): Promise<ToolResult | undefined> {
  let onLate: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => (onLate = () => resolve(undefined)));
  const timer = haft.clock.after(waitMs, () => onLate());
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
    input: approval.input ?? {},
    verdict: approval.verdict,
    cwd: approval.binding.cwd,
    preview: approval.preview,
    hash: approval.hash,
    rule: rules.length > 0 ? rules.join("\n") : undefined,
    ruleExamples: rules.length > 0 ? rules.map(ruleExamples) : undefined,
  };
}

/** A row of a list: ten thousand previews would be hundreds of megabytes. */
function describeBriefly(approval: Approval, haft: Haft, identity: Identity): ApprovalInfo {
  const { id, callId, toolName, caller, reason, askedAt, expiresAt } = approval;
  const answers = seesAnswers(approval, identity) ? approval.answers : undefined;
  const tool = haft.registry.get(toolName);
  const { subject, risk } = summaryOf(approval, haft);
  return {
    id,
    callId,
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

/** What a person has said is for the agent that asked: others with the scope `read` do not get it. */
function seesAnswers({ questions, caller }: Approval, { name, scopes }: Identity): boolean {
  return questions === undefined || isAsked(caller, { by: name, rights: scopes });
}

function copyQuestion({ options, ...asked }: NonNullable<Approval["questions"]>[number]): UserQuestion {
  return { ...asked, options: options && [...options] };
}

function summaryOf({ summary, toolName, input }: Approval, haft: Haft): CallSummary {
  return summary ?? summarizeCall(haft.registry.get(toolName), input);
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
