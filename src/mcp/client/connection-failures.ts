import { toolError, ToolError } from "../../core/error.ts";
import { TOO_LONG } from "./stdio-transport.ts";
import { shownText } from "./tool-definition.ts";

const MAX_MESSAGE_LENGTH = 2000;

/** What an error of the SDK or of the server means for the call, in our words. The server's own are shown as data. */
export function explainFailure(error: unknown, server: string): ToolError {
  if (error instanceof ToolError) return error;
  const { code, name, cause } = error as { code?: unknown; name?: unknown; cause?: unknown };
  const text = shownText(error instanceof Error ? error.message : String(error), MAX_MESSAGE_LENGTH);
  if (isSignInNeeded(error)) {
    return toolError("denied", `MCP server "${server}" wants a sign-in (${text})`, {
      next: "Ask the person to sign in to it; do not repeat the call before.",
      data: { signIn: true },
      cause: error,
    });
  }
  if (name === "AbortError")
    return toolError("cancelled", `The call of MCP server "${server}" was cancelled`, { cause: error });
  if (error instanceof RangeError) {
    return toolError("bad_output", `MCP server "${server}" sent data that is nested too deeply`, {
      next: "Tell the person; the server must be mended.",
      cause: error,
    });
  }
  if (typeof code === "number") return explainAnswer(code, text, server, error);
  switch (code) {
    case "REQUEST_TIMEOUT":
      return toolError("timeout", `MCP server "${server}" did not answer in time`, {
        next: "Try again later.",
        cause: error,
      });
    case "INVALID_RESULT":
    case "UNSUPPORTED_RESULT_TYPE":
      return toolError("bad_output", `MCP server "${server}" answered what the protocol does not allow: ${text}`, {
        next: "Tell the person; the server must be mended.",
        cause: error,
      });
    case "INPUT_REQUIRED_ROUNDS_EXCEEDED":
      return toolError("failed", `MCP server "${server}" asked for input again and again`, {
        next: "Do not repeat the call.",
        cause: error,
      });
    default: {
      const root = rootOf(cause);
      return unavailable(
        server,
        root === undefined || text.includes(root) ? text : `${text} (${shownText(root, 300)})`,
        error,
      );
    }
  }
}

/** A JSON-RPC error, the server's or one that the SDK made of its answer. */
function explainAnswer(code: number, text: string, server: string, cause: unknown): ToolError {
  if (code === TOO_LONG) {
    return toolError("too_large", `MCP server "${server}" gave too long an answer: ${text}`, {
      next: "Ask it for less at once.",
      cause,
    });
  }
  if (/structured content|output ?schema/i.test(text)) {
    return toolError("bad_output", `MCP server "${server}" broke its own output schema: ${text}`, {
      next: "Its effects may have happened. Tell the person.",
      cause,
    });
  }
  const isInput = code === -32_602;
  return toolError(isInput ? "invalid_input" : "failed", `MCP server "${server}" refused the call (${code}): ${text}`, {
    next: isInput ? "Correct the arguments." : "Read the message before you try again.",
    data: { code },
    cause,
  });
}

/** What lies at the bottom: "fetch failed" says nothing, "connect ECONNREFUSED" does. */
function rootOf(cause: unknown): string | undefined {
  let root: unknown = cause;
  for (let depth = 0; depth < 5 && root instanceof Error && root.cause instanceof Error; depth++) root = root.cause;
  return root instanceof Error ? root.message : undefined;
}

export function unavailable(server: string, reason: string, cause?: unknown): ToolError {
  return toolError("unavailable", `MCP server "${server}" is not available: ${reason}`, {
    next: "Go on without it, or try again in a while.",
    cause,
  });
}

export function signInFailed(server: string, cause: unknown): ToolError {
  const text = shownText(cause instanceof Error ? cause.message || cause.name : String(cause), MAX_MESSAGE_LENGTH);
  return toolError("denied", `The sign-in to MCP server "${server}" was refused: ${text}`, {
    next: "Nothing was accepted. Begin it again.",
    cause,
  });
}

export function isSignInNeeded(error: unknown): boolean {
  const { name, code, data } = error as {
    name?: unknown;
    code?: unknown;
    data?: { status?: unknown; signIn?: unknown };
  };
  if (data?.signIn === true) return true;
  if (name === "UnauthorizedError" || name === "InsufficientScopeError") return true;
  return code === "CLIENT_HTTP_AUTHENTICATION" || data?.status === 401;
}

/** Whether the connection ended under a call that had been sent: what it did is not known. */
export function isInterrupted(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown; data?: { isLost?: unknown } } };
  return code === "CONNECTION_CLOSED" || cause?.code === "CONNECTION_CLOSED" || cause?.data?.isLost === true;
}
