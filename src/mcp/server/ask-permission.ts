import { approvalForm, readApprovalForm } from "./approval-form.ts";
import { requestByForm } from "./ask-by-form.ts";
import { waitWithClient } from "./hold.ts";
import type { McpAnswer, McpIdentity, McpQuestion } from "./mcp-runtime.ts";
import type { McpService } from "./mcp-service.ts";
import type { OpenRequest } from "./open-request.ts";
import { canShowForm, type Round } from "./round.ts";

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
  if (question?.state !== "open") return ANSWERED;
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
  if (question?.state !== "open") return ANSWERED;
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
    if ((await approvals.get(id))?.state === "open") throw error;
  }
}
