import { dynamicTool, jsonSchema, tool as aiTool } from "ai";
import { tool as langChainTool } from "@langchain/core/tools";
import { tool as agentsTool } from "@openai/agents-core";
import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createHaft } from "../../runtime.ts";
import type { ToolResult } from "../result.ts";
import { adopt, type AdoptOptions, type ForeignTool } from "./adopt.ts";

const recipient = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;

async function call(tool: object, input: unknown, options: AdoptOptions = {}): Promise<ToolResult> {
  const haft = createHaft();
  const { name } = haft.register(adopt(tool as ForeignTool, options));
  return haft.execute(name, input, { id: "call-1" });
}

describe("an AgentTool gets its own arguments", () => {
  const base = { name: "send", description: "Sends", parameters: recipient };

  test.each([
    [
      "four parameters",
      async (a: string, b: { to: string }, c: AbortSignal, _d: unknown) => `${a} ${b.to} ${c.aborted}`,
    ],
    ["its usual names", async (toolCallId: string, params: { to: string }) => `${toolCallId} ${params.to} false`],
    ["an id that it does not use", (_id: string, params: { to: string }) => `call-1 ${params.to} false`],
  ])("with %s", async (_case, execute) => {
    expect(await call({ ...base, label: "Send", execute }, { to: "ann" })).toMatchObject({
      details: "call-1 ann false",
    });
  });

  test("and its updates, content and details arrive", async () => {
    const haft = createHaft();
    haft.register({
      ...base,
      parameters: Type.Object({ to: Type.String() }),
      execute(_toolCallId: string, params: { to: string }, _signal: AbortSignal, onUpdate: (update: object) => void) {
        onUpdate({ content: [{ type: "text", text: "half" }] });
        return { content: [{ type: "text", text: `sent to ${params.to}` }], details: { n: 1 } };
      },
    } as ForeignTool);
    const updates: unknown[] = [];
    const result = await haft.execute("send", { to: "ann" }, { onUpdate: (update) => void updates.push(update) });
    expect(result).toMatchObject({ content: [{ text: "sent to ann" }], details: { n: 1 } });
    expect(updates).toMatchObject([{ content: [{ text: "half" }] }]);
  });
});

describe("a tool with execute(params, context)", () => {
  test.each([
    ["a pattern", ({ to }: { to: string }) => to],
    [
      "the name params",
      async (params: { to: string }, context: { callId: string }) => `${params.to} ${context.callId}`,
    ],
    [
      "a function",
      function execute(input: { to: string }) {
        return input.to;
      },
    ],
  ])("gets the input first: %s", async (_case, execute) => {
    const result = await call({ name: "send", description: "d", parameters: recipient, execute }, { to: "ann" });
    expect(result.display).toMatch(/^ann/);
  });

  test.each([
    ["names that say nothing", (a: unknown, b: unknown) => [a, b]],
    ["rest parameters", (...all: unknown[]) => all],
    ["a bound function", ((a: unknown, b: unknown) => [a, b]).bind(undefined)],
  ])("is refused if it may also be an AgentTool: %s", (_case, execute) => {
    const tool = { name: "send", description: "d", parameters: recipient, execute };
    expect(() => adopt(tool as ForeignTool)).toThrow(
      /"send" fits several conventions.*adopt\(tool, \{ as: "haft" \}\).*adopt\(tool, \{ as: "agent-tool" \}\).*run\(input, context\)/s,
    );
    expect(adopt(tool as ForeignTool, { as: "agent-tool" }).name).toBe("send");
  });

  test("and the keys of an AI SDK tool is refused, because the second argument differs", () => {
    const tool = {
      name: "send",
      description: "d",
      inputSchema: z.object({}),
      execute: (_input: object, options: object) => options,
    };
    expect(() => adopt(tool)).toThrow(/fits several conventions.*Haft.*AI SDK/s);
    expect(() => adopt(tool, { as: "nothing" })).toThrow(/no system "nothing"/);
    const ours = { ...tool, execute: (_input: object, { callId }: { callId: string }) => callId };
    expect(adopt(ours).name).toBe("send");
  });
});

