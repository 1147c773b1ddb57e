/** One MCP server as the host configured it, whatever client's file it came from. */
export type McpServerConfig = McpServerSettings & (McpStdioServer | McpRemoteServer);

export interface McpStdioServer {
  transport: "stdio";
  command: string;
  args?: readonly string[];
  /** All that the server gets beside the harmless names that every child process gets. */
  env?: Readonly<Record<string, string>>;
  /** The workspace where absent. */
  cwd?: string;
}

export interface McpRemoteServer {
  /** `http`: Streamable HTTP, or the old HTTP+SSE where the server knows nothing newer. */
  transport: "http" | "sse" | "ws";
  url: string;
  headers?: Readonly<Record<string, string>>;
}

export interface McpServerSettings {
  /** The `server` of `mcp__server__tool`. */
  name: string;
  /** Absent: yes. */
  enabled?: boolean;
  /** Where given, the only tools that are taken; `excludeTools` wins over it. */
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  /** How long one call may take. */
  timeoutMs?: number;
  /** How long a start may take, sign-in not counted. */
  startTimeoutMs?: number;
  /** Whether its annotations are believed. Absent: no, and every tool counts as the worst it could be. */
  trust?: boolean;
  /** `auto` asks the server which revisions it speaks. */
  era?: "auto" | "legacy" | "modern";
  /** The file, or the command, that defined it. */
  origin?: string;
  /** Whether `transport` was concluded from the other fields. */
  inferred?: boolean;
}
