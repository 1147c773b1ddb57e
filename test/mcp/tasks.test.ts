// Background calls as tasks of the extension io.modelcontextprotocol/tasks, in server and client.
import { createTool, textOf, type ToolContext } from "haft";
import { createTestHaft, type TestHaft } from "haft/testing";
import { InMemoryTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { MCPClient, type MCPClientOptions } from "../../src/mcp/client/mcp-client.ts";
import { wrapMCPTool } from "../../src/mcp/client/mcp-tool.ts";
import type { McpEndpoint, McpEndpointOptions } from "../../src/mcp/server/streamable-http.ts";
import type { McpRuntime } from "../../src/mcp/server/server-options.ts";
import { serveMcp } from "../../src/mcp/server/stdio-server.ts";
import { connectV2, DESCRIBE, post, serveOverHttp } from "./serve-haft.ts";

const TASKS = "io.modelcontextprotocol/tasks";
const KNOWS = { extensions: { [TASKS]: {} }, elicitation: { form: {} } };
const NAME = {
  name: {
    method: "elicitation/create" as const,
    params: {
      mode: "form" as const,
      message: "Who are you?",
      requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } } },
    },
  },
};

/** A runtime with background tools. `open()` lets the waiting ones continue. */
function architecture() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const runs: string[] = [];
  let endpoint: McpEndpoint | undefined;
  let clientOf: McpEndpoint["clientOf"] = (id) => endpoint?.clientOf(id);
  const tool = (name: string, run: (input: never, context: ToolContext) => unknown, rest: object = {}) =>
    createTool({
      name,
      description: `The tool ${name}`,
      kind: "readonly",
      mode: "background",
      parameters: z.object({}),
      async run(input, context) {
        runs.push(name);
        return run(input as never, context);
      },
      ...rest,
    });
  const haft = createTestHaft({
    tools: [
      tool("long", async (_input, { update, signal }) => {
        update({ progress: { done: 1, total: 2, message: "half of it" } });
        await Promise.race([opened, new Promise((_, reject) => signal.addEventListener("abort", reject))]);
        return "at last";
      }),
      tool("fails", () => Promise.reject(new Error("no such ship"))),
      tool("asks", async (_input, { callId }) => JSON.stringify(await clientOf(callId)!.ask(NAME))),
      tool("asks_roots", (_input, { callId }) =>
        clientOf(callId)!.ask({ roots: { method: "roots/list", params: {} } }),
      ),
      tool("measure", () => ({ details: { metres: 3 }, content: [{ type: "text", text: "3 m" }] }), {
        output: z.object({ metres: z.number() }),
      }),
      tool("quick", () => "done", { mode: "inline" }),
      tool("guarded", () => "let through", { permission: () => "confirm" }),
    ],
  });
  return {
    haft,
    /** The served runtime: the one above, or a changed one. */
    runtime: haft as McpRuntime,
    runs,
    open,
    async serve(options: Partial<McpEndpointOptions> = {}) {
      const served = await serveOverHttp(this.runtime, options);
      endpoint = served.endpoint;
      return served;
    },
    useClientOf: (own: McpEndpoint["clientOf"]) => (clientOf = own),
  };
}

const call = (url: URL, name: string, rest: object = {}) =>
  post(url, { params: { name, arguments: {} }, capabilities: KNOWS, ...rest });
const ask = (url: URL, method: string, taskId: unknown, rest: object = {}) =>
  post(url, { method: `tasks/${method}`, params: { taskId }, capabilities: KNOWS, ...rest });

/** Polls like a client until the task has this status. */
async function reach(url: URL, taskId: unknown, status: string) {
  return vi.waitFor(async () => {
    const { result } = await ask(url, "get", taskId);
    expect(result).toMatchObject({ taskId, status, resultType: "complete" });
    return result!;
  });
}

