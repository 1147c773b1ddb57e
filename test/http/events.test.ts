import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { EventMessage, EventQuery, SocketAnswer } from "../../src/contracts/index.ts";
import { openCheckedClient } from "./checked-client.ts";
import { type TestServer, openTestServer, until } from "./open-server.ts";

type Client = Awaited<ReturnType<typeof openCheckedClient>>;
type Followed = { messages: EventMessage[]; types(): string[]; stop(): void };

function follow(client: Client, query: EventQuery = {}): Followed {
  const messages: EventMessage[] = [];
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const reading = (async () => {
    for await (const message of client.events.subscribe(query, { signal: end.signal })) messages.push(message);
  })();
  reading.catch(() => undefined);
  return { messages, types: () => messages.map(({ type }) => type), stop: () => end.abort() };
}

const CALLED = ["tool_call_requested", "tool_call_started", "tool_call_completed"];

describe("events as server-sent events", () => {
  test("arrive in order with growing ids, and are those of the runtime", async () => {
    const api = await openTestServer();
    const followed = follow(await openCheckedClient(api, "read"));
    await until(() => followed.messages.length === 1);
    await api.haft.execute("echo", { text: "a" });
    await api.haft.execute("echo", { text: "b" });
    await until(() => followed.messages.length === 7);
    expect(followed.types()).toEqual(["hello", ...CALLED, ...CALLED]);
    const numbers = followed.messages.map(({ id }) => Number(id.split("-")[1]));
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(followed.messages.slice(1).map(({ data }) => data)).toEqual(
      JSON.parse(JSON.stringify(api.haft.recorded.all)),
    );
  });

  test("continue after the last one that was seen, without loss or repetition", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read");
    const first = follow(client);
    await until(() => first.messages.length === 1);
    await api.haft.execute("echo", { text: "a" });
    await until(() => first.messages.length === 4);
    first.stop();
    const after = first.messages[2]!.id;
    await api.haft.execute("echo", { text: "missed" });
    const second = follow(client, { after });
    await until(() => second.messages.length === 5);
    expect(second.types()).toEqual(["hello", "tool_call_completed", ...CALLED]);
    expect(second.messages[0]!.id).toBe(after);
  });

  test.each(["1-1", "nonsense", "999999999999-5"])(
    "reset a reader with an id that is too old or of another start (%s)",
    async (after) => {
      const api = await openTestServer({ limits: { events: { maxEvents: 5 } } });
      const followed = follow(await openCheckedClient(api, "read"), { after });
      await until(() => followed.messages.length === 2);
      expect(followed.types()).toEqual(["hello", "reset"]);
    },
  );

  test("reset a reader whose missed events are no longer kept, by number and by size", async () => {
    for (const events of [{ maxEvents: 4 }, { maxCharacters: 2000 }]) {
      const api = await openTestServer({ limits: { events } });
      const client = await openCheckedClient(api, "read");
      await api.haft.execute("echo", { text: "a" });
      const early = api.server.api.feed.lastId;
      for (let i = 0; i < 3; i++) await api.haft.execute("echo", { text: "b".repeat(300) });
      const late = api.server.api.feed.lastId;
      await api.haft.execute("echo", { text: "c" });
      const lost = follow(client, { after: early });
      await until(() => lost.messages.length === 2);
      expect(lost.types()).toEqual(["hello", "reset"]);
      const kept = follow(client, { after: late });
      await until(() => kept.messages.length === 4);
      expect(kept.types()).toEqual(["hello", ...CALLED]);
    }
  });

  test("are filtered by type, tool, session and call", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read");
    const followed = [
      follow(client, { types: ["tool_call_completed"] }),
      follow(client, { tool: "wait" }),
      follow(client, { session: "s" }),
      follow(client, { call: "one" }),
    ];
    await until(() => followed.every(({ messages }) => messages.length === 1));
    await api.haft.execute("echo", { text: "a" }, { id: "one", caller: { session: "s" } });
    await api.haft.execute("echo", { text: "b" }, { id: "two" });
    await until(() => followed[0]!.messages.length === 3);
    expect(followed.map(({ messages }) => messages.length)).toEqual([3, 1, 4, 4]);
    const unknown = client.events.subscribe({ types: ["made_up" as never] })[Symbol.asyncIterator]();
    await expect(unknown.next()).rejects.toMatchObject({ status: 400 });
  });

  test("have heartbeats, and end when the token is revoked", async () => {
    const api = await openTestServer();
    const admin = await openCheckedClient(api, "admin");
    const { token, id } = await admin.tokens.create({ name: "reader", scopes: ["read"] });
    const { createClient } = await import("../../src/client.ts");
    const reader = createClient({ url: api.server.url, token });
    const followed = follow(reader);
    await until(() => followed.messages.length === 1);
    await api.haft.clock.advance(15_000);
    await until(() => followed.types().includes("heartbeat"));
    await admin.tokens.revoke(id);
    await api.haft.clock.advance(15_000);
    await until(() => api.server.openStreams === 0);
    await expect(reader.tools.list()).rejects.toMatchObject({ status: 401 });
  });

  test("a large one is sent without its content, which can be requested", async () => {
    const api = await openTestServer({ limits: { events: { maxEventSize: 2000 } } });
    const client = await openCheckedClient(api, "read", "call");
    const followed = follow(client, { types: ["tool_call_completed"] });
    await until(() => followed.messages.length === 1);
    const { callId } = await client.calls.execute({ tool: "echo", input: { text: "x".repeat(5000) } });
    await until(() => followed.messages.length === 2);
    expect(followed.messages[1]).toMatchObject({ data: { result: { content: [], metadata: { cut: true } } } });
    expect((await client.calls.get(callId)).result).toMatchObject({ details: "x".repeat(5000) });
  });
});

