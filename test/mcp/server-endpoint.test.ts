// The endpoint as attackers and other clients see it. Scenario ids: mc-025, mc-040, sv-001, sv-003, sv-005, sv-007.
import { request as httpRequest } from "node:http";
import { createTool } from "haft";
import { createTestHaft } from "haft/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { type ProtocolEndpoint, serveHttp } from "../../src/server/http-server.ts";
import { createMcpEndpoint } from "../../src/mcp/server/streamable-http.ts";
import { connectV1, connectV2, DESCRIBE, post, serveOverHttp } from "./serve-haft.ts";

function createHaft() {
  const whoami = createTool({
    name: "whoami",
    description: "Says who calls, after a while",
    kind: "readonly",
    parameters: z.object({ word: z.string(), ms: z.number() }),
    async run({ word, ms }, { caller }) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return `${caller.user} said ${word}`;
    },
  });
  return createTestHaft({ tools: [whoami], concurrency: { maxConcurrent: 100 } });
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

interface Sent {
  as?: string | undefined;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Written by hand, because fetch does not allow setting the Host header. */
function send(
  url: URL,
  { as, method = "POST", headers = {}, body }: Sent,
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const request = httpRequest(
      url,
      {
        method,
        headers: {
          ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
      },
      (response) => {
        let answer = "";
        response.on("data", (chunk) => (answer += String(chunk)));
        response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text: answer }));
      },
    );
    request.on("error", reject);
    request.end(method === "POST" ? text : undefined);
  });
}

describe("the endpoint", () => {
  test.each([
    ["sv-001", { host: "attacker.example" }],
    ["sv-003", { host: "localhost.attacker.example" }],
    ["sv-005", { origin: "null" }],
    ["sv-007", { origin: "http://localhost:4117.attacker.example" }],
    ["another page", { origin: "https://attacker.example" }],
  ])("refuses a request with a strange Host or Origin, also with a right token (%s)", async (_id, headers) => {
    const { url } = await serveOverHttp(createHaft());
    expect((await send(url, { as: "ada", headers, body: INITIALIZE })).status).toBe(403);
  });

  test.each([
    ["no token", undefined],
    ["a wrong token", "mallory"],
  ])("refuses a request with %s before it reads it", async (_what, as) => {
    const { url } = await serveOverHttp(createHaft());
    for (const body of [INITIALIZE, "{ not even JSON"]) {
      const { status, headers } = await send(url, { as, body });
      expect(status).toBe(401);
      expect(headers["www-authenticate"]).toBe("Bearer");
    }
    expect((await send(url, { as, method: "GET" })).status).toBe(401);
    expect((await send(url, { as, method: "DELETE" })).status).toBe(401);
  });

  test("rejects all requests without an identity", async () => {
    const { url } = await serveOverHttp(createHaft(), { identify: () => undefined });
    expect((await send(url, { as: "ada", body: INITIALIZE })).status).toBe(401);
  });

  test.each([
    ["that is no JSON", 400, "{", {}],
    ["that is too long", 413, JSON.stringify({ ...INITIALIZE, more: "x".repeat(5000) }), {}],
    ["of another type", 415, "a=b", { "content-type": "application/x-www-form-urlencoded" }],
  ])("refuses a body %s", async (_what, status, body, headers) => {
    const { url } = await serveOverHttp(createHaft(), { maxBodyBytes: 4096 });
    expect((await send(url, { as: "ada", body, headers })).status).toBe(status);
  });

  test("rejects requests after it was closed", async () => {
    const { url, endpoint } = await serveOverHttp(createHaft());
    await endpoint.close();
    expect((await send(url, { as: "ada", body: INITIALIZE })).status).toBe(503);
  });
});

