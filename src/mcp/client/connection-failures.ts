import { errorMessage, toFailure, toolError, ToolError } from "../../core/error.ts";
import { isObject } from "../../schema/json-schema.ts";
import { TOO_LONG } from "./stdio-transport.ts";
import { shownText } from "./tool-definition.ts";

const MAX_MESSAGE_LENGTH = 2000;

/** Converts an error of the SDK or the server to a ToolError. The text of the server is shown as data. */
export function explainFailure(error: unknown, server: string): ToolError {
  if (error instanceof ToolError) return error;
  const { code, name, cause } = fieldsOf(error);
  const text = shownText(errorMessage(error), MAX_MESSAGE_LENGTH);
  if (isSignInNeeded(error)) {
    return toolError("denied", `MCP server "${server}" requires a sign-in (${text})`, {
      next: "A person must sign in to it first. Repeat the call only after that.",
      data: { signIn: true },
      cause: error,
    });
  }
  if (name === "AbortError")
    return toolError("cancelled", `The call of MCP server "${server}" was cancelled`, { cause: error });
  if (error instanceof RangeError) {
    return toolError("bad_output", `MCP server "${server}" sent data that is nested too deeply`, {
      next: "Only the person who runs the server can fix this.",
      cause: error,
    });
  }
  if (typeof code === "number") return explainRpcError(code, text, server, error);
  switch (code) {
    case "REQUEST_TIMEOUT":
      return toolError("timeout", `MCP server "${server}" did not answer in time`, {
        next: "Try again later.",
        cause: error,
      });
    case "INVALID_RESULT":
    case "UNSUPPORTED_RESULT_TYPE":
      return toolError("bad_output", `MCP server "${server}" sent an answer that violates the protocol: ${text}`, {
        next: "Only the person who runs the server can fix this.",
        cause: error,
      });
    case "INPUT_REQUIRED_ROUNDS_EXCEEDED":
      return toolError("failed", `MCP server "${server}" asked for input too often`, {
        next: "Do not repeat the call.",
        cause: error,
      });
    default: {
      return unavailable(server, withRoot(text, cause), { cause: error });
    }
  }
}

/** The same for people: what happened, without advice to a model. */
export function reasonOf(failure: unknown): string {
  const { cause } = fieldsOf(failure);
  if (!(failure instanceof ToolError) || failure.code !== "unavailable" || !(cause instanceof Error)) {
    return toFailure(failure).message;
  }
  return withRoot(shownText(cause.message, MAX_MESSAGE_LENGTH), cause.cause);
}

function withRoot(text: string, cause: unknown): string {
  const root = rootOf(cause);
  return root === undefined || text.includes(root) ? text : `${text} (${shownText(root, 300)})`;
}

/** A JSON-RPC error of the server, or one that the SDK created from its answer. */
function explainRpcError(code: number, text: string, server: string, cause: unknown): ToolError {
  if (code === TOO_LONG) {
    return toolError("too_large", `The answer of MCP server "${server}" is too long: ${text}`, {
      next: "Request less at once.",
      cause,
    });
  }
  if (/structured content|output ?schema/i.test(text)) {
    return toolError("bad_output", `MCP server "${server}" violated its own output schema: ${text}`, {
      next: "Its effects may have happened: check them before you go on.",
      cause,
    });
  }
  const isInput = code === -32_602;
  return toolError(
    isInput ? "invalid_input" : "failed",
    `MCP server "${server}" rejected the call (${code}): ${text}`,
    {
      next: isInput ? "Correct the arguments." : "Read the message before you try again.",
      data: { code },
      cause,
    },
  );
}

/** The innermost message: "connect ECONNREFUSED" is more useful than "fetch failed". */
function rootOf(cause: unknown): string | undefined {
  let root: unknown = cause;
  for (let depth = 0; depth < 5 && root instanceof Error && root.cause instanceof Error; depth++) root = root.cause;
  return root instanceof Error ? root.message : undefined;
}

export function unavailable(
  server: string,
  reason: string,
  { cause, nothingDone }: { cause?: unknown; nothingDone?: boolean } = {},
): ToolError {
  return toolError("unavailable", `MCP server "${server}" is not available: ${reason}`, {
    next: "Continue without it, or try again later.",
    cause,
    nothingDone,
  });
}

export function signInFailed(server: string, cause: unknown): ToolError {
  const text = shownText(cause instanceof Error ? cause.message || cause.name : String(cause), MAX_MESSAGE_LENGTH);
  return toolError("denied", `The sign-in to MCP server "${server}" failed: ${text}`, {
    next: "Nothing was accepted. Start it again.",
    cause,
  });
}

export function isSignInNeeded(error: unknown): boolean {
  const { name, code, data } = fieldsOf(error);
  const { signIn, status } = fieldsOf(data);
  if (signIn === true || name === "UnauthorizedError" || name === "InsufficientScopeError") return true;
  return code === "CLIENT_HTTP_AUTHENTICATION" || status === 401;
}

/** Whether the connection ended after the call was sent, so its effect is unknown. */
export function isInterrupted(error: unknown): boolean {
  const { code, cause } = fieldsOf(error);
  const { code: causeCode, data } = fieldsOf(cause);
  return code === "CONNECTION_CLOSED" || causeCode === "CONNECTION_CLOSED" || fieldsOf(data)["isLost"] === true;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
