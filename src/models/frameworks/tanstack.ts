import type { Update } from "../../core/events.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AnyTool } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { mapContent } from "../providers/call-results.ts";
import { parseArguments } from "../providers/model-calls.ts";
import { type FrameworkCall } from "./framework-calls.ts";
import {
  type AdapterOptions,
  type BridgedTool,
  bridgeToolkit,
  failureOf,
  type FrameworkTools,
  hasImages,
  openSchema,
  type OpenSchema,
  type RawInputOf,
  resultText,
  unknownVersion,
  waitsForPerson,
} from "./toolkit-bridge.ts";

// TanStack AI. Its tools and middleware are plain objects, so the package is not loaded.

type OutputPart =
  | { type: "text"; content: string }
  | { type: "image"; source: { type: "data"; value: string; mimeType: string } };

/** TanStack's context of a tool's execution, as far as it is used here. */
interface ToolCallLike {
  toolCallId?: string | undefined;
  abortSignal?: AbortSignal | undefined;
  context?: unknown;
  emitCustomEvent?: ((name: string, value: Record<string, unknown>) => void) | undefined;
}

export interface TanStackTool<Name extends string = string, Input = unknown> {
  name: Name;
  description: string;
  inputSchema: OpenSchema<Input>;
  /** Partial results are custom events with this name: "tool-progress". */
  execute(input: Input, call?: ToolCallLike): Promise<string | OutputPart[]>;
  readonly needsApproval: boolean;
}

/** TanStack's context of one chat(), as far as it is used here. */
interface ChatLike {
  readonly threadId: string;
  readonly phase: string;
  readonly messages: readonly unknown[];
}

/** TanStack's configuration of one chat(), as far as it is used here. */
interface ChatConfigLike {
  readonly messages: readonly unknown[];
  readonly tools: readonly { readonly name: string }[];
  readonly resume?: readonly Resolution[] | undefined;
}

/** A person's answer to an interrupt. */
interface Resolution {
  readonly interruptId: string;
  readonly status: "resolved" | "cancelled";
}

export interface TanStackMiddleware {
  name: "haft";
  onConfig(
    chat: ChatLike,
    config: ChatConfigLike,
  ): Promise<{ tools: never[]; resume: never[] | undefined } | undefined>;
  onInterruptBoundary(chat: ChatLike): Promise<undefined>;
  onToolPhaseComplete(chat: ChatLike, phase: { results: readonly { toolCallId: string }[] }): Promise<void>;
}

/** The tools for chat(), and the middleware that asks for them. A record of tools gives names and inputs their types. */
export type TanStackTools<Source> = (Source extends Readonly<Record<string, AnyTool>>
  ? { [Name in keyof Source & string]: TanStackTool<Name, RawInputOf<Source[Name]>> }[keyof Source & string]
  : TanStackTool)[] & { middleware: TanStackMiddleware };

const PROFILE = { via: "TanStack AI", adapter: "toTanStackTools", versions: "TanStack AI 0.48 and newer" };

/** By TanStack's tool. */
const sources = new WeakMap<object, Adapter>();

/**
 * For the `tools` and `middleware` of chat(). With the middleware, a call that needs a person is an interrupt of the run. Give
 * chat() the `threadId` of the conversation, or set `call.caller.session`: questions are found by it.
 *
 * @example
 * const tools = toTanStackTools(haft.tools.toolkit("clerk", ["pay"]));
 * const stream = chat({ adapter, messages, threadId, tools, middleware: [tools.middleware] });
 */
export function toTanStackTools<const Source extends FrameworkTools>(
  source: Source,
  options: AdapterOptions = {},
): TanStackTools<Source> {
  const adapter = new Adapter(bridgeToolkit(source, options, PROFILE), options.call?.caller?.session !== undefined);
  const tools = adapter.bridged.map((bridged) => adapter.defineTool(bridged, undefined));
  const middleware: TanStackMiddleware = {
    name: "haft",
    onConfig: (chat, config) => adapter.start(chat, config),
    async onInterruptBoundary(chat) {
      if (chat.phase === "beforeTools") await adapter.check(chat);
      return undefined;
    },
    onToolPhaseComplete: (chat, { results }) => adapter.closeDeclined(chat, results),
  };
  return Object.assign(tools, { middleware }) as object as TanStackTools<Source>;
}

