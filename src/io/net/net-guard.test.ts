import { describe, expect, test } from "vitest";
import { resolving } from "../../../test/setup/local-server.ts";
import { createNetGuard, type NetGuardOptions } from "./net-guard.ts";
import { readProxyEnvironment } from "./proxy-environment.ts";

const PUBLIC = resolving(["93.184.216.34"]);

async function outcome(url: string, options: NetGuardOptions = {}): Promise<string> {
  try {
    const { addresses } = await createNetGuard({ resolver: PUBLIC, ...options }).admit(url);
    return addresses.join(" ");
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("the guard", () => {
  test("returns exactly the addresses that it checked", async () => {
    expect(await outcome("https://EXAMPLE.com./a?b#c")).toBe("93.184.216.34");
    expect(await outcome("https://[2606:4700:4700::1111]/")).toBe("2606:4700:4700::1111");
  });

  test.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://１２７.0.0.1/",
    "http://127。0。0。1/",
    "http://127.0.0.1./",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http:/\\127.0.0.1/",
    "http:///127.0.0.1/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://0251.0376.0251.0376/",
  ])("refuses %s in any spelling", async (url) => expect(await outcome(url)).toBe("denied"));

  test("resolves a name once and refuses it if one of its addresses is not public", async () => {
    let lookups = 0;
    const resolver = async () => (lookups++, ["93.184.216.34", "10.0.0.1"]);
    expect(await outcome("https://example.com/", { resolver })).toBe("denied");
    expect(lookups).toBe(1);
  });

  test("refuses a name if the lookup is empty, fails or does not end", async () => {
    expect(await outcome("http://example.com/", { resolver: async () => [] })).toBe("unavailable");
    expect(await outcome("http://example.com/", { resolver: () => Promise.reject(new Error("SERVFAIL")) })).toBe(
      "unavailable",
    );
    const guard = createNetGuard({ resolver: () => new Promise(() => undefined) });
    await expect(guard.admit("http://example.com/", AbortSignal.timeout(5))).rejects.toThrow(/timeout/i);
  });

  test("does not resolve names of private networks, nor hosts with ports of other protocols", async () => {
    const resolver = () => Promise.reject(new Error("was called"));
    for (const url of ["http://localhost/", "http://a.localhost./", "http://db.internal/", "http://printer.local/"])
      expect(await outcome(url, { resolver })).toBe("denied");
    expect(await outcome("http://example.com:25/", { resolver })).toBe("denied");
  });

  test.each([
    ["file:///etc/passwd", "denied"],
    ["ftp://example.com/", "denied"],
    ["javascript:alert(1)", "denied"],
    ["https://user:secret@example.com/", "denied"],
    ["http://example.com@127.0.0.1/", "denied"],
    ["not a url", "invalid_input"],
    ["http://[::1", "invalid_input"],
    ["http://a..b/", "invalid_input"],
    ["http://example.com:99999/", "invalid_input"],
    ["http://exa\nmple.com/", "invalid_input"],
    ["http://attacker.example%00.allowed.com/", "invalid_input"],
  ])("refuses %j as %s", async (url, code) => expect(await outcome(url)).toBe(code));

  test("does not reveal the private address of a name", async () => {
    const guard = createNetGuard({ resolver: resolving(["10.9.8.7"]) });
    await expect(guard.admit("http://example.com/")).rejects.toThrow(/^(?!.*10\.9\.8\.7).*private address/);
  });
});

