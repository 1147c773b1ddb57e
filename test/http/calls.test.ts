import { describe, expect, test } from "vitest";
import { ApiError } from "../../src/client.ts";
import type { CallFrame } from "../../src/contracts/index.ts";
import { openCheckedClient } from "./checked-client.ts";
import { ask, openTestServer, openSocket, until } from "./open-server.ts";

async function collect(frames: AsyncIterable<CallFrame>): Promise<CallFrame[]> {
  const all: CallFrame[] = [];
  for await (const frame of frames) all.push(frame);
  return all;
}

describe("a call over HTTP", () => {
  test("returns its result, and a failure is a result too", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read", "call");
    expect(await client.calls.execute({ tool: "echo", input: { text: "hi" } })).toMatchObject({
      status: "completed",
      details: "hi",
    });
    expect(await client.calls.execute({ tool: "echo", input: { txt: "hi" } })).toMatchObject({
      status: "failed",
      error: { code: "invalid_input" },
    });
    expect(await client.calls.execute({ tool: "nothing" })).toMatchObject({
      status: "failed",
      error: { code: "tool_not_found" },
    });
    expect(await client.calls.execute({ tool: "keep", input: { text: "x" } })).toMatchObject({
      status: "pending",
      pending: { kind: "approval" },
    });
  });

  test("is a call of the token's user, whatever the request says", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read", "call");
    const { callId } = await client.calls.execute({ tool: "echo", input: { text: "hi" }, session: "s" });
    expect(await client.calls.get(callId)).toMatchObject({ caller: { user: "read+call", session: "s", depth: 0 } });
    const token = await api.tokenFor("call");
    for (const more of [
      { caller: { user: "root" } },
      { user: "root" },
      { userId: "root" },
      { agent: "root" },
      { scopes: ["admin"] },
    ]) {
      const { status } = await ask(api, "POST", "/api/calls", {
        token,
        body: { tool: "echo", input: { text: "x" }, ...more },
      });
      expect(status).toBe(400);
    }
    expect(api.runs).toHaveLength(1);
  });

  test("needs the scope call, and reading calls needs another", async () => {
    const api = await openTestServer();
    const reader = await openCheckedClient(api, "read");
    await expect(reader.calls.execute({ tool: "echo", input: { text: "x" } })).rejects.toMatchObject({
      status: 403,
      code: "forbidden",
    });
    const caller = await openCheckedClient(api, "call");
    await caller.calls.execute({ tool: "echo", input: { text: "x" } });
    await expect(caller.calls.list()).rejects.toMatchObject({ status: 403 });
    await expect(caller.tools.list()).rejects.toMatchObject({ status: 403 });
  });

  test("with the same id runs once and returns the same result; another input is a conflict", async () => {
    const api = await openTestServer();
    const put = {
      name: "put",
      description: "Puts a text",
      kind: "write" as const,
      needsApproval: false,
      parameters: [],
    };
    const parameters = [{ name: "text", type: "string", required: true }] as never;
    api.haft.register({ ...put, parameters, run: (input) => (api.runs.push(input), "put") });
    const client = await openCheckedClient(api, "call");
    const made = await Promise.all(
      [1, 2, 3].map(() => client.calls.execute({ tool: "put", input: { text: "hi" }, id: "once" })),
    );
    expect(made.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(api.runs).toHaveLength(1);
    expect(await client.calls.execute({ tool: "put", input: { text: "other" }, id: "once" })).toMatchObject({
      error: { code: "conflict" },
    });
    const other = await openCheckedClient(api, "call", "read");
    expect(await other.calls.execute({ tool: "put", input: { text: "other" }, id: "once" })).toMatchObject({
      status: "completed",
    });
  });

  test("refuses what JSON hides: a duplicate key, a prototype, a number that changes, endless nesting", async () => {
    const api = await openTestServer();
    const token = await api.tokenFor("call");
    for (const input of [
      '{"text":"a","text":"b"}',
      '{"__proto__":{"x":1}}',
      '{"text":12345678901234567890}',
      `${"[".repeat(100)}${"]".repeat(100)}`,
    ]) {
      const { status } = await ask(api, "POST", "/api/calls", { token, body: `{"tool":"echo","input":${input}}` });
      expect([400, 413]).toContain(status);
    }
    expect(api.runs).toEqual([]);
  });

  test("is cancelled when its client disconnects, unless it keeps running", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call", "read");
    const leave = new AbortController();
    const gone = client.calls.execute({ tool: "wait" }, { signal: leave.signal });
    await until(() => api.runs.includes("begun"));
    leave.abort();
    await expect(gone).rejects.toThrow(/abort/i);
    await until(() => api.runs.includes("stopped"));
    expect((await client.calls.list()).items[0]).toMatchObject({ status: "failed", errorCode: "cancelled" });

    api.runs.length = 0;
    const leaveAgain = new AbortController();
    const left = client.calls.execute({ tool: "wait", id: "kept", keepRunning: true }, { signal: leaveAgain.signal });
    await until(() => api.runs.includes("begun"));
    leaveAgain.abort();
    await expect(left).rejects.toThrow(/abort/i);
    await until(() => api.server.openStreams === 0);
    expect(await client.calls.get("kept")).toMatchObject({
      status: "running",
      updates: [{ content: [{ text: "waiting" }] }],
    });
    await client.calls.cancel("kept");
    await until(() => api.runs.includes("stopped"));
  });
});

