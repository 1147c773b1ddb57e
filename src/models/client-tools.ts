import { type CallData, type Caller, toCallData } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Content } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { errorMessage, toolError, type ToolError } from "../core/error.ts";
import { callOf } from "../core/gate.ts";
import { canonicalJson } from "../core/json.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { ToolOutput, ToolResult } from "../core/result.ts";
import type { AnyTool, ToolContext, ToolKind, ToolPermission } from "../core/tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

interface ClientToolsOptions {
  registry: Pick<ToolRegistry, "get" | "register" | "unregister">;
  /** Subscribes to calls that returned `pending` to their caller. Returns the unsubscribe function. */
  onPending(listener: (result: ToolResult) => void): () => void;
  clock: Clock;
  /** Runs the second pass of a call. */
  continueCall(call: CallData, id: string): Promise<ToolResult>;
  newId(): string;
  /** How long a client may take, for tools without a `timeoutMs`. Default: 5 minutes. */
  answerMs?: number;
  /** How long a disconnected client may take to reconnect. Default: 1 minute. */
  returnMs?: number;
}

interface Client extends ClientIdentity {
  readonly tools: Map<string, AnyTool>;
  readonly open: Map<string, OpenCall>;
  connection: ClientConnection | undefined;
  disconnectTimer: Timer | undefined;
}

interface OpenCall {
  readonly clientCall: ClientCall;
  readonly key: string;
  readonly fingerprint: string;
  readonly continuation: CallData;
  readonly timer: Timer;
  /** The connection that received the call. After a reconnect it is sent again. */
  sentTo: ClientConnection | undefined;
  /** Whether the caller has received `pending`. A result before that would come too early. */
  isPending: boolean;
  readonly isReadOnly: boolean;
}

const ANSWER_MS = 5 * 60_000;
const MAX_ANSWER_MS = 60 * 60_000;
const RETURN_MS = 60_000;
const MAX_TOOLS = 128;
const MAX_OPEN = 256;
const MAX_CLIENTS = 1_000;

/**
 * Tools that run in clients. A call passes the gate, is sent to the client and returns `pending`. The client's result passes
 * the gate a second time as the output of the same call. Only the user of a client sees its tools.
 */
export class ClientTools {
  readonly #options: ClientToolsOptions;
  readonly #clients = new Map<string, Client>();
  /** The outcomes of calls whose second pass is running, by call key. */
  readonly #outcomes = new Map<string, () => unknown>();
  readonly #stopListening: () => void;