describe("tools of the design documents", () => {
  test("a class with getParameters, its permission and its validation", async () => {
    const ran = vi.fn();
    class Publish {
      readonly name = "publish";
      readonly description = "Publishes";
      readonly permission: string;
      constructor(permission: string) {
        this.permission = permission;
      }
      getParameters() {
        return [{ name: "page", type: "string", description: "Which" }];
      }
      validateParams(params: { page: string }) {
        return params.page === "bad" ? "no such page" : null;
      }
      async execute(params: { page: string }) {
        ran(this.name, params.page);
        return { success: true, data: params.page };
      }
    }
    expect(await call(new Publish("auto"), { page: "a" })).toMatchObject({ status: "completed", details: "a" });
    expect(ran).toHaveBeenCalledWith("publish", "a");
    expect(await call(new Publish("auto"), { page: "bad" })).toMatchObject({ error: { code: "invalid_input" } });
    expect(await call(new Publish("confirm"), { page: "a" })).toMatchObject({ status: "pending" });
    expect(ran).toHaveBeenCalledTimes(1);
  });

  test("a built tool with its own function declaration", async () => {
    const tool = {
      name: "read",
      description: { short: "Reads" },
      isReadOnly: true,
      getFunctionDeclaration: () => ({ name: "read", description: "Reads", parameters: recipient }),
      execute: async (params: { to: string }) => params.to,
    };
    const adopted = adopt(tool as unknown as ForeignTool);
    expect(adopted).toMatchObject({ kind: "readonly", isReadOnly: true });
    expect(await call(tool, { to: "x" })).toMatchObject({ details: "x" });
    expect(() => adopt({ ...tool, kind: "write" } as unknown as ForeignTool)).toThrow(/contradict/);
  });
});

