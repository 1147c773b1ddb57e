import type { CallOptions, Caller, ToolScope } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { EventOf, ToolEventType, Update } from "../../core/event.ts";
import type { ToolResult } from "../../core/result.ts";
import type { MaybePromise } from "../../core/stage.ts";
import type { AnyTool } from "../../core/tool.ts";

/** What the server uses of a runtime. A Haft is one. */
export interface McpRuntime {
  readonly registry: { get(name: string): AnyTool | undefined };
  readonly executor: {
    readonly clock: Clock;
    executeIn(scope: ToolScope, name: string, input: unknown, options: CallOptions): Promise<ToolResult>;
  };
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
