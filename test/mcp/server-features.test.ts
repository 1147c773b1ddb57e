import { createTool, type ToolContext } from "haft";
import { createTestHaft } from "haft/testing";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { McpEndpoint } from "../../src/mcp/server/streamable-http.ts";
import { accept, connectDirectly, connectV2, post, serveOverHttp, type ClientWishes } from "./serve-haft.ts";

const ERAS = [["modern"], ["legacy"]] as const;

const tool = (name: string, more: object = {}) =>
  createTool({
    name,
    description: `The tool ${name}`,
    kind: "readonly",
    parameters: z.object({}),
    run: () => name,
    ...more,
  });

describe.each(ERAS)("a %s client", (era) => {
  const connect = (haft: ReturnType<typeof createTestHaft>, wishes: ClientWishes = {}, serving = {}): Promise<Client> =>
    connectDirectly(haft, { era, ...wishes }, serving);

  test("uses its era, and gets short instructions", async () => {
    const client = await connect(createTestHaft(), {}, { instructions: "Letters are sent by post." });
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getServerVersion()).toMatchObject({ name: "haft" });
    expect(client.getInstructions()).toMatch(/^Letters are sent by post\./);
    expect(client.getInstructions()!.length).toBeLessThan(1000);
  });

  test("gets correct annotations", async () => {
    const haft = createTestHaft({
      tools: [
        tool("look"),
        tool("put", { kind: "write", idempotent: true }),
        tool("run", { kind: "execute" }),
        tool("fetch", { labels: ["untrusted_input"] }),
      ],
    });
    const { tools } = await (await connect(haft)).listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints).toMatchObject({
      look: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      put: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      run: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      fetch: { readOnlyHint: true, openWorldHint: true },
    });
    expect(tools[0]!._meta).toMatchObject({ "anthropic/maxResultSizeChars": expect.any(Number) });
  });

  test("lists the tools in a fixed order, and only those that it may use", async () => {
    const names = ["b", "c", "a", "hidden", "denied"];
    const haft = createTestHaft({ tools: names.map((name) => tool(name)), policy: { deny: ["denied"] } });
    const client = await connect(haft, {}, { shows: ({ name }: { name: string }) => name !== "hidden" });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(await client.callTool({ name: "a", arguments: {} })).toMatchObject({ content: [{ text: "a" }] });
    expect(await client.callTool({ name: "hidden", arguments: {} })).toMatchObject({
      isError: true,
      _meta: { "haft/error": { code: "tool_not_found" } },
    });
    expect(await client.callTool({ name: "denied", arguments: {} })).toMatchObject({ isError: true });
    // Denied calls are recorded too.
    expect((await haft.calls.log.recent()).map(({ status }) => status)).toEqual(["completed", "failed", "failed"]);
  });

  test("calls a tool by its portable name", async () => {
    const long = "mcp__a-server-with-a-long-name__and-a-tool-with-one";
    const client = await connect(createTestHaft({ tools: [tool(long)] }));
    const [shown] = (await client.listTools()).tools;
    expect(shown!.name.length).toBeLessThanOrEqual(40);
    expect(await client.callTool({ name: shown!.name, arguments: {} })).toMatchObject({ content: [{ text: long }] });
    expect(await client.callTool({ name: long, arguments: {} })).toMatchObject({ content: [{ text: long }] });
  });

  test("gets flat schemas, but its input is checked with the complete one", async () => {
    const parameters = z.union([z.object({ id: z.number() }), z.object({ name: z.string() })]);
    const client = await connect(createTestHaft({ tools: [tool("find", { parameters, run: () => "found" })] }));
    const { inputSchema } = (await client.listTools()).tools[0]!;
    expect(Object.keys(inputSchema)).not.toEqual(expect.arrayContaining(["anyOf"]));
    expect(inputSchema).toMatchObject({
      type: "object",
      properties: { id: { type: "number" }, name: { type: "string" } },
    });
    expect(await client.callTool({ name: "find", arguments: { name: "x" } })).toMatchObject({
      content: [{ text: "found" }],
    });
    expect(await client.callTool({ name: "find", arguments: {} })).toMatchObject({ isError: true });
  });

  test("gets structured content that is not an object in the format of its era", async () => {
    const list = tool("list", { output: z.array(z.string()), run: () => ({ content: "a, b", details: ["a", "b"] }) });
    const client = await connect(createTestHaft({ tools: [list] }));
    await client.listTools();
    const { structuredContent } = await client.callTool({ name: "list", arguments: {} });
    expect(structuredContent).toEqual(era === "modern" ? ["a", "b"] : { result: ["a", "b"] });
  });

  test("gets increasing progress", async () => {
    const haft = createTestHaft({
      tools: [
        tool("work", {
          async run(_input: unknown, context: ToolContext) {
            for (const done of [1, 2, 2, 1, 3]) {
              context.update({ progress: { done, total: 3, message: `step ${done}` } });
              await haft.clock.advance(100);
            }
            return "done";
          },
        }),
      ],
    });
    const received: unknown[] = [];
    const client = await connect(haft);
    await client.callTool({ name: "work", arguments: {} }, { onprogress: (progress) => received.push(progress) });
    expect(received).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });

  test("stops a call by cancelling it", async () => {
    let stopped: unknown;
    const haft = createTestHaft({
      tools: [
        tool("wait", {
          run: (_input: unknown, { signal }: ToolContext) =>
            new Promise((_resolve, reject) =>
              signal.addEventListener("abort", () => reject((stopped = signal.reason))),
            ),
        }),
      ],
    });
    const client = await connect(haft);
    const controller = new AbortController();
    const calling = client.callTool({ name: "wait", arguments: {} }, { signal: controller.signal });
    await vi.waitFor(() => expect(haft.calls.load().running).toBe(1));
    controller.abort(new Error("enough"));
    await expect(calling).rejects.toThrow("enough");
    await vi.waitFor(() => expect(stopped).toMatchObject({ code: "cancelled" }));
    await vi.waitFor(async () => expect((await haft.calls.log.recent())[0]).toMatchObject({ errorCode: "cancelled" }));
  });

  test("is notified when tools change, once for several changes", async () => {
    const haft = createTestHaft({ tools: [tool("first")] });
    const changed = vi.fn();
    const listChanged = { tools: { autoRefresh: false, onChanged: changed } };
    const client = await connect(haft, { options: { listChanged } });
    for (const name of ["second", "third", "fourth"]) haft.register(tool(name));
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1));
    expect((await client.listTools(undefined, { cacheMode: "refresh" })).tools).toHaveLength(4);
    haft.tools.registry.unregister("second");
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(2));
  });

  test("reads the full output of a truncated result", async () => {
    const whole = Array.from({ length: 20_000 }, (_, line) => `line ${line}`).join("\n");
    const client = await connect(createTestHaft({ tools: [tool("print", { run: () => whole })] }));
    const { content } = await client.callTool({ name: "print", arguments: {} });
    const link = content.find((block) => block.type === "resource_link") as { uri: string };
    expect(link.uri).toMatch(/^haft:\/\/output\//);
    const { contents } = await client.readResource({ uri: link.uri });
    expect(contents).toMatchObject([{ uri: link.uri, mimeType: "text/plain", text: whole }]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(link.uri);
  });

  test("reads the documentation of tools, and completes their names", async () => {
    const client = await connect(createTestHaft({ tools: [tool("read"), tool("write", { kind: "write" })] }));
    const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents[0];
    expect(await read("haft://tools")).toMatchObject({ text: expect.stringContaining("`read`: The tool read") });
    expect(await read("haft://tools/write")).toMatchObject({ text: expect.stringContaining("It changes things.") });
    await expect(client.readResource({ uri: "haft://tools/nothing" })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toMatchObject({ code: -32_602 });
    const ref = { type: "ref/resource" as const, uri: "haft://tools/{name}" };
    const { completion } = await client.complete({ ref, argument: { name: "name", value: "WR" } });
    expect(completion.values).toEqual(["write"]);
  });

  test("gets prompts, with completion of their arguments", async () => {
    const prompts = {
      list: () => [
        {
          name: "greet",
          arguments: [{ name: "tone", required: true, values: ["formal", "friendly", "curt"] }],
          get: ({ tone }: Readonly<Record<string, string>>) => ({
            messages: [{ role: "user" as const, content: { type: "text" as const, text: `Greet in a ${tone} way` } }],
          }),
        },
      ],
    };
    const client = await connect(createTestHaft(), {}, { prompts });
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "greet", arguments: [{ name: "tone" }] }]);
    const ref = { type: "ref/prompt" as const, name: "greet" };
    const { completion } = await client.complete({ ref, argument: { name: "tone", value: "f" } });
    expect(completion.values).toEqual(["formal", "friendly"]);
    expect(await client.getPrompt({ name: "greet", arguments: { tone: "curt" } })).toMatchObject({
      messages: [{ content: { text: "Greet in a curt way" } }],
    });
    await expect(client.getPrompt({ name: "greet" })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.getPrompt({ name: "leave" })).rejects.toMatchObject({ code: -32_602 });
  });

  test("repeats a call with an idempotency key, and the call runs once", async () => {
    let made = 0;
    const client = await connect(
      createTestHaft({ tools: [tool("count", { kind: "write", needsApproval: false, run: () => `${++made}` })] }),
    );
    const call = (key: string) =>
      client.callTool({ name: "count", arguments: {}, _meta: { "haft/idempotencyKey": key } });
    expect(await call("a")).toMatchObject({ content: [{ text: "1" }] });
    expect(await call("a")).toMatchObject({ content: [{ text: "1" }], _meta: { "haft/known": "replay" } });
    expect(await call("b")).toMatchObject({ content: [{ text: "2" }] });
  });

  test("answers a tool over several rounds, and the tool runs once", async () => {
    let runs = 0;
    const served: Partial<McpEndpoint> = {};
    const order = tool("order", {
      async run(_input: unknown, { callId }: ToolContext) {
        runs++;
        const answers: unknown[] = [];
        for (const what of ["size", "colour"]) {
          const requestedSchema = { type: "object" as const, properties: { [what]: { type: "string" as const } } };
          const form = {
            method: "elicitation/create" as const,
            params: { message: `Which ${what}?`, requestedSchema },
          };
          answers.push(await served.clientOf!(callId)!.ask({ [what]: form }));
        }
        return JSON.stringify(answers);
      },
    });
    const haft = createTestHaft({ tools: [order] });
    const { url, endpoint } = await serveOverHttp(haft);
    Object.assign(served, endpoint);
    const answer = vi.fn(({ message }: { message: string }) =>
      message.includes("size") ? accept({ size: "L" }) : accept({ colour: "red" }),
    );
    const client = await connectV2(url, { era, answer: answer as never });
    const { content } = await client.callTool({ name: "order", arguments: {} });
    expect(JSON.parse((content[0] as { text: string }).text)).toEqual([
      { size: accept({ size: "L" }) },
      { colour: accept({ colour: "red" }) },
    ]);
    expect({ runs, requested: answer.mock.calls.length }).toEqual({ runs: 1, requested: 2 });
    const mute = await connectV2(url, { era });
    const refused = await mute
      .callTool({ name: "order", arguments: {} })
      .catch(({ code }: { code: number }) => ({ code, isError: true }));
    // Only the modern revision has a specific error for it.
    expect(refused).toMatchObject(era === "modern" ? { code: -32_021 } : { isError: true });
  });
});

