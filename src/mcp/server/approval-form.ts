import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { McpService } from "./mcp-service.ts";
import { canShowForm, type OpenRequest, type Round, waitWithClient } from "./open-requests.ts";
import type { McpAnswer, McpIdentity, McpQuestion } from "./server-options.ts";

/** `ask`: the client is to show the question and come back. `pending`: nobody has answered. */
export type PermissionEnd = { kind: "answered" } | { kind: "ask" | "pending"; question: McpQuestion };

export interface PermissionContext {
  call: OpenRequest<unknown>;
  round: Round;
  identity: McpIdentity;
  service: McpService;
}

/** Under which a modern client's answer to a question comes back. */
export const QUESTION = "approval";

const ANSWERED: PermissionEnd = { kind: "answered" };

/** Asks whoever can be asked: the person at the client, or, by waiting a while, whoever answers through another door. */
export async function requestPermission(id: string, context: PermissionContext): Promise<PermissionEnd> {
  const { round, identity, service, call } = context;
  const { approvals } = service.runtime;
  const question = await approvals.get(id);
  if (question?.state !== "pending") return ANSWERED;
  const isAble = identity.rights.includes("approve") && canShowForm(round.capabilities);
  if (isAble && round.isModern) return { kind: "ask", question };
  if (isAble ? await requestAtClient(question, context) : await waitForOthers(question, context)) return ANSWERED;
  // The client gave up: nobody is to be asked about it any more.
  if (call.signal.aborted) await approvals.void(id, "its client cancelled it").catch(() => undefined);
  return { kind: "pending", question };
}

/** A modern client comes back with what its person answered. */
export async function takePermission(id: string, context: PermissionContext): Promise<PermissionEnd> {
  const question = await context.service.runtime.approvals.get(id);
  if (question?.state !== "pending") return ANSWERED;
  const response = context.round.responses[QUESTION];
  const answer = readApprovalForm(question, response);
  if (!answer) return { kind: response === undefined ? "ask" : "pending", question };
  await submitAnswer(question, answer, context);
  return ANSWERED;
}

/** An older client is asked over its connection; who answers through another door first, ends that. */
async function requestAtClient(question: McpQuestion, context: PermissionContext): Promise<boolean> {
  const { round, call, service } = context;
  const form = approvalForm(question, service.options.describe(question), { isModern: false });
  const elsewhere = (signal: AbortSignal) => service.runtime.approvals.wait(question.id, signal);
  const response = await requestByForm({ form, round, signal: call.signal, elsewhere });
  if (response === "answered elsewhere") return true;
  const answer = readApprovalForm(question, response);
  if (answer) await submitAnswer(question, answer, context);
  return answer !== undefined;
}

/** Whether somebody answered through another door while the client waited. */
async function waitForOthers({ id }: McpQuestion, { round, call, service }: PermissionContext): Promise<boolean> {
  const { options, runtime } = service;
  const where = options.approvalAddress?.(id);
  round.progress({ progress: { done: 0, message: `Waiting for a person to allow it (${where ?? id})` } });
  const answered = await waitWithClient(call, service, (signal) => runtime.approvals.wait(id, signal)).catch(
    () => undefined,
  );
  return answered !== undefined;
}

async function submitAnswer(
  { id }: McpQuestion,
  answer: McpAnswer,
  { identity, service }: PermissionContext,
): Promise<void> {
  const { approvals } = service.runtime;
  try {
    await approvals.answer(id, { ...answer, by: identity.name, via: "mcp", rights: identity.rights });
  } catch (error) {
    // Another door was faster: its answer counts.
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

/**
 * The question as a form. Nothing is chosen beforehand: a client that accepts forms without showing them, with their
 * defaults or empty, has not said yes.
 */
export function approvalForm(
  question: McpQuestion,
  lines: readonly string[],
  { isModern }: { isModern: boolean },
): ElicitRequestFormParams {
  const choices = choicesOf(question);
  const decision = { type: "string" as const, title: "Decision", description: "Whether the call may run" };
  return {
    mode: "form",
    message: lines.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        decision: isModern
          ? { ...decision, oneOf: choices.map((choice) => ({ const: choice, title: CHOICES[choice] })) }
          : { ...decision, enum: choices, enumNames: choices.map((choice) => CHOICES[choice]) },
        reason: { type: "string", title: "Reason", description: "Told to the model, where it is not allowed" },
      },
      required: ["decision"],
    },
  };
}

/** Undefined where nothing was decided: the form was dismissed, or what came back is no answer to it. */
function readApprovalForm(question: McpQuestion, response: unknown): McpAnswer | undefined {
  if (typeof response !== "object" || response === null) return undefined;
  const { action, content } = response as { action?: unknown; content?: unknown };
  const { decision, reason } = (typeof content === "object" && content !== null ? content : {}) as Record<
    string,
    unknown
  >;
  const why = typeof reason === "string" && reason.trim() !== "" ? { reason: reason.trim() } : {};
  if (action === "decline") return { approved: false, ...why };
  if (action !== "accept" || !choicesOf(question).includes(decision as Choice)) return undefined;
  if (decision === "deny") return { approved: false, ...why };
  return { approved: true, scope: decision as Exclude<Choice, "deny"> };
}

function choicesOf({ suggestedRules }: McpQuestion): Choice[] {
  return suggestedRules.length > 0 ? ["once", "session", "always", "deny"] : ["once", "deny"];
}

interface FormOptions {
  form: ElicitRequestFormParams;
  round: Round;
  signal: AbortSignal;
  /** Settles when the question was answered through another door. */
  elsewhere(signal: AbortSignal): Promise<unknown>;
}

const MAX_MS = 24 * 60 * 60_000;

/** What the person at the client answered; undefined where the client could not show the form after all. */
async function requestByForm({ form, round, signal, elsewhere }: FormOptions): Promise<unknown> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  const requested = round
    .push({ method: "elicitation/create", params: form }, { signal: controller.signal, timeoutMs: MAX_MS })
    .catch(() => undefined);
  const answered = elsewhere(controller.signal).then(
    () => "answered elsewhere" as const,
    // Nobody else answers; the client still may.
    () => requested,
  );
  try {
    return await Promise.race([requested, answered]);
  } finally {
    signal.removeEventListener("abort", abort);
    // Takes the form away from a client that still shows it.
    controller.abort(new Error("The question was answered."));
  }
}