describe("exceptions", () => {
  test("for a range allow exactly that range", async () => {
    const exceptions = ["198.18.0.0/15"];
    expect(await outcome("http://example.com/", { exceptions, resolver: resolving(["198.18.3.4"]) })).toBe(
      "198.18.3.4",
    );
    expect(await outcome("http://example.com/", { exceptions, resolver: resolving(["10.0.0.1"]) })).toBe("denied");
  });

  test("for a host allow its private addresses on its port, but never a metadata service", async () => {
    const at = (...answer: string[]) => ({ exceptions: ["wiki.corp:8080", "*.lan"], resolver: resolving(answer) });
    expect(await outcome("http://wiki.corp:8080/", at("10.0.0.1"))).toBe("10.0.0.1");
    expect(await outcome("http://wiki.corp/", at("10.0.0.1"))).toBe("denied");
    expect(await outcome("http://evilwiki.corp:8080/", at("10.0.0.1"))).toBe("denied");
    expect(await outcome("http://nas.lan/", at("192.168.1.2"))).toBe("192.168.1.2");
    expect(await outcome("http://lan/", at("192.168.1.2"))).toBe("denied");
    expect(await outcome("http://wiki.corp:8080/", at("169.254.169.254"))).toBe("denied");
    expect(
      await outcome("http://localhost:3000/", { exceptions: ["localhost:3000"], resolver: resolving(["::1"]) }),
    ).toBe("::1");
  });

  test.each(["*", "a b", "http://", "10.0.0.0/40"])("reject %j", (text) => {
    expect(() => createNetGuard({ exceptions: [text] })).toThrow(/not a valid network exception/);
  });
});

describe("a list of allowed hosts", () => {
  test.each([
    ["https://docs.example/", true],
    ["https://DOCS.example./", true],
    ["https://a.allowed.com/", true],
    ["https://allowed.com/", false],
    ["https://xallowed.com/", false],
    ["https://evildocs.example/", false],
    ["https://docs.example.evil.com/", false],
    ["https://d\u043ecs.example/", false],
  ])("%s: %s", async (url, isListed) => {
    const hosts = ["docs.example", "*.allowed.com"];
    expect(await outcome(url, { hosts })).toBe(isListed ? "93.184.216.34" : "denied");
  });
});

describe("a proxy from the environment", () => {
  const env = {
    HTTPS_PROXY: "proxy.corp:3128",
    http_proxy: "http://10.0.0.1:8080",
    NO_PROXY: "direct.example,.corp:8443",
  };
  const shown = (url: string) => readProxyEnvironment(env).proxyFor(new URL(url))?.href;

  test("is chosen by scheme, except for hosts in NO_PROXY", () => {
    expect(shown("https://example.com/")).toBe("http://proxy.corp:3128/");
    expect(shown("http://example.com/")).toBe("http://10.0.0.1:8080/");
    expect(shown("https://direct.example/")).toBeUndefined();
    expect(shown("https://sub.direct.example./")).toBeUndefined();
    expect(shown("https://notdirect.example/")).toBe("http://proxy.corp:3128/");
    expect(shown("https://a.corp:8443/")).toBeUndefined();
    expect(shown("https://a.corp/")).toBe("http://proxy.corp:3128/");
    expect(
      readProxyEnvironment({ HTTP_PROXY: "http://evil", REQUEST_METHOD: "GET" }).proxyFor(new URL("http://a/")),
    ).toBe(undefined);
  });

  test("is never bypassed if it cannot be used", async () => {
    const proxies = readProxyEnvironment({ ALL_PROXY: "socks5://127.0.0.1:1080", NO_PROXY: "direct.example" });
    expect(await outcome("https://example.com/", { proxies })).toBe("unavailable");
    expect(await outcome("https://direct.example/", { proxies })).toBe("93.184.216.34");
  });

  test("does not replace the address check", async () => {
    const proxies = readProxyEnvironment(env);
    expect(await outcome("http://169.254.169.254/", { proxies })).toBe("denied");
    expect(await outcome("http://example.com/", { proxies, resolver: resolving(["10.0.0.1"]) })).toBe("denied");
    const trusted = readProxyEnvironment(env, { resolvesNames: true });
    expect(await outcome("http://169.254.169.254/", { proxies: trusted })).toBe("denied");
    expect(await outcome("http://localhost/", { proxies: trusted })).toBe("denied");
    expect(
      await outcome("http://example.com/", { proxies: trusted, resolver: () => Promise.reject(new Error()) }),
    ).toBe("");
  });
});