describe("a call that is streamed", () => {
  test("sends its id, its updates and finally its result", async () => {
    const api = await openTestServer();
    api.haft.register({
      name: "count",
      description: "Counts",
      kind: "readonly",
      parameters: [],
      run: async function* () {
        yield { progress: { done: 1, total: 2 } };
        yield { progress: { done: 2, total: 2 } };
        return "done";
      },
    });
    const client = await openCheckedClient(api, "call", "read");
    const frames = await collect(client.calls.stream({ tool: "count" }));
    expect(frames.map(({ type }) => type)).toEqual(["started", "update", "update", "result"]);
    expect(frames.at(-1)).toMatchObject({ result: { status: "completed", details: "done" } });
    const [first] = frames;
    const callId = first?.type === "started" ? first.callId : "";
    expect((await collect(client.calls.watch(callId))).map(({ type }) => type)).toEqual([
      "started",
      "update",
      "update",
      "result",
    ]);
  });

  test("sends the approval that it waits for", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call");
    const frames = await collect(client.calls.stream({ tool: "keep", input: { text: "x" } }));
    expect(frames.map(({ type }) => type)).toEqual(["started", "approval", "result"]);
    expect(frames.at(-1)).toMatchObject({ result: { status: "pending" } });
  });

  test("is refused like any request, before anything is streamed", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "read");
    await expect(collect(client.calls.stream({ tool: "echo", input: { text: "x" } }))).rejects.toBeInstanceOf(ApiError);
  });

  test("is cancelled when its reader disconnects", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call");
    for await (const frame of client.calls.stream({ tool: "wait" })) if (frame.type === "update") break;
    await until(() => api.runs.includes("stopped"));
    expect(api.server.openStreams).toBe(0);
  });
});

describe("a call in the background", () => {
  test("returns its id at once, is watched, and is cancelled by its owner or an admin", async () => {
    const api = await openTestServer();
    const owner = await openCheckedClient(api, "call", "read");
    const { callId } = await owner.calls.start({ tool: "wait" });
    await until(() => api.runs.includes("begun"));
    const watched = collect(owner.calls.watch(callId));
    const stranger = await openCheckedClient(api, "call");
    await expect(stranger.calls.cancel(callId)).rejects.toMatchObject({ status: 403 });
    expect(api.runs).not.toContain("stopped");
    const admin = await openCheckedClient(api, "call", "admin");
    expect(await admin.calls.cancel(callId)).toEqual({ callId });
    const frames = await watched;
    expect(frames.at(-1)).toMatchObject({ type: "result", result: { status: "failed", error: { code: "cancelled" } } });
    await expect(owner.calls.cancel(callId)).rejects.toMatchObject({ status: 404 });
  });

  test("came in through another door, and is stopped by its user or an admin", async () => {
    const api = await openTestServer();
    const own = api.haft.execute("wait", {}, { id: "own", caller: { user: "ada", agent: "mcp:claude" } });
    await until(() => api.runs.includes("begun"));
    const stranger = await openCheckedClient(api, "call");
    await expect(stranger.calls.cancel("own")).rejects.toMatchObject({ status: 403 });
    await expect(stranger.calls.cancel("nothing")).rejects.toMatchObject({ status: 404 });
    expect(api.runs).not.toContain("stopped");
    const admin = await openCheckedClient(api, "call", "admin");
    expect(await admin.calls.cancel("own")).toEqual({ callId: "own" });
    expect(await own).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  });
});