describe("a session of a legacy client", () => {
  async function open(url: URL, as = "ada"): Promise<string> {
    const { status, headers } = await send(url, { as, body: INITIALIZE });
    expect(status).toBe(200);
    return String(headers["mcp-session-id"]);
  }
  const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };

  test("belongs to the identity that opened it, and others cannot see it (mc-040)", async () => {
    const { url } = await serveOverHttp(createHaft());
    const session = await open(url);
    const headers = { "mcp-session-id": session };
    expect((await send(url, { as: "ada", headers, body: LIST })).status).toBe(200);
    const stolen = await send(url, { as: "bob", headers, body: LIST });
    const unknown = await send(url, { as: "bob", headers: { "mcp-session-id": "made-up" }, body: LIST });
    expect(stolen.status).toBe(404);
    expect(stolen.text).toBe(unknown.text);
    expect((await send(url, { as: "bob", method: "DELETE", headers })).status).toBe(404);
    expect((await send(url, { as: "bob", method: "GET", headers })).status).toBe(404);
    expect((await send(url, { as: "ada", headers, body: LIST })).status).toBe(200);
  });

  test("is required, and ends on request of its client", async () => {
    const { url } = await serveOverHttp(createHaft());
    expect((await send(url, { as: "ada", body: LIST })).status).toBe(400);
    const headers = { "mcp-session-id": await open(url) };
    expect((await send(url, { as: "ada", method: "DELETE", headers })).status).toBe(200);
    expect((await send(url, { as: "ada", headers, body: LIST })).status).toBe(404);
  });

  test("ends when it is unused, or when there are too many", async () => {
    const haft = createHaft();
    const { url } = await serveOverHttp(haft, { sessions: { idleMs: 1000, maxPerOwner: 2 } });
    const [first, second, third] = [await open(url), await open(url), await open(url)];
    const statusOf = async (session: string): Promise<number> =>
      (await send(url, { as: "ada", headers: { "mcp-session-id": session }, body: LIST })).status;
    expect(await statusOf(first)).toBe(404);
    expect(await statusOf(second)).toBe(200);
    await haft.clock.advance(1001);
    expect(await statusOf(second)).toBe(404);
    expect(await statusOf(third)).toBe(404);
  });

  test("does not appear in records with its secret id", async () => {
    const haft = createHaft();
    const { url } = await serveOverHttp(haft);
    const session = await open(url);
    const call = {
      jsonrpc: "2.0",
      id: 3,
      method: "tools/call",
      params: { name: "whoami", arguments: { word: "x", ms: 0 } },
    };
    await send(url, { as: "ada", headers: { "mcp-session-id": session }, body: call });
    await vi.waitFor(async () => expect(await haft.calls.log.recent()).toHaveLength(1));
    expect(JSON.stringify(haft.recorded.all)).not.toContain(session);
    expect((await haft.calls.log.recent())[0]).toMatchObject({
      caller: { user: "ada", session: expect.stringMatching(/^mcp:/) },
    });
  });
});

test.each([
  ["modern", (url: URL, as: string) => connectV2(url, { as })],
  ["legacy", (url: URL, as: string) => connectV2(url, { as, era: "legacy" })],
  ["of 2025", (url: URL, as: string) => connectV1(url, { as })],
] as [string, (url: URL, as: string) => Promise<{ callTool(params: object): Promise<unknown> }>][])(
  "responses to concurrent clients with the same ids are never mixed up: %s (mc-025)",
  async (_era, connect) => {
    const { url } = await serveOverHttp(createHaft());
    const names = ["ada", "bob", "caller"];
    const clients = await Promise.all(names.map((name) => connect(url, name)));
    const calls = clients.flatMap((client, who) =>
      Array.from({ length: 8 }, async (_, at) => {
        const word = `${names[who]}-${at}`;
        const result = await client.callTool({ name: "whoami", arguments: { word, ms: (at * 7 + who * 5) % 11 } });
        expect(result).toMatchObject({ content: [{ text: `${names[who]} said ${word}` }] });
      }),
    );
    await Promise.all(calls);
  },
);

test("Haft's HTTP server serves it at /mcp, with the identity of the token", async () => {
  const haft = createHaft();
  const endpoint = await createMcpEndpoint(haft, { ...DESCRIBE, hosts: "checked" });
  const mcp: ProtocolEndpoint = {
    handle: (incoming, outgoing, { id, name, scopes }) =>
      endpoint.handle(incoming, outgoing, { identity: { id, name, rights: scopes } }),
    close: () => endpoint.close(),
  };
  const server = await serveHttp(haft, { port: 0, endpoints: { "/mcp": mcp } });
  const token = await server.issueToken({ name: "claude", scopes: ["read", "call"] });
  onTestFinished(() => server.close());
  const url = new URL("/mcp", server.url);
  for (const era of ["modern", "legacy"] as const) {
    const client = await connectV2(url, { as: token, era });
    expect(client.getProtocolEra()).toBe(era);
    expect(await client.callTool({ name: "whoami", arguments: { word: "hello", ms: 0 } })).toMatchObject({
      content: [{ text: "claude said hello" }],
    });
  }
  expect((await post(url, { as: "wrong", params: {} })).status).toBe(401);
  expect((await send(url, { as: token, headers: { host: "attacker.example" }, body: INITIALIZE })).status).toBe(403);
});
