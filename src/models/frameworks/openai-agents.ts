import type { ToolResult } from "../../core/result.ts";
import { mapContent } from "../providers/call-results.ts";
import { parseArguments } from "../providers/model-calls.ts";
import { OPENAI_RULES, OPENAI_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import type { FrameworkAnswer } from "./framework-calls.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  type FrameworkTools,
  hasImages,
  resultText,
  unknownVersion,
} from "./toolkit-bridge.ts";

// The OpenAI Agents SDK. Its function tools are plain objects, so the package is not loaded.

interface ObjectSchema {
  type: "object";
  properties: Record<string, never>;
  required: string[];
  additionalProperties: true;
}

type OutputPart = { type: "text"; text: string } | { type: "image"; image: { data: string; mediaType: string } };

/** The SDK's RunContext, as far as it is used here. */
interface RunContextLike {
  isToolApproved(call: { toolName: string; callId: string }): boolean | undefined;
  getRejectionMessage(toolName: string, callId: string): string | undefined;
  toJSON(): { approvals: Record<string, { approved: boolean | string[]; rejected: boolean | string[] }> };
}

export interface OpenAIAgentsTool {
  type: "function";
  name: string;
  description: string;
  parameters: ObjectSchema;
  strict: boolean;
  invoke(
    context: RunContextLike,
    input: string,
    details?: { toolCall?: { callId: string }; signal?: AbortSignal },
  ): Promise<string | OutputPart[]>;
  needsApproval(context: RunContextLike, input: unknown, callId?: string): Promise<boolean>;
  isEnabled(context: RunContextLike): Promise<boolean>;
  /** The complete result, as `customData` of the run's output item. */
  customDataExtractor(output: { runContext: object; toolCall: { callId: string } }): Record<string, unknown>;
}

const PROFILE = {
  via: "OpenAI Agents",
  adapter: "toOpenAIAgentsTools",
  versions: "OpenAI Agents 0.6 and newer",
  rules: { rules: OPENAI_RULES, strictRules: OPENAI_STRICT_RULES },
};

/** By the SDK's tool. */
const sources = new WeakMap<object, { bridged: BridgedTool; runOf: RunOf | undefined }>();

/** The id of a run. */
type RunOf = (context: object) => string;

/** The SDK has no ids of runs, but an object for each. Without a session it must not be stored. */
function createRunIds(): RunOf {
  const ids = new WeakMap<object, string>();
  return (context) => {
    const id = ids.get(context) ?? `run_${globalThis.crypto.randomUUID()}`;
    ids.set(context, id);
    return id;
  };
}

/**
 * For the `tools` of an Agent. A call that needs a person is an interruption of the run. Set `call.caller.session` if the run's
 * state is stored: its questions are found by it.
 *
 * @example
 * const agent = new Agent({ name: "Clerk", tools: toOpenAIAgentsTools(haft.tools.toolkit("clerk", ["pay"])) });
 * const { interruptions, state } = await run(agent, "Pay the bill");
 */
export function toOpenAIAgentsTools(source: FrameworkTools, options: AdapterOptions = {}): OpenAIAgentsTool[] {
  const runOf = options.call?.caller?.session === undefined ? createRunIds() : undefined;
  return bridgeToolkit(source, options, PROFILE).map((bridged) => defineTool(bridged, runOf));
}

/** What the program gave the run. Not in the type above: the SDK would infer the type of an agent from it. */
function dataOf(run: object): unknown {
  return (run as { context?: unknown }).context;
}

