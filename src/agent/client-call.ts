import type { Caller } from "../core/call.ts";
import type { Content } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import type { ToolKind, ToolPermission } from "../core/tool.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

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
export interface ClientIdentity {
  owner: string;
  user: string;
  name: string;
}

/** What is told to a client. */
export interface ClientConnection {
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
