import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolResult } from "../../core/result.ts";
import { createTool } from "../../core/create-tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { anyToolSchema } from "./any-schema.fixture.ts";
import { PROVIDERS, type Provider, type ExampleAnswer } from "./provider-table.fixture.ts";

const each = PROVIDERS.map((provider) => [provider.name, provider] as const);

function toolWith(parameters: object, name = "save") {
  const ran: unknown[] = [];
  const tool = createTool({
    name,
    description: "Saves something",
    kind: "readonly",
    parameters: parameters as { type: "object" },
    run: (input: unknown) => void ran.push(input),
  });
  return { tool, ran };
}

/** Splits a text at every third character, also inside escapes. */
const inPieces = (text: string): string[] => text.match(/[\s\S]{1,3}/g) ?? [];

describe.each(each)("%s", (_name, provider) => {
  test("writes a definition and reads a call, whole and streamed, that the gate accepts", async () => {
    await fc.assert(
      fc.asyncProperty(anyToolSchema, async ({ schema, value }) => {
        const { tool, ran } = toolWith(schema);
        const haft = createTestHaft({ tools: [tool] });
        const out = provider.define(haft.tools.list());
        const { name, schema: shown } = provider.shown(out.tools[0] as never);
        expect(new Validator(shown ?? {}, "2020-12").validate(value)).toMatchObject({ valid: true });
        const joined = { id: "call_1", name, input: value };
        const [whole] = provider.read([joined], out);
        const [streamed] = provider.stream([joined], inPieces, out);
        expect(whole).toMatchObject({ name: "save", input: JSON.parse(JSON.stringify(value)) });
        expect(streamed).toMatchObject({ name: "save", input: whole!.input });
        const [result] = await haft.executeMany([whole!]);
        expect(result!.status === "failed" ? result!.error.message : "").toBe("");
        expect(ran).toHaveLength(1);
      }),
      { numRuns: 25 },
    );
  });

  test("replaces names that the provider rejects, and restores them", async () => {
    const long = `files.${"deep/".repeat(20)}read`;
    const { tool, ran } = toolWith({ type: "object", properties: { "file path": { type: "string" } } }, long);
    const other = toolWith({ type: "object", properties: {} }, "files_read").tool;
    const clash = toolWith({ type: "object", properties: {} }, "files.read").tool;
    const haft = createTestHaft({ tools: [tool, other, clash] });
    const out = provider.define([tool, other, clash]);
    const names = out.tools.map((each) => provider.shown(each as never).name);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(new Set(names).size).toBe(3);
    expect(names[1]).toBe("files_read");
    expect(out.simplified.map(({ tool: of }) => of)).toContain(long);
    const calls = provider.read(
      [
        { id: "a", name: names[0]!, input: { file_path: "x" } },
        { id: "b", name: names[2]!, input: {} },
      ],
      out,
    );
    expect(calls.map(({ name }) => name)).toEqual([long, "files.read"]);
    await haft.executeMany(calls);
    expect(ran).toEqual([{ "file path": "x" }]);
    // The result uses the name that the provider knows.
    const [answer] = provider.answers(calls.slice(0, 1), []);
    expect(answer!.name ?? names[0]).toBe(names[0]);
  });

  test("writes one result per call, in order, also for calls that failed, are pending or have no result", async () => {
    const haft = createTestHaft();
    haft.register({ name: "ok", description: "Works", kind: "readonly", parameters: [], run: () => "fine" });
    haft.register({ name: "ask", description: "Asks", parameters: [], permission: "confirm", run: () => "never" });
    haft.register({
      name: "bad",
      description: "Fails",
      kind: "readonly",
      parameters: [],
      run: () => Promise.reject(new Error("out of paper")),
    });
    const joined = ["ok", "bad", "ask", "ok", "nobody"].map((name, at) => ({ id: `id${at}`, name, input: {} }));
    const calls = provider.read(joined);
    const results = await haft.executeMany(calls);
    const answers = provider.answers(calls, [results[4]!, results[2]!, results[1]!, results[0]!]);
    expect(answers).toHaveLength(5);
    expect(answers.map(({ id }, at) => (provider.hasIds ? id : `id${at}`))).toEqual([
      "id0",
      "id1",
      "id2",
      "id3",
      "id4",
    ]);
    const texts = answers.map(({ text }) => text);
    expect(texts[0]).toBe("fine");
    expect(texts[1]).toContain("out of paper");
    expect(texts[2]).toBe(textOfResult(results[2]!));
    expect(texts[3]).toContain("no result");
    expect(texts[4]).toContain("not found");
    const isFlagged = ({ isError, text }: ExampleAnswer) =>
      provider.flagsErrors ? isError : text.startsWith("Error:");
    expect(answers.map(isFlagged)).toEqual([false, true, false, true, true]);
  });

  test("rejects a result without a call, a second result, and two calls with one id", async () => {
    const haft = createTestHaft();
    haft.register({ name: "ok", description: "Works", kind: "readonly", parameters: [], run: () => "fine" });
    const calls = provider.read([{ id: "one", name: "ok", input: {} }]);
    const [result] = await haft.executeMany(calls);
    expect(() => provider.answers(calls, [result!, result!])).toThrow("has two results");
    expect(() => provider.answers(calls, [{ ...result!, callId: "other" }])).toThrow('no call "other"');
    expect(() => provider.answers([calls[0]!, calls[0]!], [])).toThrow("same id");
  });

  test("passes images on if the provider accepts them, and describes them otherwise", async () => {
    const haft = createTestHaft();
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
    haft.register({
      name: "look",
      description: "Shows",
      kind: "readonly",
      parameters: [],
      run: () => ({ content: [{ type: "text", text: "Here:" }, image] }),
    });
    const calls = provider.read([{ id: "one", name: "look", input: {} }]);
    const [answer] = provider.answers(calls, await haft.executeMany(calls));
    expect(answer!.text).toContain("Here:");
    expect(answer!.images).toBe(provider.takesImages ? 1 : 0);
    const named = "(image, image/png, 3 bytes: it cannot be shown to you here)";
    expect(answer!.text.includes(named)).toBe(!provider.takesImages);
  });

  test("writes a result without content as text", async () => {
    const haft = createTestHaft();
    haft.register({ name: "mute", description: "Says nothing", kind: "readonly", parameters: [], run: () => "" });
    const calls = provider.read([{ id: "one", name: "mute", input: {} }]);
    expect(provider.answers(calls, await haft.executeMany(calls))[0]!.text).not.toBe("");
  });

  test.skipIf(provider.hasIds)(
    "generates an id for each call without one, which stays the same during the stream",
    () => {
      const joined = [1, 2].map((n) => ({ id: "", name: "save", input: { n } }));
      const [first, second] = provider.read(joined);
      expect(first!.id).not.toBe(second!.id);
      expect(provider.read(joined)[0]!.id).not.toBe(first!.id);
    },
  );

  test.skipIf(!provider.isStrict)("writes closed strict schemas, and open ones if the schema cannot be closed", () => {
    const { tool } = toolWith({
      type: "object",
      properties: {
        path: { type: "string", minLength: 1 },
        deep: { type: "object", properties: { n: { type: "integer" } } },
      },
      required: ["path"],
    });
    const strict = provider.define([tool], { strict: true });
    expect(JSON.stringify(strict.tools)).toContain('"strict":true');
    const { schema } = provider.shown(strict.tools[0] as never);
    expect(openObjects(schema)).toEqual([]);
    expect(strict.simplified).toContainEqual({
      tool: "save",
      path: "#/properties/path",
      what: '"minLength: 1" is shown in words',
    });
    const open = toolWith({
      type: "object",
      properties: { env: { type: "object", additionalProperties: { type: "string" } } },
    });
    const loose = provider.define([open.tool], { strict: true });
    expect(JSON.stringify(loose.tools)).not.toContain('"strict":true');
    expect(loose.simplified).toContainEqual(
      expect.objectContaining({ what: "strict is off, because /properties/env accepts any property" }),
    );
  });

  test("sends the complete schema on request", () => {
    const schema = { type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }], properties: { a: {}, b: {} } };
    const out = provider.define([toolWith(schema).tool], { rich: true });
    expect(JSON.stringify(out.tools)).toContain('"oneOf"');
    expect(out.simplified).toEqual([]);
  });
});

