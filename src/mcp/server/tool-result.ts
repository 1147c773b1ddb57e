import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Content } from "../../core/content.ts";
import type { FailedResult, PendingResult, ToolResult } from "../../core/result.ts";

interface WriteOptions {
  /** Whether the tool says what its structured output looks like. */
  hasOutputSchema: boolean;
  /** The whole output, where a part of it was left out. */
  whole: Content | undefined;
}

/** A result as a client gets it: text for every model, structure for those who read it. */
export function writeResult(
  result: Exclude<ToolResult, PendingResult>,
  { hasOutputSchema, whole }: WriteOptions,
): CallToolResult {
  const content = [...result.content, ...(whole ? [whole] : [])].map(writeBlock);
  if (result.status === "failed")
    return { content: withMessage(result, content), isError: true, _meta: factsOf(result) };
  return {
    content,
    // Only with a schema: some clients show their model the structure instead of the text.
    structuredContent:
      hasOutputSchema && result.details !== undefined
        ? (result.details as CallToolResult["structuredContent"])
        : undefined,
    _meta: factsOf(result),
  };
}

interface Waiting {
  name: string;
  kind: PendingResult["pending"]["kind"];
  id: string;
}

/** Not run, and not run later unasked. An error, because there is no result that fits the tool's schema. */
export function writePending(callId: string, { name, kind, id }: Waiting, address: string | undefined): CallToolResult {
  const where = address === undefined ? "" : ` at ${address}`;
  const text =
    kind === "approval"
      ? `"${name}" has not run: a person must allow it first (${id}), and was not reached through this client. ` +
        `They can answer${where} or with \`haft approvals show ${id}\`. ` +
        "Go on with other work; afterwards make exactly the same call again to get its result."
      : kind === "job"
        ? `"${name}" runs in the background (job ${id}) and has not ended. ` +
          "Go on with other work; make exactly the same call again to get its result."
        : `"${name}" has not ended: it waits for a ${kind} (${id}).`;
  return {
    content: [{ type: "text", text }],
    isError: true,
    _meta: { "haft/callId": callId, "haft/pending": { kind, id } },
  };
}

type Block = CallToolResult["content"][number];

function writeBlock(block: Content): Block {
  if (block.type !== "resource") return block;
  const { text, blob, ...resource } = block.resource;
  return { type: "resource", resource: blob === undefined ? { ...resource, text: text ?? "" } : { ...resource, blob } };
}

function withMessage({ error }: FailedResult, content: Block[]): Block[] {
  const isIncluded = content.some((block) => block.type === "text" && block.text.includes(error.message));
  return isIncluded ? content : [{ type: "text", text: error.message }, ...content];
}

function factsOf(result: ToolResult): Record<string, unknown> {
  return {
    "haft/callId": result.callId,
    "haft/error":
      result.status === "failed" ? { code: result.error.code, retryable: result.error.retryable } : undefined,
    "haft/known": result.metadata.known,
  };
}
