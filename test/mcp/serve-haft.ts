// A runtime behind the real endpoint, and real clients: the SDK of both generations, in both eras.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
  type ElicitRequest,
  type ElicitResult,
} from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import { createMcpEndpoint, type McpEndpoint, type McpEndpointOptions } from "../../src/mcp/server/streamable-http.ts";
import type { McpIdentity, McpRuntime } from "../../src/mcp/server/server-options.ts";
import { serveMcp, type ServeMcpOptions } from "../../src/mcp/server/stdio-server.ts";
import { describeApproval } from "../../src/gate/permit/describe-approval.ts";
import type { Approval } from "../../src/calls/approval.ts";

export const DESCRIBE = { describe: (question: unknown) => describeApproval(question as Approval) };

const IDENTITIES: Readonly<Record<string, McpIdentity>> = {
  ada: { id: "token-ada", name: "ada", rights: ["read", "call", "approve"] },
  bob: { id: "token-bob", name: "bob", rights: ["read", "call", "approve"] },
  caller: { id: "token-caller", name: "caller", rights: ["call"] },
  reader: { id: "token-reader", name: "reader", rights: ["read"] },
};

export interface Served {
  url: URL;
  endpoint: McpEndpoint;
}

/** Over HTTP, with a token for each of `IDENTITIES`: its name. */
export async function serveOverHttp(haft: McpRuntime, options: Partial<McpEndpointOptions> = {}): Promise<Served> {
  const endpoint = await createMcpEndpoint(haft, {
    ...DESCRIBE,
    identify: ({ headers }) => IDENTITIES[headers.get("authorization")?.replace("Bearer ", "") ?? ""],
    ...options,
  });
  const server = createServer((incoming, outgoing) => void endpoint.handle(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await endpoint.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`), endpoint };
}

type Answer = (request: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>;

export interface ClientWishes {
  as?: string;
  era?: "modern" | "legacy";
  /** The name that it gives itself. Default: test-client. */
  name?: string;
  /** The answer of the person at the client. If omitted, the client cannot ask. */
  answer?: Answer;
  options?: ClientOptions;
}

export async function connectV2(
  url: URL,
  { as = "ada", era = "modern", answer, options }: ClientWishes = {},
): Promise<Client> {
  const client = createClient({ era, answer, options });
  const requestInit = { headers: { authorization: `Bearer ${as}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

export async function connectV1(url: URL, { as = "ada", answer }: ClientWishes = {}): Promise<ClientV1> {
  const client = new ClientV1({ name: "v1", version: "1.0.0" }, { capabilities: answer ? { elicitation: {} } : {} });
  if (answer)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => (await answer(params as never)) as never);
  const requestInit = { headers: { authorization: `Bearer ${as}` } };
  await client.connect(new TransportV1(url, { requestInit }) as never);
  onTestFinished(() => client.close());
  return client;
}

/** One client without HTTP, as over stdio. */
export async function connectDirectly(
  haft: McpRuntime,
  { era = "modern", ...wishes }: ClientWishes = {},
  serving: Partial<ServeMcpOptions> = {},
): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const served = await serveMcp(haft, ours, { ...DESCRIBE, ...serving });
  const client = createClient({ era, ...wishes });
  await client.connect(theirs);
  onTestFinished(async () => {
    await client.close();
    await served.closed;
  });
  return client;
}

function createClient({ era, name = "test-client", answer, options }: ClientWishes): Client {
  const client = new Client(
    { name, version: "1.0.0" },
    {
      capabilities: answer ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: era === "legacy" ? "legacy" : "auto" },
      ...options,
    },
  );
  if (answer) client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
  return client;
}

export const accept = (content: Record<string, string>): ElicitResult => ({ action: "accept", content });

interface Post {
  as?: string;
  method?: string;
  params: Record<string, unknown>;
  capabilities?: object;
}

/** A hand-written request of the modern era, for what no well-behaved client sends. */
export async function post(
  url: URL,
  { as = "ada", method = "tools/call", params, capabilities = { elicitation: { form: {} } } }: Post,
): Promise<{ status: number; result?: Record<string, unknown>; error?: { code: number; message: string } }> {
  const name = params["name"] ?? params["taskId"];
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    ...(params["_meta"] as object),
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${as}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}
