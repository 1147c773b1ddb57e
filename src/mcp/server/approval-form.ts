import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { isObject } from "../../schema/json-schema.ts";
import type { McpCall } from "./mcp-call.ts";
import type { McpService } from "./mcp-service.ts";
import { type NoAnswer, questionForm, readQuestionForm } from "./question-form.ts";
import { canShowForm, type Round, waitWithClient } from "./round.ts";
import type { McpAnswer, McpIdentity, McpQuestion } from "./server-options.ts";

/** `ask`: the client must show the question and send the request again. `pending`: there is no answer. */
type PermissionEnd =
  | { kind: "answered" }
  | { kind: "ask"; question: McpQuestion }
  | { kind: "pending"; question: McpQuestion; shown?: NoAnswer | undefined };

interface PermissionContext {
  call: McpCall<unknown>;
  round: Round;
  identity: McpIdentity;
  service: McpService;
}

/** The key of the answer of a modern client. */
export const QUESTION = "approval";

const ANSWERED: PermissionEnd = { kind: "answered" };

/** Asks the person at the client, or waits a while for an answer from another client. */
export async function requestPermission(id: string, context: PermissionContext): Promise<PermissionEnd> {
  const { round, identity, service, call } = context;
  const { approvals } = service.runtime;
  const question = await approvals.get(id);
  if (question?.state !== "pending") return ANSWERED;
  const canAsk = identity.rights.includes("approve") && canShowForm(round.capabilities);
  // The client shows the form without an open request, so any process may run the call.
  if (canAsk && round.isModern) return { kind: "ask", question };
  // The client waits here, so this process runs the call.
  if (!call.isUnderWay) await approvals.hold(id, service.holdMs);
  const end = canAsk ? await requestAtClient(question, context) : await waitForOthers(question, context);
  if (end === "answered") return ANSWERED;
  // The client cancelled the call, so the question is withdrawn.
  if (round.signal.aborted) await approvals.cancel(id, "its client cancelled it").catch(() => undefined);
  else if (!call.isUnderWay) {
    await approvals.release(id).catch(() => undefined);
    // Answered at the last moment: this process still holds it, and runs it.
    if ((await approvals.get(id))?.state === "approved") return ANSWERED;
  }
  return { kind: "pending", question, shown: end };
}

/** Reads the answer that a modern client sends with its repeated request. */
export async function takePermission(id: string, context: PermissionContext): Promise<PermissionEnd> {
  const question = await context.service.runtime.approvals.get(id);
  if (question?.state !== "pending") return ANSWERED;
  const response = context.round.responses[QUESTION];
  if (response === undefined) return { kind: "ask", question };
  const answer = readApprovalForm(question, response);
  if (!("approved" in answer)) return { kind: "pending", question, shown: answer };
  await submitAnswer(question, answer, context);
  return ANSWERED;
}

const MAX_MS = 24 * 60 * 60_000;

/** Asks a legacy client over its connection, until another client answers. */
async function requestAtClient(
  question: McpQuestion,
  context: PermissionContext,
): Promise<"answered" | NoAnswer | undefined> {
  const { round, service } = context;
  const form = approvalForm(question, service.options.describe(question), { isModern: false });
  const controller = new AbortController();
  const { signal } = controller;
  const abort = (): void => controller.abort(round.signal.reason);
  if (round.signal.aborted) abort();
  round.signal.addEventListener("abort", abort, { once: true });
  // Undefined if it could not show the form.
  const requested = round
    .push({ method: "elicitation/create", params: form }, { signal, timeoutMs: MAX_MS, isUnchecked: true })
    .catch(() => undefined);
  const answered = service.runtime.approvals.wait(question.id, signal).then(
    () => "answered elsewhere" as const,
    // No other client answers; this one still may.
    () => requested,
  );
  try {
    const response = await Promise.race([requested, answered]);
    if (response === "answered elsewhere") return "answered";
    if (response === undefined) return undefined;
    const answer = readApprovalForm(question, response);
    if (!("approved" in answer)) return answer;
    await submitAnswer(question, answer, context);
    return "answered";
  } finally {
    round.signal.removeEventListener("abort", abort);
    // Closes the form in a client that still shows it.
    controller.abort(new Error("The question was answered."));
  }
}