test("full outputs can be read only by the identity that got their address", async () => {
  const haft = createTestHaft({ tools: [tool("print", { run: () => "secret ".repeat(20_000) })] });
  const { url } = await serveOverHttp(haft);
  const [ada, bob] = [await connectV2(url, { as: "ada" }), await connectV2(url, { as: "bob" })];
  const { content } = await ada.callTool({ name: "print", arguments: {} });
  const { uri } = content.find((block) => block.type === "resource_link") as { uri: string };
  expect((await ada.readResource({ uri })).contents).toHaveLength(1);
  await expect(bob.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
  expect((await bob.listResources()).resources.map((resource) => resource.uri)).not.toContain(uri);
});

test("tools that wait for clients that never return release their slots", async () => {
  const endpoint: Partial<McpEndpoint> = {};
  const ask = tool("ask", {
    async run(_input: unknown, { callId }: ToolContext) {
      const params = { message: "Which?", requestedSchema: { type: "object" as const, properties: {} } };
      await endpoint.clientOf!(callId)!.ask({ which: { method: "elicitation/create", params } });
    },
  });
  const haft = createTestHaft({ tools: [ask, tool("plain")], concurrency: { maxConcurrent: 3 } });
  const served = await serveOverHttp(haft);
  Object.assign(endpoint, served.endpoint);
  for (let i = 0; i < 10; i++) {
    const { result } = await post(served.url, { params: { name: "ask", arguments: {} } });
    expect(result).toMatchObject({ resultType: "input_required" });
  }
  expect(haft.calls.load().running).toBeLessThanOrEqual(2);
  expect((await post(served.url, { params: { name: "plain", arguments: {} } })).result).toMatchObject({
    content: [{ text: "plain" }],
  });
});