function textOfResult({ content }: ToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** Paths of objects that accept any property. */
function openObjects(schema: unknown, path = "#"): string[] {
  if (!isObject(schema)) return [];
  const isOpen = schema["type"] === "object" && schema["additionalProperties"] !== false;
  const below = Object.entries(schema).flatMap(([key, value]) => openObjects(value, `${path}/${key}`));
  return isOpen ? [path, ...below] : below;
}

test("null means an omitted property if every property is required", async () => {
  const { tool, ran } = toolWith({
    type: "object",
    properties: { path: { type: "string" }, limit: { type: "integer" }, mode: { enum: ["a", "b"] } },
    required: ["path"],
  });
  const haft = createTestHaft({ tools: [tool] });
  const provider = PROVIDERS.find(({ name }) => name === "OpenAI chat") as Provider;
  const { schema } = provider.shown(provider.define([tool], { strict: true }).tools[0] as never);
  expect(schema).toMatchObject({
    required: ["path", "limit", "mode"],
    properties: { limit: { type: ["integer", "null"] }, mode: { enum: ["a", "b", null] } },
  });
  const input = { path: "x", limit: null, mode: null };
  expect(await haft.execute("save", input)).toMatchObject({ status: "completed" });
  expect(ran).toEqual([{ path: "x" }]);
});
