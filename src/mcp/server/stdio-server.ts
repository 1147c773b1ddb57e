import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/server";
import { checkKeys, keysOf } from "../../core/options.ts";
import { DirectCalls } from "./direct-calls.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { McpClientPeer, McpIdentity, McpRuntime, McpServerOptions } from "./server-options.ts";
import { createMcpService, forwardChanges, loadServerSdk } from "./mcp-service.ts";

/** How one connection is served. */
export interface ServeMcpOptions extends McpServerOptions {
  /** The identity of the client. Default: the local user, who may approve calls. */
  identity?: McpIdentity;
}

const OPTION_KEYS = keysOf<ServeMcpOptions>({
  identity: true,
  describe: true,
  serverInfo: true,
  instructions: true,
  shows: true,
  ready: true,
  listWaitMs: true,
  defers: true,
  dialect: true,
  call: true,
  portable: true,
  hints: true,
  approvalAddress: true,
  holdMs: true,
  needsTask: true,
  stateKey: true,
  waiting: true,
  resources: true,
  prompts: true,
  onError: true,
});

/** A connection that is being served. */
export interface McpServing {
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
  /** The client that made a call. */
  clientOf(callId: string): McpClientPeer | undefined;
  /** Notifies the client that the list of tools changed. */
  toolsChanged(): void;
  /** Ends the connection. */
  close(): Promise<void>;
}

const LOCAL: McpIdentity = { id: "local", name: "local", rights: ["read", "call", "approve"] };
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Serves one client over stdio, for `haft mcp`. Nothing else may write to `output`. */
export async function serveMcpStdio(
  runtime: McpRuntime,
  {
    input = process.stdin,
    output = process.stdout,
    ...options
  }: ServeMcpOptions & { input?: Readable; output?: Writable },
): Promise<McpServing> {
  const { StdioServerTransport } = await loadServerSdk();
  return serveMcp(runtime, new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES }), options);
}

/** Serves one client over any transport, in the era of the client. */
export async function serveMcp(
  runtime: McpRuntime,
  transport: Transport,
  options: ServeMcpOptions,
): Promise<McpServing> {
  checkKeys("serveMcp", options, OPTION_KEYS);
  const service = await createMcpService(runtime, options);
  const { identity = LOCAL } = options;
  const session = `mcp:${crypto.randomUUID()}`;
  const direct = new DirectCalls(service, { identity, session }, transport);
  const serving = service.sdk.serveStdio(
    ({ era }) => {
      const server = createMcpServer(service, { identity, session }, era);
      // The SDK itself notifies only clients that subscribed.
      if (era === "modern") forwardChanges(service, server, { session });
      else direct.use(server);
      return server;
    },
    { transport, onerror: (error) => options.onError?.(error) },
  );
  const forward = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (!direct.take(message)) forward?.(message, extra);
  };
  const closed = new Promise<void>((resolve) => {
    const before = transport.onclose;
    transport.onclose = () => {
      direct.close();
      before?.();
      service.close();
      resolve();
    };
  });
  return { closed, clientOf: service.clientOf, toolsChanged: service.toolsChanged, close: () => serving.close() };
}
