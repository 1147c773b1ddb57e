// Tools that run at a client, over a real WebSocket: registered, called, answered, disconnected and reconnected.
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { createClient, type ServedTool, type ServeToolsOptions } from "../../src/client.ts";
import type { ClientCall, ClientRequest, EventMessage, SocketAnswer } from "../../src/contracts/index.ts";
import { openTestServer, until } from "./open-server.ts";

type ApiContext = Awaited<ReturnType<typeof openTestServer>>;
const COLOUR = { type: "object", properties: { hue: { type: "string" } }, required: ["hue"] };

/** A client that sends what a test wants. */
async function connect(api: ApiContext, token: string) {
  const socket = new WebSocket(`${api.server.url.replace("http", "ws")}/api/socket?types=tool_registered`, {
    headers: { authorization: `Bearer ${token}` },
  });
  onTestFinished(() => socket.terminate());
  const calls: ClientCall[] = [];
  const ended: string[] = [];
  const answers = new Map<string, SocketAnswer>();
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(String(data)) as EventMessage;
    if (message.type === "client_call") calls.push(message.data);
    if (message.type === "client_call_ended") ended.push(message.data.id);
    if (message.type === "answer") answers.set(message.data.request, message.data);
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  let count = 0;
  const ask = async (request: DistributiveOmit<ClientRequest, "request">): Promise<SocketAnswer> => {
    const id = `r${++count}`;
    socket.send(JSON.stringify({ ...request, request: id }));
    await until(() => answers.has(id));
    return answers.get(id)!;
  };
  return { socket, calls, ended, ask };
}
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

async function open() {
  const api = await openTestServer();
  const token = await api.tokenFor("read", "call");
  const user = "read+call";
  const call = (input: object = { hue: "red" }, id?: string) =>
    api.haft.execute("pick_colour", input, { caller: { user, session: "s" }, ...(id === undefined ? {} : { id }) });
  const register = {
    type: "register",
    client: "browser",
    tools: [{ name: "pick_colour", description: "Asks", needsApproval: false, parameters: COLOUR }],
  } as const;
  return { api, token, call, register: { ...register, tools: [...register.tools] } };
}

