import { ApiError, type ErrorAnswer } from "../../contracts/errors.ts";
import { ERROR_CODES, type ErrorCode, toFailure, ToolError } from "../../core/error.ts";

/** The error of a tool as an error of the API, with its code. Undefined for everything else: that is a fault of ours. */
export function toApiError(thrown: unknown): ApiError | undefined {
  if (thrown instanceof ApiError) return thrown;
  if (!(thrown instanceof ToolError)) return undefined;
  const { code, message, next, data } = toFailure(thrown);
  return new ApiError(code, message, next, { data, status: statusOf(code), cause: thrown });
}

/** What a client gets. The message of a fault stays in the log of the server. */
export function toErrorAnswer(thrown: unknown): ErrorAnswer {
  const error = toApiError(thrown);
  if (!error || error.code === "unreachable") {
    const next = "Check the server's log, then try again.";
    return { error: { code: "internal", message: "The server failed while handling the request", next } };
  }
  const { code, message, next, data } = error;
  return { error: { code, message, next, data } };
}

function statusOf(code: ErrorCode): number {
  switch (code) {
    case "conflict":
    case "stale":
    case "no_change":
      return 409;
    case "tool_not_found":
    case "path_not_found":
    case "no_match":
      return 404;
    case "too_large":
    case "input_too_large":
      return 413;
    case "timeout":
      return 504;
    default: {
      const { actor, retryable } = ERROR_CODES[code];
      if (actor === "model") return 400;
      if (actor === "policy") return 403;
      return retryable ? 503 : 500;
    }
  }
}
