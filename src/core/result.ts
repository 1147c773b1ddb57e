import { type Call, toolOf } from "./call.ts";
import { type Content, firstLine, text } from "./content.ts";
import { failureText, toFailure, ToolError, type ToolFailure } from "./error.ts";

/** One call's outcome, as plain JSON: it crosses a queue, HTTP and MCP unchanged. */
export type ToolResult<Details = unknown> = CompletedResult<Details> | FailedResult | PendingResult;

/** What every result has. */
interface ResultBase {
  /** Of the call. */
  callId: string;
  /** The canonical name of the tool, or the requested name if there is no such tool. */
  toolName: string;
  /** For the model. */
  content: Content[];
  /** For a person: one line. */
  display: string;
  /** Facts about the call: repairs, warnings, the arm of a split, where the whole output is. */
  metadata: ResultMetadata;
  /** Unix milliseconds. */
  startedAt: number;
  /** In milliseconds since 1970; omitted while it is pending. */
  completedAt?: number;
  /** From start to end, without the time in which the call waited for a person. */
  durationMs?: number;
}

/** The tool ran and succeeded. */
export type CompletedResult<Details = unknown> = ResultBase & {
  /** The discriminator. */
  status: "completed";
  /** As `status`, for a quick check. A pending result has none. */
  success: true;
} & (unknown extends Details ? { details?: Details } : { details: Details });

/** The tool failed, or did not run. */
export interface FailedResult extends ResultBase {
  /** The discriminator. */
  status: "failed";
  /** As `status`, for a quick check. */
  success: false;
  /** What happened, who must act, and what to do next. */
  error: ToolFailure;
  /** What the tool still returned, such as the output of a command that exited with 1. */
  details?: unknown;
}

/** The result comes later. */
export interface PendingResult extends ResultBase {
  /** The discriminator. */
  status: "pending";
  /** What it waits for: a job, an approval, a client or a question. */
  pending: { kind: "job" | "approval" | "client" | "question"; id: string };
  /** For programs, as far as known. */
  details?: unknown;
}

export interface ResultMetadata {
  /** Repairs of the input. */
  repairs?: string[];
  /** Warnings for the caller of a successful call. */
  warnings?: string[];
  /** Where the whole output is if `content` was shortened. */
  spill?: { ref: string; bytes: number };
  /** Parts of `content` or `details` that were left out because the result is too large. */
  truncated?: { reason: "result_too_large"; parts: string[] };
  /** The version that ran, if there are several. */
  version?: string;
  /** The arm of a weighted split that ran. */
  arm?: string;
  /** A person's answers are in it: for that person, their agent and administrators. See `hideAnswers`. */
  isPrivate?: boolean;
  /** The tool chose what a model gets (`toModelOutput`). A program that a model wrote gets the same. */
  isForModel?: boolean;
  /** The result was known: from an equal call id, or from the tool's cache. */
  known?: "replay" | "cache";
  [fact: string]: unknown;
}

/** What a tool may return instead of plain data. */
export interface ToolOutput<Details = unknown> {
  /** For the model: text, or blocks. */
  content: Content[] | string;
  /** For programs; checked against `output`. */
  details?: Details;
  /** For a person; one line. */
  display?: string;
  /** Further facts for the record. */
  metadata?: Record<string, unknown>;
  /** The tool ran and reports a failure: a failed result that keeps everything above. */
  error?: ToolFailure;
  /** The answer comes later, from a person, a job or a client. */
  pending?: PendingResult["pending"];
}

/** A result as others may see it: without what a person has answered. */
export function hideAnswers<R extends ToolResult>(result: R): R {
  if (!result.metadata.isPrivate) return result;
  return { ...result, content: [], display: "", details: undefined, metadata: { ...result.metadata, cut: true } };
}

/** A value as JSON text for the model, and unchanged for programs. */
export function jsonResult<T>(payload: T): { content: Content[]; details: T } {
  return { content: [text(JSON.stringify(payload, null, 2) ?? "null")], details: payload };
}

/** Results are created here and in the executor, with the same fields in the same order, for V8's hidden classes. */
export function failed(call: Call, failure: ToolFailure): FailedResult {
  const shown = failureText(failure);
  return {
    callId: call.id,
    toolName: call.tool?.name ?? call.requestedName,
    status: "failed",
    success: false,
    content: [{ type: "text", text: shown }],
    display: firstLine(shown),
    error: failure,
    metadata: {},
    startedAt: call.startedAt,
    completedAt: 0,
    durationMs: 0,
  };
}

/** A thrown value as a failed result of the call. */
export function fromThrown(call: Call, thrown: unknown): FailedResult {
  try {
    if (thrown instanceof ToolError && thrown.toolName === "") thrown.toolName = call.tool?.name ?? call.requestedName;
  } catch {
    // Frozen, or a hostile proxy: it still becomes data.
  }
  return failed(call, toFailure(thrown));
}

/** A pending result of a call that is known only as data. */
export function pendingResult(
  call: Pick<PendingResult, "callId" | "toolName" | "startedAt">,
  waitingFor: PendingResult["pending"],
  message: string,
): PendingResult {
  return {
    callId: call.callId,
    toolName: call.toolName,
    status: "pending",
    content: [{ type: "text", text: message }],
    display: firstLine(message),
    pending: waitingFor,
    metadata: {},
    startedAt: call.startedAt,
  };
}

/** Whether a person must answer: an approval, or a question of `ask_user`. Both are kept and answered in the same way. */
export function isForPerson({ kind }: PendingResult["pending"]): boolean {
  return kind === "approval" || kind === "question";
}

export function pending(call: Call, waitingFor: PendingResult["pending"], message: string): PendingResult {
  const { id: callId, startedAt } = call;
  return pendingResult({ callId, toolName: toolOf(call).name, startedAt }, waitingFor, message);
}
