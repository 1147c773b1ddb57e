// MCP servers of a host through its API: questions, resources, sign-in.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openHaft } from "haft/host";
import { createMcpHandler, serveHttp } from "haft/server";
import { createClient, type HaftClient } from "../../src/client.ts";
import { textOf } from "../../src/core/content.ts";
import { issueToken, MemoryTokenStore } from "../../src/store/tokens.ts";
import type { Scope } from "../../src/contracts/index.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { callbackOf, openOAuthServer } from "./oauth-server.fixture.ts";

const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);
const MODERN = fileURLToPath(new URL("./modern-server.mjs", import.meta.url));

async function open(servers: Record<string, unknown>, settings: Record<string, unknown> = {}) {
  const root = temporaryFolder("haft-mcp-servers-");
  const home = join(root, "home");
  const folder = join(root, "work");
  mkdirSync(join(home, ".config", "haft"), { recursive: true });
  mkdirSync(folder);
  const config = { mcpServers: servers, ...settings };
  writeFileSync(join(home, ".config", "haft", "config.json"), JSON.stringify(config));
  const mcpSignIn = { redirectUrl: "http://127.0.0.1:4117/", onAuthorize: () => {} };
  const openHost = () => openHaft(folder, { home, env: { PATH: process.env["PATH"] ?? "" }, mcpSignIn });
  const host = await openHost();
  const tokens = new MemoryTokenStore();
  const server = await serveHttp(host, { port: 0, tokens });
  onTestFinished(async () => {
    await server.close();
    await host.close();
  });
  await host.mcp.settled();
  const clientFor = async (...scopes: Scope[]): Promise<HaftClient> => {
    const { token } = await issueToken(tokens, host.haft.settings.clock, { name: scopes.join("+"), scopes });
    return createClient({ url: server.url, token });
  };
  return { host, clientFor, openHost };
}

/** These tests are not about the permission of the call itself. */
const UNASKED = { mode: "bypassPermissions" } as const;

/** A call of a modern client, which is repeated with the answer of its person. */
async function callByMcp(url: string, token: string, params: Record<string, unknown>) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": String(params["name"]),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: meta } }),
  });
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.+)$/m.exec(text)?.[1] ?? "{}");
  return JSON.parse(json) as { result?: Record<string, unknown>; error?: unknown };
}

const node = (script: string, more: object = {}) => ({ command: process.execPath, args: [script], ...more });