interface PendingCall {
  id: string;
  scope?: string | undefined;
  bridged: BridgedTool;
  input: unknown;
}

/** A call that TanStack asks its person about. */
interface AskedCall extends PendingCall {
  /**
   * Whether the question was opened in this chat(). Then no person can have answered it: an answer in the messages belongs to an earlier
   * call with the same id, or is forged.
   */
  isNew: boolean;
  isRun: boolean;
}

/** One chat(). */
interface Chat {
  readonly threadId: string;
  readonly asked: Map<string, AskedCall>;
  /** By call id. */
  readonly scopes: Map<string, string | undefined>;
  /** What the user wrote. */
  readonly messages: readonly unknown[];
  /** Whether the middleware was asked before tools run. */
  isAsked: boolean;
}

class Adapter {
  readonly #chats = new WeakMap<ChatLike, Chat>();

  constructor(
    readonly bridged: readonly BridgedTool[],
    readonly hasSession: boolean,
  ) {}

  /** TanStack's `needsApproval` belongs to a tool, not to a call. So every chat() has tools of its own. */
  defineTool(bridged: BridgedTool, chat: Chat | undefined): TanStackTool {
    const tool: TanStackTool = {
      name: bridged.name,
      description: bridged.description,
      inputSchema: openSchema<unknown>(bridged.schema),
      execute: async (input, call) => {
        if (!call) throw unknownVersion(PROFILE, "it says nothing about the call of a tool");
        if (chat?.isAsked === false) throw unknownVersion(PROFILE, "it does not ask its middleware before tools run");
        return this.#run({ id: call.toolCallId ?? "", bridged, input }, call, chat);
      },
      get needsApproval() {
        return [...(chat?.asked.values() ?? [])].some((call) => call.bridged === bridged && !call.isRun);
      },
    };
    sources.set(tool, this);
    return tool;
  }

