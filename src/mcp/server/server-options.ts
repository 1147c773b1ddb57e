import type { ClientCapabilities, InputRequests, LoggingLevel } from "@modelcontextprotocol/server";
import type { Caller, CallOptions } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { EventOf, ToolEventType, Update } from "../../core/events.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { SuspendedLimits } from "./open-requests.ts";
import type { McpPromptSource } from "./prompts.ts";
import type { McpResourceSource } from "./resources.ts";

/** What an MCP server shows and how it treats its clients. */
export interface McpServerOptions {
  /** The whole question, line by line, as a person is to see it: `describeApproval`. */
  describe(question: McpQuestion): readonly string[];
  /** Its name and version. */
  serverInfo?: { name: string; title?: string; version: string };
  /** What clients tell their model about this server; a few sentences. */
  instructions?: string;
  /** The tools that exist for these clients: a profile, a group. All that the runtime shows where absent. */
  shows?(tool: AnyTool): boolean;
  /**
   * Where tools are too many, a client lists those that are always shown, tool_search, and what it found, and is told when
   * that is more. For clients that list again when they are told.
   */
  defers?: boolean;
  /** The family of names that models are shown. */
  dialect?: DialectName;
  /** What holds for every call that comes in here. */
  call?: Pick<CallOptions, "mode" | "policy" | "allowedPaths" | "timeoutMs">;
  /** Makes a schema that every client understands; flat and without references where absent. */
  portable?(schema: JsonSchema): JsonSchema;
  /** Further `_meta` of a tool, such as `anthropic/alwaysLoad`. */
  hints?(tool: AnyTool): Readonly<Record<string, unknown>>;
  /** Where a person answers a question that the client cannot be asked. */
  approvalAddress?(id: string): string | undefined;
  /** How long such a call is held for the answer before it is told to be pending. */
  holdMs?: number;
  /** Tools that a client gets as a task or not at all; others it may wait for as well. */
  needsTask?(tool: AnyTool): boolean;
  /** At least 32 bytes; signs what clients hold of a question. Several processes behind one address need the same. */
  stateKey?: Uint8Array;
  /** How many requests may wait for their client: tools that ask for input, and calls that ask for permission. */
  waiting?: Partial<SuspendedLimits>;
  /** Further resources. */
  resources?: readonly McpResourceSource[];
  /** Its prompts. */
  prompts?: McpPromptSource;
  /** Told what went wrong on the wire. */
  onError?(error: Error): void;
}

/** What the server uses of a runtime. A Haft is one. */
export interface McpRuntime {
  readonly registry: { get(name: string): AnyTool | undefined };
  readonly clock: Clock;
  readonly approvals: McpApprovals;
  /** Absent: calls that would run later are waited for. */
  readonly jobs?: McpJobs;
  readonly spill: { read(ref: string): MaybePromise<string | undefined> };
  tools(options?: { mode?: string }): AnyTool[];
  /** Which of these a model is shown now, where they are too many. */
  shownTools(options: { among: readonly AnyTool[]; caller: Partial<Caller> }): { readonly tools: readonly AnyTool[] };
  execute(name: string, input: unknown, options: CallOptions): Promise<ToolResult>;
  on<T extends ToolEventType>(type: T, listener: (event: EventOf<T>) => void): () => void;
}

export interface McpApprovals {
  get(id: string): Promise<McpQuestion | undefined>;
  answer(id: string, answer: McpAnswer & { by: string; via: string; rights: readonly string[] }): Promise<unknown>;
  wait(id: string, signal?: AbortSignal): Promise<McpQuestion>;
  waitUntilUsed(id: string, ms: number): Promise<boolean>;
  void(id: string, note: string): Promise<void>;
}

/** Calls that run later, whoever runs them. */
export interface McpJobs {
  get(id: string): Promise<McpJob | undefined>;
  cancel(id: string, reason?: string): Promise<unknown>;
  wait(id: string, options?: { signal?: AbortSignal }): Promise<ToolResult>;
  subscribe(listener: (event: { type: string; job?: McpJob }) => void): () => void;
}

export interface McpJob {
  readonly id: string;
  readonly call: { readonly callId: string; readonly toolName: string };
  readonly state: string;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly progress?: Update["progress"];
  readonly result?: ToolResult;
}

/** An approval, as far as a client is asked about it. */
export interface McpQuestion {
  readonly id: string;
  readonly state: string;
  /** Whether the call itself waits for the answer, and goes on by itself. */
  readonly waits: boolean;
  readonly suggestedRules: readonly string[];
  readonly expiresAt: number;
  readonly answeredBy?: string;
}

export interface McpAnswer {
  approved: boolean;
  scope?: "once" | "session" | "always";
  reason?: string;
}

/** Who a client acts for: settled by the door, never by what the client says. */
export interface McpIdentity {
  readonly id: string;
  readonly name: string;
  /** `call` to call tools, `approve` to be asked about them. */
  readonly rights: readonly string[];
  /** Whose calls belong together with its; said by the server itself. */
  readonly session?: string;
}

/** The client that made a request, for what serves it. */
export interface McpClientPeer {
  readonly capabilities: ClientCapabilities;
  /**
   * Asks the client, or the person at it, and waits. In the modern revision the client is answered that it is asked, and
   * makes its request again with the answers; the caller of this function waits through that.
   */
  ask(requests: InputRequests): Promise<Readonly<Record<string, unknown>>>;
  /** Told to clients that want to hear it. */
  log(level: LoggingLevel, data: unknown): Promise<void>;
}
