// Known attacks on servers of this kind, over real sockets. The ids are those of the scenarios.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestHaft } from "haft/testing";
import { WebSocket } from "ws";
import { serveHttp } from "../../src/server/http-server.ts";
import { issueToken, MemoryTokenStore } from "../../src/store/tokens.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { ask, openTestServer, openSocket, until } from "./open-server.ts";

const CALL = { tool: "echo", input: { text: "hello" } };

function makeConsole(): string {
  const folder = temporaryFolder("haft-console-");
  mkdirSync(join(folder, "assets"));
  writeFileSync(
    join(folder, "index.html"),
    '<!doctype html><script type="module" src="/assets/index-B3kq9aZ1.js"></script>',
  );
  writeFileSync(join(folder, "assets", "index-B3kq9aZ1.js"), "console.log('haft');".repeat(100));
  return folder;
}

describe("the host of a request", () => {
  test.each([
    ["sv-001", "attacker.example"],
    ["sv-003", "localhost.attacker.example"],
    ["sv-003", "127.0.0.1.attacker.example"],
    ["sv-003", "attacker.example:PORT"],
    ["sv-003", "localhost"],
    ["sv-003", "127.0.0.1:1"],
  ])("%s: %s is refused, on every path, with the right token", async (_id, name) => {
    const api = await openTestServer({ console: makeConsole() });
    const token = await api.tokenFor("read", "call");
    const host = name.replace("PORT", String(api.server.port));
    for (const path of ["/", "/api/health", "/api/tools"]) {
      const { status, json } = await ask(api, "GET", path, { headers: { host }, token });
      expect([status, json.error?.code]).toEqual([403, "forbidden"]);
    }
    expect((await ask(api, "POST", "/api/calls", { headers: { host }, token, body: CALL })).status).toBe(403);
    expect(api.runs).toEqual([]);
  });

  test("sv-001: a whole address in the request line does not stand in for the header", async () => {
    const api = await openTestServer();
    const socket = await openSocket(api);
    socket.write(`GET http://${api.host}/api/health HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n`);
    await socket.gone;
    expect(socket.received()).toMatch(/^HTTP\/1\.1 403 /);
  });

  test.each(["GET /api/health HTTP/1.1", "GET / HTTP/1.1", "GET /api/socket HTTP/1.1\r\nUpgrade: websocket"])(
    "is refused if there are two: %s",
    async (start) => {
      const api = await openTestServer();
      for (const hosts of [
        [api.host, "attacker.example"],
        [api.host, api.host],
      ]) {
        const socket = await openSocket(api);
        const names = hosts.map((host) => `Host: ${host}\r\n`).join("");
        socket.write(`${start}\r\n${names}Connection: ${start.includes("Upgrade") ? "Upgrade" : "close"}\r\n\r\n`);
        await socket.gone;
        expect(socket.received()).toMatch(/^HTTP\/1\.1 400 /);
      }
    },
  );

  test.each(["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])("of this machine, %s, is answered", async (name) => {
    const api = await openTestServer();
    const headers = { host: `${name}:${api.server.port}` };
    expect((await ask(api, "GET", "/api/health", { headers })).json).toMatchObject({ status: "ok" });
  });
});

