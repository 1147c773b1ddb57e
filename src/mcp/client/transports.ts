import type { FetchLike, Transport } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { shellEnvironment } from "../../io/shell/shell-environment.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { ClientSdk } from "./connection.ts";
import type { SignIn } from "./oauth.ts";
import { createStdioTransport, parseFrame } from "./stdio-transport.ts";

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
    authProvider: options.signIn?.provider,
  };
  return kind === "sse" ? new sdk.SSEClientTransport(url, shared) : new sdk.StreamableHTTPClientTransport(url, shared);
}

function readWebSocketUrl(address: string): URL {
  const url = readHttpUrl(address.replace(/^ws(s?):/i, "http$1:"), "The address of the MCP server");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

export interface WebSocketLaunch {
  url: URL;
  headers: Readonly<Record<string, string>>;
  maxMessageBytes: number;
}

/** A message a frame. No part of MCP, but some servers and clients have it. */
async function createWebSocketTransport({ url, headers, maxMessageBytes }: WebSocketLaunch): Promise<Transport> {
  const { WebSocket } = await import("ws");
  let socket: InstanceType<typeof WebSocket> | undefined;
  const transport: Transport = {
    start() {
      const opened = new WebSocket(url, "mcp", {
        headers: { ...headers },
        maxPayload: maxMessageBytes,
        followRedirects: false,
      });
      socket = opened;
      opened.on("message", (data: Buffer) => {
        const message = parseFrame(data.toString("utf8"));
        if (message) transport.onmessage?.(message);
        else transport.onerror?.(new Error("The server sent what is no message."));
      });
      opened.on("close", () => transport.onclose?.());
      return new Promise((resolve, reject) => {
        opened.once("open", () => resolve());
        opened.on("error", (error) => {
          transport.onerror?.(error);
          reject(error);
        });
      });
    },
    async send(message) {
      if (socket?.readyState !== 1)
        throw toolError("unavailable", "The server is not connected", { next: "Reconnect it." });
      socket.send(JSON.stringify(message));
    },
    async close() {
      socket?.close();
    },
  };
  return transport;
}

/**
 * A fetch whose answers cannot fill the memory: the body of an ordinary answer, and of an event stream each line, has at
 * most `mostBytes`. Beyond them the body ends with an error, and with it the call that it belongs to.
 */
function limitResponses(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
    const body = response.body.pipeThrough(counter(maxBytes, isStream));
    const limited = new Response(body, response);
    // A new Response forgets where it came from, and redirects are judged by it.
    Object.defineProperty(limited, "url", { value: response.url });
    Object.defineProperty(limited, "redirected", { value: response.redirected });
    return limited;
  };
}

function counter(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const newline = isStream ? chunk.lastIndexOf(10) : -1;
      bytes = newline < 0 ? bytes + chunk.length : chunk.length - newline;
      // Also where the line ends in this chunk: a chunk is small, what came before it need not be.
      if (bytes > maxBytes) controller.error(new Error(`The server's answer is longer than ${maxBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
}

/** The address of a server, or of a page that a person is sent to: http(s) only, and nothing that a shell would read. */
export function readHttpUrl(address: string | URL, what: string): URL {
  const url = parse(address);
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw toolError("invalid_input", `${what} is no http(s) address: ${JSON.stringify(String(address).slice(0, 200))}`, {
    next: "Nothing was opened. Check the server and its configuration.",
  });
}

/** For pages that ask for a password or a consent: plain http is for this machine alone. */
export function readSecureUrl(address: string | URL, what: string): URL {
  const url = readHttpUrl(address, what);
  if (url.protocol === "https:" || isLoopback(url.hostname)) return url;
  throw toolError("denied", `${what} is not encrypted: ${JSON.stringify(url.href.slice(0, 200))}`, {
    next: "Nothing was opened. Use https.",
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function parse(address: string | URL): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}
