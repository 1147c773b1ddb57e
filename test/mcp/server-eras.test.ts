import { createTool } from "haft";
import { createTestHaft } from "haft/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connectDirectly, connectV1, connectV2, serveOverHttp } from "./serve-haft.ts";

function createHaft() {
  const add = createTool({
    name: "add",
    description: "Adds two numbers",
    kind: "readonly",
    parameters: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
    run: ({ a, b }) => ({ content: `${a} + ${b} = ${a + b}`, details: { sum: a + b } }),
  });
  return createTestHaft({ tools: [add] });
}

interface Peer {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

describe.each([
  ["the SDK of 2026, modern, over HTTP", async () => connectV2((await serveOverHttp(createHaft())).url)],
  [
    "the SDK of 2026, legacy, over HTTP",
    async () => connectV2((await serveOverHttp(createHaft())).url, { era: "legacy" }),
  ],
  ["the SDK of 2025, over HTTP", async () => connectV1((await serveOverHttp(createHaft())).url)],
  ["the SDK of 2026, modern, directly", () => connectDirectly(createHaft())],
  ["the SDK of 2026, legacy, directly", () => connectDirectly(createHaft(), { era: "legacy" })],
] as [string, () => Promise<Peer>][])("a client with %s", (_name, connect) => {
  test("lists the tools and calls one, with text and structured content", async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["add"]);
    expect(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })).toMatchObject({
      content: [{ type: "text", text: "2 + 3 = 5" }],
      structuredContent: { sum: 5 },
    });
  });

  test("gets the reason why its call is invalid", async () => {
    const client = await connect();
    const wrong = await client.callTool({ name: "add", arguments: { a: "two", b: 3 } });
    expect(wrong).toMatchObject({ isError: true, _meta: { "haft/error": { code: "invalid_input" } } });
    const unknown = await client.callTool({ name: "ad", arguments: {} });
    expect(unknown).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('"add"') }] });
  });
});
