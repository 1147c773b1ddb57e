import { BoundedMap } from "../../core/bounded-map.ts";
import { adopt, type ForeignTool } from "../../core/adopt/adopt.ts";
import type { Update } from "../../core/events.ts";
import { canonicalJson } from "../../core/json.ts";
import type { CompletedResult, PendingResult, ToolResult } from "../../core/result.ts";
import type { AnyTool, InputListeners, ProviderOptions, ToolKind } from "../../core/tool.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { COMMON_RULES } from "../../schema/portable-schema.ts";
import { blockText, mapContent } from "../providers/call-results.ts";
import { COMMON_STRICT_RULES } from "../providers/provider-schema-rules.ts";
import type { FrameworkRun } from "./framework-calls.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  type DetailsOf,
  failureOf,
  type FrameworkTools,
  type HostOf,
  openSchema,
  type OpenSchema,
  type RawInputOf,
  resultText,
  unknownVersion,
  waitsForPerson,
} from "./toolkit-bridge.ts";

// The AI SDK (`ai` 6 and 7). Its tools are plain objects, so the package is not loaded.

type ModelPart = { type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string };

type ModelOutput = { type: "text"; value: string } | { type: "content"; value: ModelPart[] };

/** A partial result of a tool that streams, as the SDK's preliminary result. */
interface RunningResult extends Update {
  status: "running";
}

/** What a tool gives the SDK: its complete result, or that of a background call. Failures are errors. */
type AISDKOutput<Details> = CompletedResult<Details> | PendingResult | RunningResult;

/** The parts of the SDK's options for `execute` and `needsApproval` that are used here. */
interface AISDKCall {
  toolCallId: string;
  messages: readonly unknown[];
  abortSignal?: AbortSignal | undefined;
  /** Of AI SDK 7. */
  context?: unknown;
  /** Of AI SDK 6. */
  experimental_context?: unknown;
}

export interface AISDKTool<Input = unknown, Details = unknown, Host = unknown> extends InputListeners {
  description: string;
  title: string;
  inputSchema: OpenSchema<Input>;
  strict?: boolean;
  contextSchema?: (unknown extends Host ? undefined : OpenSchema<Host>) | undefined;
  needsApproval(input: Input, call: AISDKCall): Promise<boolean>;
  execute(input: Input, call: AISDKCall): AsyncGenerator<AISDKOutput<Details>, void>;
  toModelOutput(options: { output: AISDKOutput<Details> }): ModelOutput;
  providerOptions?: ProviderOptions | undefined;
}

/** By name. A record of tools gives names, inputs and results their types; a toolkit is known at run time only. */
export type AISDKTools<Source> =
  Source extends Readonly<Record<string, AnyTool>>
    ? { [Name in keyof Source]: AISDKTool<RawInputOf<Source[Name]>, DetailsOf<Source[Name]>, HostOf<Source[Name]>> }
    : Record<string, AISDKTool>;

const PROFILE = {
  via: "AI SDK",
  adapter: "toAISDKTools",
  versions: "AI SDK 6 and 7",
  rules: { rules: COMMON_RULES, strictRules: COMMON_STRICT_RULES },
};

/**
 * For the `tools` of generateText, streamText and agents. A call that needs a person is the SDK's own approval request. The
 * output of a tool is its complete result; a failure is the SDK's tool error.
 *
 * @example
 * const tools = toAISDKTools({ pay }, { call: { caller: { session: chatId } } });
 * const { content } = await generateText({ model, messages, tools });
 */
export function toAISDKTools<const Source extends FrameworkTools>(
  source: Source,
  options: AdapterOptions = {},
): AISDKTools<Source> {
  const runs = options.call?.caller?.session === undefined ? new RunIds() : undefined;
  const tools = bridgeToolkit(source, options, PROFILE).map((bridged) => [bridged.name, defineTool(bridged, runs)]);
  return Object.fromEntries(tools) as AISDKTools<Source>;
}