describe("the origin of a request", () => {
  test.each([
    ["sv-005", "null"],
    ["sv-007", "http://localhost:PORT.attacker.example"],
    ["sv-007", "http://localhost:PORT@attacker.example"],
    ["sv-007", "https://localhost:PORT"],
    ["sv-007", "http://localhost:1"],
    ["sv-007", "http://attacker.example"],
    ["sv-007", ""],
  ])("%s: %s runs nothing, with the right token", async (_id, name) => {
    const api = await openTestServer();
    const token = await api.tokenFor("read", "call");
    const origin = name.replace("PORT", String(api.server.port));
    const { status, json } = await ask(api, "POST", "/api/calls", { headers: { origin }, token, body: CALL });
    expect([status, json.error?.code]).toEqual([403, "forbidden"]);
    expect(api.runs).toEqual([]);
  });

  test.each(["cross-site", "same-site"])(
    "sv-007: a page elsewhere, also on another port of this machine (%s), reads nothing without an Origin",
    async (site) => {
      const api = await openTestServer();
      const token = await api.tokenFor("read");
      const headers = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" };
      expect((await ask(api, "GET", "/api/tools", { headers, token })).status).toBe(403);
    },
  );

  test("that is allowed can read responses, with a token and never with the cookie", async () => {
    const origin = "https://tools.example";
    const api = await openTestServer({ allowedOrigins: [origin] });
    const token = await api.tokenFor("read", "call");
    const preflight = await ask(api, "OPTIONS", "/api/calls", { headers: { origin } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers["access-control-allow-origin"]).toBe(origin);
    expect(preflight.headers["access-control-allow-credentials"]).toBeUndefined();
    const called = await ask(api, "POST", "/api/calls", { headers: { origin }, token, body: CALL });
    expect([called.status, called.headers["access-control-allow-origin"]]).toEqual([200, origin]);
    const cookie = await logIn(api);
    expect((await ask(api, "POST", "/api/calls", { headers: { origin, cookie }, body: CALL })).status).toBe(403);
  });
});

async function logIn(api: Awaited<ReturnType<typeof openTestServer>>): Promise<string> {
  const token = (await api.server.loginUrl()).split("#login=")[1];
  const { headers } = await ask(api, "POST", "/api/session", {
    headers: { origin: api.server.url },
    body: { token },
  });
  return String(headers["set-cookie"]).split(";")[0]!;
}

describe("a session of the console", () => {
  test("begins with a one-time token that works once, and ends when it is ended", async () => {
    const api = await openTestServer();
    const token = (await api.server.loginUrl()).split("#login=")[1];
    const origin = api.server.url;
    const both = await Promise.all(
      [1, 2].map(() => ask(api, "POST", "/api/session", { headers: { origin }, body: { token } })),
    );
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401]);
    const cookie = String(both.find(({ status }) => status === 200)!.headers["set-cookie"]).split(";")[0]!;
    expect((await ask(api, "GET", "/api/session", { headers: { cookie } })).json).toMatchObject({
      name: "owner",
      kind: "session",
    });
    expect((await ask(api, "DELETE", "/api/session", { headers: { cookie, origin } })).status).toBe(200);
    expect((await ask(api, "GET", "/api/session", { headers: { cookie } })).status).toBe(401);
  });

  test("a one-time token that was not used in time, or is sent as a bearer token, opens nothing", async () => {
    const api = await openTestServer();
    const token = (await api.server.loginUrl()).split("#login=")[1]!;
    expect((await ask(api, "GET", "/api/tools", { token })).status).toBe(401);
    await api.haft.clock.advance(10 * 60_000);
    const headers = { origin: api.server.url };
    expect((await ask(api, "POST", "/api/session", { headers, body: { token } })).status).toBe(401);
  });

  test("begins with a token of a program too, has its scopes, and ends with it", async () => {
    const api = await openTestServer();
    const headers = { origin: api.server.url };
    const begin = (token: string) => ask(api, "POST", "/api/session", { headers, body: { token } });
    const token = await api.server.issueToken({ name: "watcher", scopes: ["read"], expiresInMs: 60_000 });
    const begun = await begin(token);
    expect(begun.json).toMatchObject({ name: "watcher", scopes: ["read"], kind: "session" });
    const cookie = String(begun.headers["set-cookie"]).split(";")[0]!;
    expect((await ask(api, "GET", "/api/tools", { headers: { cookie } })).status).toBe(200);
    expect((await ask(api, "POST", "/api/calls", { headers: { ...headers, cookie }, body: CALL })).status).toBe(403);
    expect((await begin(await api.tokenFor("call"))).json.error?.code).toBe("forbidden");
    expect((await begin("wrong")).status).toBe(401);
    await api.haft.clock.advance(60_000);
    expect((await ask(api, "GET", "/api/tools", { headers: { cookie } })).status).toBe(401);
  });

  test("begins with a link that an administrator creates, for no more than the administrator may do", async () => {
    const api = await openTestServer();
    const headers = { origin: api.server.url };
    const token = await api.tokenFor("read", "admin");
    const create = (body: object, as = token) => ask(api, "POST", "/api/session/links", { token: as, body });
    const created = await create({});
    expect(created.json).toMatchObject({ scopes: ["read", "admin"], url: expect.stringContaining("/#login=") });
    const login = String((created.json as unknown as { url: string }).url).split("#login=")[1];
    expect((await ask(api, "POST", "/api/session", { headers, body: { token: login } })).status).toBe(200);
    expect((await ask(api, "POST", "/api/session", { headers, body: { token: login } })).status).toBe(401);
    expect((await create({ scopes: ["read"] })).json).toMatchObject({ scopes: ["read"] });
    expect((await create({ scopes: ["approve"] })).status).toBe(403);
    expect((await create({ scopes: ["admin"] })).status).toBe(400);
    expect((await create({}, await api.tokenFor("read", "call"))).status).toBe(403);
  });

  test("is replaced with its name and scopes, the old one ends at once, and only an administrator can", async () => {
    const api = await openTestServer();
    const admin = await api.tokenFor("admin");
    const made = await ask(api, "POST", "/api/tokens", {
      token: admin,
      body: { name: "ci", scopes: ["read"], expiresInMs: 3_600_000 },
    });
    const { id, token: old } = made.json as { id: string; token: string };
    const rotate = (token: string) => ask(api, "POST", `/api/tokens/${id}/rotate`, { token });
    expect((await rotate(old)).status).toBe(403);
    await api.haft.clock.advance(1_800_000);
    const [first, second] = await Promise.all([rotate(admin), rotate(admin)]);
    expect(new Set([first.status, second.status])).toEqual(new Set([201, 404]));
    const rotated = first.status === 201 ? first.json : second.json;
    expect(rotated).toMatchObject({ name: "ci", scopes: ["read"], expiresAt: api.haft.clock.now() + 3_600_000 });
    const { token: fresh } = rotated as { token: string };
    const statuses = [old, fresh].map(async (token) => (await ask(api, "GET", "/api/tools", { token })).status);
    expect(await Promise.all(statuses)).toEqual([401, 200]);
  });

  test("is listed, whoever made its link, and an administrator ends it", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("read", "admin");
    const headers = { origin: api.server.url };
    const login = (await api.server.loginUrl()).split("#login=")[1];
    const begun = await ask(api, "POST", "/api/session", { headers, body: { token: login } });
    const cookie = begun.headers["set-cookie"]![0]!.split(";")[0]!;
    const listed = (await ask(api, "GET", "/api/tokens", { token })).json as unknown as {
      items: { id: string; kind: string }[];
    };
    expect(listed.items.map(({ kind }) => kind)).toEqual(["token", "session"]);
    const isThere = async () => (await ask(api, "GET", "/api/tools", { headers: { cookie } })).status === 200;
    expect(await isThere()).toBe(true);
    await ask(api, "DELETE", `/api/tokens/${listed.items[1]!.id}`, { token });
    expect(await isThere()).toBe(false);
  });

  test.each(["expires", "is revoked"])("ends when the token %s that its link was made with", async (end) => {
    const tokens = new MemoryTokenStore();
    const api = await openTestServer({ tokens });
    const origin = api.server.url;
    const token = await api.server.issueToken({ name: "ci", scopes: ["read", "admin"], expiresInMs: 3_600_000 });
    const [{ id } = { id: "" }] = tokens.list();
    const createWith = async (by: { token?: string; headers?: Record<string, string> }): Promise<string> => {
      const { json } = await ask(api, "POST", "/api/session/links", { ...by, body: {} });
      return String((json as unknown as { url: string }).url).split("#login=")[1]!;
    };
    const open = async (login: string): Promise<string> => {
      const begun = await ask(api, "POST", "/api/session", { headers: { origin }, body: { token: login } });
      expect(begun.json).toMatchObject({ kind: "session", expiresAt: api.haft.clock.now() + 3_600_000 });
      return begun.headers["set-cookie"]![0]!.split(";")[0]!;
    };
    const first = await open(await createWith({ token }));
    // A session makes links of its token.
    const second = await open(await createWith({ headers: { cookie: first, origin } }));
    const unused = await createWith({ token });
    const statuses = async (): Promise<number[]> => {
      const asked = [first, second].map((cookie) => ask(api, "GET", "/api/tools", { headers: { cookie } }));
      return (await Promise.all(asked)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 200]);
    if (end === "expires") await api.haft.clock.advance(3_600_000);
    else tokens.remove(id);
    expect(await statuses()).toEqual([401, 401]);
    expect((await ask(api, "POST", "/api/session", { headers: { origin }, body: { token: unused } })).status).toBe(401);
  });

  test("changes nothing for a request that the console did not make: no Origin, or a form's content type", async () => {
    const api = await openTestServer();
    const cookie = await logIn(api);
    const origin = api.server.url;
    expect((await ask(api, "POST", "/api/calls", { headers: { cookie }, body: CALL })).status).toBe(403);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const headers = { cookie, origin, "content-type": type };
      expect((await ask(api, "POST", "/api/calls", { headers, body: CALL })).status).toBe(415);
    }
    expect(api.runs).toEqual([]);
    expect((await ask(api, "POST", "/api/calls", { headers: { cookie, origin }, body: CALL })).status).toBe(200);
  });
});