async function firstQuestion(client: HaftClient) {
  for (;;) {
    const [question] = (await client.questions.list({ state: "open" })).items;
    if (question) return question;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("a question of a server", () => {
  test("is shown with its fields and hidden characters, and answered through the API; the audit log has who did", async () => {
    const { host, clientFor } = await open({ modern: node(MODERN) });
    const person = await clientFor("read", "approve");
    const result = host.haft.execute("mcp__modern__delete_all", {}, UNASKED);
    const question = await firstQuestion(person);
    expect(question).toMatchObject({
      server: "modern",
      mode: "form",
      message: "Really\\u{200b}?",
      schema: { properties: { confirm: { type: "boolean" } }, required: ["confirm"] },
    });
    await expect(person.questions.answer(question.id, { action: "accept", content: {} })).rejects.toMatchObject({
      code: "invalid_input",
    });
    const reader = await clientFor("read", "call");
    await expect(reader.questions.answer(question.id, { action: "decline" })).rejects.toMatchObject({ status: 403 });
    await person.questions.answer(question.id, { action: "accept", content: { confirm: true } });
    expect(textOf((await result).content)).toBe("deleted");
    await expect(person.questions.answer(question.id, { action: "decline" })).rejects.toMatchObject({
      code: "conflict",
    });
    await host.store.audit.flush();
    const { entries } = await host.store.audit.query({ kind: "note", text: "mcp_question_answered" });
    expect(entries[0]).toMatchObject({ data: { answer: "accept", by: "read+approve", server: "modern" } });
    expect(JSON.stringify(entries)).not.toContain('"confirm"');
  });

  test("is answered from another process, and a legacy server gets the denial", async () => {
    const { host, clientFor, openHost } = await open({ every: node(EVERYTHING) });
    const call = host.haft.execute("mcp__every__trigger-elicitation-request", {}, UNASKED);
    const { id } = await firstQuestion(await clientFor("read"));
    const other = await openHost();
    onTestFinished(() => other.close());
    expect(await other.questions.answer(id, { action: "decline", by: "ada" })).toMatchObject({ state: "declined" });
    expect(textOf((await call).content)).toContain("declined");
  });

  test("with a page shows its complete address, and is closed when its call is cancelled", async () => {
    const { host, clientFor } = await open({ every: node(EVERYTHING) });
    const person = await clientFor("read", "approve");
    const stop = new AbortController();
    const call = host.haft.execute(
      "mcp__every__trigger-url-elicitation",
      { url: "https://example.com/pay?for=tea" },
      { ...UNASKED, signal: stop.signal },
    );
    const question = await firstQuestion(person);
    expect(question).toMatchObject({ mode: "url", url: "https://example.com/pay?for=tea" });
    stop.abort();
    expect(await call).toMatchObject({ error: { code: "unknown_outcome", data: { stoppedBy: "cancelled" } } });
    await expect.poll(async () => (await person.questions.get(question.id)).state).toBe("cancelled");
  });

  test("does not count toward the time limit of the call", async () => {
    const { host, clientFor } = await open({ modern: node(MODERN, { timeout: 1500 }) });
    const person = await clientFor("read", "approve");
    const result = host.haft.execute("mcp__modern__delete_all", {}, { ...UNASKED, timeoutMs: 1500 });
    const { id } = await firstQuestion(person);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await person.questions.answer(id, { action: "accept", content: { confirm: false } });
    expect(textOf((await result).content)).toBe("kept");
  });
});

describe("a resource of a server", () => {
  test("is listed by the API and by a tool, and read through the gate", async () => {
    const { host, clientFor } = await open({ modern: node(MODERN) });
    const person = await clientFor("read", "call");
    expect(await person.mcp.resources("modern")).toMatchObject({
      resources: [{ uri: "note://1", name: "note", mimeType: "text/plain" }],
      templates: [],
    });
    const listed = await host.haft.execute("list_mcp_resources");
    expect(listed).toMatchObject({ details: { resources: [{ server: "modern", uri: "note://1" }], failed: [] } });
    // The server is not trusted, so a person is asked first.
    expect(await person.mcp.read("modern", { uri: "note://1" })).toMatchObject({ status: "pending" });
    await expect(person.mcp.resources("nobody")).rejects.toMatchObject({ status: 404 });
  });

  test("of a trusted server is read at once, but never a file outside the workspace", async () => {
    const { host, clientFor } = await open({ modern: node(MODERN, { trust: true }) });
    const person = await clientFor("read", "call");
    expect(textOf((await person.mcp.read("modern", { uri: "note://1" })).content)).toBe("a note");
    expect(await host.haft.execute("read_mcp_resource", { server: "modern", uri: "file:///etc/passwd" })).toMatchObject(
      {
        error: { code: "path_denied" },
      },
    );
    expect(await host.haft.execute("read_mcp_resource", { server: "modern", uri: "note://404" })).toMatchObject({
      status: "failed",
    });
  });

  test("is hidden if the policy denies MCP servers", async () => {
    const { host } = await open({ modern: node(MODERN) }, { tools: { deny: ["group:mcp"] } });
    expect(host.haft.tools.list().filter(({ category }) => category === "mcp")).toEqual([]);
    expect(await host.haft.execute("list_mcp_resources")).toMatchObject({ status: "failed" });
  });

  test("can be a prompt with arguments", async () => {
    const { clientFor } = await open({ modern: node(MODERN) });
    const person = await clientFor("read", "call");
    expect((await person.mcp.prompts("modern")).items).toEqual([
      { name: "greet", description: "Greets", arguments: [{ name: "name", isRequired: true }] },
    ]);
    expect(await person.mcp.prompt("modern", { name: "greet", arguments: { name: "Ada" } })).toMatchObject({
      messages: [{ role: "user", content: { type: "text", text: "Hello Ada" } }],
    });
  });
});

describe("a server that requires a sign-in", () => {
  test("is signed in to through the API, once for each page, by an authorized user", async () => {
    const api = await openOAuthServer();
    const { host, clientFor } = await open({ guarded: { type: "http", url: api.url } });
    const person = await clientFor("read", "approve");
    const { state, signInPage } = await person.mcp.act("guarded", { action: "sign_in" });
    expect(state).toBe("needs_sign_in");
    const { search } = callbackOf(new URL(signInPage!), api);
    await expect((await clientFor("read", "call")).mcp.finishSignIn({ callback: search })).rejects.toMatchObject({
      status: 403,
    });
    await expect(person.mcp.finishSignIn({ callback: search.replace("state=", "state=x") })).rejects.toMatchObject({
      status: 409,
    });
    expect(await person.mcp.finishSignIn({ callback: search })).toMatchObject({ state: "ready" });
    await expect(person.mcp.finishSignIn({ callback: search })).rejects.toMatchObject({ status: 409 });
    const { entries } = await host.store.audit.query({ kind: "trust", text: "mcp_signed_in" });
    expect(entries[0]).toMatchObject({ data: { by: "read+approve", server: "guarded" } });
  });
});

test("a remote server cannot redirect us to this machine, neither by its sign-in nor by a redirect", async () => {
  let requested = 0;
  const trap = createServer((_request, response) => (requested++, void response.end("{}"))).listen(0, "127.0.0.1");
  await new Promise((resolve) => trap.once("listening", resolve));
  onTestFinished(() => void trap.close());
  const inside = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;
  const api = await openOAuthServer({ registration_endpoint: `${inside}/register` });
  const moved = createServer((_request, response) => response.writeHead(307, { location: `${inside}/mcp` }).end());
  await new Promise<void>((resolve) => moved.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void moved.close());
  const { host } = await open({
    guarded: { type: "http", url: api.url },
    moved: { type: "http", url: `http://127.0.0.1:${(moved.address() as AddressInfo).port}/mcp` },
  });
  expect(host.mcp.status().map(({ state }) => state)).not.toContain("ready");
  expect(host.mcp.statusOf("guarded").error).toContain("is refused");
  expect(requested).toBe(0);
});

test("a call that an MCP client was asked about continues in another process, and runs once", async () => {
  const { host, openHost } = await open({});
  const other = await openHost();
  const tokens = new MemoryTokenStore();
  const { token } = await issueToken(tokens, host.haft.settings.clock, {
    name: "client",
    scopes: ["read", "call", "approve"],
  });
  const serve = async (of: typeof host) => {
    const stateKey = () => of.store.keys("mcp_request_state");
    const server = await serveHttp(of.haft, {
      port: 0,
      tokens,
      endpoints: { "/mcp": createMcpHandler(of.haft, { version: "0", stateKey }) },
    });
    onTestFinished(() => server.close());
    return server.url;
  };
  onTestFinished(() => other.close());
  const call = { name: "write", arguments: { path: "a.txt", content: "once" } };
  const { result } = await callByMcp(await serve(host), token, call);
  expect(result).toMatchObject({ resultType: "input_required" });
  const inputResponses = { approval: { action: "accept", content: { decision: "once" } } };
  const back = { ...call, requestState: result!["requestState"], inputResponses };
  const url = await serve(other);
  const answered = await callByMcp(url, token, back);
  expect(JSON.stringify(answered)).toContain("Created a.txt");
  const { entries } = await other.store.audit.query({ kind: "call_begun", tool: "write" });
  expect(entries).toHaveLength(1);
  await callByMcp(url, token, back);
  expect((await other.store.audit.query({ kind: "call_begun", tool: "write" })).entries).toHaveLength(1);
});