function defineTool(bridged: BridgedTool, runs: RunIds | undefined): AISDKTool {
  const { description, schema, strict, tool } = bridged;
  let isRead = false;
  const approvalFor: ApprovalFor = async (input, { toolCallId, messages, ...given }) => {
    // The SDK checks an answered request again. A question that is asked now would be answered by an earlier, perhaps forged, yes.
    if (isAnswered(toolCallId, messages)) return { type: "user-approval" };
    const { run, scope, isOwnRun } = readCall({ toolCallId, messages, input }, runs);
    const call = { id: toolCallId, run, scope, isOwnRun, messages, ...contextIn(given) };
    const question = await bridged.check(input, call);
    if (question && run !== undefined) runs?.remember([toolCallId, input, messages], run);
    return question && { type: "user-approval", reason: question.reason };
  };
  const defined: AISDKTool = {
    description,
    title: tool.title,
    inputSchema: sdkSchema(schema),
    // Versions before 6 do not read it.
    get strict() {
      isRead = true;
      return strict || undefined;
    },
    // The SDK gives its context only to tools with a schema of it; the gate validates it.
    contextSchema: (tool.contextSchema && sdkSchema({})) as undefined,
    needsApproval: async (input, call) => (await approvalFor(input, call)) !== undefined,
    execute(input, call) {
      if (!isKnownCall(call)) throw unknownVersion(PROFILE, "it gives a tool no id and no messages of its call");
      if (!isRead && isOfOldVersion(call)) throw unknownVersion(PROFILE, "it asks no tool whether it needs approval");
      return execute(bridged, input, call, runs);
    },
    toModelOutput: (given) => {
      if (!isObject(given.output)) throw unknownVersion(PROFILE, "it gives `toModelOutput` something else");
      return toModelOutput(given.output);
    },
    providerOptions: tool.providerOptions,
    ...tool.inputListeners,
  };
  // Version 4 reads the schema here.
  Object.defineProperty(defined, "parameters", {
    get: () => {
      throw unknownVersion(PROFILE, "it reads `parameters` of a tool");
    },
  });
  sources.set(defined, { bridged, runs, approvalFor });
  return defined;
}

async function* execute(
  bridged: BridgedTool,
  input: unknown,
  { toolCallId, messages, abortSignal, ...given }: AISDKCall,
  runs: RunIds | undefined,
): AsyncGenerator<AISDKOutput<unknown>, void> {
  const call = readCall({ toolCallId, messages, input }, runs);
  const updates = streamRun(bridged, input, {
    ...{ id: toolCallId, ...call },
    ...{ signal: abortSignal, ...contextIn(given) },
  });
  for (;;) {
    const { done, value } = await updates.next();
    if (!done) {
      yield { status: "running", ...value };
      continue;
    }
    if (value.status === "failed" || waitsForPerson(value)) throw failureOf(value);
    return yield value;
  }
}

function isKnownCall(call: unknown): call is AISDKCall {
  return isObject(call) && typeof call["toolCallId"] === "string" && Array.isArray(call["messages"]);
}

/** For a tool that the SDK never read. Version 7 gives a `context`; version 6 runs an answered call before it reads the tools. */
function isOfOldVersion(call: AISDKCall): boolean {
  return "abortSignal" in call && !("context" in call) && readRequests(call.messages).length === 0;
}

function contextIn({ context, experimental_context }: Partial<AISDKCall>): { context: unknown } {
  return { context: context ?? experimental_context };
}

/** By the SDK's tool. */
const sources = new WeakMap<object, { bridged: BridgedTool; runs: RunIds | undefined; approvalFor: ApprovalFor }>();

type ApprovalFor = (input: unknown, call: AISDKCall) => Promise<{ type: "user-approval"; reason?: string } | undefined>;

/**
 * The `toolApproval` of generateText, streamText and agents of AI SDK 7: the same decision as the tools' own, and the request has the
 * reason, which an interface shows its user. Version 6 has no place for it.
 *
 * @example
 * await generateText({ model, messages, tools, toolApproval: toAISDKToolApproval(tools) });
 */
