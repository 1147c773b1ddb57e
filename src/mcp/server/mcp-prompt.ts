import type { GetPromptResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../core/stage.ts";
import type { McpClientPeer } from "./mcp-client-peer.ts";
import type { McpIdentity } from "./mcp-runtime.ts";

export interface McpPromptArgument {
  name: string;
  description?: string;
  required?: boolean;
  /** Where it is one of these; clients complete it. */
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
  list(who: McpIdentity): MaybePromise<readonly McpPrompt[]>;
  onChanged?(listener: () => void): () => void;
}