  async start(
    context: ChatLike,
    config: ChatConfigLike,
  ): Promise<{ tools: never[]; resume: never[] | undefined } | undefined> {
    if (context.phase !== "init") return undefined;
    const chat: Chat = {
      threadId: context.threadId,
      asked: new Map(),
      scopes: new Map(),
      messages: config.messages,
      isAsked: false,
    };
    this.#chats.set(context, chat);
    const answers = new Map<string, Resolution>(config.resume?.map((answer) => [answer.interruptId, answer]));
    for (const call of this.#pendingIn(config.messages)) {
      chat.scopes.set(call.id, call.scope);
      const question = await call.bridged.find(this.#identify(call, chat.threadId));
      const interruptId = `approval_${call.id}`;
      const answer = answers.get(interruptId);
      // A no that came after a yes in Haft does not count: the call has run.
      if (answer && question?.state === "approved") answers.set(interruptId, { ...answer, ...APPROVED });
      // An answered interrupt must still be one, although its question may have been answered in Haft too.
      if (question?.state === "pending" || answer) chat.asked.set(call.id, { ...call, isNew: false, isRun: false });
    }
    const ours = new Map(this.bridged.map((bridged) => [bridged.name, this.defineTool(bridged, chat)]));
    // TanStack's type of a tool depends on its schema.
    const tools = config.tools.map((tool) => ours.get(tool.name) ?? tool) as never[];
    return { tools, resume: config.resume && ([...answers.values()] as never[]) };
  }

  /** Asks about the calls that wait for their tools. */
  async check(context: ChatLike): Promise<void> {
    const chat = this.#chats.get(context);
    if (!chat) return;
    chat.isAsked = true;
    for (const call of this.#pendingIn(context.messages)) {
      if (chat.asked.has(call.id)) continue;
      chat.scopes.set(call.id, call.scope);
      const question = await call.bridged.check(call.input, {
        ...this.#identify(call, chat.threadId),
        messages: chat.messages,
      });
      if (question) chat.asked.set(call.id, { ...call, isNew: true, isRun: false });
    }
  }

  /** TanStack does not call a tool that its person declined. */
  async closeDeclined(context: ChatLike, results: readonly { toolCallId: string }[]): Promise<void> {
    const chat = this.#chats.get(context);
    for (const { toolCallId } of results) {
      const call = chat?.asked.get(toolCallId);
      if (!chat || !call) continue;
      chat.asked.delete(toolCallId);
      if (!call.isRun) await call.bridged.deny(this.#identify(call, chat.threadId));
    }
  }

  /** Waits for the answers to the open questions about the calls in these messages. */
  async wait(messages: readonly unknown[], threadId: string | undefined, signal?: AbortSignal): Promise<void> {
    for (const call of this.#pendingIn(messages)) await call.bridged.wait(this.#identify(call, threadId), signal);
  }

  async #run(
    { id, bridged, input }: PendingCall,
    { abortSignal, context, emitCustomEvent }: ToolCallLike,
    chat: Chat | undefined,
  ): Promise<string | OutputPart[]> {
    const asked = chat?.asked.get(id);
    if (asked) asked.isRun = true;
    // Without the middleware no call is repeated.
    const scope = chat ? chat.scopes.get(id) : globalThis.crypto.randomUUID();
    const call = this.#identify({ id, scope }, chat?.threadId);
    // The messages could be sent again, and the answer in them would then count.
    if (asked?.isNew) await bridged.deny(call, { by: "Haft", reason: "the answer is older than the question" });
    const result = await bridged.run(input, {
      ...call,
      context,
      messages: chat?.messages,
      // TanStack runs such a call only after its person approved it.
      answer: asked && { approved: true },
      signal: abortSignal,
      onUpdate: (update: Update) => emitCustomEvent?.("tool-progress", { ...update }),
    });
    if (waitsForPerson(result) && !chat) result.content.push({ type: "text", text: MIDDLEWARE_ADVICE });
    if (result.status === "failed" || waitsForPerson(result)) throw failureOf(result);
    return show(result);
  }

  #identify({ id, scope }: Pick<PendingCall, "id" | "scope">, threadId: string | undefined): FrameworkCall {
    return { id, scope, run: this.hasSession ? undefined : threadId };
  }

  /** The calls of our tools in messages that have no result. Some models number the calls of each turn: an id counts until its result. */
  #pendingIn(messages: readonly unknown[]): PendingCall[] {
    const pending: PendingCall[] = [];
    const ended = new Map<unknown, number>();
    for (const message of messages.filter(isObject)) {
      const { toolCalls, toolCallId } = message;
      if (isResult(message)) {
        ended.set(toolCallId, (ended.get(toolCallId) ?? 0) + 1);
        const at = pending.findIndex(({ id }) => id === toolCallId);
        if (at >= 0) pending.splice(at, 1);
      }
      for (const { id, function: called } of Array.isArray(toolCalls) ? toolCalls.filter(isObject) : []) {
        if (typeof id !== "string" || !isObject(called)) continue;
        const bridged = this.bridged.find(({ name }) => name === called["name"]);
        const { input } = parseArguments(String(called["arguments"] ?? ""));
        const times = ended.get(id);
        if (bridged) pending.push({ id, scope: times === undefined ? undefined : `after ${times}`, bridged, input });
      }
    }
    return pending;
  }
}

const APPROVED = { status: "resolved", payload: { approved: true } } as const;

const MIDDLEWARE_ADVICE = "Pass `middleware: [tools.middleware]` to chat(), so it asks its user.";

/** An approved call has a message that says that it was not run yet. */
function isResult({ role, toolCallId, content }: Record<string, unknown>): boolean {
  if (role !== "tool" || toolCallId === undefined) return false;
  return typeof content !== "string" || !/"pendingExecution"\s*:\s*true/.test(content);
}

function show(result: ToolResult): string | OutputPart[] {
  if (!hasImages(result)) return resultText(result);
  return mapContent<OutputPart>(result.content, {
    text: (content) => ({ type: "text", content }),
    image: (value, mimeType) => ({ type: "image", source: { type: "data", value, mimeType } }),
  });
}

/**
 * Waits until the calls in `messages` that wait for a person are answered in Haft. Then call chat() with the same messages
 * again: it continues with the answers.
 *
 * @example
 * await resolveTanStackApprovals(tools, { messages, threadId });
 * const stream = chat({ adapter, messages, threadId, tools, middleware: [tools.middleware] });
 */
export async function resolveTanStackApprovals(
  tools: readonly object[],
  { messages, threadId, signal }: { messages: readonly unknown[]; threadId?: string; signal?: AbortSignal },
): Promise<void> {
  const adapters = new Set(tools.flatMap((tool) => sources.get(tool) ?? []));
  for (const adapter of adapters) await adapter.wait(messages, threadId, signal);
}
