import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryTokenStore } from "../../src/mcp/client/token-store.ts";
import { connectHub } from "./connect-scripted.ts";
import { createModernServer } from "./modern-server.mjs";

const REDIRECT = "http://127.0.0.1:7070/mcp/callback";

interface Door {
  url: string;
  origin: string;
  /** What the sign-in page was asked for. */
  registered: unknown[];
  tokensGiven: number;
  /** Calls of tools need the second token, which has more rights. */
  wantsMore: boolean;
}

/** An MCP server behind OAuth: protected-resource metadata, an authorisation server that checks PKCE, bearer tokens. */
async function openDoor(metadata: Record<string, unknown> = {}): Promise<Door> {
  const handler = createMcpHandler(() => createModernServer());
  const door: Door = { url: "", origin: "", registered: [], tokensGiven: 0, wantsMore: false };
  const server = createServer((request, response) => {
    const json = (body: unknown, status = 200): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const { pathname } = new URL(request.url ?? "/", door.origin);
    if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return json({ resource: door.url, authorization_servers: [door.origin] });
    }
    if (pathname.startsWith("/.well-known/")) {
      return json({
        issuer: door.origin,
        authorization_endpoint: `${door.origin}/authorize`,
        token_endpoint: `${door.origin}/token`,
        registration_endpoint: `${door.origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
        ...metadata,
      });
    }
    if (pathname === "/register") {
      return void read(request).then((body) => {
        door.registered.push(JSON.parse(body));
        json({ client_id: "client-1", ...(JSON.parse(body) as object) }, 201);
      });
    }
    if (pathname === "/token") {
      return void read(request).then((body) => {
        const form = new URLSearchParams(body);
        const proof = createHash("sha256")
          .update(form.get("code_verifier") ?? "")
          .digest("base64url");
        if (form.get("code") !== `code-for-${proof}`) return json({ error: "invalid_grant" }, 400);
        door.tokensGiven++;
        const scope = form.get("scope") ?? "read";
        return json({ access_token: `token-${door.tokensGiven}`, token_type: "Bearer", expires_in: 3600, scope });
      });
    }
    const token = request.headers.authorization;
    if (door.wantsMore && request.headers["mcp-method"] === "tools/call" && token !== "Bearer token-2") {
      const challenge = `Bearer error="insufficient_scope", scope="admin", resource_metadata="${door.origin}/.well-known/oauth-protected-resource/mcp"`;
      return void response.writeHead(403, { "www-authenticate": challenge }).end();
    }
    if (token !== "Bearer token-1" && token !== "Bearer token-2") {
      response.writeHead(401, {
        "www-authenticate": `Bearer resource_metadata="${door.origin}/.well-known/oauth-protected-resource/mcp"`,
      });
      return void response.end();
    }
    return void toNodeHandler(handler)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  door.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  door.url = `${door.origin}/mcp`;
  return door;
}

async function read(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

async function connectTo(door: Door, more: { clientMetadataUrl?: string; tokens?: MemoryTokenStore } = {}) {
  const pages: URL[] = [];
  const tokens = more.tokens ?? new MemoryTokenStore();
  const signIn = {
    tokens,
    redirectUrl: REDIRECT,
    onAuthorize: ({ url }: { url: URL }) => void pages.push(url),
    ...(more.clientMetadataUrl ? { clientMetadataUrl: more.clientMetadataUrl } : {}),
  };
  const connected = await connectHub([{ name: "guarded", transport: "http", url: door.url }], { hub: { signIn } });
  return { ...connected, pages, tokens };
}

/** What the person's browser brings back. */
function callbackOf(page: URL, door: Door, change: Record<string, string | undefined> = {}): URL {
  const callback = new URL(page.searchParams.get("redirect_uri")!);
  const parameters: Record<string, string | undefined> = {
    code: `code-for-${page.searchParams.get("code_challenge")}`,
    state: page.searchParams.get("state") ?? undefined,
    iss: door.origin,
    ...change,
  };
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) callback.searchParams.set(name, value);
  return callback;
}

describe("a remote server that wants a sign-in", () => {
  test("waits for the person, opens nothing by itself, and works after the sign-in", async () => {
    const door = await openDoor();
    const { haft, hub, pages, tokens } = await connectTo(door);
    expect(hub.statusOf("guarded")).toMatchObject({
      state: "needs_sign_in",
      signInPage: expect.stringContaining("/authorize?"),
    });
    expect(pages).toEqual([]);
    expect(await hub.signIn("guarded")).toBe(false);
    expect(pages).toHaveLength(1);
    expect(pages[0]!.searchParams.get("code_challenge_method")).toBe("S256");
    expect(door.registered[0]).toMatchObject({ redirect_uris: [REDIRECT] });
    expect(await hub.finishSignIn("guarded", callbackOf(pages[0]!, door))).toMatchObject({
      state: "ready",
      era: "modern",
    });
    expect(await haft.execute("mcp__guarded__add", { a: 1, b: 2 })).toMatchObject({ details: "3" });
    const again = await connectTo(door, { tokens });
    expect(again.hub.statusOf("guarded").state).toBe("ready");
  });

  test("a call that needs more rights sends the person to the page for them, and works afterwards", async () => {
    const door = await openDoor();
    const { haft, hub, pages } = await connectTo(door);
    await hub.signIn("guarded");
    await hub.finishSignIn("guarded", callbackOf(pages[0]!, door));
    door.wantsMore = true;
    const refused = await haft.execute("mcp__guarded__add", { a: 1, b: 2 });
    expect(refused).toMatchObject({ error: { code: "denied", message: expect.stringContaining("sign-in") } });
    expect(hub.statusOf("guarded").state).toBe("ready");
    expect(pages).toHaveLength(1);
    expect(await hub.signIn("guarded")).toBe(false);
    expect(pages[1]!.searchParams.get("scope")).toContain("admin");
    await hub.finishSignIn("guarded", callbackOf(pages[1]!, door));
    expect(await haft.execute("mcp__guarded__add", { a: 1, b: 2 })).toMatchObject({ details: "3" });
  });

  test("client-ID metadata is used where the server knows it: nothing is registered", async () => {
    const door = await openDoor({ client_id_metadata_document_supported: true });
    const { hub, pages } = await connectTo(door, { clientMetadataUrl: "https://haft.example/client.json" });
    await hub.signIn("guarded");
    expect(pages[0]!.searchParams.get("client_id")).toBe("https://haft.example/client.json");
    expect(door.registered).toEqual([]);
  });

  test.each([
    ["without a state", { state: undefined }, /state differs/],
    ["with another state", { state: "guessed" }, /state differs/],
    ["from another issuer", { iss: "https://evil.example" }, /issuer/i],
    ["without the issuer that was promised", { iss: undefined }, /issuer|iss\b/i],
    ["with a code of another proof", { code: "code-for-another" }, /was refused/],
  ])("mc-033: a browser that comes back %s is refused", async (_how, change, why) => {
    const door = await openDoor();
    const { hub, pages } = await connectTo(door);
    await hub.signIn("guarded");
    await expect(hub.finishSignIn("guarded", callbackOf(pages[0]!, door, change))).rejects.toThrow(why);
    expect(door.tokensGiven).toBe(0);
    expect(hub.statusOf("guarded").state).toBe("needs_sign_in");
  });

  test("the same address does not work twice", async () => {
    const door = await openDoor();
    const { hub, pages } = await connectTo(door);
    await hub.signIn("guarded");
    const callback = callbackOf(pages[0]!, door);
    await hub.finishSignIn("guarded", callback);
    await expect(hub.finishSignIn("guarded", callback)).rejects.toThrow(/begun/);
  });

  test.each(["file:///c:/windows/system32/calc.exe", "http://evil.example/authorize", "javascript:alert(1)"])(
    "mc-031: a sign-in page at %s is never opened",
    async (authorization_endpoint) => {
      const door = await openDoor({ authorization_endpoint });
      const { hub, pages } = await connectTo(door);
      expect(hub.statusOf("guarded").signInPage).toBeUndefined();
      await hub.signIn("guarded").catch(() => undefined);
      expect(pages).toEqual([]);
      expect(hub.statusOf("guarded").state).not.toBe("ready");
    },
  );

  test("a token is not sent to another address under the same name", async () => {
    const [first, second] = [await openDoor(), await openDoor()];
    const { hub, pages, tokens } = await connectTo(first);
    await hub.signIn("guarded");
    await hub.finishSignIn("guarded", callbackOf(pages[0]!, first));
    const other = await connectTo(second, { tokens });
    expect(other.hub.statusOf("guarded").state).toBe("needs_sign_in");
  });
});
