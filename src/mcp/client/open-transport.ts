import type { FetchLike, Transport } from "@modelcontextprotocol/client";
import { shellEnvironment } from "../../shell/shell-environment.ts";
import type { ClientSdk } from "../load-client-sdk.ts";
import type { McpServerConfig } from "../server-config.ts";
import { limitResponses } from "./limit-responses.ts";
import { readHttpUrl } from "./server-address.ts";
import type { SignIn } from "./sign-in.ts";
import { createStdioTransport } from "./stdio-transport.ts";
import { createWebSocketTransport } from "./web-socket-transport.ts";

export interface TransportOptions {
  /** The folder where a process starts; also the host's environment, of which it gets the harmless part. */
  workspace: string;
  hostEnvironment: Readonly<Record<string, string | undefined>>;
  fetch?: FetchLike;
  signIn?: SignIn;
  maxMessageBytes: number;
}

export type TransportKind = McpServerConfig["transport"];

export async function openTransport(
  sdk: ClientSdk,
  config: McpServerConfig,
  kind: TransportKind,
  options: TransportOptions,
): Promise<Transport> {
  const { maxMessageBytes } = options;
  if (config.transport === "stdio") {
    return createStdioTransport({
      command: config.command,
      args: config.args ?? [],
      cwd: config.cwd ?? options.workspace,
      env: { ...shellEnvironment({ host: options.hostEnvironment }), ...config.env },
      maxMessageBytes,
    });
  }
  const headers = { ...config.headers };
  if (kind === "ws") return createWebSocketTransport({ url: readWebSocketUrl(config.url), headers, maxMessageBytes });
  const url = readHttpUrl(config.url, `The address of MCP server "${config.name}"`);
  // The SDK's own: a pillar connects only through what it is given.
  const fetch = limitResponses(options.fetch ?? sdk.createFetchWithInit(), maxMessageBytes);
  const shared = {
    fetch,
    requestInit: { headers },
    ...(options.signIn ? { authProvider: options.signIn.provider } : {}),
  };
  return kind === "sse" ? new sdk.SSEClientTransport(url, shared) : new sdk.StreamableHTTPClientTransport(url, shared);
}

function readWebSocketUrl(address: string): URL {
  const url = readHttpUrl(address.replace(/^ws(s?):/i, "http$1:"), "The address of the MCP server");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}