/** Whether another client answered while this one waited. */
async function waitForOthers(
  { id, questions }: McpQuestion,
  { round, service }: PermissionContext,
): Promise<"answered" | undefined> {
  const { options, runtime } = service;
  const address = options.approvalAddress?.(id);
  round.progress({
    progress: { done: 0, message: `Waiting for an ${questions ? "answer" : "approval"} (${address ?? id})` },
  });
  const answered = await waitWithClient(round.signal, service, (signal) => runtime.approvals.wait(id, signal)).catch(
    () => undefined,
  );
  return answered && "answered";
}

async function submitAnswer(
  { id }: McpQuestion,
  answer: McpAnswer,
  { identity, service }: PermissionContext,
): Promise<void> {
  const { approvals } = service.runtime;
  try {
    await approvals.save(id, { ...answer, by: identity.name, via: "mcp", rights: identity.rights });
  } catch (error) {
    // Another client was faster, and its answer is used.
    if ((await approvals.get(id))?.state === "pending") throw error;
  }
}

const CHOICES = {
  once: "Allow this call",
  session: "Allow calls like it in this session",
  always: "Always allow calls like it",
  deny: "Do not allow it",
} as const;
type Choice = keyof typeof CHOICES;

/** The question as a form without a default: a client that accepts forms without showing them approves nothing. */
export function approvalForm(
  question: McpQuestion,
  lines: readonly string[],
  { isModern }: { isModern: boolean },
): ElicitRequestFormParams {
  if (question.questions) return questionForm(question.questions, lines, { isModern });
  const choices = choicesOf(question);
  const { grants = [] } = question;
  const second = secondStep(question);
  const titleOf = (choice: Choice): string => {
    const sentence = grants.find(({ scope, isBroader }) => scope === choice && !isBroader)?.sentence;
    return sentence === undefined ? CHOICES[choice] : `${CHOICES[choice]}: ${sentence}`;
  };
  const decision = { type: "string" as const, title: "Decision", description: "Whether the call may run" };
  return {
    mode: "form",
    message: lines.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        decision: isModern
          ? { ...decision, oneOf: choices.map((choice) => ({ const: choice, title: titleOf(choice) })) }
          : { ...decision, enum: choices, enumNames: choices.map(titleOf) },
        ...(second
          ? { confirm: { type: "string", title: `Type ${second.word}`, description: second.description } }
          : {}),
        reason: { type: "string", title: "Reason", description: "For the model, if the call is denied" },
      },
      required: ["decision"],
    },
  };
}

interface SecondStep {
  /** What the person types. */
  word: string;
  /** Why a yes alone is not enough. */
  why: string;
  description: string;
}

/** A yes alone does not approve what was not shown, or what is critical. */
function secondStep({ unseen, summary }: McpQuestion): SecondStep | undefined {
  const reasons = [
    ...(summary?.risk.level === "critical"
      ? [{ word: "critical", why: "the risk is critical", shown: "The risk is critical." }]
      : []),
    ...(unseen === undefined ? [] : [{ word: "unseen", why: "not everything is shown", shown: unseen }]),
  ];
  if (reasons.length === 0) return undefined;
  const word = reasons.map((each) => each.word).join(" ");
  const shown = reasons.map((each) => each.shown).join(" ");
  return {
    word,
    why: reasons.map(({ why }) => why).join(", and "),
    description: `${shown} To approve it nevertheless, type ${word}.`,
  };
}

/** The answer, or that there is none: the form was dismissed, or the response is invalid. */
function readApprovalForm(question: McpQuestion, response: unknown): McpAnswer | NoAnswer {
  if (question.questions) return readQuestionForm(question.questions, response);
  if (!isObject(response)) return {};
  const { action, content } = response;
  const { decision, confirm, reason: givenReason } = isObject(content) ? content : {};
  const reason = (typeof givenReason === "string" && givenReason.trim()) || undefined;
  if (action === "decline") return { approved: false, reason };
  if (action !== "accept" || decision === undefined) return {};
  const choices = choicesOf(question);
  const choice = choices.find((each) => each === decision);
  if (choice === undefined) return { problem: `decision must be one of ${choices.join(", ")}` };
  if (givenReason !== undefined && typeof givenReason !== "string") return { problem: "reason must be a text" };
  if (choice === "deny") return { approved: false, reason };
  const second = secondStep(question);
  if (second && (typeof confirm !== "string" || confirm.trim().toLowerCase() !== second.word))
    return { problem: `${second.why}: to approve it, confirm must be "${second.word}"` };
  return { approved: true, scope: choice, confirmUnshown: question.unseen === undefined ? undefined : true };
}

function choicesOf({ suggestedRules }: McpQuestion): Choice[] {
  return suggestedRules.length > 0 ? ["once", "session", "always", "deny"] : ["once", "deny"];
}
