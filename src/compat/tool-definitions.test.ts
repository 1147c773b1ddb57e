import { expect, test } from "vitest";
import { createTestHaft } from "../testing/test-haft.ts";
import { toToolDefinitions } from "./tool-definitions.ts";
import type { AgentTool } from "./tools.ts";

function define(run: (input: unknown, context: { signal: AbortSignal }) => unknown, policy = {}) {
  const haft = createTestHaft({ policy });
  const tool = haft.register({
    name: "read",
    title: "Read a file",
    description: "Reads",
    kind: "readonly",
    parameters: [],
    run,
  });
  return { haft, definition: toToolDefinitions([tool])[0]! };
}

test("a definition has what a model needs, and its execute returns content and details", async () => {
  const { definition } = define(() => ({ content: "text", details: { lines: 1 } }));
  expect(definition).toMatchObject({
    name: "read",
    label: "Read a file",
    description: "Reads",
    parameters: { type: "object" },
  });
  expect(await definition.execute("c1", {})).toEqual({
    content: [{ type: "text", text: "text" }],
    details: { lines: 1 },
  });
});

test("a failure is returned as data, also a policy denial", async () => {
  const { definition } = define(() => Promise.reject(new Error("no such file")));
  expect((await definition.execute("c1", {})).details).toEqual({
    status: "error",
    tool: "read",
    error: "no such file",
  });
  const denied = define(() => "never", { deny: ["read"] }).definition;
  expect((await denied.execute("c1", {})).details).toMatchObject({
    status: "error",
    error: expect.stringContaining("Permission denied"),
  });
});

test("only an abort is thrown", async () => {
  const { definition, haft } = define(() => "never");
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(definition.execute("c1", {}, undefined, undefined, signal)).rejects.toMatchObject({ code: "cancelled" });
  expect((await haft.calls.log.recent())[0]).toMatchObject({ callId: "c1", errorCode: "cancelled" });
});

test("an abort while it runs is thrown too", async () => {
  const stop = new AbortController();
  const { definition } = define((_input, { signal }) => {
    stop.abort(new Error("enough"));
    return Promise.reject(signal.reason);
  });
  const running = definition.execute("c1", {}, undefined, undefined, stop.signal);
  await expect(running).rejects.toMatchObject({ toolName: "read", cause: { message: "enough" } });
});

test("a raw AgentTool is defined as it is, also if its code is minified or bound", async () => {
  const tool: AgentTool<{ n: number }, number> = {
    name: "double",
    description: "Doubles",
    parameters: { type: "object", properties: { n: { type: "number" } } },
    execute: async (a, b, _c, d) => {
      d?.({ content: `for ${a}` });
      return { content: [], details: b.n * 2 };
    },
  };
  const updates: unknown[] = [];
  for (const execute of [tool.execute, tool.execute.bind(tool)]) {
    const [definition] = toToolDefinitions([{ ...tool, execute }]);
    expect(definition).toMatchObject({ name: "double", label: "double", description: "Doubles" });
    const done = await definition!.execute("c1", { n: 2 }, (update) => void updates.push(update));
    expect(done.details).toBe(4);
  }
  expect(JSON.stringify(updates)).toContain("for c1");
});

test("updates are passed on", async () => {
  const haft = createTestHaft();
  const tool = haft.register({
    name: "slow",
    description: "Tells how far it is",
    kind: "readonly",
    parameters: [],
    run: (_input, context) => context.update("half way"),
  });
  const updates: unknown[] = [];
  await toToolDefinitions([tool])[0]!.execute("c1", {}, (update) => updates.push(update));
  expect(JSON.stringify(updates)).toContain("half way");
});
