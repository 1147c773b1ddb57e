import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Content } from "../../core/content.ts";
import { failureText } from "../../core/error.ts";
import type { FailedResult, PendingResult, ToolResult } from "../../core/result.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import type { NoAnswer } from "./question-form.ts";

interface WriteOptions {
  /** The schema of the structured content, if the client gets any. */
  outputSchema: JsonSchema | undefined;
  /** A link to the full output of a truncated result. */
  fullOutput: Content | undefined;
}

/** A result for a client: text for models, and structured content if the tool has an output schema. */
export function writeResult(
  result: Exclude<ToolResult, PendingResult>,
  { outputSchema, fullOutput }: WriteOptions,
): CallToolResult {
  const content = [...result.content, ...(fullOutput ? [fullOutput] : [])].map(writeBlock);
  const _meta = metaOf(result);
  if (result.status === "failed") return { content: withMessage(result, content), isError: true, _meta };
  if (!outputSchema) return { content, _meta };
  if (!isComplete(result.details, outputSchema)) return { content: [...content, DATA_MISSING], isError: true, _meta };
  // Only with a schema: some clients show structured content to their model instead of the text.
  return { content, structuredContent: result.details as CallToolResult["structuredContent"], _meta };
}

/** Clients reject a result that is no error and has not the structured content that its schema requires. */
const DATA_MISSING: Block = {
  type: "text",
  text: "[The call is complete. Its structured content was replaced by a hook or is too large, so there is only text.]",
};

/** Tools keep their schemas. But hooks replace details, and the limits of a result remove them or some of their fields. */
function isComplete(details: unknown, { type, required }: JsonSchema): boolean {
  if (type !== "object") return details !== undefined;
  return isObject(details) && (!Array.isArray(required) || required.every((name) => Object.hasOwn(details, name)));
}

export interface PendingInfo {
  name: string;
  kind: PendingResult["pending"]["kind"];
  id: string;
  /** The client has shown the question, and sent no answer to it. */
  shown?: NoAnswer | undefined;
}

/** A pending call as an error, because there is no result that matches the tool's schema. */
export function writePending(
  callId: string,
  { name, kind, id, shown }: PendingInfo,
  address: string | undefined,
): CallToolResult {
  return {
    content: [{ type: "text", text: pendingText(name, { kind, id, shown }, address) }],
    isError: true,
    _meta: { "haft/callId": callId, "haft/pending": { kind, id } },
  };
}

function pendingText(
  name: string,
  { kind, id, shown }: Omit<PendingInfo, "name">,
  address: string | undefined,
): string {
  const isInvalid = kind === "approval" && shown?.problem !== undefined;
  const why = isInvalid
    ? `the client's answer was not valid: ${shown.problem}`
    : shown
      ? "did not answer in this client"
      : "could not be asked through this client";
  switch (kind) {
    case "approval": {
      const console = address === undefined ? "" : ` in the console (${address}), or`;
      return (
        `"${name}" has not run: a person must approve it first (${id}), and ${why}. ` +
        `A person can answer${console} with \`haft approvals watch\`. ` +
        "Continue with other work; after the approval make exactly the same call again to get its result."
      );
    }
    case "question": {
      const console = address === undefined ? "" : ` in the console (${address}), or`;
      return (
        `The question waits for the user (${id}), who ${why}. ` +
        (shown?.problem === undefined ? "" : `The form was sent, but not usable: ${shown.problem} `) +
        `The user can answer${console} with \`haft approvals answer ${id}\`. ` +
        "Continue with what does not depend on it; make exactly the same call again to get the answer."
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
  const text = failureText(error);
  const isIncluded = content.some((block) => block.type === "text" && block.text.includes(text));
  return isIncluded ? content : [{ type: "text", text }, ...content];
}

function metaOf(result: ToolResult): Record<string, unknown> {
  return {
    "haft/callId": result.callId,
    "haft/error":
      result.status === "failed" ? { code: result.error.code, retryable: result.error.retryable } : undefined,
    "haft/known": result.metadata.known,
  };
}
