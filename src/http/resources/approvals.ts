import type { Approval } from "../../calls/approval.ts";
import { parseRule } from "../../gate/permit/rules/rule.ts";
import type { ApiContext } from "../door.ts";
import { HttpError, toRefusal } from "../door-error.ts";
import { type Identity, requireScope } from "../identify.ts";
import { json, type Resource, route } from "../route.ts";
import type {
  ApprovalAnswerRequest,
  ApprovalAnswered,
  ApprovalBatchItem,
  ApprovalInfo,
  Page,
  ToolResult,
} from "../wire.ts";

/** How long an answer waits for the call that it lets run; a longer one is told in the events. */
const MAX_WAIT_MS = 20_000;
const STATES = ["pending", "approved", "denied", "expired"];

export const approvals: Resource<ApiContext> = {
  path: "/api/approvals",
  routes: (api) => [
    route("GET /api/approvals", {
      summary: "Questions to a person, newest first",
      scope: "read",
      query: [{ name: "state", summary: "pending, approved, denied or expired" }],
      answers: "ApprovalPage",
      async handle({ query }) {
        const state = query.text("state");
        if (state !== undefined && !STATES.includes(state)) {
          throw new HttpError("bad_request", "There is no such state", `States are: ${STATES.join(", ")}.`);
        }
        const all = await api.haft.approvals.list(state === "pending" ? "pending" : undefined);
        const items = all
          .map((approval) => infoOf(approval, api))
          .filter((info) => state === undefined || info.state === state);
        return json({ items: items.reverse() } satisfies Page<ApprovalInfo>);
      },
    }),
    route("GET /api/approvals/{id}", {
      summary: "One question, with everything that would run",
      scope: "read",
      answers: "ApprovalInfo",
      handle: async ({ params }) => json(infoOf(await find(api, params["id"]!), api)),
    }),
    route("POST /api/approvals/{id}/answer", {
      summary: "Answer a question; yes runs the call",
      scope: "approve",
      body: "ApprovalAnswerRequest",
      answers: "ApprovalAnswered",
      handle: async ({ params, body, identity }) => json(await answer(params["id"]!, body, identity, api)),
    }),
    route("POST /api/approvals/answers", {
      summary: "Answer several questions, each for itself",
      scope: "approve",
      body: "ApprovalBatchRequest",
      answers: "ApprovalBatchPage",
      async handle({ body, identity }) {
        const items = await Promise.all(
          body.answers.map(({ id, ...given }): Promise<ApprovalBatchItem> =>
            answer(id, given, identity, api).then(
              (answered) => ({ id, answered }),
              (thrown: unknown) => ({ id, ...toRefusal(thrown).answer }),
            ),
          ),
        );
        return json({ items } satisfies Page<ApprovalBatchItem>);
      },
    }),
  ],
};

/** The one way to answer through this door, whatever led here. */
async function answer(
  id: string,
  { decision, rule, reason }: ApprovalAnswerRequest,
  identity: Identity,
  api: ApiContext,
): Promise<ApprovalAnswered> {
  requireScope(identity, "approve", "To answer");
  const { haft } = api;
  await find(api, id);
  const { name: by, scopes } = identity;
  const ran =
    decision === "deny"
      ? haft.deny(id, reason, { by, via: "http", rights: scopes })
      : haft.approve(id, {
          by,
          scope: decision,
          via: "http",
          rights: scopes,
          rule: rule === undefined ? undefined : linesOf(rule),
          reason,
        });
  const result = await within(ran, api);
  const approval = infoOf(await find(api, id), api);
  return {
    approval,
    result,
    rule: approval.rule !== undefined && decision !== "once" && decision !== "deny" ? approval.rule : undefined,
  };
}

/** Before the answer counts: a yes is not to be spent on a rule that cannot be kept. */
function linesOf(rules: string): string[] {
  const lines = rules.split("\n").filter((line) => line.trim() !== "");
  for (const line of lines) {
    const { problem } = parseRule(line);
    if (problem !== undefined)
      throw new HttpError("bad_request", `"${line}" cannot be kept: ${problem}`, "Correct it, or answer with once.");
  }
  return lines;
}

/** The result, where it comes soon; the call goes on in any case. Throws what the answer itself meets. */
async function within(ran: Promise<ToolResult>, { clock }: ApiContext): Promise<ToolResult | undefined> {
  let late!: () => void;
  const waited = new Promise<undefined>((resolve) => (late = () => resolve(undefined)));
  const timer = clock.after(MAX_WAIT_MS, late);
  try {
    return await Promise.race([ran, waited]);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new HttpError("conflict", thrown.message, "The first answer counts.");
    throw thrown;
  } finally {
    timer.cancel();
    ran.catch(() => undefined);
  }
}

async function find({ haft }: ApiContext, id: string): Promise<Approval> {
  // A store may fail at a NUL character, and keeps none.
  const approval = id.includes("\0") ? undefined : await haft.approvals.get(id);
  if (approval) return approval;
  throw new HttpError("not_found", "There is no such question", "Look at GET /api/approvals.");
}

function infoOf(approval: Approval, { haft }: ApiContext): ApprovalInfo {
  const { id, callId, toolName, input, caller, reason, preview, askedAt, expiresAt, hash, suggestedRules } = approval;
  const kind = haft.registry.get(toolName)?.kind;
  const rules = approval.rules ?? suggestedRules;
  return {
    id,
    callId,
    toolName,
    kind,
    input: input ?? {},
    caller,
    reason,
    verdict: approval.verdict,
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

/** A yes that was used stays a yes; a question that no longer fits its call is over. */
const STATE: Record<Approval["state"], ApprovalInfo["state"]> = {
  pending: "pending",
  approved: "approved",
  used: "approved",
  denied: "denied",
  expired: "expired",
  void: "expired",
};