describe("sv-009: nothing changes on GET", () => {
  test("an approval is not answered by following a link, whatever it looks like", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("read", "call", "approve", "admin");
    const requested = await api.haft.execute("keep", { text: "x" });
    const id = requested.status === "pending" ? requested.pending.id : "";
    for (const path of [
      `/api/approvals/${id}/answer`,
      `/api/approvals/${id}/approve`,
      `/approvals/${id}/approve`,
      "/approvals/1/approve",
    ]) {
      const { status } = await ask(api, "GET", `${path}?decision=once`, { token });
      expect([404, 405]).toContain(status);
    }
    expect(await api.haft.approvals.get(id)).toMatchObject({ state: "pending" });
    expect(api.runs).toEqual([]);
  });

  test("every route of the API that changes something refuses GET, and says what to use", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("read", "call", "approve", "admin");
    for (const path of ["/api/approvals/x/answer", "/api/calls/x/cancel", "/api/calls/x/replay"]) {
      const { status, headers } = await ask(api, "GET", path, { token });
      expect([status, headers["allow"]]).toEqual([405, "POST"]);
    }
    // Where GET means something else, that is what it does.
    expect((await ask(api, "GET", "/api/approvals/answers", { token })).json.error?.code).toBe("not_found");
    expect((await api.server.api.history.list({ limit: 10 })).items).toEqual([]);
  });
});