function defineTool(bridged: BridgedTool, runOf: RunOf | undefined): OpenAIAgentsTool {
  const { name, description, schema, strict } = bridged;
  /** Results by run and call id, until the SDK takes them. */
  const results = new WeakMap<object, Map<string, ToolResult>>();
  /** Rejected calls whose questions were closed. */
  const closed = new WeakMap<RunContextLike, Set<string>>();
  const tool: OpenAIAgentsTool = {
    type: "function",
    name,
    description,
    // The SDK's type allows only open and strict schemas, but its models accept any.
    parameters: { required: [], ...schema } as object as ObjectSchema,
    strict,
    async needsApproval(context, input, callId) {
      requireKnownRun(context);
      // After a restart the SDK checks an approved call again. A question that is asked now would be answered by the earlier yes.
      if (callId !== undefined && context.isToolApproved({ toolName: name, callId })) return true;
      return (
        (await bridged.check(input, { id: callId, run: runOf?.(context), context: dataOf(context) })) !== undefined
      );
    },
    async invoke(context, text, { toolCall, signal } = {}) {
      requireKnownRun(context);
      const { input } = parseArguments(text);
      const id = toolCall?.callId;
      const isApproved = id !== undefined && context.isToolApproved({ toolName: name, callId: id }) === true;
      const run = runOf?.(context);
      const call = { id, run, context: dataOf(context) };
      // The person has approved all calls of the tool in this run, so the SDK did not check this one.
      if (isApproved && context.toJSON().approvals[name]?.approved === true) await bridged.check(input, call);
      const answer: FrameworkAnswer | undefined = isApproved ? { approved: true } : undefined;
      const result = await bridged.run(input, { ...call, answer, signal });
      if (id !== undefined)
        results.set(context, (results.get(context) ?? new Map<string, ToolResult>()).set(id, result));
      return show(result);
    },
    // The SDK does not call a tool that was rejected, but it lists its tools before the next turn.
    async isEnabled(context) {
      requireKnownRun(context);
      const { rejected = [] } = context.toJSON().approvals[name] ?? {};
      const done = closed.get(context) ?? new Set();
      closed.set(context, done);
      for (const id of Array.isArray(rejected) ? rejected : []) {
        if (done.has(id)) continue;
        done.add(id);
        await bridged.deny({ id, run: runOf?.(context) }, { reason: context.getRejectionMessage(name, id) });
      }
      return true;
    },
    customDataExtractor({ runContext, toolCall: { callId } }) {
      const result = results.get(runContext)?.get(callId);
      results.get(runContext)?.delete(callId);
      return { ...result };
    },
  };
  sources.set(tool, { bridged, runOf });
  return tool;
}

/** Earlier versions cannot say why a call was rejected, and some do not say which call they run. */
function requireKnownRun(context: Partial<RunContextLike> | undefined): void {
  const { isToolApproved, getRejectionMessage, toJSON } = context ?? {};
  if (isToolApproved && getRejectionMessage && toJSON) return;
  throw unknownVersion(PROFILE, "its runs do not say what a person answered");
}

function show(result: ToolResult): string | OutputPart[] {
  if (!hasImages(result)) return resultText(result);
  return mapContent<OutputPart>(result.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "image", image: { data, mediaType } }),
  });
}

/** The SDK's interruption, as far as it is used here. */
interface InterruptionLike {
  readonly name?: string | undefined;
  readonly rawItem: object;
  readonly agent: { readonly tools: readonly object[] };
}

/** The SDK's RunState, as far as it is used here. */
interface RunStateLike<Interruption> {
  readonly _context: object;
  getInterruptions(): Interruption[];
  approve(interruption: Interruption): void;
  reject(interruption: Interruption, options?: { message?: string }): void;
}

/**
 * Waits until the interruptions of a run are answered in Haft, and approves or rejects them in its state. Interruptions that
 * are answered in the state already, or that belong to other tools, stay as they are.
 *
 * @example
 * const { state } = await run(agent, "Pay the bill");
 * await resolveOpenAIAgentsApprovals(state);
 * const { finalOutput } = await run(agent, state);
 */
export async function resolveOpenAIAgentsApprovals<Interruption extends InterruptionLike>(
  state: RunStateLike<Interruption>,
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const context = state._context as RunContextLike;
  for (const interruption of state.getInterruptions()) {
    const { name, rawItem, agent } = interruption;
    const source = agent.tools
      .map((tool) => sources.get(tool))
      .find((found) => found !== undefined && found.bridged.name === name);
    const id = "callId" in rawItem && typeof rawItem.callId === "string" ? rawItem.callId : undefined;
    if (!source || id === undefined) continue;
    const { bridged, runOf } = source;
    if (context.isToolApproved({ toolName: bridged.name, callId: id }) !== undefined) continue;
    const answered = await bridged.wait({ id, run: runOf?.(context) }, signal);
    if (answered?.state === "approved") state.approve(interruption);
    else if (answered) state.reject(interruption, answered.note === undefined ? undefined : { message: answered.note });
  }
}
