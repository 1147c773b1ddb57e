import type { Call } from "../core/call.ts";
import { toolOf } from "../core/call.ts";
import { redactSecrets } from "../core/redact-secrets.ts";
import type { Preview } from "../core/tool.ts";
import type { Approval, ApprovalBinding, MadeCall } from "./approval.ts";
import { type CallWorld, hashOf } from "./bind-approval.ts";

/** What a person is to be asked about a call. */
export interface Question {
  world: CallWorld;
  /** The arguments as they are kept and shown: plain data. */
  input: unknown;
  /** The preview as it is kept and shown, where the whole is too long. */
  shown: Preview | undefined;
  suggestedRules: readonly string[];
  waits: boolean;
}

interface BoundTo {
  callKey: string;
  binding: ApprovalBinding;
  now: number;
  lifetimeMs: number;
}

/** A question as it is first kept. */
export function newApproval(call: Call, question: Question, { callKey, binding, now, lifetimeMs }: BoundTo): Approval {
  const { world, input, shown, suggestedRules, waits } = question;
  return {
    id: newId(),
    callId: call.id,
    callKey,
    toolName: toolOf(call).name,
    toolVersion: toolOf(call).version,
    input,
    caller: call.caller,
    reason: world.verdict.reason,
    verdict: world.verdict,
    ...(shown ? { preview: shown } : {}),
    suggestedRules,
    binding,
    hash: hashOf(binding),
    made: madeCallOf(call),
    waits,
    askedAt: now,
    expiresAt: now + lifetimeMs,
    state: "open",
  };
}

function madeCallOf({ id, requestedName, sent, options, caller, scope, isDirect }: Call): MadeCall {
  const { signal: _signal, onUpdate: _onUpdate, onApprovalRequested: _onApprovalRequested, ...storable } = options;
  const { taskId: _task, userId: _user, idempotencyKey, ...data } = storable;
  return {
    name: requestedName,
    ...(sent === undefined ? {} : { input: sent }),
    // A call that is made again is found again by its id, also where it had no key.
    options: { ...data, ...(idempotencyKey ? { idempotencyKey } : {}), id, caller },
    ...(scope ? { scope: scope.names() } : {}),
    isDirect,
  };
}

/** What is over is history: it is not made again, and keeps no more than a record may. */
export function withoutSecrets({ input, preview, made }: Approval): Pick<Approval, "input" | "preview" | "made"> {
  const { input: _sent, ...rest } = made;
  return {
    input: redactSecrets(input),
    ...(preview ? { preview: redactSecrets(preview) as Preview } : {}),
    made: rest,
  };
}

/** Not to be guessed: who knows it may be let to answer. */
function newId(): string {
  return `apr_${Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}
