import type { Approval } from "../../calls/approval.ts";
import type {
  ApprovalAnswered,
  ApprovalAnswerRequest,
  ApprovalBatchItem,
  ApprovalInfo,
  approvals,
  ApprovalState,
} from "../../contracts/approvals.ts";
import type { ToolResult } from "../../contracts/basics.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import { parseRule } from "../../gate/permit/rules/rule.ts";
import type { Haft } from "../../runtime.ts";
import { toErrorAnswer } from "./to-api-error.ts";

/** How long an answer waits for the approved call. The result of a longer one is in the events. */
const MAX_WAIT_MS = 20_000;

export function createApprovalsApi(haft: Haft): Handlers<typeof approvals> {
  const find = async (id: string): Promise<Approval> => {
    // A store may fail on a NUL character, and keeps none.
    const approval = id.includes("\0") ? undefined : await haft.approvals.get(id);
    if (approval) return approval;
    throw new ApiError("not_found", "There is no such approval", "Look at GET /api/approvals.");
  };

  const answer = async (
    id: string,
    { decision, rule, reason }: ApprovalAnswerRequest,
    identity: Identity,
  ): Promise<ApprovalAnswered> => {
    requireScope(identity, "approve", "To answer");
    await find(id);
    const by = { by: identity.name, via: "http", rights: identity.scopes };
    const running =
      decision === "deny"
        ? haft.deny(id, reason, by)
        : haft.approve(id, { ...by, scope: decision, rule: rule === undefined ? undefined : linesOf(rule), reason });
    const result = await resultWithin(running, haft);
    const approval = describe(await find(id), haft);
    return { approval, result, rule: decision === "session" || decision === "always" ? approval.rule : undefined };
  };

  const answerOne = async (id: string, given: ApprovalAnswerRequest, by: Identity): Promise<ApprovalBatchItem> => {
    try {
      return { id, answered: await answer(id, given, by) };
    } catch (thrown) {
      return { id, ...toErrorAnswer(thrown) };
    }
  };

  return {
    async list({ query: { state } }) {
      const all = await haft.approvals.list(state === "pending" ? "pending" : undefined);
      const items = all.map((approval) => describe(approval, haft));
      return { items: items.filter((info) => state === undefined || info.state === state).reverse() };
    },
    get: async ({ params }) => describe(await find(params.id), haft),
    answer: ({ params, body, identity }) => answer(params.id, body, identity),
    async answerMany({ body, identity }) {
      const items = body.answers.map(({ id, ...given }) => answerOne(id, given, identity));
      return { items: await Promise.all(items) };
    },
  };
}

/** Checked before the answer: an approval is not used up by a rule that cannot be saved. */
function linesOf(rules: string): string[] {
  const lines = rules.split("\n").filter((line) => line.trim() !== "");
  for (const line of lines) {
    const { problem } = parseRule(line);
    if (problem === undefined) continue;
    throw new ApiError("bad_request", `"${line}" cannot be saved: ${problem}`, "Correct it, or answer with once.");
  }
  return lines;
}

/** The result, if it comes soon; the call continues in any case. */
async function resultWithin(running: Promise<ToolResult>, haft: Haft): Promise<ToolResult | undefined> {
  let onLate: () => void = () => undefined;
  const late = new Promise<undefined>((resolve) => (onLate = () => resolve(undefined)));
  const timer = haft.clock.after(MAX_WAIT_MS, () => onLate());
  try {
    return await Promise.race([running, late]);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new ApiError("conflict", thrown.message, "The first answer is final.");
    throw thrown;
  } finally {
    timer.cancel();
    running.catch(() => undefined);
  }
}

function describe(approval: Approval, haft: Haft): ApprovalInfo {
  const { id, callId, toolName, input, caller, reason, verdict, preview, askedAt, expiresAt, hash } = approval;
  const rules = approval.rules ?? approval.suggestedRules;
  return {
    id,
    callId,
    toolName,
    kind: haft.registry.get(toolName)?.kind,
    input: input ?? {},
    caller,
    reason,
    verdict,
    cwd: approval.binding.cwd,
    preview,
    askedAt,
    expiresAt,
    state: STATE[approval.state],
    answeredBy: approval.answeredBy,
    answeredAt: approval.answeredAt,
    note: approval.note,
    hash,
    rule: rules.length > 0 ? rules.join("\n") : undefined,
  };
}

/** A used approval stays approved. One that no longer matches its call has expired. */
const STATE: Record<Approval["state"], ApprovalState> = {
  pending: "pending",
  approved: "approved",
  used: "approved",
  denied: "denied",
  expired: "expired",
  void: "expired",
};
