import { expect, test } from "vitest";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createClientTools, toToolDefinitions } from "./tool-definitions.ts";

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

test("a client tool waits for its client", async () => {
  const haft = createTestHaft({
    tools: createClientTools(
      [{ function: { name: "pick" }, kind: "readonly" }, { function: { name: "send" } }],
      "browser",
    ),
  });
  expect(haft.tools.registry.get("pick")!.origin).toEqual({ type: "client", client: "browser" });
  expect(await haft.execute("pick", {}, { id: "c1" })).toMatchObject({
    status: "pending",
    pending: { kind: "client", id: "c1" },
  });
  expect(await haft.execute("send", {}, { id: "c2" })).toMatchObject({ pending: { kind: "approval" } });
});
