// What the router does whatever the resource: with handlers of a test, over real sockets.
import { expect, onTestFinished, test } from "vitest";
import type { Handlers } from "../../src/contracts/contract.ts";
import { ApiError } from "../../src/contracts/errors.ts";
import type { Contracts } from "../../src/contracts/index.ts";
import { toolError } from "../../src/core/error.ts";
import { ask, openSocket, openTestServer, until } from "./open-server.ts";

const never = (): never => {
  throw new Error("not called in this test");
};

const AUDIT: Handlers<Contracts["audit"]> = { search: never, export: never, verify: never, get: never };
const SESSIONS: Handlers<Contracts["sessions"]> = {
  ...{ list: never, create: never, get: never, history: never },
  ...{ watch: never, send: never, stop: never },
};

test("lines are read from the handler as fast as the client reads them, and no longer than it reads", async () => {
  let read = 0;
  let isEnded = false;
  async function* entries() {
    try {
      for (;;) {
        read++;
        yield { id: "x".repeat(1000), at: 1, type: "note", callId: "", toolName: "", caller: { depth: 0 } };
      }
    } finally {
      isEnded = true;
    }
  }
  const api = await openTestServer({ api: { audit: () => ({ ...AUDIT, export: entries }) } });
  const socket = await openSocket(api);
  socket.pause();
  const token = await api.tokenFor("read");
  socket.write(`GET /api/audit/export HTTP/1.1\r\nHost: ${api.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await until(() => read > 0);
  let before = -1;
  // Everything between is full: nothing more is read.
  while (before !== read) {
    before = read;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(isEnded).toBe(false);
  socket.destroy();
  await until(() => isEnded);
});

test("a fault is logged with its stack and told without its message; an error of a tool keeps its code", async () => {
  const faults: unknown[] = [new RangeError("secret of the server"), toolError("no_match", "Nothing matches")];
  const get = () => {
    throw faults.shift();
  };
  const api = await openTestServer({ api: { audit: () => ({ ...AUDIT, get }) } });
  const token = await api.tokenFor("read");
  const fault = await ask(api, "GET", "/api/audit/1", { token });
  expect([fault.status, fault.json.error?.code]).toEqual([500, "internal"]);
  expect(fault.text).not.toContain("secret");
  expect(api.logged.find((line) => line.startsWith("failed"))).toContain("secret of the server");
  const refused = await ask(api, "GET", "/api/audit/1", { token });
  expect([refused.status, refused.json.error?.code]).toEqual([404, "no_match"]);
});

test("a stream that fails before its first frame is an ordinary error, and after it the connection is cut", async () => {
  let isLate = false;
  const watch: typeof SESSIONS.watch = () => {
    if (!isLate) throw new ApiError("not_found", "There is no such session");
    return (async function* () {
      yield { type: "text", text: "one" } as const;
      throw new Error("the store is gone");
    })();
  };
  const api = await openTestServer({ api: { sessions: () => ({ ...SESSIONS, watch }) } });
  const token = await api.tokenFor("read");
  expect((await ask(api, "GET", "/api/sessions/s/updates", { token })).status).toBe(404);
  expect(api.server.openStreams).toBe(0);
  isLate = true;
  const response = await fetch(`${api.server.url}/api/sessions/s/updates`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await expect(response.text()).rejects.toThrow(/terminated|aborted|closed/);
  await until(() => api.server.openStreams === 0);
  expect(api.logged.join()).toContain("the store is gone");
});

test("Last-Event-ID resumes a stream, unless the query does; one that is not valid is ignored", async () => {
  const seen: unknown[] = [];
  const watch: typeof SESSIONS.watch = async function* ({ query }) {
    seen.push(query);
    yield* [];
  };
  const api = await openTestServer({ api: { sessions: () => ({ ...SESSIONS, watch: (request) => watch(request) }) } });
  const token = await api.tokenFor("read");
  const path = "/api/sessions/s/updates";
  await ask(api, "GET", path, { token, headers: { "last-event-id": "7" } });
  await ask(api, "GET", `${path}?after=9`, { token, headers: { "last-event-id": "7" } });
  await ask(api, "GET", path, { token, headers: { "last-event-id": "seven" } });
  expect(seen).toEqual([{ after: 7 }, { after: 9 }, {}]);
  expect((await ask(api, "GET", `${path}?after=seven`, { token })).status).toBe(400);
});

test("the scope is checked before the body is read, and a resource that is not here before the token", async () => {
  const api = await openTestServer();
  const token = await api.tokenFor("read");
  const broken = { token, body: "{", headers: { "content-type": "application/json" } };
  expect((await ask(api, "POST", "/api/calls", broken)).json.error?.code).toBe("forbidden");
  expect((await ask(api, "GET", "/api/jobs")).json.error?.code).toBe("not_here");
  expect((await ask(api, "GET", "/api/nothing")).json.error?.code).toBe("not_found");
});

test("the handler of a disconnected client is aborted", async () => {
  const steps: string[] = [];
  const search: typeof AUDIT.search = ({ signal }) =>
    new Promise((_, reject) => {
      steps.push("called");
      signal.addEventListener("abort", () => {
        steps.push("aborted");
        reject(new ApiError("conflict", "The client left"));
      });
    });
  const api = await openTestServer({ api: { audit: () => ({ ...AUDIT, search }) } });
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const asked = fetch(`${api.server.url}/api/audit`, {
    headers: { authorization: `Bearer ${await api.tokenFor("read")}` },
    signal: leave.signal,
  });
  asked.catch(() => undefined);
  await until(() => steps.includes("called"));
  leave.abort();
  await until(() => steps.includes("aborted"));
  expect(steps).toEqual(["called", "aborted"]);
});
