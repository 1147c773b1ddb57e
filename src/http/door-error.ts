import { ERROR_CODES, type ErrorCode, ToolError } from "../core/error.ts";
import type { HttpErrorCode, ErrorAnswer } from "./wire.ts";

const STATUS: Record<HttpErrorCode, number> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  not_here: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  internal: 500,
};

/** A request that is refused: thrown in a handler, answered as `ErrorAnswer`. */
export class HttpError extends Error {
  constructor(
    readonly code: HttpErrorCode,
    message: string,
    readonly next?: string,
    readonly options: { data?: unknown; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HttpError";
  }
}

export interface Refusal {
  status: number;
  answer: ErrorAnswer;
  headers: Readonly<Record<string, string>>;
  /** Nobody meant it to happen: the host should hear of it. */
  isOurs: boolean;
}

/** Whatever a handler threw, as an answer. What is not meant for askers stays in the server's log. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof HttpError) {
    const { code, message, next, options } = thrown;
    const data = options.data === undefined ? {} : { data: options.data };
    const error = { code, message, next, ...data };
    return { status: STATUS[code], answer: { error }, headers: options.headers ?? {}, isOurs: code === "internal" };
  }
  if (thrown instanceof ToolError) {
    const { code, message, data } = thrown;
    const error = { code, message, data };
    return { status: statusOf(code), answer: { error }, headers: {}, isOurs: false };
  }
  const error = {
    code: "internal" as const,
    message: "The server failed while it answered",
    next: "Look into the server's log, then try again.",
  };
  return { status: 500, answer: { error }, headers: {}, isOurs: true };
}

function statusOf(code: ErrorCode): number {
  if (code === "conflict" || code === "stale" || code === "no_change") return 409;
  if (code === "tool_not_found" || code === "path_not_found" || code === "no_match") return 404;
  if (code === "too_large" || code === "input_too_large") return 413;
  if (code === "timeout") return 504;
  const { actor, retryable } = ERROR_CODES[code];
  if (actor === "model") return 400;
  if (actor === "policy") return 403;
  return retryable ? 503 : 500;
}