describe("sv-011: a WebSocket", () => {
  const connect = (
    api: { host: string },
    options: { headers?: Record<string, string>; protocols?: string[]; path?: string },
  ) =>
    new Promise<{ socket?: WebSocket; status: number }>((resolve) => {
      const socket = new WebSocket(`ws://${api.host}${options.path ?? "/api/socket"}`, options.protocols ?? [], {
        headers: options.headers ?? {},
      });
      onTestFinished(() => socket.terminate());
      socket.on("open", () => resolve({ socket, status: 101 }));
      socket.on("unexpected-response", (_request, response) => resolve({ status: response.statusCode ?? 0 }));
      socket.on("error", () => undefined);
    });

  test("is not opened without a token, with a wrong one, or with one in the address", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("read");
    expect((await connect(api, {})).status).toBe(401);
    expect((await connect(api, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await connect(api, { protocols: ["haft", "haft.token.wrong"] })).status).toBe(401);
    expect((await connect(api, { path: `/api/socket?token=${token}` })).status).toBe(401);
    expect((await connect(api, { headers: { authorization: `Bearer ${await api.tokenFor("call")}` } })).status).toBe(
      403,
    );
  });

  test("is not opened from a page elsewhere, and with the cookie only from the console itself", async () => {
    const api = await openTestServer({ allowedOrigins: ["https://tools.example"] });
    const authorization = `Bearer ${await api.tokenFor("read")}`;
    const cookie = await logIn(api);
    expect((await connect(api, { headers: { authorization, origin: "http://attacker.example" } })).status).toBe(403);
    expect((await connect(api, { headers: { authorization, host: "attacker.example" } })).status).toBe(403);
    expect((await connect(api, { headers: { cookie } })).status).toBe(403);
    expect((await connect(api, { headers: { cookie, origin: "https://tools.example" } })).status).toBe(403);
    expect((await connect(api, { headers: { cookie, origin: api.server.url } })).status).toBe(101);
  });

  test("is opened with a token in the header or in a subprotocol, which is not said back", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("read");
    expect((await connect(api, { headers: { authorization: `Bearer ${token}` } })).status).toBe(101);
    const { socket } = await connect(api, { protocols: ["haft", `haft.token.${token}`] });
    expect(socket?.protocol).toBe("haft");
  });

  test("another kind of upgrade is refused and does not keep its socket", async () => {
    const api = await openTestServer();
    const socket = await openSocket(api);
    socket.write(
      `GET /api/health HTTP/1.1\r\nHost: ${api.host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n`,
    );
    await socket.gone;
    expect(socket.received()).toMatch(/^HTTP\/1\.1 400 /);
  });
});