  constructor(options: ClientToolsOptions) {
    this.#options = options;
    this.#stopListening = options.onPending((result) => {
      if (result.status === "pending" && result.pending.kind === "client") this.#markPending(result.pending.id);
    });
  }

  /** Connects or reconnects a client with its current tools. */
  connect(identity: ClientIdentity, tools: readonly ClientTool[], connection: ClientConnection): ClientLink {
    const key = JSON.stringify([identity.owner, identity.name]);
    const existing = this.#clients.get(key);
    if (!existing && this.#clients.size >= MAX_CLIENTS) throw tooManyOpen("clients with tools");
    const client: Client = existing ?? {
      ...identity,
      tools: new Map(),
      open: new Map(),
      connection,
      disconnectTimer: undefined,
    };
    this.#replaceTools(client, tools);
    this.#clients.set(key, client);
    client.disconnectTimer?.cancel();
    client.disconnectTimer = undefined;
    // A newer connection with the same name replaces the older one, which is probably dead but not yet closed.
    client.connection = connection;
    for (const open of client.open.values()) sendCall(client, open);
    const isCurrent = (): boolean => client.connection === connection && this.#clients.get(key) === client;
    return {
      answer: async (id, answer) => {
        const open = isCurrent() ? client.open.get(id) : undefined;
        if (!open?.sentTo) throw unknownClientCall(id);
        return this.#end(client, open, () => outputOf(answer));
      },
      disconnected: () => {
        if (!isCurrent()) return;
        client.connection = undefined;
        client.disconnectTimer = this.#after(
          this.#options.returnMs ?? RETURN_MS,
          () => void this.#remove(key, clientDisconnected(client.name)),
        );
      },
      leave: async () => {
        if (isCurrent()) await this.#remove(key, clientDisconnected(client.name));
      },
    };
  }

  /** Fails all open calls. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.keys()].map((key) => this.#remove(key, serverShuttingDown())));
    this.#stopListening();
  }

  #replaceTools(client: Client, tools: readonly ClientTool[]): void {
    if (tools.length > MAX_TOOLS) throw tooManyOpen(`tools: a client has at most ${MAX_TOOLS}`);
    const created = tools.map((tool) => this.#createTool(client, tool));
    const names = new Set<string>();
    for (const name of created.flatMap((tool) => [tool.name, ...tool.aliases])) {
      const registered = this.#options.registry.get(name);
      if (names.has(name) || (registered && client.tools.get(registered.name) !== registered)) throw nameTaken(name);
      names.add(name);
    }
    for (const open of client.open.values()) {
      if (!names.has(open.clientCall.tool)) void this.#fail(client, open, clientDisconnected(client.name));
    }
    for (const name of client.tools.keys()) this.#options.registry.unregister(name);
    client.tools.clear();
    for (const tool of created) client.tools.set(tool.name, this.#options.registry.register(tool));
  }

  #createTool(client: Client, tool: ClientTool): AnyTool {
    const { name, description, parameters = { type: "object", properties: {} }, output, kind } = tool;
    try {
      return createTool({
        name,
        description: description || name,
        parameters,
        output,
        kind,
        permission: tool.permission,
        needsApproval: tool.needsApproval,
        aliases: tool.aliases,
        origin: { type: "client", client: client.name, user: client.user },
        run: (input: unknown, context) => {
          const outcome = this.#outcomes.get(keyOf(context));
          // The gate also accepts plain data as output.
          return (outcome ? outcome() : this.#open(client, { tool, input, context })) as ToolOutput;
        },
      });
    } catch (cause) {
      const reason = errorMessage(cause);
      throw toolError("invalid_input", `The tool "${name}" cannot be registered: ${reason}`, { cause });
    }
  }

  /** Opens a call for the client, or finds the open one with the same id. */
  #open(
    client: Client,
    { tool, input, context }: { tool: ClientTool; input: unknown; context: ToolContext },
  ): ToolOutput {
    const key = keyOf(context);
    const fingerprint = canonicalJson([tool.name, input]);
    const same = [...client.open.values()].find((open) => open.key === key);
    if (same && same.fingerprint !== fingerprint) throw idInUse(context.callId);
    if (same) return pendingOf(same.clientCall);
    if (client.open.size >= MAX_OPEN) throw tooManyOpen(`open calls of the client "${client.name}"`);
    const requested = tool.timeoutMs ?? this.#options.answerMs ?? ANSWER_MS;
    const ms = Math.min(Math.max(1, requested), MAX_ANSWER_MS);
    const clientCall: ClientCall = {
      id: this.#options.newId(),
      callId: context.callId,
      tool: tool.name,
      input,
      caller: callerOf(context),
      expiresAt: this.#options.clock.now() + ms,
    };
    const call = callOf(context);
    const timer = this.#after(ms, () => {
      client.connection?.ended(clientCall.id, "it took too long");
      void this.#fail(client, open, clientTimedOut(client.name, ms));
    });
    const open: OpenCall = {
      clientCall,
      key,
      fingerprint,
      timer,
      continuation: { ...toCallData(call), idempotencyKey: call.stepKey },
      sentTo: undefined,
      isPending: false,
      isReadOnly: tool.kind === "readonly",
    };
    client.open.set(clientCall.id, open);
    return pendingOf(clientCall);
  }

  /** Sends the call only now: a client faster than the first pass would get the result of the first pass. */
  #markPending(id: string): void {
    for (const client of this.#clients.values()) {
      const open = client.open.get(id);
      if (!open) continue;
      open.isPending = true;
      return sendCall(client, open);
    }
  }

  /** A client that has got the call may have run its tool. */
  #fail(client: Client, open: OpenCall, why: ToolError): Promise<ToolResult> {
    const isUnknown = open.sentTo !== undefined && !open.isReadOnly;
    return this.#end(client, open, () => fail(isUnknown ? outcomeUnknown(why) : why));
  }

  async #end(client: Client, open: OpenCall, outcome: () => unknown): Promise<ToolResult> {
    const { clientCall, key, continuation, timer } = open;
    client.open.delete(clientCall.id);
    timer.cancel();
    this.#outcomes.set(key, outcome);
    try {
      return await this.#options.continueCall(continuation, clientCall.id);
    } finally {
      if (this.#outcomes.get(key) === outcome) this.#outcomes.delete(key);
    }
  }

  async #remove(key: string, reason: ToolError): Promise<void> {
    const client = this.#clients.get(key);
    if (!client) return;
    this.#clients.delete(key);
    client.disconnectTimer?.cancel();
    // The second passes must start before the tools are unregistered.
    const ended = [...client.open.values()].map((open) => this.#fail(client, open, reason));
    for (const name of client.tools.keys()) this.#options.registry.unregister(name);
    await Promise.all(ended);
  }

  #after(ms: number, fire: () => void): Timer {
    const timer = this.#options.clock.after(ms, fire);
    timer.setRef(false);
    return timer;
  }
}

