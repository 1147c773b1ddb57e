import { toolError, ToolError } from "../core/error.ts";

/** What went wrong on the way, for a model; failures that are explained already stay as they are. */
export function explainFailure(cause: unknown, url: URL): ToolError {
  const origin = url.origin;
  const found = findToolError(cause);
  if (found) return found;
  const code = codeOf(cause);
  if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO)/.test(code)) {
    return toolError("unavailable", `No secure connection to ${origin}: ${messageOf(cause)}.`, {
      next: "Its certificate is not trusted here; tell the user.",
      cause,
    });
  }
  if (code === "ECONNREFUSED") return toolError("unavailable", `Nothing answers at ${origin}.`, { next: RETRY, cause });
  if (code.startsWith("HPE_") || code.startsWith("UND_ERR_")) {
    return toolError("unavailable", `${origin} broke off, or does not speak HTTP: ${messageOf(cause)}.`, {
      next: RETRY,
      cause,
    });
  }
  return toolError("unavailable", `The connection to ${origin} failed: ${messageOf(cause)}.`, { next: RETRY, cause });
}

const RETRY = "Check the address, or try again later.";

function findToolError(cause: unknown): ToolError | undefined {
  if (cause instanceof ToolError) return cause;
  return cause instanceof Error && cause.cause instanceof ToolError ? cause.cause : undefined;
}

/** Of several addresses that were tried, the first one's. */
function codeOf(cause: unknown): string {
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  return String((first as { code?: unknown } | null)?.code ?? "");
}

function messageOf(cause: unknown): string {
  const first = cause instanceof AggregateError ? (cause.errors[0] as unknown) : cause;
  const text = first instanceof Error ? first.message : String(first);
  return text
    .replace(/[\u0000-\u001f\u007f]+/g, " ")
    .replace(/\.$/, "")
    .slice(0, 200);
}
