import type {
  ClientCapabilities,
  GetPromptResult,
  InputRequests,
  LoggingLevel,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { Caller, CallOptions } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { EventOf, ToolEventType, Update } from "../../core/events.ts";
import type { UserAnswer, UserQuestion } from "../../core/questions/user-question.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { FollowOptions } from "../../calls/approval.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** What an MCP server shows and how it treats its clients. */
export interface McpServerOptions {
  /** The complete question for a person, in lines: `describeApproval`. */
  describe(question: McpQuestion): readonly string[];
  /** Its name and version. */
  serverInfo?: { name: string; title?: string; version: string };
  /** A few sentences about this server that clients pass to their model. */
  instructions?: string;
  /** Which tools these clients get, for example those of a profile. Default: all tools of the runtime. */
  shows?(tool: AnyTool): boolean;
  /**
   * If there are too many tools, a client lists only those that are always shown, tool_search and the ones that it found,
   * and is notified when there are more. For clients that react to notifications.
   */
  defers?: boolean;
  /** Resolves once the tools behind this server are there. The first lists wait for it, up to `listWaitMs`. */
  ready?(): Promise<void>;
  /** Default: 5 seconds. Tools that come later are announced. */
  listWaitMs?: number;
  /** The dialect for tool names. */
  dialect?: DialectName;
  /** Options for every call of these clients. */
  call?: Pick<CallOptions, "mode" | "policy" | "allowedPaths" | "timeoutMs">;
  /** Converts a schema to a form that every client supports. Default: flat and without references. */
  portable?(schema: JsonSchema): JsonSchema;
  /** Further `_meta` of a tool, such as `anthropic/alwaysLoad`. */
  hints?(tool: AnyTool): Readonly<Record<string, unknown>>;
  /** The address where a person can answer an approval that the client cannot show. */
  approvalAddress?(id: string): string | undefined;
  /** How long such a call waits for the answer before it returns pending. Default: 45 seconds. */
  holdMs?: number;
  /** Tools that run only as a task. Clients may also wait for the others. */
  needsTask?(tool: AnyTool): boolean;
  /** At least 32 bytes; signs the request state. Several processes behind one address need the same key. */
  stateKey?: Uint8Array;
  /** How many requests may wait for their client: tools that need input, and calls that need permission. */
  waiting?: Partial<SuspendedLimits>;
  /** Further resources. */
  resources?: readonly McpResourceSource[];
  /** Its prompts. */
  prompts?: McpPromptSource;
  /** Reports protocol errors. */
  onError?(error: Error): void;
}

// oxfmt-ignore
/** The names of all of them. */
export const MCP_SERVER_KEYS: Readonly<Record<keyof McpServerOptions, true>> = {
  describe: true, serverInfo: true, instructions: true, shows: true, ready: true, listWaitMs: true, defers: true,
  dialect: true, call: true, portable: true, hints: true, approvalAddress: true, holdMs: true, needsTask: true,
  stateKey: true, waiting: true, resources: true, prompts: true, onError: true,
};

export interface SuspendedLimits {
  inputs: number;
  permission: number;
}

/** The part of a Haft runtime that the server uses. */
export interface McpRuntime {
  readonly settings: { readonly clock: Clock };
  readonly tools: McpTools;
  readonly approvals: McpApprovals;
  /** If omitted, background calls run inline. */
  readonly jobs?: McpJobs;
  readonly calls: { readonly spill: { read(ref: string): MaybePromise<string | undefined> } };
  execute(name: string, input: unknown, options: CallOptions): Promise<ToolResult>;
  on<T extends ToolEventType>(type: T, listener: (event: EventOf<T>) => void): () => void;
}

interface McpTools {
  readonly registry: { get(name: string): AnyTool | undefined };
  list(options?: { mode?: string }): AnyTool[];
  /** Reads what tool search has learned from the caller. */
  readUse?(caller: Partial<Caller>): Promise<void>;
  /** The tools that a model sees now, if there are too many. */
  shown(options: { among: readonly AnyTool[]; caller: Partial<Caller> }): { readonly tools: readonly AnyTool[] };
}

interface McpApprovals {
  get(id: string): Promise<McpQuestion | undefined>;
  /** The result of a call that waits for an approval, whichever process runs it. */
  follow(id: string, options: FollowOptions): Promise<ToolResult>;
  save(id: string, answer: McpAnswer & { by: string; via: string; rights: readonly string[] }): Promise<unknown>;
  wait(id: string, signal?: AbortSignal): Promise<McpQuestion>;
  hold(id: string, ms: number): Promise<void>;
  release(id: string): Promise<void>;
  cancel(id: string, note: string): Promise<void>;
}

/** Background calls. */
interface McpJobs {
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

/** The part of an approval that clients see. */
export interface McpQuestion {
  readonly id: string;
  readonly state: string;
  /** Set if the call waits for the answer and continues by itself. */
  readonly waitsUntil?: number;
  readonly suggestedRules: readonly string[];
  readonly expiresAt: number;
  readonly answeredBy?: string;
  /** What of the call is not shown. */
  readonly unseen?: string;
  readonly summary?: { readonly risk: { readonly level: string } };
  /** What else can be allowed, each in one sentence. */
  readonly grants?: readonly { readonly scope: string; readonly sentence: string; readonly isBroader: boolean }[];
  /** Of a call that needs answers, not a permission. */
  readonly questions?: readonly UserQuestion[];
}

export interface McpAnswer {
  approved: boolean;
  scope?: "once" | "session" | "always";
  reason?: string;
  confirmUnshown?: boolean;
  answers?: readonly UserAnswer[];
}

/** The identity of a client. The server determines it, never the client. */
export interface McpIdentity {
  readonly id: string;
  readonly name: string;
  /** `call` to call tools, `approve` to answer approvals. */
  readonly rights: readonly string[];
  /** The session of its calls; set by the server. */
  readonly session?: string;
  /** What the program knows of the client, such as the `authInfo` of the SDK: `context.host` of its calls. Never stored. */
  context?: unknown;
}

/** The client of a request, for tools and prompts. */
export interface McpClientPeer {
  readonly capabilities: ClientCapabilities;
  /**
   * Sends input requests to the client, or to the person at it, and waits. A modern client gets them as the response, and
   * repeats its request with the answers; the promise stays pending in the meantime.
   */
  ask(requests: InputRequests): Promise<Readonly<Record<string, unknown>>>;
  /** Sends a log message to clients that enabled them. */
  log(level: LoggingLevel, data: unknown): Promise<void>;
}

interface McpResourceBody {
  mimeType?: string;
  text?: string;
  /** Base64. */
  blob?: string;
}

/** A source of resources. Its content may depend on the identity of the client. */
export interface McpResourceSource {
  list?(identity: McpIdentity): MaybePromise<readonly Resource[]>;
  readonly templates?: readonly ResourceTemplateType[];
  /** Returns undefined for an unknown address, or one of another identity. */
  read(uri: string, identity: McpIdentity): MaybePromise<McpResourceBody | undefined>;
  /** All possible values of an argument of one of its templates. */
  valuesOf?(template: string, argument: string, identity: McpIdentity): MaybePromise<readonly string[] | undefined>;
  /** Subscribes to changes: of one resource if `uri` is given, otherwise of the list. */
  onChanged?(listener: (uri?: string) => void): () => void;
}

interface McpPromptArgument {
  name: string;
  description?: string;
  required?: boolean;
  /** The possible values, for completion in clients. */
  values?: readonly string[];
}

export interface McpPrompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: readonly McpPromptArgument[];
  get(args: Readonly<Record<string, string>>, client: McpClientPeer): MaybePromise<GetPromptResult>;
}

export interface McpPromptSource {
  list(identity: McpIdentity): MaybePromise<readonly McpPrompt[]>;
  onChanged?(listener: () => void): () => void;
}