describe("a client's tool", () => {
  test("is called through the gate, answered pending, and completed by the client's answer", async () => {
    const { api, token, call, register } = await open();
    const client = await connect(api, token);
    expect(await client.ask(register)).toMatchObject({ registered: ["pick_colour"] });
    expect(await call({})).toMatchObject({ error: { code: "invalid_input" } });
    const pending = await call({ hue: "red" }, "c1");
    expect(pending).toMatchObject({ status: "pending", pending: { kind: "client" } });
    await until(() => client.calls.length === 1);
    expect(client.calls[0]).toMatchObject({
      ...{ callId: "c1", tool: "pick_colour", input: { hue: "red" } },
      caller: { session: "s", user: "read+call" },
    });
    const { id } = client.calls[0]!;
    expect(pending.status === "pending" && pending.pending.id).toBe(id);
    const answered = await client.ask({ type: "result", id, content: "#f00", details: { hex: "#f00" } });
    expect(answered).toMatchObject({ result: { status: "completed", callId: "c1", details: { hex: "#f00" } } });
    expect(
      api.haft.recorded.all.filter((event) => "callId" in event && event.callId === "c1").map(({ type }) => type),
    ).toEqual([
      ...["tool_call_requested", "tool_call_started", "tool_call_pending", "tool_call_started", "tool_call_completed"],
    ]);
    expect(api.haft.tools.stats().callStats["pick_colour"]).toMatchObject({ count: 2 });
    expect(await call({ hue: "red" }, "c1")).toMatchObject({ status: "completed", metadata: { known: "replay" } });
    expect(client.calls).toHaveLength(1);
  });

  test("has one answer, only from the client that got the call", async () => {
    const { api, token, call, register } = await open();
    const client = await connect(api, token);
    await client.ask(register);
    const other = await connect(api, await api.tokenFor("read", "call", "approve"));
    await other.ask({ ...register, tools: [{ name: "other_tool", description: "x" }] });
    await call({ hue: "red" }, "c1");
    await until(() => client.calls.length === 1);
    const { id } = client.calls[0]!;
    expect(await other.ask({ type: "result", id, content: "mine" })).toMatchObject({ error: { code: "conflict" } });
    expect(await client.ask({ type: "result", id, content: "first" })).toMatchObject({
      result: { status: "completed" },
    });
    expect(await client.ask({ type: "result", id, content: "second" })).toMatchObject({ error: { code: "conflict" } });
    expect(await call({ hue: "red" }, "c1")).toMatchObject({ content: [{ text: "first" }] });
    const nobody = await connect(api, token);
    expect(await nobody.ask({ type: "result", id: "x", content: "" })).toMatchObject({ error: { code: "conflict" } });
  });

  test("that reports a failure, or an output that it did not declare, is a failed call", async () => {
    const { api, token, call, register } = await open();
    const client = await connect(api, token);
    const output = { type: "object", properties: { hex: { type: "string" } }, required: ["hex"] };
    await client.ask({ ...register, tools: [{ ...register.tools[0]!, output }] });
    const answer = async (said: object) => {
      const before = client.calls.length;
      await call();
      await until(() => client.calls.length > before);
      return client.ask({ type: "result", id: client.calls.at(-1)!.id, ...said });
    };
    expect(await answer({ error: "no colour here" })).toMatchObject({
      result: { status: "failed", error: { code: "failed", message: expect.stringContaining("no colour here") } },
    });
    expect(await answer({ content: "x", details: { hex: 7 } })).toMatchObject({
      result: { status: "failed", error: { code: "bad_output" } },
    });
    const long = await answer({ content: "x".repeat(80_000), details: { hex: "#000" } });
    expect(long).toMatchObject({ result: { status: "completed", metadata: { spill: { bytes: 80_000 } } } });
  });

  test("is for the calls of its own user, and cannot take an existing name", async () => {
    const { api, token, register } = await open();
    const client = await connect(api, token);
    expect(await client.ask({ ...register, tools: [{ name: "echo", description: "mine" }] })).toMatchObject({
      error: { code: "conflict" },
    });
    expect(await client.ask({ ...register, tools: [{ name: "no name", description: "" }] })).toMatchObject({
      error: { code: "bad_request" },
    });
    await client.ask(register);
    expect(await api.haft.execute("pick_colour", { hue: "red" }, { caller: { user: "eve" } })).toMatchObject({
      error: { code: "denied" },
    });
    const eve = createClient({ url: api.server.url, token: await api.tokenFor("read") });
    const mine = createClient({ url: api.server.url, token });
    const names = async (document: typeof eve) => (await document.tools.list()).items.map(({ name }) => name);
    expect(await names(mine)).toContain("pick_colour");
    expect(await names(eve)).not.toContain("pick_colour");
    const reader = await connect(api, await api.tokenFor("read"));
    expect(await reader.ask({ ...register, tools: [] })).toMatchObject({ error: { code: "forbidden" } });
  });

  test("may disconnect and return: calls without an answer are sent again", async () => {
    const { api, token, call, register } = await open();
    const first = await connect(api, token);
    await first.ask(register);
    await call({ hue: "red" }, "c1");
    await until(() => first.calls.length === 1);
    first.socket.terminate();
    await until(() => api.server.openStreams === 0);
    expect(await call({ hue: "blue" }, "c2")).toMatchObject({ status: "pending" });
    const again = await connect(api, token);
    await again.ask(register);
    await until(() => again.calls.length === 2);
    expect(again.calls[0]).toEqual(first.calls[0]);
    for (const { id } of again.calls) await again.ask({ type: "result", id, content: "done" });
    expect(await call({ hue: "blue" }, "c2")).toMatchObject({ status: "completed", content: [{ text: "done" }] });
  });

  test("that does not return, does not answer, or is removed ends its calls", async () => {
    const { api, token, call, register } = await open();
    const client = await connect(api, token);
    await client.ask({ ...register, tools: [{ ...register.tools[0]!, timeoutMs: 1_000 }] });
    await call({ hue: "red" }, "slow");
    await until(() => client.calls.length === 1);
    await api.haft.clock.advance(1_001);
    await until(() => client.ended.length === 1);
    expect(await call({ hue: "red" }, "slow")).toMatchObject({
      error: { code: "unknown_outcome", data: { stoppedBy: "timeout" } },
    });
    expect(await client.ask({ type: "result", id: client.ended[0]!, content: "late" })).toMatchObject({
      error: { code: "conflict" },
    });
    await client.ask(register);
    await call({ hue: "red" }, "left");
    client.socket.terminate();
    await until(() => api.server.openStreams === 0);
    await api.haft.clock.advance(60_001);
    await until(() => !api.haft.tools.registry.has("pick_colour"));
    const endings = api.haft.recorded.all.filter((event) => event.type === "tool_call_failed");
    expect(endings.at(-1)).toMatchObject({
      callId: "left",
      toolName: "pick_colour",
      error: { code: "unknown_outcome" },
    });
    const third = await connect(api, token);
    await third.ask(register);
    await third.ask({ type: "unregister" });
    expect(api.haft.tools.registry.has("pick_colour")).toBe(false);
  });

  test("needs an approval if it says so, and only one", async () => {
    const { api, token, call, register } = await open();
    const client = await connect(api, token);
    await client.ask({ ...register, tools: [{ ...register.tools[0]!, needsApproval: true }] });
    const requested = await call({ hue: "red" }, "c1");
    expect(requested).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(client.calls).toEqual([]);
    const approved = await api.haft.approvals.approve(requested.status === "pending" ? requested.pending.id : "");
    expect(approved).toMatchObject({ status: "pending", pending: { kind: "client" } });
    await until(() => client.calls.length === 1);
    expect(await client.ask({ type: "result", id: client.calls[0]!.id, content: "#f00" })).toMatchObject({
      result: { status: "completed", callId: "c1" },
    });
    expect(await api.haft.approvals.list("pending")).toEqual([]);
  });

  test("that the policy forbids meanwhile is not completed", async () => {
    const denied: string[] = [];
    const api = await openTestServer({ haft: { policy: { deny: denied } } });
    const token = await api.tokenFor("read", "call");
    const client = await connect(api, token);
    await client.ask({ type: "register", tools: [{ name: "pick_colour", description: "Asks", needsApproval: false }] });
    await api.haft.execute("pick_colour", {}, { id: "c1", caller: { user: "read+call" } });
    await until(() => client.calls.length === 1);
    denied.push("pick_colour");
    expect(await client.ask({ type: "result", id: client.calls[0]!.id, content: "x" })).toMatchObject({
      result: { status: "failed", error: { code: "denied" } },
    });
  });
});