export function toAISDKToolApproval<Name extends string>(
  tools: Readonly<Record<Name, object>>,
): Record<
  Name,
  (input: unknown, call: Omit<AISDKCall, "context"> & { toolContext?: unknown }) => ReturnType<ApprovalFor>
> {
  const approvals = Object.entries<object>(tools).flatMap(([name, tool]) => {
    const source = sources.get(tool);
    const approvalFor = (input: unknown, { toolContext, ...call }: AISDKCall & { toolContext?: unknown }) =>
      source?.approvalFor(input, { ...call, context: toolContext });
    return source ? [[name, approvalFor]] : [];
  });
  return Object.fromEntries(approvals) as ReturnType<typeof toAISDKToolApproval<Name>>;
}

interface ApprovalAnswers {
  role: "tool";
  content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }[];
}

/**
 * Exchanges answers between the SDK's messages and Haft, before the next generateText or streamText: a no in the messages
 * closes the question in Haft, and a request without an answer waits for the one that is given in Haft. Returns the messages
 * with all answers.
 *
 * @example
 * messages.push(...(result.responseMessages ?? result.response.messages)); // AI SDK 7, 6
 * await generateText({ model, tools, messages: await resolveAISDKApprovals(tools, messages) });
 */
export async function resolveAISDKApprovals<Message extends object>(
  tools: Readonly<Record<string, object>>,
  messages: readonly Message[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<(Message | ApprovalAnswers)[]> {
  const calls = new Map(partsOf(messages).flatMap((part) => (isCall(part) ? [[part.toolCallId, part]] : [])));
  const answers: ApprovalAnswers["content"] = [];
  for (const request of readRequests(messages)) {
    const { approvalId, toolCallId, answer, scope, isOpen } = request;
    const call = calls.get(toolCallId);
    const tool = call && new Map(Object.entries(tools)).get(call.toolName);
    const source = tool && sources.get(tool);
    if (!source || !isOpen || answer?.approved) continue;
    const { bridged, runs } = source;
    const identity = { id: toolCallId, run: runs?.recall(request, call.input), scope };
    if (answer) await bridged.deny(identity, { reason: answer.reason });
    const answered = await bridged.wait(identity, signal);
    // A no that came after a yes in Haft does not count: the call has run.
    if (!answered || (answer && answered.state !== "approved")) continue;
    const { state, note: reason } = answered;
    answers.push({ type: "tool-approval-response", approvalId, approved: state === "approved", reason });
  }
  return addAnswers(messages, answers);
}

/** The SDK reads the answers of the last message only, and the first answer to a request. */
function addAnswers<Message extends object>(
  messages: readonly Message[],
  answers: ApprovalAnswers["content"],
): (Message | ApprovalAnswers)[] {
  if (answers.length === 0) return [...messages];
  const last = partsOf(messages.slice(-1));
  if (!last.some(isAnswer)) return [...messages, { role: "tool", content: answers }];
  const added = new Set<unknown>(answers.map(({ approvalId }) => approvalId));
  const kept = last.filter((part) => !isAnswer(part) || !added.has(part["approvalId"]));
  const content = [...(kept as object[] as ApprovalAnswers["content"]), ...answers];
  return [...messages.slice(0, -1), { role: "tool", content }];
}

interface ToolCallPart {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

function isCall(part: Record<string, unknown>): part is Record<string, unknown> & ToolCallPart {
  return part["type"] === "tool-call" && typeof part["toolCallId"] === "string" && typeof part["toolName"] === "string";
}

/** Runs a call and yields its partial results as they come; returns its result. */
async function* streamRun(
  tool: BridgedTool,
  input: unknown,
  call: Omit<FrameworkRun, "onUpdate">,
): AsyncGenerator<Update, ToolResult> {
  const updates: Update[] = [];
  let wake: (() => void) | undefined;
  let ended: ToolResult | undefined;
  const running = tool.run(input, {
    ...call,
    onUpdate(update) {
      updates.push(update);
      wake?.();
    },
  });
  void running.then((result) => {
    ended = result;
    wake?.();
  });
  for (;;) {
    const update = updates.shift();
    if (update) yield update;
    else if (ended) return ended;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}

interface ApprovalRequest {
  approvalId: string;
  toolCallId: string;
  scope: string | undefined;
  /** The messages before the one with the request: what the model was given. */
  before: readonly unknown[];
  /** Whether the call has no result yet. */
  isOpen: boolean;
  answer?: { approved: boolean; reason?: string };
}

/** The run that a call belongs to if there is no session, and what the SDK's person answered. */
function readCall(
  { toolCallId, messages, input }: { toolCallId: string; messages: readonly unknown[]; input: unknown },
  runs: RunIds | undefined,
): Pick<FrameworkRun, "run" | "scope" | "answer" | "messages" | "isOwnRun"> {
  const request = readRequests(messages).findLast((each) => each.toolCallId === toolCallId && each.isOpen);
  const resumed = request && runs?.recall(request, input);
  return {
    run: resumed ?? runs?.of(messages),
    scope: scopeOf(toolCallId, messages),
    answer: isRepeated(toolCallId, messages) ? undefined : request?.answer,
    messages,
    isOwnRun: runs !== undefined,
  };
}

/** Some models number the calls of each turn. So an id counts until it has a result in the messages. */
function scopeOf(toolCallId: string, messages: readonly unknown[]): string | undefined {
  const ended = partsOf(messages).filter((part) => isResult(part) && part["toolCallId"] === toolCallId).length;
  return ended === 0 ? undefined : `after ${ended}`;
}

function isResult({ type }: Record<string, unknown>): boolean {
  return type === "tool-result";
}

/**
 * Whether a model gave two open calls this id. The SDK shows the input of one of them and runs the other, so an answer to it
 * says nothing: the call is answered in Haft.
 */
function isRepeated(toolCallId: string, messages: readonly unknown[]): boolean {
  const parts = partsOf(messages).filter((part) => part["toolCallId"] === toolCallId);
  const last = parts.findLastIndex(isResult);
  return parts.slice(last + 1).filter(isCall).length > 1;
}

/** Whether the last message answers a request about this call. */
function isAnswered(toolCallId: string, messages: readonly unknown[]): boolean {
  const answered = new Set(partsOf(messages.slice(-1)).flatMap((part) => (isAnswer(part) ? [part["approvalId"]] : [])));
  return readRequests(messages).some(
    (request) => request.toolCallId === toolCallId && answered.has(request.approvalId),
  );
}

function isAnswer({ type }: Record<string, unknown>): boolean {
  return type === "tool-approval-response";
}

/** The approval requests in messages, with their answers. */
function readRequests(messages: readonly unknown[]): ApprovalRequest[] {
  const requests = new Map<string, ApprovalRequest>();
  for (const [at, message] of messages.entries()) {
    const before = messages.slice(0, at);
    for (const part of partsOf([message])) {
      const { approvalId, toolCallId, approved, reason } = part;
      if (isResult(part)) {
        for (const each of requests.values()) if (each.toolCallId === toolCallId) each.isOpen = false;
      }
      if (typeof approvalId !== "string") continue;
      if (part["type"] === "tool-approval-request" && typeof toolCallId === "string") {
        const scope = scopeOf(toolCallId, before);
        requests.set(approvalId, { approvalId, toolCallId, scope, before, isOpen: true });
      }
      const request = requests.get(approvalId);
      if (!isAnswer(part) || !request) continue;
      request.answer = { approved: approved === true, reason: typeof reason === "string" ? reason : undefined };
    }
  }
  return [...requests.values()];
}

function partsOf(messages: readonly unknown[]): Record<string, unknown>[] {
  return messages.flatMap((message) => {
    const content = isObject(message) ? message["content"] : undefined;
    return Array.isArray(content) ? content.filter(isObject) : [];
  });
}

/** Marked as a schema of the SDK, because the SDK adds `additionalProperties: false` to the schemas of other libraries. */
function sdkSchema(schema: JsonSchema): OpenSchema<unknown> {
  const mark = { [Symbol.for("vercel.ai.schema")]: true, _type: undefined, validate: undefined };
  return Object.defineProperty(Object.assign(openSchema<unknown>(schema), mark), "jsonSchema", {
    enumerable: true,
    get: () => structuredClone(schema),
  });
}

function toModelOutput(output: AISDKOutput<unknown>): ModelOutput {
  if (output.status === "running") return { type: "text", value: (output.content ?? []).map(blockText).join("\n") };
  const parts = mapContent<ModelPart>(output.content, {
    text: (text) => ({ type: "text", text }),
    image: (data, mediaType) => ({ type: "image-data", data, mediaType }),
  });
  const isText = parts.every(({ type }) => type === "text");
  return isText ? { type: "text", value: resultText(output) } : { type: "content", value: parts };
}

/**
 * Converts tools of the AI SDK to tools of Haft, with their `needsApproval`. They do not declare what they change, so their kind is
 * `execute` unless `kinds` sets another. Each tool is named by its key.
 */
export function fromAISDKTools(
  tools: Readonly<Record<string, { inputSchema?: unknown }>>,
  options: { kinds?: Readonly<Record<string, ToolKind>> } = {},
): AnyTool[] {
  const kinds = new Map(Object.entries(options.kinds ?? {}));
  return Object.entries(tools).map(([name, tool]) => {
    return adopt(tool as ForeignTool, { as: "ai-sdk", name, kind: kinds.get(name) });
  });
}

const MAX_REMEMBERED = 1000;

/**
 * Ids of runs for tools without a session. The SDK has none: a run is the messages of one step, and a resumed call is recognized by
 * the messages before it. Of several equal calls after equal messages, the first that has no request gets it.
 */
class RunIds {
  readonly #runs = new WeakMap<object, string>();
  readonly #asked = new BoundedMap<string, string[]>(MAX_REMEMBERED);
  readonly #byRequest = new BoundedMap<string, string>(MAX_REMEMBERED);

  /** The run of these messages. */
  of(messages: object): string {
    let id = this.#runs.get(messages);
    if (id === undefined) this.#runs.set(messages, (id = `run_${globalThis.crypto.randomUUID()}`));
    return id;
  }

  /** A person was asked about this call, and another run will resume it. */
  remember(call: AskedCall, run: string): void {
    const key = keyOf(call);
    const runs = this.#asked.get(key) ?? [];
    if (!runs.includes(run)) this.#asked.set(key, [...runs, run]);
  }

  /** The run in which this request was made. */
  recall({ approvalId, toolCallId, before }: ApprovalRequest, input: unknown): string | undefined {
    const known = this.#byRequest.get(approvalId);
    if (known !== undefined) return known;
    const key = keyOf([toolCallId, input, before]);
    const [run, ...others] = this.#asked.get(key) ?? [];
    if (run === undefined) return undefined;
    this.#byRequest.set(approvalId, run);
    if (others.length > 0) this.#asked.set(key, others);
    else this.#asked.delete(key);
    return run;
  }
}

/** The call's id, its input, and the messages before it. */
type AskedCall = [callId: string, input: unknown, before: readonly unknown[]];

/** Clients send messages in other forms than they got them: a text may be a part, and a message may have further fields. */
function keyOf([callId, input, before]: AskedCall): string {
  const shown = before.flatMap((message) => {
    const { role, content } = isObject(message) ? message : {};
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : partsOf([message]);
    return parts.map(({ type, text, toolCallId, input: given }) => [role, type, text, toolCallId, given]);
  });
  return canonicalJson([callId, input, shown]);
}
