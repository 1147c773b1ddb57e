import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createGuardedNet, type GuardedNet, type GuardedNetOptions } from "./guarded-fetch.ts";
import {
  type RequestHandler,
  resolving,
  createFakeNetwork,
  startServer,
  startSocket,
} from "../../../test/setup/local-server.ts";
import { readProxyEnvironment } from "./proxy-environment.ts";

function open(options: GuardedNetOptions): GuardedNet {
  const net = createGuardedNet(options);
  onTestFinished(() => net.close());
  return net;
}

/** A local server and a net that allows it as an exception. */
async function local(answer: RequestHandler, options: GuardedNetOptions = {}) {
  const server = await startServer(answer);
  return { ...server, net: open({ exceptions: [`127.0.0.1:${server.port}`], ...options }) };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no failure",
    (error: { code?: string }) => error.code ?? String(error),
  );
}

describe("a guarded fetch", () => {
  test("returns status, headers and body, and sends method, headers and body", async () => {
    const { net, origin, requests } = await local((_request, response) => {
      response.writeHead(201, { "x-a": ["1", "2"], "content-type": "text/plain" }).end("made");
    });
    const { status, headers, body, url } = await net.fetch(`${origin}/p?q=1#part`, {
      method: "put",
      headers: { "X-Mine": "yes" },
      body: "hällo",
    });
    expect([status, headers["x-a"], body.toString(), url]).toEqual([201, "1, 2", "made", `${origin}/p?q=1#part`]);
    expect(requests).toMatchObject([{ method: "PUT", path: "/p?q=1", body: "hällo", headers: { "x-mine": "yes" } }]);
  });

  test("reaches nothing on this machine without an exception", async () => {
    const { port, origin, requests } = await startServer((_request, response) => void response.end("secret"));
    const net = open({ exceptions: [`127.0.0.1:${port + 1}`] });
    expect(await codeOf(net.fetch(origin))).toBe("denied");
    expect(requests).toEqual([]);
  });

  test("connects to the address that was checked, and checks again for the next request", async () => {
    const server = await startServer((_request, response) => void response.end("ok"));
    const network = createFakeNetwork({ http: server.port });
    const resolver = resolving(["93.184.216.34"], ["1.1.1.1"], ["169.254.169.254"]);
    const net = open({ dial: network.dial, resolver });
    expect((await net.fetch("http://rebind.example/")).status).toBe(200);
    expect((await net.fetch("http://rebind.example/")).status).toBe(200);
    expect(await codeOf(net.fetch("http://rebind.example/"))).toBe("denied");
    expect(network.dialled).toEqual(["93.184.216.34 80", "1.1.1.1 80"]);
    expect(server.requests).toMatchObject([{ host: "rebind.example" }, { host: "rebind.example" }]);
  });

  test("tries the other checked addresses if one does not respond", async () => {
    const { port } = await startServer((_request, response) => void response.end("ok"));
    const net = open({ exceptions: [`two.example:${port}`], resolver: resolving(["::1", "127.0.0.1"]) });
    expect((await net.fetch(`http://two.example:${port}/`)).status).toBe(200);
  });

  test("requires the certificate of the host name, not of the address", async () => {
    const { certificate } = createFakeNetwork({});
    const server = await startServer((_request, response) => void response.end("safe"), certificate);
    const network = createFakeNetwork({ https: server.port });
    const net = open({ dial: network.dial, ca: certificate.cert, resolver: resolving(["93.184.216.34"]) });
    expect((await net.fetch("https://example.com/")).body.toString()).toBe("safe");
    expect((await net.fetch("https://93.184.216.34/")).body.toString()).toBe("safe");
    await expect(net.fetch("https://elsewhere.example/")).rejects.toThrow(/No secure connection/);
    const stranger = open({ dial: network.dial, resolver: resolving(["93.184.216.34"]) });
    await expect(stranger.fetch("https://example.com/")).rejects.toThrow(/No secure connection/);
  });

  test("stores no cookies", async () => {
    const { net, origin, requests } = await local((_request, response) => {
      response.writeHead(200, { "set-cookie": "a=b" }).end();
    });
    await net.fetch(origin);
    await net.fetch(origin);
    expect(requests.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined]);
  });

  test.each([
    ["method", { method: "CONNECT" }],
    ["method", { method: "GET\r\nX: y" }],
    ["body of a GET", { body: "x" }],
  ])("refuses an invalid %s: %j", async (_what, request) => {
    const net = open({});
    expect(await codeOf(net.fetch("http://93.184.216.34/", request))).toBe("invalid_input");
  });
});

