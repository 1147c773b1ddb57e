import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Content } from "../../core/content.ts";
import type { FailedResult, PendingResult, ToolResult } from "../../core/result.ts";

interface WriteOptions {
  /** Whether the tool has a schema for its structured output. */
  hasOutputSchema: boolean;
  /** A link to the full output of a truncated result. */
  fullOutput: Content | undefined;
}

/** A result for a client: text for models, and structured content if the tool has an output schema. */
export function writeResult(
  result: Exclude<ToolResult, PendingResult>,
  { hasOutputSchema, fullOutput }: WriteOptions,
): CallToolResult {
  const content = [...result.content, ...(fullOutput ? [fullOutput] : [])].map(writeBlock);
  const _meta = metaOf(result);
  if (result.status === "failed") return { content: withMessage(result, content), isError: true, _meta };
  if (!hasOutputSchema) return { content, _meta };
  // Only with a schema: some clients show structured content to their model instead of the text.
  return { content, structuredContent: result.details as CallToolResult["structuredContent"], _meta };
}

interface PendingInfo {
  name: string;
  kind: PendingResult["pending"]["kind"];
  id: string;
}

/** A pending call as an error, because there is no result that matches the tool's schema. */
export function writePending(
  callId: string,
  { name, kind, id }: PendingInfo,
  address: string | undefined,
): CallToolResult {
  return {
    content: [{ type: "text", text: pendingText(name, { kind, id }, address) }],
    isError: true,
    _meta: { "haft/callId": callId, "haft/pending": { kind, id } },
  };
}

function pendingText(name: string, { kind, id }: Omit<PendingInfo, "name">, address: string | undefined): string {
  switch (kind) {
    case "approval": {
      const console = address === undefined ? "" : ` in the console (${address}), or`;
      return (
        `"${name}" has not run: a person must approve it first (${id}), and could not be asked through this client. ` +
        `A person can answer${console} with \`haft approvals show ${id}\`. ` +
        "Continue with other work; after the approval make exactly the same call again to get its result."
      );
    }
    case "job":
      return (
        `"${name}" runs in the background (job ${id}) and has not ended. ` +
        "Continue with other work; make exactly the same call again to get its result."
      );
    default:
      return `"${name}" has not ended: it waits for a ${kind} (${id}).`;
  }
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

function metaOf(result: ToolResult): Record<string, unknown> {
  return {
    "haft/callId": result.callId,
    "haft/error":
      result.status === "failed" ? { code: result.error.code, retryable: result.error.retryable } : undefined,
    "haft/known": result.metadata.known,
  };
}