describe("haft/client", () => {
  const serve = async (api: ApiContext, tools: readonly ServedTool[], more: Partial<ServeToolsOptions> = {}) => {
    const client = createClient({ url: api.server.url, token: await api.tokenFor("read", "call") });
    const serving = client.serveTools(tools, { client: "test", WebSocket, ...more });
    onTestFinished(() => serving.stop());
    await serving.ready;
    return { client, serving };
  };
  const ended = (api: ApiContext, callId: string) =>
    api.haft.recorded.all.find(
      (event) => "callId" in event && event.callId === callId && /completed|failed/.test(event.type),
    );

  test("serves tools, and the caller sees their results", async () => {
    const api = await openTestServer();
    const { client, serving } = await serve(api, [
      {
        name: "add",
        description: "Adds",
        kind: "readonly",
        run: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
        parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
      },
      { name: "fall", description: "Fails", needsApproval: false, run: () => Promise.reject(new Error("fell over")) },
    ]);
    expect(await client.calls.execute({ tool: "add", input: { a: 1, b: 2 }, id: "c1" })).toMatchObject({
      status: "pending",
    });
    await until(() => ended(api, "c1") !== undefined);
    expect(await client.calls.get("c1")).toMatchObject({ status: "completed", result: { details: { sum: 3 } } });
    await client.calls.execute({ tool: "fall", id: "c2" });
    await until(() => ended(api, "c2") !== undefined);
    expect(ended(api, "c2")).toMatchObject({ error: { message: expect.stringContaining("fell over") } });
    serving.stop();
    await until(() => !api.haft.tools.registry.has("add"));
  });

  test("runs a call once, although the connection is lost while it runs", async () => {
    const api = await openTestServer();
    const opened: WebSocket[] = [];
    class Remembered extends WebSocket {
      constructor(url: string, protocols?: string[]) {
        super(url, protocols);
        opened.push(this);
      }
    }
    let runs = 0;
    let finish!: (text: string) => void;
    const run = () => {
      runs += 1;
      return new Promise<string>((resolve) => (finish = resolve));
    };
    const { client } = await serve(api, [{ name: "slow", description: "Takes long", needsApproval: false, run }], {
      WebSocket: Remembered as never,
    });
    await client.calls.execute({ tool: "slow", id: "c1" });
    await until(() => runs === 1);
    opened[0]!.terminate();
    await until(() => opened.length === 2 && opened[1]!.readyState === WebSocket.OPEN);
    finish("at last");
    await until(() => ended(api, "c1") !== undefined);
    expect(ended(api, "c1")).toMatchObject({
      type: "tool_call_completed",
      result: { content: [{ text: "at last" }] },
    });
    expect(runs).toBe(1);
  });

  test("gets the reason if its tools are refused", async () => {
    const api = await openTestServer();
    await expect(serve(api, [{ name: "echo", description: "mine", run: () => "" }])).rejects.toThrow(/already/);
  });
});