describe("headers", () => {
  test.each([
    { "X-A": "a\r\nHost: b" },
    { "X-A\r\nX-B": "b" },
    { "X-A": "a\0" },
    { "X A": "b" },
    { "": "b" },
    { "X-A": "→" },
    { Host: "127.0.0.1" },
    { "Transfer-Encoding": "chunked" },
    { "Content-Length": "5" },
    { Connection: "upgrade" },
    { "Metadata-Flavor": "Google" },
    { Metadata: "true" },
    { "X-aws-ec2-metadata-token": "x" },
    { "X-Forwarded-For": "127.0.0.1" },
    { "X-HTTP-Method-Override": "DELETE" },
    { "Proxy-Authorization": "x" },
    { A: "1", a: "2" },
    { A: "x".repeat(20_000) },
  ])("%j are refused", async (headers) => {
    const { net, origin, requests } = await local((_request, response) => void response.end());
    expect(await codeOf(net.fetch(origin, { headers: headers as unknown as Record<string, string> }))).toBe("denied");
    expect(requests).toEqual([]);
  });
});

describe("redirects", () => {
  /** A server that responds by host and path and records the requests. */
  async function openRedirects(paths: Readonly<Record<string, [status: number, location: string]>>) {
    const server = await startServer(({ host, path }, response) => {
      const found = paths[`${host}${path}`] ?? paths[path];
      if (found) response.writeHead(found[0], { location: found[1] });
      response.end("the end");
    });
    const network = createFakeNetwork({ http: server.port });
    const net = open({ dial: network.dial, resolver: resolving(["93.184.216.34"]) });
    return { ...server, net, dialled: network.dialled };
  }

  test("are followed and listed", async () => {
    const { net } = await openRedirects({ "/a": [302, "/b"], "/b": [301, "http://other.example/c?d"] });
    const { redirects, url, body } = await net.fetch("http://example.com/a#part");
    expect(redirects).toEqual([
      { status: 302, from: "http://example.com/a#part", to: "http://example.com/b#part" },
      { status: 301, from: "http://example.com/b#part", to: "http://other.example/c?d#part" },
    ]);
    expect([url, body.toString()]).toEqual(["http://other.example/c?d#part", "the end"]);
  });

  test("are checked like the first address", async () => {
    const { net, dialled } = await openRedirects({ "/": [302, "http://169.254.169.254/latest"] });
    expect(await codeOf(net.fetch("http://example.com/"))).toBe("denied");
    expect(dialled).toEqual(["93.184.216.34 80"]);
  });

  test.each(["file:///etc/passwd", "//127.0.0.1/", "ftp://example.com/", "http://[::ffff:7f00:1]/", "gopher://x"])(
    "to %s are refused",
    async (location) => {
      const { net } = await openRedirects({ "/": [302, location] });
      expect(await codeOf(net.fetch("http://example.com/"))).toBe("denied");
    },
  );

  test("stop at the limit", async () => {
    const { net, requests } = await openRedirects({ "/": [302, "/"] });
    await expect(net.fetch("http://example.com/", { maxRedirects: 3 })).rejects.toThrow(/more than 3 times/);
    expect(requests).toHaveLength(4);
  });

  test("send credentials and cookies to the same origin only", async () => {
    const { net, requests } = await openRedirects({
      "example.com/": [302, "/2"],
      "/2": [302, "http://other.example/3"],
    });
    const headers = { Authorization: "Bearer CANARY", Cookie: "CANARY", "X-Api-Key": "CANARY", Accept: "text/html" };
    const { redirects } = await net.fetch("http://example.com/", { headers });
    expect(redirects.map(({ to }) => to)).toEqual(["http://example.com/2", "http://other.example/3"]);
    expect(requests.map(({ headers: sent }) => sent.authorization)).toEqual([
      "Bearer CANARY",
      "Bearer CANARY",
      undefined,
    ]);
    expect(JSON.stringify(requests[2]?.headers)).not.toContain("CANARY");
    expect(requests[2]?.headers.accept).toBe("text/html");
  });

  test("from https to http are refused if the request has credentials", async () => {
    const { certificate } = createFakeNetwork({});
    const secure = await startServer(
      (_request, response) => void response.writeHead(302, { location: "http://example.com/" }).end(),
      certificate,
    );
    const plain = await startServer((_request, response) => void response.end("plain"));
    const network = createFakeNetwork({ http: plain.port, https: secure.port });
    const net = open({ dial: network.dial, ca: certificate.cert, resolver: resolving(["93.184.216.34"]) });
    expect(await codeOf(net.fetch("https://example.com/", { headers: { Authorization: "x" } }))).toBe("denied");
    expect(plain.requests).toEqual([]);
    expect((await net.fetch("https://example.com/")).body.toString()).toBe("plain");
  });

  test("turn a POST into a GET as the standard says, and never send a body to another origin", async () => {
    const { net, requests } = await openRedirects({
      "/303": [303, "/end"],
      "/307": [307, "/end"],
      "/far": [307, "http://other.example/end"],
    });
    const post = { method: "POST", body: "x", headers: { "Content-Type": "text/plain" } };
    await net.fetch("http://example.com/303", post);
    await net.fetch("http://example.com/307", post);
    const { status, notFollowed } = await net.fetch("http://example.com/far", post);
    expect(requests.map(({ method, body, host }) => `${method} ${body} ${host}`)).toEqual([
      "POST x example.com",
      "GET  example.com",
      "POST x example.com",
      "POST x example.com",
      "POST x example.com",
    ]);
    expect([status, notFollowed?.to]).toEqual([307, "http://other.example/end"]);
  });

  test("to another host are reported, not followed, if only the permitted host is allowed", async () => {
    const { net, requests } = await openRedirects({ "/": [302, "http://other.example/x"] });
    const answer = await net.fetch("http://example.com/", { follow: "same-host" });
    expect(answer).toMatchObject({
      status: 302,
      notFollowed: { to: "http://other.example/x", why: "it points to another host" },
    });
    expect(requests).toHaveLength(1);
  });
});