describe("a client with tasks", () => {
  test("gets a task at once, and its result after the connection was closed", async () => {
    const at = architecture();
    const { open, haft } = at;
    const { url } = await at.serve();
    const created = (await call(url, "long")).result!;
    expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: expect.any(Number) });
    expect(Date.parse(created["createdAt"] as string)).not.toBeNaN();
    for (const key of ["task", "result", "error", "inputRequests", "requestState"])
      expect(created).not.toHaveProperty(key);
    const { taskId } = created;
    await vi.waitFor(async () => {
      expect((await ask(url, "get", taskId)).result).toMatchObject({ status: "working", statusMessage: "half of it" });
    });
    open();
    // Requested by the official client over another connection.
    const client = await connectV2(url, { options: { capabilities: KNOWS } });
    expect(client.getServerCapabilities()?.extensions).toHaveProperty([TASKS]);
    await reach(url, taskId, "completed");
    const task = await client.request(
      { method: "tasks/get", params: { taskId: String(taskId) } },
      z.looseObject({ result: z.looseObject({ content: z.array(z.unknown()) }) }),
    );
    expect(task.result.content).toEqual([{ type: "text", text: "at last" }]);
    expect(haft.recorded.all.map(({ type }) => type)).toContain("job_queued");
  });

  test("gets structured content if the tool has it, and failures as results", async () => {
    const { url } = await architecture().serve();
    const measured = await reach(url, (await call(url, "measure")).result!["taskId"], "completed");
    expect(measured["result"]).toMatchObject({ structuredContent: { metres: 3 } });
    const failed = await reach(url, (await call(url, "fails")).result!["taskId"], "completed");
    expect(failed["result"]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("no such ship") }],
    });
  });

  test("can cancel it repeatedly", async () => {
    const at = architecture();
    const { runs } = at;
    const { url } = await at.serve();
    const { taskId } = (await call(url, "long")).result!;
    await vi.waitFor(() => expect(runs).toEqual(["long"]));
    for (const _ of [1, 2]) {
      const { result } = await ask(url, "cancel", taskId);
      expect(result).toMatchObject({ resultType: "complete" });
      expect(result).not.toHaveProperty("taskId");
      expect(await reach(url, taskId, "cancelled")).not.toHaveProperty("result");
    }
  });

  test("is asked by it, and may answer in parts or twice", async () => {
    const { url } = await architecture().serve();
    const { taskId } = (await call(url, "asks")).result!;
    const { inputRequests } = await reach(url, taskId, "input_required");
    expect(inputRequests).toMatchObject({ name: { method: "elicitation/create" } });
    const update = (inputResponses: object) => ask(url, "update", taskId, { params: { taskId, inputResponses } });
    expect((await update({ other: { action: "accept" }, name: 7 })).result).toMatchObject({ resultType: "complete" });
    expect(await reach(url, taskId, "input_required")).toMatchObject({ inputRequests });
    await update({ name: { action: "accept", content: { name: "Ada" } } });
    await update({ name: { action: "accept", content: { name: "Eve" } } });
    const { result } = await reach(url, taskId, "completed");
    expect(JSON.stringify(result)).toContain("Ada");
  });

  test("gets an error of the protocol if it cannot be asked", async () => {
    const { url } = await architecture().serve();
    const task = await reach(url, (await call(url, "asks_roots")).result!["taskId"], "failed");
    expect(task).toMatchObject({ error: { code: -32_021, data: { requiredCapabilities: { roots: {} } } } });
    expect(task).not.toHaveProperty("result");
  });

  test("is asked for permission before the task is created", async () => {
    const { url } = await architecture().serve();
    const requested = (await call(url, "guarded")).result!;
    expect(requested).toMatchObject({ resultType: "input_required", inputRequests: { approval: expect.anything() } });
    const created = await call(url, "guarded", {
      params: {
        ...{ name: "guarded", arguments: {}, requestState: requested["requestState"] },
        inputResponses: { approval: { action: "accept", content: { decision: "once" } } },
      },
    });
    expect(created.result).toMatchObject({ resultType: "task" });
    expect(created.result).not.toHaveProperty("requestState");
    const { result } = await reach(url, created.result!["taskId"], "completed");
    expect(JSON.stringify(result)).toContain("let through");
  });

  test("can request any call as a task", async () => {
    const { url } = await architecture().serve();
    const wish = { params: { name: "quick", arguments: {}, _meta: { "haft/background": true } } };
    expect((await call(url, "quick")).result).toMatchObject({ resultType: "complete" });
    const { taskId } = (await call(url, "quick", wish)).result!;
    await reach(url, taskId, "completed");
    const without = await call(url, "quick", { ...wish, capabilities: {} });
    expect(without.result).toMatchObject({ resultType: "complete", content: [{ text: "done" }] });
  });
});

