import { runInThisContext } from "node:vm";
import { dynamicTool, jsonSchema, tool as aiTool } from "ai";
import { tool as langChainTool } from "@langchain/core/tools";
import { tool as agentsTool } from "@openai/agents-core";
import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createHaft } from "../../runtime.ts";
import type { ToolResult } from "../result.ts";
import { createTool } from "../create-tool.ts";
import { adopt, type AdoptOptions, type ForeignTool } from "./adopt.ts";

const recipient = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;

async function call(tool: object, input: unknown, options: AdoptOptions = {}): Promise<ToolResult> {
  const haft = createHaft({ defaultPermission: "auto" });
  const { name } = haft.register(adopt(tool as ForeignTool, options));
  return haft.execute(name, input, { id: "call-1" });
}

describe("an AgentTool gets its own arguments", () => {
  const base = { name: "send", description: "Sends", parameters: recipient };

  test.each([
    [
      "all of its parameters",
      async (id: string, params: { to: string }, signal: AbortSignal, _onUpdate: unknown) =>
        `${id} ${params.to} ${signal.aborted}`,
    ],
    ["its usual names", async (toolCallId: string, params: { to: string }) => `${toolCallId} ${params.to} false`],
    ["an id that it does not use", (_id: string, params: { to: string }) => `call-1 ${params.to} false`],
  ])("with %s", async (_case, execute) => {
    expect(await call({ ...base, label: "Send", execute }, { to: "ann" })).toMatchObject({
      details: "call-1 ann false",
    });
  });

  test("and its updates, content and details arrive", async () => {
    const haft = createHaft({ defaultPermission: "auto" });
    haft.register({
      ...base,
      parameters: Type.Object({ to: Type.String() }),
      execute(_toolCallId: string, params: { to: string }, _signal: AbortSignal, onUpdate: (update: object) => void) {
        onUpdate({ content: [{ type: "text", text: "half" }] });
        onUpdate({ content: "most" });
        return { content: [{ type: "text", text: `sent to ${params.to}` }], details: { n: 1 } };
      },
    } as ForeignTool);
    const updates: unknown[] = [];
    const result = await haft.execute("send", { to: "ann" }, { onUpdate: (update) => void updates.push(update) });
    expect(result).toMatchObject({ content: [{ text: "sent to ann" }], details: { n: 1 } });
    expect(updates).toMatchObject([{ content: [{ text: "half" }] }, { content: [{ text: "most" }] }]);
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
    ["three names that say nothing", (order: unknown, _context: unknown, _signal: unknown) => order],
    ["a default", async (e: unknown, t = {}, _r: unknown, _n: unknown) => [e, t]],
    ["a default behind a name", async (ref: unknown, params = {}) => [ref, params]],
    ["a wrapper", runInThisContext("(function () { return (0, String).apply(this, arguments); })") as () => unknown],
    [
      "a bound function with a default",
      ((toolCallId: string, params = {}) => [toolCallId, params]).bind(undefined, "x"),
    ],
    ["rest parameters", (...all: unknown[]) => all],
    ["a bound function", ((a: unknown, b: unknown) => [a, b]).bind(undefined)],
  ])("is refused if it may also be an AgentTool: %s", (_case, execute) => {
    const tool = { name: "send", description: "d", parameters: recipient, execute };
    expect(() => adopt(tool as ForeignTool)).toThrow(
      /"send" fits several conventions.*adopt\(tool, \{ as: "haft" \}\).*adopt\(tool, \{ as: "agent-tool" \}\).*run\(input, context\)/s,
    );
    expect(adopt(tool as ForeignTool, { as: "agent-tool" }).name).toBe("send");
  });

  test("and the keys of an AI SDK tool gets a context that has the names of both", async () => {
    const tool = {
      name: "send",
      description: "d",
      inputSchema: z.object({}),
      execute: (_input: object, context: object) => {
        const { toolCallId, abortSignal, experimental_context } = context as Record<string, unknown>;
        const { callId, signal, host } = context as Record<string, unknown>;
        return { toolCallId, callId, isSame: abortSignal === signal && experimental_context === host };
      },
    };
    expect(await call(tool, {})).toMatchObject({ details: { toolCallId: "call-1", callId: "call-1", isSame: true } });
    expect(() => adopt(tool, { as: "nothing" })).toThrow(/no system "nothing"/);
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

describe("how a parameter list is read", () => {
  const base = { name: "send", description: "d", parameters: recipient };

  test.each([
    ["a line comment", "async (// the id\n toolCallId, params = {}) => toolCallId", "call-1"],
    [
      "a comment with a bracket",
      "async function /* (input) */ (toolCallId, params = {}) { return toolCallId }",
      "call-1",
    ],
    ["a pattern with a default", "async ({ to } = {}, context) => to", "ann"],
    ["a method", "({ execute(input, context) { return input } }).execute", '{"to":"ann"}'],
    ["a generator", "(async function* (params) { return params })", '{"to":"ann"}'],
  ])("%s", async (_case, source, expected) => {
    const execute = runInThisContext(`(${source})`) as () => unknown;
    expect(await call({ ...base, execute }, { to: "ann" })).toMatchObject({ content: [{ text: expected }] });
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
  ])("%s", async (system, make) => {
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
    // Its SDK hides whether a tool says false or nothing.
    const isKnown = system !== "OpenAI Agents";
    expect(await free.execute("pay", { amount: 200 })).toMatchObject({ status: isKnown ? "completed" : "pending" });
    expect(ran).toHaveBeenCalledTimes(isKnown ? 2 : 1);
    const silent = createHaft({ tools: [make(ran, undefined)] });
    expect(await silent.execute("pay", { amount: 50 })).toMatchObject({ status: "pending" });
    const wayOut = { defaultPermission: "auto" } as const;
    expect(await createHaft({ ...wayOut, tools: [make(ran, undefined)] }).execute("pay", { amount: 50 })).toMatchObject(
      {
        status: "completed",
      },
    );
    expect(await createHaft({ ...wayOut, tools: [make(ran, true)] }).execute("pay", { amount: 50 })).toMatchObject({
      status: "pending",
    });
  });

  test.each([
    ["two settings that disagree", { needsApproval: false, requireApproval: true, run: () => "ran" }],
    [
      "a method of a class",
      new (class {
        needsApproval() {
          return true;
        }
        async execute(_toolCallId: string, _params: object) {
          return "ran";
        }
      })(),
    ],
    [
      "an inherited permission",
      Object.create({ permission: () => "confirm", execute: async (_input: object) => "ran" }) as object,
    ],
    [
      "a setting of a class with getParameters",
      new (class {
        requireApproval = true;
        getParameters = () => [];
        execute = async (_params: object) => "ran";
      })(),
    ],
  ])("%s: the strictest counts", async (_case, tool) => {
    const whole = Object.assign(tool, { name: "pay", description: "d", parameters: [] });
    expect(await call(whole, {})).toMatchObject({ status: "pending" });
  });

  test("a misspelt setting of a class is refused, its own fields are not", () => {
    const make = (fields: object) =>
      Object.assign(
        new (class {
          getParameters = () => [];
          execute = async (_params: object) => "ran";
        })(),
        { name: "pay", description: "d", ...fields },
      );
    expect(() => adopt(make({ permision: "confirm" }))).toThrow(/"permision".*"permission"/);
    expect(adopt(make({ client: {}, config: {} })).name).toBe("pay");
  });

  test("a tool of the ADK that asks by itself is not given a yes", async () => {
    const make = (more: object) => ({
      name: "pay",
      description: "d",
      _getDeclaration: () => ({ parameters: { type: "OBJECT", properties: {} } }),
      runAsync: async ({
        toolContext,
      }: {
        toolContext: { toolConfirmation?: object; requestConfirmation(): void };
      }) => {
        if (!toolContext.toolConfirmation) toolContext.requestConfirmation();
        return "ran";
      },
      ...more,
    });
    expect(await call(make({}), {})).toMatchObject({ status: "failed", error: { message: /requireConfirmation/ } });
    const haft = createHaft({ tools: [make({ requireConfirmation: true })] });
    const asked = await haft.execute("pay", {});
    if (asked.status !== "pending") throw new Error(JSON.stringify(asked));
    expect(await haft.approvals.approve(asked.pending.id)).toMatchObject({ status: "completed", details: "ran" });
    expect(await call(make({ runAsync: async () => ({ error: "no" }) }), {})).toMatchObject({ status: "failed" });
  });

  test("a decision of the AI SDK that depends on a context asks, unless the context is given", async () => {
    const needsApproval = (_input: object, options: object) =>
      (options as { experimental_context?: { role?: string } }).experimental_context?.role === "guest";
    const tool = { inputSchema: z.object({}), needsApproval, execute: async () => "ran" };
    expect(await call(tool, {}, { name: "pay" })).toMatchObject({ status: "pending" });
    expect(await call(tool, {}, { name: "pay", context: { role: "guest" } })).toMatchObject({ status: "pending" });
    expect(await call(tool, {}, { name: "pay", context: { role: "owner" } })).toMatchObject({ status: "completed" });
  });

  test("the validator of an AI SDK schema is kept", async () => {
    const inputSchema = jsonSchema<{ n: number }>(
      { type: "object", properties: { n: { type: "number" } } },
      {
        validate: (value) =>
          (value as { n: number }).n < 10
            ? { success: true, value: value as { n: number } }
            : { success: false, error: new Error("n is too large") },
      },
    );
    const tool = aiTool({ inputSchema, execute: async ({ n }) => n });
    expect(await call(tool, { n: 5 }, { name: "t" })).toMatchObject({ details: 5 });
    expect(await call(tool, { n: 100 }, { name: "t" })).toMatchObject({ error: { code: "invalid_input" } });
  });

  test("a decision that depends on the conversation asks a person", async () => {
    const tool = aiTool({
      inputSchema: z.object({}),
      needsApproval: (_input, { messages }) => messages.length > 3,
      execute: async () => "ran",
    });
    expect(await call(tool, {}, { name: "pay" })).toMatchObject({ status: "pending" });
  });

  test("an approval function gets the input and the context, by the names of the AI SDK too", async () => {
    const seen: unknown[] = [];
    const decide = (input: { amount: number }, context: Record<string, unknown>): boolean => {
      seen.push([context["host"], context["experimental_context"], context["callId"], context["toolCallId"]]);
      return input.amount > 10 && (context["host"] as { role: string }).role !== "owner";
    };
    const base = { description: "d", inputSchema: z.object({ amount: z.number() }), execute: () => "ran" };
    const tools = [
      createTool({ ...base, name: "created", needsApproval: decide as never }),
      adopt({ ...base, name: "adopted", needsApproval: decide } as unknown as ForeignTool),
      adopt({ ...base, name: "required", requireApproval: decide } as unknown as ForeignTool),
      adopt({ ...base, name: "told" } as unknown as ForeignTool, { needsApproval: decide as never }),
    ];
    const haft = createHaft({ tools });
    haft.register({ ...base, name: "registered", needsApproval: decide as never });
    for (const { name } of haft.tools.list()) {
      const play = async (amount: number, role: string) =>
        (await haft.execute(name, { amount }, { id: "c1", context: { role } })).status;
      expect([name, await play(50, "guest"), await play(50, "owner"), await play(5, "guest")]).toEqual([
        ...[name, "pending", "completed", "completed"],
      ]);
    }
    expect(seen[0]).toEqual([{ role: "guest" }, { role: "guest" }, "c1", "c1"]);
  });

  test("an approval function with the parameters of OpenAI Agents is refused", () => {
    const tool = {
      name: "x",
      description: "d",
      parameters: [],
      needsApproval: (_run: unknown, _input: unknown) => true,
      run: () => 1,
    };
    expect(() => adopt(tool as unknown as ForeignTool)).toThrow("called as needsApproval(input, context)");
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

describe("a foreign tool that does not say what it does", () => {
  const schema = z.object({});
  const silent: [string, object][] = [
    ["AgentTool", { name: "x", description: "d", parameters: [], execute: async (_toolCallId: string) => "ran" }],
    ["a plain object", { name: "x", description: "d", parameters: [], run: () => "ran" }],
    [
      "a class with getParameters",
      new (class {
        name = "x";
        description = "d";
        getParameters = () => [];
        execute = async (_params: object) => "ran";
      })(),
    ],
    ["AI SDK", aiTool({ inputSchema: schema, execute: async () => "ran" })],
    ["LangChain", langChainTool(async () => "ran", { name: "x", description: "d", schema })],
    ["OpenAI Agents", agentsTool({ name: "x", description: "d", parameters: schema, execute: async () => "ran" })],
    [
      "Mastra",
      {
        [Symbol("mastra.core.tool.Tool")]: true,
        id: "x",
        description: "d",
        inputSchema: schema,
        requireApproval: false,
        execute: async () => "ran",
      },
    ],
    ["TanStack AI", { __toolSide: "server", name: "x", description: "d", inputSchema: schema, execute: () => "ran" }],
    ["Genkit", Object.assign(async () => "ran", { __action: { name: "x", description: "d", inputSchema: schema } })],
    ["LlamaIndex", { metadata: { name: "x", description: "d", parameters: schema }, call: () => "ran" }],
    [
      "Google ADK",
      {
        name: "x",
        description: "d",
        requireConfirmation: false,
        _getDeclaration: () => ({ parameters: { type: "OBJECT", properties: {} } }),
        runAsync: async () => "ran",
      },
    ],
    [
      "Claude Agent SDK",
      {
        name: "x",
        description: "d",
        inputSchema: {},
        handler: async () => ({ content: [{ type: "text", text: "ran" }] }),
      },
    ],
  ];

  test("a tool of Mastra that says it is destructive asks, also if its own function does not", async () => {
    const tool = {
      [Symbol("mastra.core.tool.Tool")]: true,
      id: "x",
      description: "d",
      inputSchema: schema,
      requireApproval: true,
      needsApprovalFn: () => false,
      mcp: { annotations: { destructiveHint: true } },
      execute: async () => "ran",
    };
    const haft = createHaft({ tools: [adopt(tool)] });
    expect(await haft.execute("x", {})).toMatchObject({ status: "pending" });
  });

  test.each(silent)("asks, unless `adopt` is told what it does: %s", async (_system, tool) => {
    const run = (options: AdoptOptions): Promise<ToolResult> =>
      createHaft({ tools: [adopt(tool as ForeignTool, { name: "x", ...options })] }).execute("x", {});
    expect(await run({})).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(await run({ kind: "write" })).toMatchObject({ status: "pending" });
    expect(await run({ kind: "readonly" })).toMatchObject({ status: "completed" });
    expect(await run({ needsApproval: false })).toMatchObject({ status: "completed" });
    expect(await run({ kind: "readonly", needsApproval: true })).toMatchObject({ status: "pending" });
  });

  test("keeps a yes that `adopt` would lift", async () => {
    const tool = { inputSchema: schema, execute: async () => "ran" };
    expect(() => adopt({ ...tool, needsApproval: true }, { name: "x", needsApproval: false })).toThrow(/cannot lift/);
    const decides = adopt({ ...tool, needsApproval: () => true }, { name: "x", needsApproval: false });
    expect(await createHaft({ tools: [decides] }).execute("x", {})).toMatchObject({ status: "pending" });
    expect(() =>
      adopt({ name: "x", description: "d", parameters: [], permission: "auto", needsApproval: true, run: () => 1 }),
    ).toThrow(/says twice whether it needs approval/);
  });
});

test("a tool of another system gets the labels that `adopt` is given, besides those of one call", () => {
  const mails = aiTool({ description: "Reads mails", inputSchema: z.object({}), execute: () => "" });
  const labels = ["untrusted_input"] as const;
  expect(adopt(mails, { name: "mails", labels }).labels).toEqual(labels);
  const own = adopt(
    {
      name: "own",
      description: "Own",
      inputSchema: z.object({}),
      labels: ["sensitive_data"],
      labelsOf: () => [],
      run: () => "",
    },
    { labels },
  );
  expect(own.labels).toEqual(["sensitive_data", "untrusted_input"]);
  expect(own.labelsOf?.({})).toEqual(labels);
  expect(() => adopt(mails, { name: "mails", labels: ["untrusted" as never] })).toThrow(
    /A label of tool "mails" is "untrusted". Did you mean "untrusted_input"|Known: untrusted_input/,
  );
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
    ["a tool without code", { name: "x", description: "d", parameters: [] }, /`execute\(input, context\)`/],
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
    const counting = aiTool({ inputSchema: z.object({ to: z.number() }), needsApproval: false, execute: count });
    const haft = createHaft({ tools: [adopt(counting, { name: "count" })] });
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
    const disabled = { ...make({}), isEnabled: false };
    expect(await call(disabled, { to: "a" })).toMatchObject({ error: { code: "unavailable" } });
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
    expect(await returns({ content, is_error: true })).toMatchObject({ status: "failed" });
    expect(await returns(new Error("boom"))).toMatchObject({ status: "failed", error: { message: "boom" } });
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
