import type { ProgramAccess } from "../io/sandbox/program-sandbox.ts";

/** The configuration of one MCP server, from any configuration file. */
export type McpServerConfig = McpServerSettings & (McpStdioServer | McpRemoteServer);

interface McpStdioServer extends ProgramAccess {
  transport: "stdio";
  command: string;
  args?: readonly string[];
  /** Added to the harmless variables that every child process gets. */
  env?: Readonly<Record<string, string>>;
  /** Default: the workspace. */
  cwd?: string;
}

interface McpRemoteServer {
  /** `http`: Streamable HTTP, with a fallback to the old HTTP+SSE. */
  transport: "http" | "sse" | "ws";
  url: string;
  headers?: Readonly<Record<string, string>>;
}

interface McpServerSettings {
  /** The `server` of `mcp__server__tool`. */
  name: string;
  /** Default: true. */
  enabled?: boolean;
  /** If set, only these tools are used. `excludeTools` takes precedence. */
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  /** The time limit of one call. */
  timeoutMs?: number;
  /** The time limit of a start, without the sign-in. */
  startTimeoutMs?: number;
  /** Whether its annotations are trusted. Default: false, and every tool is treated as `execute`. */
  trust?: boolean;
  /** `auto` negotiates the revision of the protocol. Default: `auto`. */
  era?: "auto" | "legacy" | "modern";
  /** The file or command that defined it. */
  origin?: string;
  /** The digest of its entry, if a person has seen and trusted the entry. A new one approves the launch. */
  entryDigest?: string;
  /** Whether `transport` was inferred from the other fields. */
  inferred?: boolean;
}
