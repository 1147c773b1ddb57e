import type { Update } from "../../core/events.ts";
import type { ToolResult } from "../../core/result.ts";
import { isObject } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import { readAnswer } from "./resume-answer.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  type FrameworkTools,
  hasImages,
  openSchema,
  type OpenSchema,
  resultText,
  unknownVersion,
} from "./toolkit-bridge.ts";

type ModelPart = { type: "text"; text: string } | { type: "media"; data: string; mediaType: string };

/** What a Mastra run is suspended with. */
interface SuspendPayload {
  approvalId: string;
  callId: string;
  toolName: string;
  /** Why a person is asked. */
  reason: string;
  /** What is not shown. Resume with `confirmUnshown: true` if the person approves it nevertheless. */
  unseen?: string | undefined;
  /** Why the last answer could not be used. */
  problem?: string;
}

/** What Mastra gives a tool about its call. `agent` is omitted in workflows and in direct calls. */
interface CallContext {
  abortSignal?: AbortSignal;
  runId?: string;
  requestContext?: unknown;
  writer?: { write(chunk: unknown): Promise<unknown> };
  agent?: {
    toolCallId?: string;
    threadId?: string;
    messages?: readonly unknown[];
    resumeData?: unknown;
    suspendPayload?: unknown;
    suspend?(payload: SuspendPayload): Promise<unknown>;
  };
}

/** The fields of Mastra's `createTool`. */
interface MastraFields {
  id: string;
  description: string;
  inputSchema: OpenSchema;
  suspendSchema: OpenSchema;
  resumeSchema: OpenSchema;
  execute(input: unknown, context?: CallContext): Promise<unknown>;
  toModelOutput(output: unknown): unknown;
}

const PROFILE = {
  via: "Mastra",
  adapter: "toMastraTools",
  versions: "Mastra 1 from 1.12 on",
  keys: ["createTool"],
};

/** What a person is asked for: the input of `agent.resumeStream`, and what `approveToolCall` and `declineToolCall` send. */
const RESUME_SCHEMA = openSchema({
  type: "object",
  properties: {
    approved: { type: "boolean" },
    reason: { type: "string" },
    by: { type: "string" },
    confirmUnshown: { type: "boolean" },
  },
  required: ["approved"],
});
const SUSPEND_SCHEMA = openSchema({
  type: "object",
  properties: {
    approvalId: { type: "string" },
    callId: { type: "string" },
    toolName: { type: "string" },
    reason: { type: "string" },
    unseen: { type: "string" },
  },
  required: ["approvalId", "callId", "toolName", "reason"],
});

/**
 * For the `tools` of a Mastra agent. Pass `createTool` from "@mastra/core/tools". The output of a tool is its complete
 * ToolResult. A call that needs a person suspends the run; `agent.approveToolCall`, `agent.declineToolCall` or
 * `agent.resumeStream({ approved, reason, by, confirmUnshown }, { runId, toolCallId })` resumes it, `{ approvalId }` if the person has
 * answered in Haft.
 */
export function toMastraTools<T>(
  toolkit: FrameworkTools,
  options: AdapterOptions & { createTool: (fields: MastraFields) => T },
): Record<string, T> {
  const session = options.call?.caller?.session;
  return Object.fromEntries(
    bridgeToolkit(toolkit, options, PROFILE).map((bridged) => {
      const tool = options.createTool({
        id: bridged.name,
        description: bridged.description,
        inputSchema: openSchema(bridged.schema),
        suspendSchema: SUSPEND_SCHEMA,
        resumeSchema: RESUME_SCHEMA,
        execute: (input, context = {}) => runCall(bridged, input, context, session),
        toModelOutput: (output) => show(output as ToolResult),
      });
      // Version 0 passes the input to `execute` inside of another object, and the first versions 1 resume no tool.
      if (isObject(tool) && "execute" in tool && !("mcpMetadata" in tool)) {
        throw unknownVersion(PROFILE, "its tools have no `mcpMetadata`");
      }
      return [bridged.name, tool];
    }),
  );
}

async function runCall(
  bridged: BridgedTool,
  input: unknown,
  { abortSignal, runId, requestContext, writer, agent = {} }: CallContext,
  session: string | undefined,
): Promise<unknown> {
  const { toolCallId, threadId, messages, resumeData, suspendPayload, suspend } = agent;
  const shown = isObject(suspendPayload) ? suspendPayload["approvalId"] : undefined;
  // A run keeps its id when it is resumed. Without a run no call is repeated.
  const scope = runId ?? ((threadId ?? session) === undefined ? globalThis.crypto.randomUUID() : undefined);
  const call = {
    id: toolCallId,
    run: threadId ?? runId,
    scope,
    context: requestContext,
    messages: Array.isArray(messages) ? messages : undefined,
  };
  const given =
    resumeData === undefined ? undefined : readAnswer(resumeData, typeof shown === "string" ? shown : undefined);
  const written: Promise<unknown>[] = [];
  const onUpdate = (update: Update): void => void (writer && written.push(writer.write(update)));
  const answer = typeof given === "string" ? undefined : given;
  const result = await bridged.run(input, { ...call, signal: abortSignal, onUpdate, answer });
  await Promise.allSettled(written);
  if (result.status === "pending" && result.pending.kind === "approval" && suspend) {
    const question = await bridged.check(input, call);
    return suspend({
      approvalId: result.pending.id,
      callId: result.callId,
      toolName: bridged.name,
      reason: question?.reason ?? result.display,
      unseen: question?.unseen,
      problem: typeof given === "string" ? given : undefined,
    });
  }
  // Mastra has no other way to say that a call failed.
  if (result.status === "failed") throw Object.assign(new Error(resultText(result)), { result });
  return result;
}

function show(result: ToolResult): unknown {
  if (!hasImages(result)) return { type: "text", value: resultText(result) };
  const value = mapContent<ModelPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "media", data, mediaType }),
  });
  return { type: "content", value };
}
