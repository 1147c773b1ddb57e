import { hash as hashText } from "node:crypto";
import type { Call } from "../core/call.ts";
import { definitionHash } from "../core/definition-hash.ts";
import { type RedactLimits, redactSecrets } from "../core/redact-secrets.ts";
import type { ToolResult } from "../core/result.ts";
import type { AuditFact, AuditKind } from "../executor/audit-log.ts";

/** `redactSecrets`, with the names that the store was given. */
export type Redact = (value: unknown, limits?: RedactLimits) => unknown;

/** What is kept of a call before its effect. */
export function describeBegun(call: Call, redact: Redact = redactSecrets): AuditFact {
  const data = { ...toolData(call, redact), ...inputData(call, redact), ...verdictData(call, redact) };
  return { ...describe(call, "call_begun"), data };
}

/** What is kept of its answer. The input stands in the entry of its beginning, where there is one. */
export function describeAnswer(
  call: Call,
  result: ToolResult,
  { began, redact = redactSecrets }: { began: boolean; redact?: Redact },
): AuditFact {
  return {
    ...describe(call, kindOf(result, began)),
    status: result.status,
    data: {
      ...toolData(call, redact),
      ...(began ? {} : inputData(call, redact)),
      ...verdictData(call, redact),
      startedAt: call.startedAt,
      ...(result.completedAt === undefined ? {} : { completedAt: result.completedAt }),
      ...(result.durationMs === undefined ? {} : { durationMs: Math.round(result.durationMs * 1000) / 1000 }),
      ...(result.status === "pending" ? { pending: result.pending } : {}),
      ...(result.status === "failed"
        ? { error: { code: result.error.code, message: redact(result.error.message, { maxTextLength: 1000 }) } }
        : {}),
      summary: redact(result.display, { maxTextLength: 500 }),
      contentBytes: result.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0),
      ...(result.metadata.spill ? { spill: result.metadata.spill } : {}),
      ...(Object.keys(result.metadata).length > 0
        ? { metadata: redact(result.metadata, { maxTextLength: 300, maxTotalLength: 2000 }) }
        : {}),
    },
  };
}

function kindOf(result: ToolResult, began: boolean): AuditKind {
  if (result.status === "pending") return "call_waiting";
  if (began) return "call_ended";
  return result.metadata.known === undefined ? "call_refused" : "call_known";
}

function describe(call: Call, kind: AuditKind): AuditFact {
  return {
    kind,
    callId: call.id,
    parentId: call.parent?.id,
    toolName: call.tool?.name ?? call.requestedName,
    caller: call.caller,
    verdict: call.verdict?.decision,
  };
}

function toolData({ tool, requestedName }: Call, redact: Redact): Record<string, unknown> {
  if (!tool) return { requestedName: redact(requestedName, { maxTextLength: 200 }) };
  return {
    toolVersion: tool.version,
    toolKind: tool.kind,
    definition: definitionHash(tool, (text) => hashText("sha256", text)),
  };
}

function inputData(call: Call, redact: Redact): Record<string, unknown> {
  return { input: redact(call.accepted ?? call.input) };
}

function verdictData({ verdict }: Call, redact: Redact): Record<string, unknown> {
  if (!verdict) return {};
  const { decision: _decision, ...why } = verdict;
  return { verdict: redact(why, { maxTextLength: 500 }) };
}