describe("a past call", () => {
  test("is listed newest first, by pages, and filtered by tool, status and session", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call", "read");
    for (const text of ["a", "b", "c"])
      await client.calls.execute({ tool: "echo", input: { text }, id: text, session: text === "a" ? "s" : "t" });
    await client.calls.execute({ tool: "nothing" });
    const first = await client.calls.list({ limit: 3 });
    expect(first.items.map(({ toolName }) => toolName)).toEqual(["nothing", "echo", "echo"]);
    const second = await client.calls.list({ limit: 3, cursor: first.next! });
    expect(second.items.map(({ callId }) => callId)).toEqual(["a"]);
    expect(second.next).toBeUndefined();
    expect((await client.calls.list({ status: ["failed", "pending"] })).items).toHaveLength(1);
    expect((await client.calls.list({ session: "s" })).items.map(({ callId }) => callId)).toEqual(["a"]);
    await expect(client.calls.list({ limit: 501 })).rejects.toMatchObject({ status: 400 });
  });

  test("shows the calls that it made", async () => {
    const api = await openTestServer();
    api.haft.register({
      name: "outer",
      description: "Calls another",
      kind: "readonly",
      parameters: [],
      run: async (_input, context) => (await context.call("echo", { text: "inner" })).display,
    });
    const client = await openCheckedClient(api, "call", "read");
    const { callId } = await client.calls.execute({ tool: "outer" });
    expect((await client.calls.get(callId)).children).toMatchObject([
      { toolName: "echo", status: "completed", parentId: callId },
    ]);
  });

  test("is replayed with a new id, with the same or an edited input; without the scope read the input is needed", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call", "read");
    const { callId } = await client.calls.execute({ tool: "echo", input: { text: "hi" }, session: "s" });
    const again = await client.calls.replay(callId);
    expect(again).toMatchObject({ details: "hi" });
    expect(again.callId).not.toBe(callId);
    expect(await client.calls.replay(callId, { input: { text: "edited" } })).toMatchObject({ details: "edited" });
    expect((await client.calls.get(again.callId)).caller.session).toBe("s");
    const blind = await openCheckedClient(api, "call");
    await expect(blind.calls.replay(callId)).rejects.toMatchObject({ status: 403 });
    await expect(client.calls.replay("unknown")).rejects.toMatchObject({ status: 404 });
  });

  test("has its whole output under its id, in pieces; a made-up reference leads nowhere", async () => {
    const api = await openTestServer({ haft: { maxResultBytes: 1000 } });
    const client = await openCheckedClient(api, "call", "read");
    const long = Array.from({ length: 2000 }, (_, line) => `line ${line}`).join("\n");
    const result = await client.calls.execute({ tool: "echo", input: { text: long } });
    expect(result.metadata.spill).toBeDefined();
    expect(JSON.stringify(result.content).length).toBeLessThan(2000);
    expect(await client.calls.output(result.callId)).toBe(long);
    expect(await client.calls.output(result.callId, { offset: 5, limit: 10 })).toBe(long.slice(5, 15));
    await expect(client.calls.output("../../etc/passwd")).rejects.toMatchObject({ status: 404 });
  });

  test("is bounded: the oldest calls are dropped, running ones never", async () => {
    const api = await openTestServer();
    const client = await openCheckedClient(api, "call", "read");
    await client.calls.start({ tool: "wait", id: "running" });
    for (let i = 0; i < 2100; i++) await api.haft.execute("echo", { text: "x" }, { id: `call ${i}` });
    await expect(client.calls.get("call 0")).rejects.toMatchObject({ status: 404 });
    expect(await client.calls.get("call 2099")).toMatchObject({ status: "completed" });
    expect(await client.calls.get("running")).toMatchObject({ status: "running" });
  });
});

test("a request that ends within its body runs nothing", async () => {
  const api = await openTestServer();
  const token = await api.tokenFor("call");
  const socket = await openSocket(api);
  const head = `POST /api/calls HTTP/1.1\r\nHost: ${api.host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: 100\r\n\r\n{"tool":"echo"`);
  socket.destroy();
  await until(() => api.logged.some((line) => line.includes("ended before its body")));
  expect(api.runs).toEqual([]);
});
