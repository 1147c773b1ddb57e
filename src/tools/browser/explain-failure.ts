import { ToolError, toolError } from "../../core/error.ts";
import { disarmText } from "../../core/untrusted-text.ts";

export interface BrowserFailureContext {
  /** What was being done, for the message. */
  doing: string;
  signal: AbortSignal;
  /** Why the proxy refused an address, where it did. */
  refusedAt?: (url: string) => unknown;
}

const TERMINAL_CODE = /\u001b\[[\d;]*m/g;

/** What the driver says, in words that tell a model what to do. */
export function explainFailure(thrown: unknown, { doing, signal, refusedAt }: BrowserFailureContext): unknown {
  if (signal.aborted) return signal.reason;
  if (thrown instanceof ToolError) return thrown;
  const text = (thrown instanceof Error ? thrown.message : String(thrown)).replace(TERMINAL_CODE, "");
  const first = disarmText(text.split("\n")[0] ?? "")
    .replace(/^\w+\.\w+: /, "")
    .slice(0, 500);
  if (/has been closed|Target closed|Target crashed/i.test(text)) {
    return toolError("unavailable", `The tab was closed while ${doing}.`, {
      next: "List the tabs, or open the page again.",
      cause: thrown,
    });
  }
  const address = /net::(ERR_\w+) at (\S+)/.exec(text);
  if (address) {
    const why = refusedAt?.(address[2]!);
    if (why instanceof ToolError) return why;
    const reason = why instanceof Error ? why.message : address[1];
    return toolError("unavailable", `${disarmText(address[2]!).slice(0, 300)} did not load: ${reason}.`, {
      next: "Check the address, or try later.",
      cause: thrown,
    });
  }
  if (thrown instanceof Error && thrown.name === "TimeoutError") {
    return toolError("timeout", `It took too long: ${doing}. ${blockerIn(text)}`.trim(), {
      next: "Take a snapshot to see what the page shows now.",
      cause: thrown,
    });
  }
  return toolError("failed", `${doing} failed: ${first}`, {
    next: "Take a snapshot to see what the page shows now.",
    cause: thrown,
  });
}

/** Which element is in the way, where the driver has noticed one. */
function blockerIn(text: string): string {
  const found = /(<[^\n]{1,200}) intercepts pointer events|element is (not (?:visible|enabled|stable|editable))/.exec(
    text,
  );
  if (!found) return "";
  return found[1] ? `${disarmText(found[1])} is in the way.` : `The element is ${found[2]}.`;
}
