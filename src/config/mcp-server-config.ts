/** Whose way of writing a list of MCP servers it is. */
export type McpDialect = "haft" | "claude" | "cursor" | "vscode" | "gemini" | "codex" | "openclaw";

interface AnyServer {
  name: string;
  enabled: boolean;
  /** True where the file does not say the transport and it was told from the other fields. */
  isInferred: boolean;
  includeTools?: readonly string[];
  excludeTools?: readonly string[];
  timeoutMs?: number;
  /** What the file says: whether its calls may go unasked. Not the trust of the folder. */
  trust?: boolean;
  alwaysLoad?: boolean;
  dialect: McpDialect;
  file?: string;
  line?: number;
  /** Variables that are not set and `${input:…}` that a person must give; the texts stay as written. */
  missing: readonly string[];
}

export interface StdioServer extends AnyServer {
  transport: "stdio";
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd?: string;
}

export interface RemoteServer extends AnyServer {
  transport: "http" | "sse" | "ws";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** A command that prints headers as JSON: it executes. */
  headersHelper?: string;
  oauth?: unknown;
}

/** One server, whatever file it came from. */
export type McpServerConfig = StdioServer | RemoteServer;
