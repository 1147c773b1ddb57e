import { unknown } from "zod/v4";
import type { CallOptions } from "../../core/call.ts";
import type { CallQuestion } from "../../core/gate.ts";
import type { ToolResult } from "../../core/result.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import { type FrameworkAnswer, type FrameworkCall } from "./framework-calls.ts";
import { readAnswer } from "./resume-answer.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  type FrameworkTools,
  hasImages,
  resultText,
  unknownVersion,
} from "./toolkit-bridge.ts";

type ContentPart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

/** The constructor fields of a LangChain tool. */
interface LangChainFields {
  name: string;
  description: string;
  schema: never;
  responseFormat: "content_and_artifact";
  func(input: unknown, runManager?: unknown, config?: unknown): Promise<[string | ContentPart[], ToolResult]>;
}

/** What LangChain and LangGraph give a tool about its call. The last three exist in graphs only. */
interface CallConfig {
  signal?: AbortSignal;
  toolCall?: { id?: string };
  configurable?: { thread_id?: string; checkpoint_ns?: string };
  /** Of LangGraph 1. */
  context?: unknown;
  /** What a `ToolNode` was given: its messages. */
  state?: unknown;
  interrupt?: (value: unknown) => unknown;
  writer?: (chunk: unknown) => void;
}

/** The interrupt of a call that needs a person: a request as LangChain's own approval middleware makes them, and the ids of Haft. */
interface InterruptValue {
  actionRequests: [{ name: string; args: unknown; description: string }];
  reviewConfigs: [{ actionName: string; allowedDecisions: ["approve", "reject"] }];
  /** What is not shown. Resume with `{ approved: true, confirmUnshown: true }` if the person approves it nevertheless. */
  unseen?: string;
  approvalId: string;
  callId: string;
  /** Why the last answer could not be used. */
  problem?: string;
}

const PROFILE = {
  via: "LangGraph",
  adapter: "toLangChainTools",
  versions: "LangChain 1 and LangGraph 1",
  keys: ["DynamicStructuredTool"],
};

/**
 * For agents, graphs and `bindTools` of LangChain. Pass the class from "@langchain/core/tools", so the tools belong to the
 * LangChain installation of the program. The artifact of a tool message is the complete ToolResult. In a graph with a
 * checkpointer, a call that needs a person interrupts the graph. Resume it with `true`, `{ approved, reason, by, confirmUnshown }`,
 * `{ decisions: [{ type: "approve" }] }`, or `{ approvalId }` if the person has answered in Haft.
 */
export function toLangChainTools<T extends { call(...given: never[]): Promise<unknown> }>(
  toolkit: FrameworkTools,
  options: AdapterOptions & { DynamicStructuredTool: new (fields: LangChainFields) => T },
): T[] {
  const session = options.call?.caller?.session;
  return bridgeToolkit(toolkit, options, PROFILE).map((bridged) => {
    const tool = new options.DynamicStructuredTool({
      name: bridged.name,
      description: bridged.description,
      schema: openZod(bridged.schema) as never,
      responseFormat: "content_and_artifact",
      async func(input, runManager, config = {}) {
        const result = await runCall(bridged, input, {
          config: config as CallConfig,
          session,
          onUpdate: (update) => report(bridged.name, update, config as CallConfig, runManager),
        });
        return [show(result), result];
      },
    });
    return markFailures(tool);
  });
}

interface Run {
  config: CallConfig;
  session: string | undefined;
  onUpdate: NonNullable<CallOptions["onUpdate"]>;
}

async function runCall(bridged: BridgedTool, input: unknown, { config, session, onUpdate }: Run): Promise<ToolResult> {
  const { signal, toolCall, configurable, context = configurable } = config;
  if (configurable && "__pregel_send" in configurable && typeof config.interrupt !== "function") {
    throw unknownVersion(PROFILE, "its graphs give a tool no `interrupt`, so nobody could be asked for approval");
  }
  const { thread_id: run, checkpoint_ns: node } = configurable ?? {};
  // The namespace is that of one execution of a node, and the same when it is resumed. Outside of graphs no call is repeated.
  const scope = node || ((run ?? session) === undefined ? globalThis.crypto.randomUUID() : undefined);
  const { state } = config;
  const given = isObject(state) && !Array.isArray(state) ? state["messages"] : state;
  const messages: readonly unknown[] | undefined = Array.isArray(given) ? given : undefined;
  const call: FrameworkCall = { id: toolCall?.id, run, scope, context, messages };
  for (;;) {
    const answer = await inTurn(`${run}/${node}`, () => ask(bridged, input, call, config));
    const result = await bridged.run(input, { ...call, signal, onUpdate, answer: answer || undefined });
    const asksAgain = result.status === "pending" && result.pending.kind === "approval" && answer !== false;
    if (!asksAgain) return result;
  }
}