function sendCall({ connection }: Client, open: OpenCall): void {
  if (!connection || !open.isPending || open.sentTo === connection) return;
  open.sentTo = connection;
  connection.call(open.clientCall);
}

/** The same id from another caller is another call. */
function keyOf({ callId, caller: { session, agent, user } }: ToolContext): string {
  return canonicalJson([session, agent, user, callId]);
}

function callerOf({ caller: { session, agent, user } }: ToolContext): ClientCall["caller"] {
  return { session, agent, user };
}

function pendingOf({ id, tool }: ClientCall): ToolOutput {
  const next = "Its result arrives on its own: continue with what does not need it, and do not call it again.";
  return { content: `Tool execution delegated to client: "${tool}". ${next}`, pending: { kind: "client", id } };
}

function outputOf({ content, details, error }: ClientToolResult): unknown {
  if (error !== undefined) return fail(toolError("failed", error || "The client reported a failure without a reason"));
  if (content === undefined) return details ?? "";
  if (details === undefined && typeof content === "string") return content;
  return { content, details } satisfies ToolOutput;
}

function fail(error: ToolError): never {
  throw error;
}

/** A tool that runs in a client, as the client registers it. */
export interface ClientTool {
  name: string;
  description: string;
  aliases?: string[];
  parameters?: JsonSchema;
  /** The `details` of a result are validated against this. */
  output?: JsonSchema;
  /** Default: `execute`, the most dangerous kind. */
  kind?: ToolKind;
  /** As in `createTool`: a tool that does not say what it does needs approval. */
  needsApproval?: boolean;
  permission?: ToolPermission;
  /** How long the client may take. Default: 5 minutes. */
  timeoutMs?: number;
}

/** A call for a client to run. */
export interface ClientCall {
  /** The id that the client's answer must have. */
  id: string;
  callId: string;
  tool: string;
  input: unknown;
  caller: Pick<Caller, "session" | "agent" | "user">;
  /** Later answers are rejected. */
  expiresAt: number;
}

export interface ClientToolResult {
  content?: string | Content[];
  details?: unknown;
  /** Why the call failed, for the model. */
  error?: string;
}

/** The identity of a client. The server sets `owner` and `user`; the client sets `name`, by which it reconnects. */
interface ClientIdentity {
  owner: string;
  user: string;
  name: string;
}

/** Messages to a client. */
interface ClientConnection {
  call(call: ClientCall): void;
  /** The call no longer waits for the client. */
  ended(id: string, reason: string): void;
}

/** Messages from a client. */
export interface ClientLink {
  /** Resolves to the result of the call. Rejects if the call is not open for this client. */
  answer(id: string, answer: ClientToolResult): Promise<ToolResult>;
  /** The connection is closed; the client may reconnect. */
  disconnected(): void;
  /** The client removes its tools. */
  leave(): Promise<void>;
}

function unknownClientCall(id: string): ToolError {
  return toolError("conflict", `"${id}" is not an open call of this client: it was answered, or has expired`, {
    next: "Answer each call once, with the id that came with it.",
  });
}

function clientDisconnected(client: string): ToolError {
  return toolError("unavailable", `The client "${client}" disconnected before it answered.`);
}

function clientTimedOut(client: string, ms: number): ToolError {
  return toolError("timeout", `The client "${client}" did not answer within ${ms} ms.`);
}

function serverShuttingDown(): ToolError {
  return toolError("shutdown", "The server shut down before the client answered.");
}

function outcomeUnknown({ message, code }: ToolError): ToolError {
  const next = "It is not known whether the call took effect: check that before you call again.";
  return toolError("unknown_outcome", message, { next, data: { stoppedBy: code } });
}

function nameTaken(name: string): ToolError {
  return toolError("conflict", `There is a tool "${name}" already`, { next: "Register it under another name." });
}

function idInUse(callId: string): ToolError {
  return toolError("conflict", `Call id "${callId}" waits for its client with another input`, {
    next: "Use a different id for every call.",
  });
}

function tooManyOpen(what: string): ToolError {
  return toolError("busy", `There are too many ${what}`, { next: "Wait until some have ended." });
}