test("sv-013: an address in the query reaches no page that would follow it: the console may connect to itself alone", async () => {
  const api = await openTestServer({ console: makeConsole() });
  const page = await ask(api, "GET", "/?gatewayUrl=wss://attacker.example");
  expect(page.text).not.toContain("attacker");
  expect(page.headers["content-security-policy"]).toContain("connect-src 'self';");
  expect(
    (await ask(api, "GET", "/api/session?gatewayUrl=wss://attacker.example", { token: await api.tokenFor("read") }))
      .status,
  ).toBe(400);
});

describe("sv-015: guessing tokens", () => {
  test("is slowed down by address, and keeps nobody out who has one", async () => {
    const api = await openTestServer({ limits: { failures: { burst: 5, refillMs: 1000 } } });
    const right = await api.tokenFor("read");
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++) statuses.push((await ask(api, "GET", "/api/tools", { token: `wrong${i}` })).status);
    expect(statuses).toEqual([...Array<number>(5).fill(401), ...Array<number>(15).fill(429)]);
    const { headers, status } = await ask(api, "POST", "/api/session", {
      headers: { origin: api.server.url },
      body: { token: "wrong" },
    });
    expect([status, Number(headers["retry-after"])]).toEqual([429, 1]);
    expect((await ask(api, "GET", "/api/tools", { token: right })).status).toBe(200);
    await api.haft.clock.advance(2000);
    expect((await ask(api, "GET", "/api/tools", { token: "wrong" })).status).toBe(401);
  });

  test("is hopeless: tokens are 256 random bits, and no two are alike", async () => {
    const api = await openTestServer();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => api.tokenFor("read")));
    expect(new Set(tokens).size).toBe(50);
    for (const token of tokens) expect(Buffer.from(token, "base64url")).toHaveLength(32);
  });
});

