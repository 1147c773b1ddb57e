import { describe, expect, test } from "vitest";
import type { SignInStore } from "../../src/mcp/client/oauth.ts";
import { signInsModule } from "../../src/store/mcp-servers.ts";
import { openInMemory } from "../../src/store/memory-store.fixture.ts";
import { connectHub } from "./connect-scripted.ts";
import { callbackOf, type OAuthServer, openOAuthServer } from "./oauth-server.fixture.ts";

const REDIRECT = "http://127.0.0.1:7070/mcp/callback";

async function connectTo(api: OAuthServer, more: { clientMetadataUrl?: string; tokens?: SignInStore } = {}) {
  const pages: URL[] = [];
  const tokens = more.tokens ?? (await openInMemory(signInsModule));
  const signIn = {
    tokens,
    redirectUrl: REDIRECT,
    onAuthorize: ({ url }: { url: URL }) => void pages.push(url),
    ...(more.clientMetadataUrl ? { clientMetadataUrl: more.clientMetadataUrl } : {}),
  };
  const connected = await connectHub([{ name: "guarded", transport: "http", url: api.url }], { hub: { signIn } });
  return { ...connected, pages, tokens };
}

describe("a remote server that requires a sign-in", () => {
  test("waits for the person, opens no page by itself, and works after the sign-in", async () => {
    const api = await openOAuthServer();
    const { haft, hub, pages, tokens } = await connectTo(api);
    expect(hub.statusOf("guarded")).toMatchObject({
      state: "needs_sign_in",
      signInPage: expect.stringContaining("/authorize?"),
    });
    expect(pages).toEqual([]);
    expect(await hub.signIn("guarded")).toBe(false);
    expect(pages).toHaveLength(1);
    expect(pages[0]!.searchParams.get("code_challenge_method")).toBe("S256");
    expect(api.registered[0]).toMatchObject({ redirect_uris: [REDIRECT] });
    expect(await hub.finishSignIn("guarded", callbackOf(pages[0]!, api))).toMatchObject({
      state: "ready",
      era: "modern",
    });
    expect(await haft.execute("mcp__guarded__add", { a: 1, b: 2 })).toMatchObject({ details: "3" });
    const again = await connectTo(api, { tokens });
    expect(again.hub.statusOf("guarded").state).toBe("ready");
  });

  test("a call that needs more rights shows the page for them, and works after that", async () => {
    const api = await openOAuthServer();
    const { haft, hub, pages } = await connectTo(api);
    await hub.signIn("guarded");
    await hub.finishSignIn("guarded", callbackOf(pages[0]!, api));
    api.wantsMore = true;
    const refused = await haft.execute("mcp__guarded__add", { a: 1, b: 2 });
    expect(refused).toMatchObject({ error: { code: "denied", message: expect.stringContaining("sign-in") } });
    expect(hub.statusOf("guarded").state).toBe("ready");
    expect(pages).toHaveLength(1);
    expect(await hub.signIn("guarded")).toBe(false);
    expect(pages[1]!.searchParams.get("scope")).toContain("admin");
    await hub.finishSignIn("guarded", callbackOf(pages[1]!, api));
    expect(await haft.execute("mcp__guarded__add", { a: 1, b: 2 })).toMatchObject({ details: "3" });
  });

  test("client ID metadata is used if the server supports it, without registration", async () => {
    const api = await openOAuthServer({ client_id_metadata_document_supported: true });
    const { hub, pages } = await connectTo(api, { clientMetadataUrl: "https://haft.example/client.json" });
    await hub.signIn("guarded");
    expect(pages[0]!.searchParams.get("client_id")).toBe("https://haft.example/client.json");
    expect(api.registered).toEqual([]);
  });

  test.each([
    ["without a state", { state: undefined }, /state differs/],
    ["with another state", { state: "guessed" }, /state differs/],
    ["from another issuer", { iss: "https://evil.example" }, /issuer/i],
    ["without the issuer that was promised", { iss: undefined }, /issuer|iss\b/i],
    ["with a code of another proof", { code: "code-for-another" }, /failed/],
  ])("mc-033: a browser that returns %s is rejected", async (_how, change, reason) => {
    const api = await openOAuthServer();
    const { hub, pages } = await connectTo(api);
    await hub.signIn("guarded");
    await expect(hub.finishSignIn("guarded", callbackOf(pages[0]!, api, change))).rejects.toThrow(reason);
    expect(api.tokensGiven).toBe(0);
    expect(hub.statusOf("guarded").state).toBe("needs_sign_in");
  });

  test("the same address does not work twice", async () => {
    const api = await openOAuthServer();
    const { hub, pages } = await connectTo(api);
    await hub.signIn("guarded");
    const callback = callbackOf(pages[0]!, api);
    await hub.finishSignIn("guarded", callback);
    await expect(hub.finishSignIn("guarded", callback)).rejects.toThrow(/started/);
  });

  test.each(["file:///c:/windows/system32/calc.exe", "http://evil.example/authorize", "javascript:alert(1)"])(
    "mc-031: a sign-in page at %s is never opened",
    async (authorization_endpoint) => {
      const api = await openOAuthServer({ authorization_endpoint });
      const { hub, pages } = await connectTo(api);
      expect(hub.statusOf("guarded").signInPage).toBeUndefined();
      await hub.signIn("guarded").catch(() => undefined);
      expect(pages).toEqual([]);
      expect(hub.statusOf("guarded").state).not.toBe("ready");
    },
  );

  test("a token is not sent to another address with the same name", async () => {
    const [first, second] = [await openOAuthServer(), await openOAuthServer()];
    const { hub, pages, tokens } = await connectTo(first);
    await hub.signIn("guarded");
    await hub.finishSignIn("guarded", callbackOf(pages[0]!, first));
    const other = await connectTo(second, { tokens });
    expect(other.hub.statusOf("guarded").state).toBe("needs_sign_in");
  });
});
