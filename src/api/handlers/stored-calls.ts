import type { CallOrigin } from "../../contracts/calls.ts";
import { isErrorCode, toFailure, toolError, type ToolFailure } from "../../core/error.ts";
import type { PendingResult, ToolResult } from "../../core/result.ts";
import type { AuditEntry, AuditLog, CallFacets, CallFilter as LogFilter } from "../../gate/audit-log.ts";
import { isObject } from "../../schema/json-schema.ts";
import type { CallRunner } from "./call-runner.ts";
import { type CallQuery, type CallSource, type RecentCall, type RecentTree, statusOf } from "./recent-calls.ts";
import { CallSubject, RiskLevel, ToolKind } from "../../contracts/basics.ts";
import type { ToolEvent } from "../../core/events.ts";

/** The calls of all processes of the store, from the audit log: without contents, except of this server's last ones. */
export class StoredCalls implements CallSource {
  readonly #log: AuditLog;
  readonly #runner: CallRunner;

  constructor(log: AuditLog, runner: CallRunner) {
    this.#log = log;
    this.#runner = runner;
  }

  async list({ caller, limit, cursor: after, ...query }: CallQuery): Promise<Awaited<ReturnType<CallSource["list"]>>> {
    const user = query.user ?? caller?.user;
    const session = query.session ?? caller?.session;
    const { entries, cursor, unsearched } = await this.#log.calls({
      ...filterOf({ ...query, user, session }),
      limit,
      cursor: after,
    });
    return { items: entries.map((entry) => this.#complete(callOf(entry))), next: cursor, unsearched };
  }

  facets(filter: Parameters<CallSource["facets"]>[0]): Promise<CallFacets> {
    return this.#log.callFacets(filterOf(filter));
  }

  async tree(callId: string, user?: string): Promise<RecentTree | undefined> {
    const tree = await this.#log.tree(callId, { user });
    if (!tree) {
      const call = this.#runner.recall(callId);
      return call && { root: callId, calls: [call], isPartial: false };
    }
    const calls = tree.calls.map(({ entries, parentId }) => ({ ...this.#complete(wholeCallOf(entries)), parentId }));
    return { ...tree, calls };
  }

  async find(callId: string, user?: string): Promise<RecentCall | undefined> {
    const history = await this.#log.call(callId);
    const ofCallers = new Map<string, AuditEntry[]>();
    for (const entry of history?.entries ?? []) {
      const { session, agent, user: by } = entry.caller ?? {};
      const key = JSON.stringify([session, agent, by]);
      ofCallers.set(key, [...(ofCallers.get(key) ?? []), entry]);
    }
    // The newest last; the caller's own before those of others.
    const groups = [...ofCallers.values()].sort((a, b) => (a.at(-1)?.seq ?? 0) - (b.at(-1)?.seq ?? 0));
    const entries = groups.findLast(([first]) => first?.caller?.user === user) ?? groups.at(-1);
    // A call of this server whose first entry is not written yet.
    return entries ? this.#complete(wholeCallOf(entries)) : this.#runner.recall(callId);
  }

  /** With what the log does not keep. */
  #complete(call: RecentCall): RecentCall {
    const kept = this.#runner.recall(call.callId);
    if (!kept || kept.caller.user !== call.caller.user) {
      const result = this.#log.resultOf?.(call.callId, call.caller.user);
      return result && statusOf(result) === call.status ? { ...call, result } : call;
    }
    const { input, updates, result } = kept;
    return { ...call, input, updates, result: result && statusOf(result) === call.status ? result : call.result };
  }
}

const SHOWN = new Set(
  "call_begun call_ended call_refused call_waiting call_lost call_corrected approval_asked".split(" "),
);

function filterOf({ parent, from, to, search, ...filter }: Parameters<CallSource["facets"]>[0]): LogFilter {
  return { ...filter, parentId: parent, since: from, until: to, text: search };
}

function wholeCallOf(entries: readonly AuditEntry[]): RecentCall {
  const last = entries.findLast(({ kind }) => SHOWN.has(kind)) ?? entries.at(-1);
  const first = entries[0];
  if (!last || !first) throw new Error("A call has an entry.");
  const call = callOf(last);
  const asked = entries.find(({ kind }) => kind === "approval_asked");
  const answered = entries.findLast(({ kind }) => kind === "approval_answered");
  const begun = entries.findLast(({ kind }) => kind === "call_begun");
  call.requestedAt = Math.min(call.requestedAt, first.at);
  call.askedAt = asked?.at ?? call.askedAt;
  call.answeredAt = answered?.at ?? call.answeredAt;
  if (call.askedAt !== undefined && call.answeredAt !== undefined) call.waitedMs = call.answeredAt - call.askedAt;
  if (begun) call.startedAt = begun.at;
  // A job waits for a worker between its passes.
  const queued = entries.find(
    ({ kind, data }) => kind === "call_waiting" && isObject(data["pending"]) && data["pending"]["kind"] === "job",
  );
  if (queued && call.startedAt !== undefined) call.queuedMs = Math.max(0, call.startedAt - queued.at);
  const described = entries.find(({ data }) => "subject" in data || "risk" in data);
  call.subject ??= described && subjectIn(described.data);
  call.risk ??= described && riskIn(described.data);
  const judged = entries.findLast(({ data }) => isObject(data["verdict"]));
  if (call.verdict && judged) call.verdict = { ...call.verdict, ...Object(judged.data["verdict"]) };
  call.approvalId ??= asked && textIn(asked.data["approvalId"]);
  call.input = entries.findLast(({ data }) => "input" in data)?.data["input"];
  call.isMasked = call.input !== undefined && JSON.stringify(call.input).includes("[hidden");
  return call;
}

/** A call as its last entry has it. */
function callOf(entry: AuditEntry): RecentCall {
  const { seq, at, kind, callId = "", parentId, toolName = "", caller, status, verdict, data } = entry;
  const { summary, pending } = data;
  const result = resultOf(entry);
  const why = isObject(data["verdict"]) ? data["verdict"] : {};
  const isEnd = status !== undefined && status !== "pending";
  const requestedAt = numberOf(data["startedAt"]) ?? at;
  const askedAt = kind === "approval_asked" ? at : numberOf(data["askedAt"]);
  const waitedMs = numberOf(data["waitedMs"]);
  const answeredAt = askedAt === undefined || waitedMs === undefined ? undefined : askedAt + waitedMs;
  const queuedMs = numberOf(data["queuedMs"]);
  const durationMs = numberOf(data["durationMs"]);
  const hasRun = isEnd && kind !== "call_refused" && kind !== "call_lost";
  // It began after the answer and its turn in the queue.
  const startedAt = hasRun ? Math.max(requestedAt, answeredAt ?? 0) + (queuedMs ?? 0) : undefined;
  const parsedKind = ToolKind.safeParse(data["toolKind"]);
  return {
    callId,
    parentId,
    toolName,
    kind: parsedKind.success ? parsedKind.data : undefined,
    subject: subjectIn(data),
    risk: riskIn(data),
    caller: { ...caller, depth: caller?.depth ?? 0 },
    origin: originOf(entry),
    status: result ? statusOf(result) : kind === "call_begun" ? "running" : "waiting",
    requestedAt: Math.min(requestedAt, askedAt ?? requestedAt),
    askedAt,
    answeredAt,
    startedAt: kind === "call_begun" ? at : startedAt,
    completedAt: numberOf(data["completedAt"]) ?? (isEnd ? at : undefined),
    durationMs,
    waitedMs,
    queuedMs,
    runMs: hasRun && durationMs !== undefined ? Math.max(0, durationMs - (queuedMs ?? 0)) : undefined,
    errorCode: result?.status === "failed" ? result.error.code : undefined,
    display: textIn(summary),
    approvalId:
      kind === "approval_asked"
        ? textIn(data["approvalId"])
        : isObject(pending) && (pending["kind"] === "approval" || pending["kind"] === "question")
          ? textIn(pending["id"])
          : textIn(why["approvalId"]),
    verdict: verdict && { by: "policy", reason: "", ...(why as object), decision: verdict },
    input: data["input"],
    updates: [],
    result,
    number: seq,
    characters: 0,
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function subjectIn({ subject }: AuditEntry["data"]): CallSubject | undefined {
  const read = CallSubject.safeParse(subject);
  return read.success ? read.data : undefined;
}

/** Calls that only read have no entry of their risk. */
function riskIn({ risk }: AuditEntry["data"]): RiskLevel | undefined {
  const read = RiskLevel.safeParse(risk);
  return read.success ? read.data : undefined;
}

function originOf({ data, caller }: AuditEntry): CallOrigin | undefined {
  if (data["origin"] === "job" || data["origin"] === "agent") return data["origin"];
  return caller?.agent?.startsWith("mcp:") ? "mcp" : undefined;
}

/** What the log has of a result: everything except its content. Undefined while there is none. */
function resultOf({ at, callId = "", toolName = "", status, data }: AuditEntry): ToolResult | undefined {
  if (status === undefined) return undefined;
  const { summary, metadata, spill } = data;
  const base = {
    callId,
    toolName,
    content: [],
    display: typeof summary === "string" ? summary : "",
    // Not kept is not empty.
    metadata: { ...(isObject(metadata) ? metadata : {}), ...(spill ? { spill } : {}), cut: true },
    startedAt: numberOf(data["startedAt"]) ?? at,
    completedAt: numberOf(data["completedAt"]) ?? at,
    durationMs: numberOf(data["durationMs"]),
  } as Omit<Extract<ToolResult, { status: "completed" }>, "status" | "success" | "details">;
  if (status === "completed") return { ...base, status, success: true, details: undefined };
  if (status === "pending" && data["pending"]) {
    return {
      ...base,
      status,
      pending: data["pending"] as PendingResult["pending"],
      completedAt: undefined,
    };
  }
  return { ...base, status: "failed", success: false, error: failureOf(status, data["error"]) };
}

function failureOf(status: string, error: unknown) {
  const { code, message, next } = (isObject(error) ? error : {}) as Partial<ToolFailure>;
  if (status === "unknown") return toFailure(toolError("unknown_outcome", "The process of the call ended"));
  return toFailure(toolError(isErrorCode(code) ? code : "failed", message ?? "The call failed", { next }));
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The event that an entry of another process tells of. Without the content of results, which the log does not have. */
export function eventOf(entry: AuditEntry): ToolEvent | undefined {
  const { at, kind, callId, parentId, toolName = "", caller, data } = entry;
  if (callId === undefined) return undefined;
  const call = { at, callId, parentId, toolName, caller: { ...caller, depth: caller?.depth ?? 0 } };
  if (kind === "call_begun") return { type: "tool_call_started", ...call, input: data["input"] };
  if (kind === "approval_asked" || kind === "approval_answered") return questionEvent(kind, call, data);
  const result = resultOf(entry);
  if (!result || kind === "call_known") return undefined;
  if (kind === "call_corrected") {
    return { type: "tool_call_settled_late", ...call, succeeded: result.status === "completed", afterMs: 0, result };
  }
  const durationMs = result.durationMs ?? 0;
  if (result.status === "completed") return { type: "tool_call_completed", ...call, result, durationMs };
  if (result.status === "pending") return { type: "tool_call_pending", ...call, result };
  return { type: "tool_call_failed", ...call, result, error: result.error, durationMs };
}

type CallFields = Pick<
  Extract<ToolEvent, { type: "permission_requested" }>,
  "at" | "callId" | "parentId" | "toolName" | "caller"
>;

function questionEvent(
  kind: "approval_asked" | "approval_answered",
  call: CallFields,
  { approvalId, reason, state, answeredBy }: Record<string, unknown>,
): ToolEvent | undefined {
  const id = String(approvalId ?? "");
  if (kind === "approval_asked")
    return { type: "permission_requested", ...call, approvalId: id, reason: String(reason ?? "") };
  const decision = state === "denied" || state === "expired" ? state : "approved";
  const by = typeof answeredBy === "string" ? answeredBy : undefined;
  return { type: "permission_resolved", ...call, approvalId: id, decision, by };
}
