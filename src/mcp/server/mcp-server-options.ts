import type { CallOptions } from "../../core/call.ts";
import type { AnyTool, DialectName } from "../../core/tool.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { McpPromptSource } from "./mcp-prompt.ts";
import type { McpResourceSource } from "./mcp-resource.ts";
import type { McpQuestion } from "./mcp-runtime.ts";
import type { SuspendedLimits } from "./parked-requests.ts";

export interface McpServerOptions {
  /** The whole question, line by line, as a person is to see it: `describeApproval`. */
  describe(question: McpQuestion): readonly string[];
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
  resources?: readonly McpResourceSource[];
  prompts?: McpPromptSource;
  /** Told what went wrong on the wire. */
  onError?(error: Error): void;
}