describe("approvals of other systems are kept", () => {
  const parameters = z.object({ amount: z.number() });

  test.each([
    [
      "AI SDK",
      (ran: () => void, needsApproval: unknown) =>
        adopt(aiTool({ inputSchema: parameters, needsApproval: needsApproval as never, execute: async () => ran() }), {
          name: "pay",
        }),
    ],
    [
      "OpenAI Agents",
      (ran: () => void, needsApproval: unknown) => {
        const decide = needsApproval as (input: { amount: number }) => boolean;
        const approval =
          typeof needsApproval === "function"
            ? async (_run: unknown, input: { amount: number }) => decide(input)
            : needsApproval;
        return adopt(
          agentsTool({
            name: "pay",
            description: "d",
            parameters,
            needsApproval: approval as never,
            execute: async () => ran(),
          }),
        );
      },
    ],
    [
      "a plain object with needsApproval",
      (ran: () => void, needsApproval: unknown) =>
        adopt({
          id: "pay",
          description: "d",
          inputSchema: parameters,
          needsApproval,
          execute: async () => ran(),
        } as ForeignTool),
    ],
    [
      "a plain object with requireApproval",
      (ran: () => void, requireApproval: unknown) =>
        adopt({
          id: "pay",
          description: "d",
          inputSchema: parameters,
          requireApproval,
          execute: async () => ran(),
        } as ForeignTool),
    ],
    [
      "TanStack AI",
      (ran: () => void, needsApproval: unknown) =>
        adopt({
          __toolSide: "server",
          name: "pay",
          description: "d",
          inputSchema: parameters,
          needsApproval,
          execute: async () => ran(),
        } as ForeignTool),
    ],
  ])("%s", async (_system, make) => {
    const ran = vi.fn();
    const asks = createHaft({ tools: [make(ran, true)] });
    expect(await asks.execute("pay", { amount: 1 })).toMatchObject({
      status: "pending",
      pending: { kind: "approval" },
    });
    const decides = createHaft({ tools: [make(ran, ({ amount }: { amount: number }) => amount > 100)] });
    expect(await decides.execute("pay", { amount: 200 })).toMatchObject({ status: "pending" });
    expect(ran).not.toHaveBeenCalled();
    expect(await decides.execute("pay", { amount: 50 })).toMatchObject({ status: "completed" });
    const free = createHaft({ tools: [make(ran, false)] });
    expect(await free.execute("pay", { amount: 200 })).toMatchObject({ status: "completed" });
    expect(ran).toHaveBeenCalledTimes(2);
  });

  test("a decision that depends on the conversation asks a person", async () => {
    const tool = aiTool({
      inputSchema: z.object({}),
      needsApproval: (_input, { messages }) => messages.length > 3,
      execute: async () => "ran",
    });
    expect(await call(tool, {}, { name: "pay" })).toMatchObject({ status: "pending" });
  });

  test("an approval function whose arguments are not known is refused", () => {
    const tool = {
      name: "x",
      description: "d",
      parameters: [],
      needsApproval: (_run: unknown, _input: unknown) => true,
      run: () => 1,
    };
    expect(() => adopt(tool as unknown as ForeignTool)).toThrow(/Use `permission: \(input\)/);
  });

  test("annotations of MCP become the kind, and a destructive tool asks", async () => {
    const make = (annotations: object) => ({
      name: "x",
      description: "d",
      inputSchema: {},
      annotations,
      handler: async () => ({ content: [{ type: "text", text: "ok" }] }),
    });
    expect(adopt(make({ readOnlyHint: true })).kind).toBe("readonly");
    expect(await call(make({ destructiveHint: true }), {})).toMatchObject({ status: "pending" });
    expect(await call(make({}), {})).toMatchObject({ status: "completed" });
  });
});

describe("a setting that cannot be kept is refused", () => {
  const one = (): number => 1;

  test.each([
    [
      "a misspelt key",
      { name: "x", description: "d", parameters: [], permision: "confirm", run: one },
      /no option "permision".*"permission"/,
    ],
    [
      "a misspelt key of the AI SDK",
      { inputSchema: z.object({}), needsAproval: true, execute: one },
      /"needsAproval".*"needsApproval"/,
    ],
    [
      "a permission that does not exist",
      { name: "x", description: "d", parameters: [], permission: "ask", run: one },
      /"auto", "confirm"/,
    ],
    [
      "a tool of the provider",
      { type: "provider", id: "openai.web_search", inputSchema: z.object({}), args: {} },
      /provider runs this tool/,
    ],
    [
      "guardrails",
      { type: "function", name: "x", description: "", parameters: {}, invoke: one, inputGuardrails: [{}] },
      /inputGuardrails/,
    ],
    ["the client side of a tool", { __toolSide: "client", name: "x", description: "d", execute: one }, /server/],
    ["an MCP definition without a caller", { name: "x", inputSchema: { type: "object" } }, /needs a caller/],
    ["an object that is no tool", { colour: "red" }, /not a tool: it has the keys colour/],
    ["a tool without code", { name: "x", description: "d", parameters: [] }, /`run\(input, context\)`/],
    ["null", null, /must be an object/],
  ])("%s", (_case, tool, message) => {
    expect(() => adopt(tool as unknown as ForeignTool, { name: "given" })).toThrow(message);
  });
});

describe("tools of frameworks run", () => {
  test("AI SDK: options, streams and the output for the model", async () => {
    async function* count({ to }: { to: number }) {
      for (let at = 1; at <= to; at += 1) yield at;
    }
    const haft = createHaft({
      tools: [adopt(aiTool({ inputSchema: z.object({ to: z.number() }), execute: count }), { name: "count" })],
    });
    const updates: unknown[] = [];
    expect(
      await haft.execute("count", { to: 3 }, { onUpdate: (update) => void updates.push(update.details) }),
    ).toMatchObject({ details: 3 });
    expect(updates).toEqual([1, 2]);
    const shown = aiTool({
      inputSchema: jsonSchema<{ a: string }>({ type: "object", properties: { a: { type: "string" } } }),
      execute: async ({ a }, { toolCallId, abortSignal }) => ({ a, toolCallId, aborted: abortSignal?.aborted }),
      toModelOutput: ({ output }) => ({ type: "text", value: `only ${output.a}` }),
    });
    expect(await call(shown, { a: "x" }, { name: "shown" })).toMatchObject({
      content: [{ text: "only x" }],
      details: { a: "x", toolCallId: "call-1", aborted: false },
    });
    const reads = dynamicTool({ inputSchema: z.object({}), execute: async (_input, { messages }) => messages.length });
    expect(await call(reads, {}, { name: "reads" })).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("conversation") },
    });
  });

  test("LangChain: content, artifact and errors", async () => {
    const schema = z.object({ to: z.string().transform((to) => to.toUpperCase()) });
    const send = langChainTool(async ({ to }) => `sent to ${to}`, { name: "send", description: "d", schema });
    expect(await call(send, { to: "ann" })).toMatchObject({ details: "sent to ANN" });
    const both = langChainTool(async () => ["text", { rows: 2 }], {
      name: "both",
      description: "d",
      schema: z.object({}),
      responseFormat: "content_and_artifact",
    });
    expect(await call(both, {})).toMatchObject({ content: [{ text: "text" }], details: { rows: 2 } });
    const fails = langChainTool(async () => Promise.reject(new Error("out of paper")), {
      name: "fails",
      description: "d",
      schema: z.object({}),
    });
    expect(await call(fails, {})).toMatchObject({ status: "failed", error: { message: "out of paper" } });
  });

  test("OpenAI Agents: input, failure and disabled tools", async () => {
    const parameters = z.object({ to: z.string() });
    const make = (options: object) =>
      agentsTool({ name: "send", description: "d", parameters, execute: async ({ to }) => ({ to }), ...options });
    expect(await call(make({}), { to: "ann" })).toMatchObject({ details: { to: "ann" } });
    expect(await call(make({ execute: async () => Promise.reject(new Error("no")) }), { to: "a" })).toMatchObject({
      status: "failed",
    });
    expect(await call(make({ isEnabled: false }), { to: "a" })).toMatchObject({ error: { code: "unavailable" } });
  });

  test("an MCP definition with a caller asks, and its failure fails the call", async () => {
    const definition = { name: "pay", description: "d", inputSchema: recipient, annotations: { readOnlyHint: true } };
    const answer = { content: [{ type: "text", text: "no money" }], isError: true };
    const made = vi.fn(async () => answer);
    expect(await call(definition, { to: "x" }, { call: made })).toMatchObject({ status: "pending" });
    expect(made).not.toHaveBeenCalled();
    expect(await call(definition, { to: "x" }, { call: made, kind: "readonly" })).toMatchObject({
      status: "failed",
      error: { message: "no money" },
    });
    expect(made).toHaveBeenCalledWith("pay", { to: "x" }, { signal: expect.anything() });
  });
});

describe("what a tool returns", () => {
  const returns = (output: unknown) => call({ name: "x", description: "d", parameters: [], run: () => output }, {});

  test("isError fails the call and keeps its content", async () => {
    const content = [{ type: "text", text: "no" }];
    expect(await returns({ content, isError: true })).toMatchObject({
      status: "failed",
      content,
      error: { code: "failed", message: "no" },
    });
    expect(await returns({ content, isError: false })).toMatchObject({ status: "completed", content });
    expect(await returns({ content: "no", isError: true })).toMatchObject({ status: "failed" });
  });

  test("no field beside the content is lost", async () => {
    const content = [{ type: "text", text: "ok" }];
    expect(await returns({ content, meta: 1 })).toMatchObject({ content, details: { meta: 1 } });
    expect(await returns({ content, structuredContent: { a: 1 }, _meta: { b: 2 } })).toMatchObject({
      details: { a: 1 },
      metadata: { _meta: { b: 2 } },
    });
    expect(await returns({ content, details: { a: 1 }, meta: 1 })).toMatchObject({
      details: { a: 1 },
      metadata: { meta: 1 },
    });
  });
});
