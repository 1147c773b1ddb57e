import { describe, expect, test } from "vitest";
import { answering } from "./local-server.fixture.ts";
import { createNetGuard, type NetGuardOptions } from "./net-guard.ts";
import { readProxyEnvironment } from "./proxy-environment.ts";

const PUBLIC = answering(["93.184.216.34"]);

async function outcome(url: string, options: NetGuardOptions = {}): Promise<string> {
  try {
    const { addresses } = await createNetGuard({ resolver: PUBLIC, ...options }).admit(url);
    return addresses.join(" ");
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("the guard", () => {
  test("gives the very addresses that it checked", async () => {
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
  ])("refuses %s, however it is spelt", async (url) => expect(await outcome(url)).toBe("denied"));

  test("resolves once, and refuses a name as soon as one of its addresses is not public", async () => {
    let lookups = 0;
    const resolver = async () => (lookups++, ["93.184.216.34", "10.0.0.1"]);
    expect(await outcome("https://example.com/", { resolver })).toBe("denied");
    expect(lookups).toBe(1);
  });

  test("takes no answer, an error, and no end of the lookup for a no", async () => {
    expect(await outcome("http://example.com/", { resolver: async () => [] })).toBe("unavailable");
    expect(await outcome("http://example.com/", { resolver: () => Promise.reject(new Error("SERVFAIL")) })).toBe(
      "unavailable",
    );
    const guard = createNetGuard({ resolver: () => new Promise(() => undefined) });
    await expect(guard.admit("http://example.com/", AbortSignal.timeout(5))).rejects.toThrow(/timeout/i);
  });

  test("does not ask a resolver about names inside of private networks, nor for ports of other protocols", async () => {
    const resolver = () => Promise.reject(new Error("was asked"));
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

  test("does not tell which private address a name has", async () => {
    const guard = createNetGuard({ resolver: answering(["10.9.8.7"]) });
    await expect(guard.admit("http://example.com/")).rejects.toThrow(/^(?!.*10\.9\.8\.7).*private address/);
  });
});

describe("exceptions", () => {
  test("of a range let just that range through", async () => {
    const exceptions = ["198.18.0.0/15"];
    expect(await outcome("http://example.com/", { exceptions, resolver: answering(["198.18.3.4"]) })).toBe(
      "198.18.3.4",
    );
    expect(await outcome("http://example.com/", { exceptions, resolver: answering(["10.0.0.1"]) })).toBe("denied");
  });

  test("of a host open its private addresses on its port, and never a metadata service", async () => {
    const at = (...answer: string[]) => ({ exceptions: ["wiki.corp:8080", "*.lan"], resolver: answering(answer) });
    expect(await outcome("http://wiki.corp:8080/", at("10.0.0.1"))).toBe("10.0.0.1");
    expect(await outcome("http://wiki.corp/", at("10.0.0.1"))).toBe("denied");
    expect(await outcome("http://evilwiki.corp:8080/", at("10.0.0.1"))).toBe("denied");
    expect(await outcome("http://nas.lan/", at("192.168.1.2"))).toBe("192.168.1.2");
    expect(await outcome("http://lan/", at("192.168.1.2"))).toBe("denied");
    expect(await outcome("http://wiki.corp:8080/", at("169.254.169.254"))).toBe("denied");
    expect(
      await outcome("http://localhost:3000/", { exceptions: ["localhost:3000"], resolver: answering(["::1"]) }),
    ).toBe("::1");
  });

  test.each(["*", "a b", "http://", "10.0.0.0/40"])("%j is refused as one", (text) => {
    expect(() => createNetGuard({ exceptions: [text] })).toThrow(/no exception/);
  });
});

describe("a list of hosts", () => {
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

describe("a proxy of the environment", () => {
  const env = {
    HTTPS_PROXY: "proxy.corp:3128",
    http_proxy: "http://10.0.0.1:8080",
    NO_PROXY: "direct.example,.corp:8443",
  };
  const shown = (url: string) => readProxyEnvironment(env).proxyFor(new URL(url))?.href;

  test("is chosen by scheme, except for the hosts that NO_PROXY names", () => {
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

  test("of a kind that cannot be used is not gone around", async () => {
    const proxies = readProxyEnvironment({ ALL_PROXY: "socks5://127.0.0.1:1080", NO_PROXY: "direct.example" });
    expect(await outcome("https://example.com/", { proxies })).toBe("unavailable");
    expect(await outcome("https://direct.example/", { proxies })).toBe("93.184.216.34");
  });

  test("does not excuse an address from being checked", async () => {
    const proxies = readProxyEnvironment(env);
    expect(await outcome("http://169.254.169.254/", { proxies })).toBe("denied");
    expect(await outcome("http://example.com/", { proxies, resolver: answering(["10.0.0.1"]) })).toBe("denied");
    const trusted = readProxyEnvironment(env, { resolvesNames: true });
    expect(await outcome("http://169.254.169.254/", { proxies: trusted })).toBe("denied");
    expect(await outcome("http://localhost/", { proxies: trusted })).toBe("denied");
    expect(
      await outcome("http://example.com/", { proxies: trusted, resolver: () => Promise.reject(new Error()) }),
    ).toBe("");
  });
});