describe("a WebSocket", () => {
  async function open(api: TestServer, scopes: Parameters<TestServer["tokenFor"]>, query = "") {
    const authorization = `Bearer ${await api.tokenFor(...scopes)}`;
    const socket = new WebSocket(`ws://${api.host}/api/socket${query}`, { headers: { authorization } });
    onTestFinished(() => socket.terminate());
    const messages: EventMessage[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data as Buffer)) as EventMessage));
    const closed = new Promise<number>((resolve) => socket.on("close", resolve));
    await new Promise((resolve) => socket.once("open", resolve));
    const answers = (): SocketAnswer[] =>
      messages.flatMap((message) => (message.type === "answer" ? [message.data] : []));
    return {
      socket,
      messages,
      closed,
      answers,
      say: (request: unknown) => socket.send(JSON.stringify(request)),
    };
  }

  test("sends the same events, and resumes after an id", async () => {
    const api = await openTestServer();
    const first = await open(api, ["read"]);
    await api.haft.execute("echo", { text: "a" });
    await until(() => first.messages.length === 4);
    expect(first.messages.map(({ type }) => type)).toEqual(["hello", ...CALLED]);
    const second = await open(api, ["read"], `?types=tool_call_completed&after=${first.messages[1]!.id}`);
    await until(() => second.messages.length === 2);
    expect(second.messages[1]).toEqual(first.messages[3]);
  });

  test("accepts calls, reports what happens to them, and cancels them", async () => {
    const api = await openTestServer();
    const { say, answers } = await open(api, ["read", "call"], "?types=tool_registered");
    say({ type: "call", request: "1", call: { tool: "echo", input: { text: "hi" } } });
    await until(() => answers().length === 2);
    expect(answers()).toMatchObject([
      { request: "1", frame: { type: "started" } },
      { request: "1", frame: { type: "result", result: { status: "completed", details: "hi" } } },
    ]);
    say({ type: "call", request: "2", call: { tool: "wait", id: "waiting" } });
    await until(() => api.runs.includes("begun"));
    say({ type: "cancel", request: "3", callId: "waiting" });
    await until(() =>
      answers().some((answer) => answer.request === "2" && "frame" in answer && answer.frame.type === "result"),
    );
    expect(answers()).toContainEqual({ request: "3", cancelled: true });
  });

  test("answers invalid and forbidden messages with an error, and stays open", async () => {
    const api = await openTestServer();
    const { say, answers, socket } = await open(api, ["read"]);
    say({ type: "call", request: "1", call: { tool: "echo", input: { text: "x" } } });
    say({ type: "approve", request: "2", id: "apr_1" });
    say({ type: "call", request: "3", call: { tool: "echo", caller: { user: "root" } } });
    socket.send("not json");
    socket.send('{"type":"call","type":"call"}');
    socket.send(Buffer.from([1, 2, 3]));
    await until(() => answers().length === 6);
    const codes = answers().map((answer) => ("error" in answer ? answer.error.code : ""));
    expect(codes.sort()).toEqual([...Array<string>(5).fill("bad_request"), "forbidden"]);
    expect(api.runs).toEqual([]);
    expect(socket.readyState).toBe(WebSocket.OPEN);
  });

  test("cancels its calls when it closes, except those that keep running", async () => {
    const api = await openTestServer();
    const { say, socket } = await open(api, ["read", "call"]);
    say({ type: "call", request: "1", call: { tool: "wait", id: "ends" } });
    say({ type: "call", request: "2", call: { tool: "wait", id: "stays", keepRunning: true } });
    await until(() => api.runs.length === 2);
    socket.terminate();
    await until(() => api.runs.includes("stopped"));
    await until(() => api.server.openStreams === 0);
    expect(await api.server.api.history.find("stays")).toMatchObject({ status: "running" });
    expect(api.runs.filter((run) => run === "stopped")).toHaveLength(1);
  });

  test("starts nothing for a revoked token, also between two heartbeats", async () => {
    const api = await openTestServer();
    const admin = await openCheckedClient(api, "admin");
    const { say, answers, closed } = await open(api, ["read", "call"]);
    await admin.tokens.revoke((await admin.tokens.list()).items.find(({ name }) => name === "read+call")!.id);
    say({ type: "call", request: "1", call: { tool: "echo", input: { text: "x" } } });
    expect(await closed).toBe(1008);
    expect(answers()).toMatchObject([{ request: "1", error: { code: "unauthorized" } }]);
    expect(api.runs).toEqual([]);
  });

  test("is closed when it does not answer, when the token ends, and when the server closes", async () => {
    const api = await openTestServer();
    const admin = await openCheckedClient(api, "admin");
    const revoked = await open(api, ["read"]);
    await admin.tokens.revoke((await admin.tokens.list()).items.find(({ name }) => name === "read")!.id);
    await api.haft.clock.advance(15_000);
    expect(await revoked.closed).toBe(1008);
    const silent = await open(api, ["read"]);
    silent.socket.pause();
    await api.haft.clock.advance(15_000);
    await api.haft.clock.advance(15_000);
    await until(() => api.server.openStreams === 0);
    const last = await open(api, ["read"]);
    await api.server.close();
    expect(await last.closed).toBe(1001);
  });

  test("is closed for a message that is too large", async () => {
    const api = await openTestServer({ limits: { bodyBytes: 1000 } });
    const { say, closed } = await open(api, ["read", "call"]);
    say({ type: "call", request: "1", call: { tool: "echo", input: { text: "x".repeat(2000) } } });
    expect(await closed).toBe(1009);
    expect(api.runs).toEqual([]);
  });
});
