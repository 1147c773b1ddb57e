import type { Approval } from "./approval.ts";
import { toApproval } from "./approval.ts";
import type { StoredCall } from "./stored-call.ts";

let made = 0;

/** A call that waits for an answer, with characters that a store may get wrong. */
export function aQuestion(more: Partial<StoredCall> = {}): StoredCall {
  const n = ++made;
  return {
    id: `apr_${n}_${Math.random().toString(36).slice(2)}`,
    callId: `call_${n}\0`,
    key: `key_${n}_${Math.random()}`,
    fingerprint: "f",
    toolName: "rm",
    caller: { session: "s\0", depth: 0 },
    state: "waiting",
    question: {
      toolVersion: "1.0.0",
      input: { path: "a\0b", text: "é\u202e\ud800" },
      reason: "it asks",
      verdict: { decision: "ask", by: "tool", reason: "it asks" },
      suggestedRules: [],
      binding: { tool: "t", input: "i", preview: "p", cwd: "/w", environment: "e", limits: "l", policy: "p" },
      hash: "sha256:0",
      made: {
        ...{ callId: `call_${n}`, toolName: "rm", toolVersion: "1.0.0" },
        caller: { depth: 0 },
        options: {},
        idempotent: false,
      },
      round: 1,
    },
    epoch: 0,
    lost: 0,
    deadline: 2 ** 41,
    repeatable: false,
    createdAt: 1_000 + n,
    ...more,
  };
}

export function anApproval(more: Partial<Approval> = {}): Approval {
  return { ...toApproval(aQuestion()), callId: "call_1", ...more };
}