describe("sv-017: a request that trickles in", () => {
  const limits = { headersMs: 300, requestMs: 600 };

  test("is ended when its headers take too long", async () => {
    const api = await openTestServer({ limits });
    const socket = await openSocket(api);
    socket.write(`GET /api/health HTTP/1.1\r\nHost: ${api.host}\r\nX-Slow: `);
    const drip = setInterval(() => socket.writable && socket.write("a"), 50);
    onTestFinished(() => clearInterval(drip));
    await socket.gone;
    expect(socket.received()).not.toContain("200 OK");
  });

  test("is ended when its body takes too long", async () => {
    const api = await openTestServer({ limits });
    const token = await api.tokenFor("call");
    const socket = await openSocket(api);
    const head = `POST /api/calls HTTP/1.1\r\nHost: ${api.host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: 1000\r\n\r\n{`);
    await socket.gone;
    expect(socket.received()).not.toContain("200 OK");
    expect(api.runs).toEqual([]);
  });

  test("is refused when it is too large, before and while it is read", async () => {
    const api = await openTestServer({ limits: { bodyBytes: 1000 } });
    const token = await api.tokenFor("call");
    const body = { tool: "echo", input: { text: "x".repeat(2000) } };
    expect((await ask(api, "POST", "/api/calls", { token, body })).json.error?.code).toBe("too_large");
    const socket = await openSocket(api);
    const head = `POST /api/calls HTTP/1.1\r\nHost: ${api.host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    for (let i = 0; i < 5; i++) socket.write(`1f4\r\n${"x".repeat(500)}\r\n`);
    await socket.gone;
    expect(socket.received()).toMatch(/^HTTP\/1\.1 413 /);
    expect(api.runs).toEqual([]);
  });
});

describe("sv-021: the console", () => {
  test("is sent with headers that let nobody frame it, sniff it or put a script into it", async () => {
    const api = await openTestServer({ console: makeConsole() });
    for (const path of ["/", "/console", "/approvals/apr_1", "/index.html"]) {
      const { status, headers } = await ask(api, "GET", path);
      const csp = String(headers["content-security-policy"]);
      expect(status).toBe(200);
      expect(csp).not.toContain("unsafe");
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        expect(csp).toContain(rule);
      }
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cache-control": "no-cache",
      });
    }
    const token = (await api.server.loginUrl()).split("#login=")[1];
    const { headers } = await ask(api, "POST", "/api/session", {
      headers: { origin: api.server.url },
      body: { token },
    });
    expect(String(headers["set-cookie"])).toMatch(/; HttpOnly; SameSite=Strict; /);
  });

  test("keeps assets whose name holds their hash, packs what it sends, and serves nothing from outside its folder", async () => {
    const api = await openTestServer({ console: makeConsole() });
    const asset = await ask(api, "GET", "/assets/index-B3kq9aZ1.js", { headers: { "accept-encoding": "gzip, br" } });
    expect(asset.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-encoding": "br",
    });
    const again = await ask(api, "GET", "/assets/index-B3kq9aZ1.js", {
      headers: { "if-none-match": String(asset.headers["etag"]) },
    });
    expect(again.status).toBe(304);
    for (const path of [
      "/../package.json",
      "/..%2fpackage.json",
      "/%2e%2e/package.json",
      "/assets/../../package.json",
      "/assets/missing.js",
      "//etc/passwd.txt",
    ]) {
      expect((await ask(api, "GET", path)).status).toBe(404);
    }
  });

  test("a large answer is compressed for a page of it, for no other program, and never one that may have a new token", async () => {
    const api = await openTestServer({ console: makeConsole() });
    const token = await api.tokenFor("read", "call");
    const page = { "accept-encoding": "gzip, deflate, br", "sec-fetch-site": "same-origin" };
    const call = { tool: "echo", input: { text: "long ".repeat(1000) }, id: "long" };
    const posted = await ask(api, "POST", "/api/calls", { token, headers: page, body: call });
    expect(posted.text.length).toBeGreaterThan(5000);
    expect(posted.headers["content-encoding"]).toBeUndefined();
    const path = "/api/calls/long";
    const answer = await fetch(`${api.server.url}${path}`, { headers: { ...page, authorization: `Bearer ${token}` } });
    const plain = await ask(api, "GET", path, { token, headers: { "accept-encoding": "gzip, br" } });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(answer.headers.get("content-encoding")).toBe("br");
    expect(Number(answer.headers.get("content-length"))).toBeLessThan(plain.text.length / 2);
    expect(await answer.json()).toEqual(JSON.parse(plain.text));
    const refused = await ask(api, "GET", path, { token, headers: { ...page, "accept-encoding": "br;q=0" } });
    expect(refused.text).toBe(plain.text);
  });

  test("of answers of the API nothing may be framed, kept or read by others either", async () => {
    const api = await openTestServer();
    const { headers } = await ask(api, "GET", "/api/health");
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  });
});

describe("sv-023: beyond this machine", () => {
  test.each(["0.0.0.0", "::"])("it does not start on %s without a token", async (host) => {
    await expect(serveHttp(createTestHaft(), { host, port: 0 })).rejects.toThrow(
      /without a token.*Create a token first/s,
    );
  });

  test("it starts with one, and says loudly that nothing is encrypted", async () => {
    const haft = createTestHaft();
    const tokens = new MemoryTokenStore();
    const { token } = await issueToken(tokens, haft.clock, { name: "a", scopes: ["read"] });
    const received: string[] = [];
    const server = await serveHttp(haft, {
      host: "0.0.0.0",
      port: 0,
      tokens,
      onWarning: (warning) => received.push(warning),
    });
    onTestFinished(() => server.close());
    expect(received.join()).toMatch(/WITHOUT TLS/);
    const host = `127.0.0.1:${server.port}`;
    expect((await ask({ host }, "GET", "/api/server", { token })).json["warnings"]).toEqual(received);
    expect((await ask({ host }, "GET", "/api/server", { token, headers: { host: "rebound.example" } })).status).toBe(
      403,
    );
  });

  test("a busy port is an error with the next step", async () => {
    const api = await openTestServer();
    await expect(serveHttp(createTestHaft(), { port: api.server.port })).rejects.toThrow(/in use.*another port/s);
    await expect(serveHttp(createTestHaft(), { host: "127.0.0.1", port: 70_000 })).rejects.toThrow(/port/);
  });
});

describe("sv-025: what a request says of itself", () => {
  test("is logged escaped and cut, and the request is served", async () => {
    const api = await openTestServer();
    const socket = await openSocket(api);
    const agent = `\u202e\\n[ADMIN] approved ${"A".repeat(8000)}`;
    socket.write(Buffer.from(`GET /api/health HTTP/1.1\r\nHost: ${api.host}\r\nUser-Agent: ${agent}\r\n\r\n`));
    await until(() => socket.received().includes('{"status":"ok"'));
    socket.write(
      Buffer.from(
        `GET /api/nothing HTTP/1.1\r\nHost: ${api.host}\r\nUser-Agent: ${agent}\r\nConnection: close\r\n\r\n`,
      ),
    );
    await socket.gone;
    const line = api.logged.find((each) => each.includes("ADMIN"))!;
    expect(line).toMatch(/^refused status=404 /);
    expect(line.length).toBeLessThan(800);
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/u);
    expect(line.split("\n")).toHaveLength(1);
  });

  test("cannot begin a line of its own: a line break in a header is no header", async () => {
    const api = await openTestServer();
    const socket = await openSocket(api);
    socket.write(`GET /api/health HTTP/1.1\r\nHost: ${api.host}\r\nUser-Agent: \n[ADMIN] approved\r\n\r\n`);
    await socket.gone;
    expect(socket.received()).toMatch(/^HTTP\/1\.1 400 /);
    expect(api.logged.filter((line) => line.startsWith("[ADMIN]"))).toEqual([]);
  });
});

test("sv-027: a value is never read as an option: names of tools, sessions and calls stay what they are", async () => {
  const api = await openTestServer();
  const token = await api.tokenFor("read", "call");
  const hostile = "--settings=/tmp/evil.json";
  const called = await ask(api, "POST", "/api/calls", {
    token,
    body: { tool: "echo", input: { text: hostile }, session: hostile, id: hostile },
  });
  expect(called.json).toMatchObject({ status: "completed", callId: hostile, details: hostile });
  const found = await ask(api, "GET", `/api/calls/${encodeURIComponent(hostile)}`, { token });
  expect(found.json).toMatchObject({ callId: hostile, caller: { session: hostile } });
  expect((await ask(api, "POST", "/api/calls", { token, body: { tool: hostile } })).json).toMatchObject({
    status: "failed",
    error: { code: "tool_not_found" },
  });
  expect((await ask(api, "POST", "/api/calls", { token, body: { ...CALL, settings: "/tmp/evil.json" } })).status).toBe(
    400,
  );
});

describe("ap-009: every way to say yes needs the scope approve", () => {
  test("the answer, the batch, and the modes that would not ask", async () => {
    const api = await openTestServer();
    const requested = await api.haft.execute("keep", { text: "x" });
    const id = requested.status === "pending" ? requested.pending.id : "";
    const token = await api.tokenFor("read", "call", "admin");
    const refused = [
      await ask(api, "POST", `/api/approvals/${id}/answer`, { token, body: { decision: "once" } }),
      await ask(api, "POST", `/api/approvals/${id}/answer`, { token, body: { decision: "deny" } }),
      await ask(api, "POST", "/api/approvals/answers", { token, body: { answers: [{ id, decision: "once" }] } }),
      ...(await Promise.all(
        ["acceptEdits", "bypassPermissions"].map((mode) =>
          ask(api, "POST", "/api/calls", { token, body: { tool: "keep", input: { text: "y" }, mode } }),
        ),
      )),
    ];
    expect(refused.map(({ status, json }) => [status, json.error?.code])).toEqual(
      refused.map(() => [403, "forbidden"]),
    );
    expect(await api.haft.approvals.get(id)).toMatchObject({ state: "pending" });
    expect(api.runs).toEqual([]);
  });
});
