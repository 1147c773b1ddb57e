import type { Caller, CallToContinue } from "../core/call.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Content } from "../core/content.ts";
import { createTool } from "../core/create-tool.ts";
import { toolError, type ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import type { ToolRegistry } from "../core/registry.ts";
import type { ToolOutput, ToolResult } from "../core/result.ts";
import type { AnyTool, ToolContext, ToolKind, ToolPermission } from "../core/tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

export interface ClientToolsOptions {
  registry: Pick<ToolRegistry, "get" | "register" | "unregister">;
  /** Hears of calls whose caller was answered `pending`. */
  onPending(listener: (result: ToolResult) => void): () => void;
  clock: Clock;
  /** Makes the second pass of a call. */
  continueCall(call: CallToContinue, id: string): Promise<ToolResult>;
  newId(): string;
  /** How long an answer may take where the tool does not say. */
  answerMs?: number;
  /** How long a client that vanished may stay away. */
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
  readonly toContinuation: CallToContinue;
  readonly timer: Timer;
  /** Who was told of it; a client that comes back is told again. */
  sentTo: ClientConnection | undefined;
  /** Whether its caller was answered `pending`: before that an answer would come too early. */
  isPending: boolean;
}

const ANSWER_MS = 5 * 60_000;
const MAX_ANSWER_MS = 60 * 60_000;
const RETURN_MS = 60_000;
const MAX_TOOLS = 128;
const MAX_OPEN = 256;
const MAX_CLIENTS = 1_000;

/**
 * Tools that run at clients. A call of one passes the gate, is handed to the client and answered `pending`; what the client
 * answers passes the gate a second time, as the output of the same call. Each client's tools are there for its user alone.
 */
export class ClientTools {
  readonly #options: ClientToolsOptions;
  readonly #clients = new Map<string, Client>();
  /** What calls whose second pass is being made end with, by the call's own key. */
  readonly #ends = new Map<string, () => unknown>();
  readonly #stopListening: () => void;

  constructor(options: ClientToolsOptions) {
    this.#options = options;
    this.#stopListening = options.onPending((result) => {
      if (result.status === "pending" && result.pending.kind === "client") this.#handOver(result.pending.id);
    });
  }

  /** A client comes, or comes back, with the tools that it has now. */
  connect(identity: ClientIdentity, tools: readonly ClientTool[], connection: ClientConnection): ClientLink {
    const key = JSON.stringify([identity.owner, identity.name]);
    const known = this.#clients.get(key);
    if (!known && this.#clients.size >= MAX_CLIENTS) throw tooManyOpen("clients with tools");
    const client = known ?? { ...identity, tools: new Map(), open: new Map(), connection, disconnectTimer: undefined };
    this.#replaceTools(client, tools);
    this.#clients.set(key, client);
    client.disconnectTimer?.cancel();
    client.disconnectTimer = undefined;
    // Of two connections under one name the newer one counts: the older is probably dead without anybody knowing.
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

  /** Ends what is open: nothing waits for a server that is gone. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.keys()].map((key) => this.#remove(key, serverShuttingDown())));
    this.#stopListening();
  }

  #replaceTools(client: Client, tools: readonly ClientTool[]): void {
    if (tools.length > MAX_TOOLS) throw tooManyOpen(`tools: a client has at most ${MAX_TOOLS}`);
    const made = tools.map((tool) => this.#makeTool(client, tool));
    const names = new Set<string>();
    for (const name of made.flatMap((tool) => [tool.name, ...tool.aliases])) {
      const there = this.#options.registry.get(name);
      if (names.has(name) || (there && client.tools.get(there.name) !== there)) throw nameTaken(name);
      names.add(name);
    }
    for (const open of client.open.values()) {
      if (!names.has(open.clientCall.tool)) void this.#end(client, open, () => fail(clientDisconnected(client.name)));
    }
    for (const name of client.tools.keys()) this.#options.registry.unregister(name);
    client.tools.clear();
    for (const tool of made) client.tools.set(tool.name, this.#options.registry.register(tool));
  }

  #makeTool(client: Client, tool: ClientTool): AnyTool {
    const { name, description, parameters = { type: "object", properties: {} }, output, kind } = tool;
    try {
      return createTool({
        name,
        description: description || name,
        parameters,
        output,
        kind,
        permission: tool.permission,
        aliases: tool.aliases,
        origin: { type: "client", client: client.name, user: client.user },
        run: (input: unknown, context) => {
          const end = this.#ends.get(keyOf(context));
          return (end ? end() : this.#ask(client, { tool, input, context })) as ToolOutput;
        },
      });
    } catch (cause) {
      throw toolError("invalid_input", `The tool "${name}" cannot be registered: ${(cause as Error).message}`, {
        cause,
      });
    }
  }

  #ask(
    client: Client,
    { tool, input, context }: { tool: ClientTool; input: unknown; context: ToolContext },
  ): ToolOutput {
    const key = keyOf(context);
    const fingerprint = canonicalJson([tool.name, input]);
    const same = [...client.open.values()].find((open) => open.key === key);
    if (same && same.fingerprint !== fingerprint) throw idInUse(context.callId);
    if (same) return pendingOf(same.clientCall);
    if (client.open.size >= MAX_OPEN) throw tooManyOpen(`open calls of the client "${client.name}"`);
    const wanted = tool.timeoutMs ?? this.#options.answerMs ?? ANSWER_MS;
    const ms = Math.min(Math.max(1, wanted), MAX_ANSWER_MS);
    const clientCall: ClientCall = {
      id: this.#options.newId(),
      callId: context.callId,
      tool: tool.name,
      input,
      caller: callerOf(context),
      expiresAt: this.#options.clock.now() + ms,
    };
    const timer = this.#after(ms, () => {
      client.connection?.ended(clientCall.id, "it took too long");
      void this.#end(client, open, () => fail(clientTimedOut(client.name, ms)));
    });
    const open: OpenCall = {
      ...{ clientCall, key, fingerprint, timer, toContinuation: context.toContinuation() },
      ...{ sentTo: undefined, isPending: false },
    };
    client.open.set(clientCall.id, open);
    return pendingOf(clientCall);
  }

  /** Only now: a client that is quicker than the end of the first pass would be given the first pass's answer. */
  #handOver(id: string): void {
    for (const client of this.#clients.values()) {
      const open = client.open.get(id);
      if (!open) continue;
      open.isPending = true;
      return sendCall(client, open);
    }
  }

  async #end(client: Client, open: OpenCall, end: () => unknown): Promise<ToolResult> {
    const { clientCall, key, toContinuation, timer } = open;
    client.open.delete(clientCall.id);
    timer.cancel();
    this.#ends.set(key, end);
    try {
      return await this.#options.continueCall(toContinuation, clientCall.id);
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  async #remove(key: string, why: ToolError): Promise<void> {
    const client = this.#clients.get(key);
    if (!client) return;
    this.#clients.delete(key);
    client.disconnectTimer?.cancel();
    // Begun while the tools are still there to be found.
    const ended = [...client.open.values()].map((open) => this.#end(client, open, () => fail(why)));
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
  return {
    session,
    agent,
    user,
  };
}

function pendingOf({ id, tool }: ClientCall): ToolOutput {
  const how = "Its result arrives by itself: go on with what does not need it, and do not call again.";
  return { content: `Tool execution delegated to client: "${tool}". ${how}`, pending: { kind: "client", id } };
}

function outputOf({ content, details, error }: ClientToolResult): unknown {
  if (error !== undefined) return fail(toolError("failed", error || "The client says that it failed, and not why"));
  if (content === undefined) return details ?? "";
  if (details === undefined && typeof content === "string") return content;
  return { content, details } satisfies ToolOutput;
}

function fail(why: ToolError): never {
  throw why;
}

/** A tool that runs at a client, as the client registers it. */
export interface ClientTool {
  name: string;
  description: string;
  aliases?: string[];
  parameters?: JsonSchema;
  /** What `details` of an answer are held against. */
  output?: JsonSchema;
  /** Absent means the worst case: `execute`. */
  kind?: ToolKind;
  permission?: ToolPermission;
  /** How long its answer may take; five minutes unless said. */
  timeoutMs?: number;
}

/** What a client is asked to run. */
export interface ClientCall {
  /** Of this question; the answer names it. */
  id: string;
  callId: string;
  tool: string;
  input: unknown;
  caller: Pick<Caller, "session" | "agent" | "user">;
  /** After this an answer is too late. */
  expiresAt: number;
}

export interface ClientToolResult {
  content?: string | Content[];
  details?: unknown;
  /** Why it did not work, for the model. */
  error?: string;
}

/** Who is connected: `owner` and `user` are settled by the door, `name` by the client, so that it is known on its return. */
interface ClientIdentity {
  owner: string;
  user: string;
  name: string;
}

/** What is told to a client. */
interface ClientConnection {
  call(call: ClientCall): void;
  /** Nobody waits for its answer any more. */
  ended(id: string, reason: string): void;
}

/** What a client tells. */
export interface ClientLink {
  /** Rejects for a call that is not this client's, or was answered. The result is what the gate made of the answer. */
  answer(id: string, answer: ClientToolResult): Promise<ToolResult>;
  /** The connection is gone; the client may return. */
  disconnected(): void;
  /** The client takes its tools away. */
  leave(): Promise<void>;
}

function unknownClientCall(id: string): ToolError {
  return toolError("conflict", `"${id}" is not a call that waits for this client: it was answered, or is too late`, {
    next: "Answer each call once, with the id that came with it.",
  });
}

function clientDisconnected(client: string): ToolError {
  return toolError("unavailable", `The client "${client}" went away before it had answered`, {
    next: "It is not known what it did. Check that, and call again when it is back.",
  });
}

function clientTimedOut(client: string, ms: number): ToolError {
  return toolError("timeout", `The client "${client}" did not answer within ${ms} ms`, {
    next: "It is not known what it did: check that before you call again.",
  });
}

function serverShuttingDown(): ToolError {
  return toolError("shutdown", "The server ended before the client had answered", {
    next: "It is not known what the client did: check that first.",
  });
}

function nameTaken(name: string): ToolError {
  return toolError("conflict", `There is a tool "${name}" already`, { next: "Register it under another name." });
}

function idInUse(callId: string): ToolError {
  return toolError("conflict", `Call id "${callId}" waits for its client with another input`, {
    next: "Give every call an id of its own.",
  });
}

function tooManyOpen(what: string): ToolError {
  return toolError("busy", `There are too many ${what}`, { next: "Wait until some have ended." });
}