describe("a task", () => {
  test("is available only to the identity that created it", async () => {
    const at = architecture();
    const { runs } = at;
    const { url } = await at.serve();
    const { taskId } = (await call(url, "long")).result!;
    await vi.waitFor(() => expect(runs).toHaveLength(1));
    for (const method of ["get", "update", "cancel"]) {
      expect((await ask(url, method, taskId, { as: "bob" })).error).toMatchObject({ code: -32_602 });
      expect((await ask(url, method, `${String(taskId).split(".")[0]}.AAAA`)).error).toMatchObject({ code: -32_602 });
      expect((await ask(url, method, taskId, { capabilities: {} })).error).toMatchObject({ code: -32_021 });
    }
    expect((await ask(url, "get", taskId)).result).toMatchObject({ status: "working" });
  });

  test("is found after a restart with the same key, but not with another", async () => {
    const stateKey = new Uint8Array(32).fill(7);
    const at = architecture();
    const { open } = at;
    const first = await at.serve({ stateKey });
    const { taskId } = (await call(first.url, "long")).result!;
    await first.endpoint.close();
    open();
    const second = await at.serve({ stateKey });
    expect(JSON.stringify(await reach(second.url, taskId, "completed"))).toContain("at last");
    const stranger = await at.serve({ stateKey: new Uint8Array(32).fill(8) });
    expect((await ask(stranger.url, "get", taskId)).error).toMatchObject({ code: -32_602 });
  });

  test("is required for the tools that the host selects", async () => {
    const at = architecture();
    const { runs } = at;
    const { url } = await at.serve({ needsTask: ({ name }) => name === "long" });
    const { error } = await call(url, "long", { capabilities: {} });
    expect(error).toMatchObject({ code: -32_021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
    expect(runs).toEqual([]);
  });
});

describe.each(["modern", "legacy"] as const)("a %s client without tasks", (era) => {
  test("waits for the result, with progress", async () => {
    const at = architecture();
    const { open } = at;
    const client = await connectV2((await at.serve()).url, { era });
    const reported: unknown[] = [];
    const onprogress = ({ message }: { message?: string }): void => {
      reported.push(message);
      open();
    };
    const result = await client.callTool({ name: "long", arguments: {} }, { onprogress });
    expect(result).toMatchObject({ content: [{ text: "at last" }] });
    expect(reported).toContain("half of it");
  });

  test("gets a pending result if it takes longer, and the final one by calling again", async () => {
    const at = architecture();
    const { open, haft, runs } = at;
    const client = await connectV2((await at.serve({ holdMs: 5000 })).url, { era });
    const first = client.callTool({ name: "long", arguments: {} });
    await vi.waitFor(() => expect(runs).toHaveLength(1));
    await haft.clock.advance(5000);
    expect(await first).toMatchObject({ isError: true, _meta: { "haft/pending": { kind: "job" } } });
    open();
    const again = await client.callTool({ name: "long", arguments: {} });
    expect(again).toMatchObject({ content: [{ text: "at last" }] });
    expect(runs).toEqual(["long"]);
  });

  test("cancels the job with the call", async () => {
    const at = architecture();
    const { haft, runs } = at;
    const client = await connectV2((await at.serve()).url, { era });
    const controller = new AbortController();
    const called = client.callTool({ name: "long", arguments: {} }, { signal: controller.signal });
    await vi.waitFor(() => expect(runs).toHaveLength(1));
    controller.abort();
    await expect(called).rejects.toThrow(/abort|cancel/i);
    await vi.waitFor(async () => expect(await haft.jobs.counts()).toMatchObject({ cancelled: 1, running: 0 }));
  });
});

describe.each(["http", "one connection"] as const)("Haft's own client, over %s", (way) => {
  async function connect(at: ReturnType<typeof architecture>, options: MCPClientOptions = {}): Promise<MCPClient> {
    const client = new MCPClient(options);
    onTestFinished(() => client.disconnect());
    if (way === "http") {
      const { url } = await at.serve();
      await client.connect({ name: "far", transport: "http", url: url.href, headers: { authorization: "Bearer ada" } });
    } else {
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      at.useClientOf((await serveMcp(at.runtime, ours, DESCRIBE)).clientOf);
      await client.connect(theirs);
    }
    return client;
  }

  test("follows a task to its result, with progress", async () => {
    const at = architecture();
    const reported: unknown[] = [];
    const client = await connect(at);
    const onProgress = ({ message }: { message?: string }): void => {
      reported.push(message);
      at.open();
    };
    expect(await client.callTool("long", {}, { onProgress })).toMatchObject({ content: [{ text: "at last" }] });
    expect(reported).toContain("half of it");
    await client.listTools();
    expect(await client.callTool("measure")).toMatchObject({ structuredContent: { metres: 3 } });
    expect(await client.callTool("fails")).toMatchObject({ isError: true });
    expect(at.haft.recorded.all.filter(({ type }) => type === "job_queued")).toHaveLength(3);
  });

  test("cancels the task with the call", async () => {
    const at = architecture();
    const client = await connect(at);
    const controller = new AbortController();
    const called = client.callTool("long", {}, { signal: controller.signal });
    await vi.waitFor(() => expect(at.runs).toHaveLength(1));
    // The response with the task has arrived by then.
    await vi.waitFor(async () => expect(await at.haft.jobs.counts()).toMatchObject({ running: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort();
    await expect(called).rejects.toThrow(/abort|cancel/i);
    await vi.waitFor(async () => expect(await at.haft.jobs.counts()).toMatchObject({ cancelled: 1, running: 0 }));
  });

  test("passes the task's questions to its person, once each", async () => {
    const at = architecture();
    const requested: string[] = [];
    const client = await connect(at, {
      answerElicitation: async ({ message }) => {
        requested.push(message);
        return { action: "accept", content: { name: "Ada" } };
      },
    });
    expect(JSON.stringify(await client.callTool("asks"))).toContain("Ada");
    expect(requested).toEqual(["Who are you?"]);
  });

  test("reports an unknown outcome if a task is lost", async () => {
    const at = architecture();
    let isForgotten = false;
    const { jobs } = at.haft;
    // Found when the call is made, and never after that.
    const get = async (id: string) => (isForgotten ? undefined : ((isForgotten = true), jobs.get(id)));
    at.runtime = Object.create(at.haft, { jobs: { value: { ...jobs, get } } }) as McpRuntime;
    const client = await connect(at);
    const mcpTool = (await client.listTools()).find(({ name }) => name === "long")!;
    const near: TestHaft = createTestHaft({ approver: async () => ({ approved: true }) });
    near.tools.registry.register(wrapMCPTool(mcpTool, client));
    const result = await near.execute(near.tools.list()[0]!.name);
    expect(result).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    expect(textOf(result.content)).toContain("unknown");
  });
});

describe("a client that listens to tasks", () => {
  const META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  const LISTENED = { "io.modelcontextprotocol/subscriptionId": "l1" };

  const listen = (taskIds: unknown[], capabilities: object = KNOWS) => ({
    jsonrpc: "2.0" as const,
    id: "l1",
    method: "subscriptions/listen",
    params: {
      notifications: { taskIds },
      _meta: { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities },
    },
  });

  const open = (url: URL, message: object, as = "ada") =>
    fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${as}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify(message),
    });

  const tick = ({ haft }: ReturnType<typeof architecture>): void => {
    const ticking = setInterval(() => void haft.clock.advance(500), 20);
    onTestFinished(() => clearInterval(ticking));
  };

  const messagesOf = (text: string) =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as Record<string, unknown>);

  test("gets each status once, as tasks/get has it, until the last task has ended", async () => {
    const at = architecture();
    const { url } = await at.serve();
    tick(at);
    const { taskId } = (await call(url, "long")).result!;
    const response = await open(url, listen([taskId, "unknown"]));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (part: string): Promise<void> => {
      while (!text.includes(part)) {
        const { value, done } = await reader.read();
        if (done) return;
        text += value;
      }
    };
    await readUntil("half of it");
    at.open();
    await readUntil("nothing of this");
    const [acknowledged, ...others] = messagesOf(text);
    expect(acknowledged).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { taskIds: [taskId] }, _meta: LISTENED },
    });
    const ended = others.pop();
    expect(ended).toMatchObject({ id: "l1", result: { resultType: "complete", _meta: LISTENED } });
    expect(new Set(others.map(({ method }) => method))).toEqual(new Set(["notifications/tasks"]));
    const { resultType: _, ...task } = (await ask(url, "get", taskId)).result!;
    expect(others.at(-1)!["params"]).toMatchObject({ ...task, _meta: LISTENED, status: "completed" });
    const states = others.map(({ params }) => JSON.stringify({ ...(params as object), ttlMs: 0 }));
    expect(new Set(states).size).toBe(states.length);
  });

  test("gets nothing about the tasks of others, and an error without the capability", async () => {
    const { url } = await architecture().serve();
    const { taskId } = (await call(url, "long")).result!;
    const theirs = messagesOf(await (await open(url, listen([taskId]), "bob")).text());
    expect(theirs[0]).toMatchObject({ params: { notifications: { taskIds: [] } } });
    expect(JSON.stringify(theirs)).not.toContain("working");
    const [refused] = messagesOf(await (await open(url, listen([taskId], {}))).text());
    expect(refused).toMatchObject({
      id: "l1",
      error: { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
    });
  });

  test("gets the same over stdio, and nothing more after it cancelled", async () => {
    const at = architecture();
    const [client, server] = InMemoryTransport.createLinkedPair();
    const serving = await serveMcp(at.runtime, server, DESCRIBE);
    onTestFinished(() => serving.close());
    const received: Record<string, unknown>[] = [];
    client.onmessage = (message) => void received.push(message as Record<string, unknown>);
    await client.start();
    const meta = listen([]).params._meta;
    const send = (message: object) => client.send({ jsonrpc: "2.0", ...message } as never);
    await send({ id: 1, method: "tools/call", params: { name: "long", arguments: {}, _meta: meta } });
    await vi.waitFor(() => expect(received).toHaveLength(1));
    const { taskId } = received[0]!["result"] as { taskId: string };
    tick(at);
    await send(listen([taskId]));
    await vi.waitFor(() => expect(JSON.stringify(received)).toContain("half of it"));
    expect(received[1]).toMatchObject({ params: { notifications: { taskIds: [taskId] }, _meta: LISTENED } });
    // The server's own questions stay inside.
    expect(received.slice(1).every(({ method }) => method !== undefined)).toBe(true);
    await send({ method: "notifications/cancelled", params: { requestId: "l1" } });
    const before = received.length;
    at.open();
    await vi.waitFor(async () => expect((await at.haft.jobs.list())[0]?.state).toBe("completed"));
    for (let i = 0; i < 5; i++) await at.haft.clock.advance(500);
    expect(received).toHaveLength(before);
  });
});