describe("a response", () => {
  const BODY = "text ".repeat(1000);

  test.each([
    ["gzip", gzipSync(BODY)],
    ["deflate", deflateSync(BODY)],
    ["deflate", deflateRawSync(BODY)],
    ["br", brotliCompressSync(BODY)],
    ["gzip, br", brotliCompressSync(gzipSync(BODY))],
    ["identity", Buffer.from(BODY)],
  ])("in %s is decoded", async (encoding, bytes) => {
    const { net, origin } = await local((_request, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(bytes);
    });
    expect((await net.fetch(origin)).body.toString()).toBe(BODY);
  });

  test.each([
    ["a small body that expands to a large one", "gzip", gzipSync(Buffer.alloc(5_000_000)), "too_large"],
    ["too many encodings", Array(50).fill("gzip").join(), Buffer.from("x"), "failed"],
    ["an unknown encoding", "compress", Buffer.from("x"), "failed"],
    ["a false encoding", "gzip", Buffer.from("plain"), "failed"],
    ["a long body", "identity", Buffer.alloc(2_000_000), "too_large"],
  ])("with %s is refused", async (_what, encoding, bytes, code) => {
    const { net, origin } = await local((_request, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(bytes);
    });
    expect(await codeOf(net.fetch(origin, { maxBytes: 1_000_000 }))).toBe(code);
  });

  test("without an end is cut off at the size limit", async () => {
    const { net, origin } = await local((_request, response) => {
      const write = (): void =>
        void (response.write(Buffer.alloc(65_536)) ? setImmediate(write) : response.once("drain", write));
      response.on("close", () => response.removeAllListeners("drain"));
      write();
    });
    expect(await codeOf(net.fetch(origin, { maxBytes: 1_000_000 }))).toBe("too_large");
  });

  test.each([
    ["nothing", ""],
    ["half a head", "HTTP/1.1 200 OK\r\nX-A: "],
    ["half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"],
  ])("with %s ends at the deadline", async (_what, bytes) => {
    const clock = createFakeClock();
    const port = await startSocket((socket) => {
      socket.once("data", () => {
        socket.write(bytes, () => setTimeout(() => void clock.advance(60_000), 20));
      });
    });
    const net = open({ clock, exceptions: ["127.0.0.1"] });
    expect(await codeOf(net.fetch(`http://127.0.0.1:${port}/`))).toBe("timeout");
  });

  test("ends when the caller aborts, with the caller's reason", async () => {
    const port = await startSocket(() => undefined);
    const net = open({ exceptions: ["127.0.0.1"] });
    const giveUp = new AbortController();
    const awaited = net.fetch(`http://127.0.0.1:${port}/`, { signal: giveUp.signal });
    setTimeout(() => giveUp.abort(new Error("enough")), 20);
    await expect(awaited).rejects.toThrow("enough");
    await expect(net.fetch(`http://127.0.0.1:${port}/`, { signal: giveUp.signal })).rejects.toThrow("enough");
  });

  test.each([
    ["switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    ["is not HTTP", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["has endless headers", `HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(20_000)}`],
    ["has two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
  ])("that %s fails as unavailable", async (_what, bytes) => {
    const port = await startSocket((socket) => void socket.once("data", () => socket.write(bytes)));
    const net = open({ exceptions: ["127.0.0.1"] });
    expect(await codeOf(net.fetch(`http://127.0.0.1:${port}/`, { timeoutMs: 5000 }))).toBe("unavailable");
  });

  test("that is cut off fails as unavailable", async () => {
    const port = await startSocket((socket) => socket.destroy());
    const net = open({ exceptions: ["127.0.0.1"] });
    expect(await codeOf(net.fetch(`http://127.0.0.1:${port}/`))).toBe("unavailable");
  });

  test("from a closed port fails as unavailable", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const net = open({ exceptions: ["127.0.0.1"] });
    await expect(net.fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow(/Nothing listens/);
  });
});

describe("through a proxy", () => {
  async function startProxy(target: number) {
    const tunnels: string[] = [];
    const server = createServer((() => undefined) as RequestListener);
    server.on("connect", (request, client) => {
      tunnels.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
      const upstream = connect(target, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.pipe(client).pipe(upstream);
      });
      upstream.on("error", () => client.destroy());
      client.on("error", () => upstream.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return { tunnels, url: `http://me:pass%20word@127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test("the tunnel goes to the checked address, and TLS is still with the host", async () => {
    const { certificate } = createFakeNetwork({});
    const { port, requests } = await startServer((_request, response) => void response.end("ok"), certificate);
    const proxy = await startProxy(port);
    const net = open({
      proxies: readProxyEnvironment({ HTTPS_PROXY: proxy.url }),
      resolver: resolving(["93.184.216.34"]),
      ca: certificate.cert,
    });
    expect((await net.fetch("https://example.com/")).body.toString()).toBe("ok");
    expect(proxy.tunnels).toEqual([`93.184.216.34:443 Basic ${Buffer.from("me:pass word").toString("base64")}`]);
    expect(requests).toMatchObject([{ host: "example.com" }]);
  });

  test("that resolves names, the tunnel goes to the host name", async () => {
    const { port } = await startServer((_request, response) => void response.end("ok"));
    const proxy = await startProxy(port);
    const proxies = readProxyEnvironment({ HTTP_PROXY: proxy.url }, { resolvesNames: true });
    const net = open({ proxies, resolver: () => Promise.reject(new Error("no names here")) });
    expect((await net.fetch("http://example.com/")).status).toBe(200);
    expect(proxy.tunnels[0]).toMatch(/^example\.com:80 /);
  });

  test("that refuses, the failure names the proxy", async () => {
    const { origin } = await startServer(() => undefined);
    const net = open({
      proxies: readProxyEnvironment({ HTTP_PROXY: `${origin}` }),
      resolver: resolving(["93.184.216.34"]),
    });
    await expect(net.fetch("http://example.com/")).rejects.toThrow(/proxy of this machine/);
  });
});