/**
 * Interrupts the graph if a person must be asked. Returns the answer that the graph was resumed with, undefined if none is
 * needed, false if the graph cannot wait.
 */
async function ask(
  bridged: BridgedTool,
  input: unknown,
  call: FrameworkCall,
  { interrupt }: CallConfig,
): Promise<FrameworkAnswer | undefined | false> {
  if (!interrupt || call.id === undefined) return false;
  const before = await bridged.find(call);
  const open = await bridged.check(input, call);
  const question = open ?? (await bridged.wait(call));
  if (!question) return undefined;
  const value = interruptFor(bridged.name, input, call.id, question);
  try {
    // Answered in Haft. LangGraph gives its answers by position, so this call must still take its own.
    if (!open) return void interrupt(value);
    if (open.id !== before?.id) {
      interrupt(value);
      // Nobody has seen this question, so the answer is about an earlier one, or about another call. LangGraph would give it again.
      await bridged.deny(call, { by: "Haft", reason: "the answer is older than the question" });
      return undefined;
    }
    for (let problem: string | undefined; ;) {
      const given = readAnswer(interrupt(problem === undefined ? value : { ...value, problem }), question.id);
      if (typeof given !== "string") return given;
      if ((await bridged.check(input, call)) === undefined) return undefined;
      problem = given;
    }
  } catch (error) {
    if (isObject(error) && error["lc_error_code"] === "MISSING_CHECKPOINTER") return false;
    if (!open) return undefined;
    throw error;
  }
}

function interruptFor(
  name: string,
  args: unknown,
  callId: string,
  { id, reason, unseen }: CallQuestion,
): InterruptValue {
  return {
    unseen,
    actionRequests: [{ name, args, description: reason }],
    reviewConfigs: [{ actionName: name, allowedDecisions: ["approve", "reject"] }],
    approvalId: id,
    callId,
  };
}

const turns = new Map<string, Promise<unknown>>();

/** The calls of a node ask in their order, also if one of them takes longer to decide. */
function inTurn<T>(node: string, work: () => Promise<T>): Promise<T> {
  const mine = (turns.get(node) ?? Promise.resolve()).then(work);
  const settled = mine.then(ignore, ignore).then(() => {
    if (turns.get(node) === settled) turns.delete(node);
  });
  turns.set(node, settled);
  return mine;
}

function ignore(): void {}

/** For the stream modes "custom" and "tools". */
function report(
  name: string,
  update: Parameters<NonNullable<CallOptions["onUpdate"]>>[0],
  { writer, toolCall }: CallConfig,
  runManager: unknown,
): void {
  writer?.({ type: "tool_update", toolCallId: toolCall?.id, toolName: name, update });
  const { handleToolEvent } = (runManager ?? {}) as { handleToolEvent?: (chunk: unknown) => Promise<void> };
  void handleToolEvent?.call(runManager, update).catch(ignore);
}

/** LangChain builds the messages of tools, and gives all of them the status "success", also if a call waits for a person. */
function markFailures<T extends { call(...given: never[]): Promise<unknown> }>(tool: T): T {
  const call = tool.call.bind(tool);
  return Object.assign(tool, {
    async call(...given: never[]) {
      const message = await call(...given);
      if (!isObject(message) || !isObject(message["artifact"])) return message;
      const { status, pending } = message["artifact"];
      const isFailed = status === "failed" || (isObject(pending) && pending["kind"] === "approval");
      return isFailed ? Object.assign(message, { status: "error" }) : message;
    },
  });
}

interface OpenZod {
  _zod: { toJSONSchema?: () => unknown };
}

/** A schema that accepts anything: otherwise LangChain validates inputs itself, before the gate can repair or report them. */
function openZod(schema: JsonSchema): OpenZod {
  const open = unknown();
  open._zod.toJSONSchema = () => structuredClone(schema);
  return open;
}

function show(result: ToolResult): string | ContentPart[] {
  if (!hasImages(result)) return resultText(result);
  return mapContent<ContentPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mimeType) => ({ type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } }),
  });
}
