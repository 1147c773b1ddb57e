import { resolve } from "node:path";
import type { FetchLike, Transport } from "@modelcontextprotocol/client";
import { attempt, toolError } from "../../core/error.ts";
import type { ProgramSandbox } from "../../io/sandbox/program-sandbox.ts";
import { shellEnvironment } from "../../io/shell/shell-environment.ts";
import type { McpServerConfig } from "../server-config.ts";
import type { ClientSdk } from "./connection.ts";
import type { SignIn } from "./oauth.ts";
import { createStdioTransport, parseFrame } from "./stdio-transport.ts";

export interface TransportOptions {
  /** The default folder for processes. */
  workspace: string;
  /** Processes get the harmless variables of this environment. */
  hostEnvironment: Readonly<Record<string, string | undefined>>;
  /** Confines processes. */
  programs: () => Promise<ProgramSandbox>;
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
    const { name, command, args = [], network, read, write, sandbox } = config;
    const cwd = resolve(options.workspace, config.cwd ?? ".");
    const program = await (
      await options.programs()
    ).prepare({
      name: `MCP server "${name}"`,
      folder: `server-${name}`,
      command: [command, ...args],
      cwd,
      env: { ...shellEnvironment({ host: options.hostEnvironment }), ...config.env },
      host: options.hostEnvironment,
      access: { network, read, write, sandbox },
    });
    return createStdioTransport({ program, cwd, maxMessageBytes });
  }
  const headers = { ...config.headers };
  if (kind === "ws") return createWebSocketTransport({ url: readWebSocketUrl(config.url), headers, maxMessageBytes });
  const url = readHttpUrl(config.url, `The address of MCP server "${config.name}"`);
  const fetch = limitResponses(options.fetch ?? sdk.createFetchWithInit(), maxMessageBytes);
  const shared = { fetch, requestInit: { headers }, authProvider: options.signIn?.provider };
  return kind === "sse" ? new sdk.SSEClientTransport(url, shared) : new sdk.StreamableHTTPClientTransport(url, shared);
}

function readWebSocketUrl(address: string): URL {
  const url = readHttpUrl(address.replace(/^ws(s?):/i, "http$1:"), "The address of the MCP server");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

interface WebSocketLaunch {
  url: URL;
  headers: Readonly<Record<string, string>>;
  maxMessageBytes: number;
}

/** One message per frame. WebSocket is not part of MCP, but some servers and clients support it. */
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
        else transport.onerror?.(new Error("The server sent a frame that is not a message."));
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

/** A fetch with at most `maxBytes` for a plain body and each line of an event stream; beyond, the body fails. */
function limitResponses(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
    const body = response.body.pipeThrough(counter(maxBytes, isStream));
    const limited = new Response(body, response);
    // A new Response loses its address, which the SDK needs to check redirects.
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
      // Also checked if the line ends in this chunk: the part before the chunk may be long.
      if (bytes > maxBytes) controller.error(new Error(`The answer of the server is longer than ${maxBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
}

/** Parses the address of a server or a page. Only http(s) is allowed. */
export function readHttpUrl(address: string | URL, what: string): URL {
  const url = parse(address);
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw toolError(
    "invalid_input",
    `${what} is not an http(s) address: ${JSON.stringify(String(address).slice(0, 200))}`,
    {
      next: "Nothing was opened. Check the server and its configuration.",
    },
  );
}

/** For pages that ask for a password or consent: plain http is allowed only for this machine. */
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
  return attempt(() => new URL(address));
}
