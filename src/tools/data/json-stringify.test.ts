import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createJsonStringifyTool } from "./json-tools.ts";

const stringify = (input: unknown) =>
  createHaft({ tools: [createJsonStringifyTool()] }).execute("json_stringify", input);

describe("json_stringify", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createJsonStringifyTool(), {
      inputs: [{ data: null }, { data: "text" }, { data: 0 }, { data: { deep: { any_name: [1] } } }],
      badInputs: [{}, { pretty: true }, { data: 1, pretty: "very" }],
    });
  });

  test("writes data on one line, for content, display and details", async () => {
    const result = await stringify({ data: { a: [1, null, "ü\n"] } });
    expect(result.details).toEqual({ text: '{"a":[1,null,"ü\\n"]}' });
    expect(textOf(result.content)).toBe('{"a":[1,null,"ü\\n"]}');
    expect(result.display).toBe("JSON text of 20 characters");
  });

  test("indents by two spaces with pretty", async () => {
    expect((await stringify({ data: { a: [1] }, pretty: true })).details).toEqual({
      text: '{\n  "a": [\n    1\n  ]\n}',
    });
    expect((await stringify({ data: { a: [1] }, pretty: false })).details).toEqual({ text: '{"a":[1]}' });
  });

  test.each([null, false, 0, "", [], {}])("writes %j", async (data) => {
    expect((await stringify({ data })).details).toEqual({ text: JSON.stringify(data) });
  });

  test("a text stays a text", async () => {
    expect((await stringify({ data: '{"a":1}' })).details).toEqual({ text: '"{\\"a\\":1}"' });
  });

  test.each([
    ["a BigInt", { n: 1n }],
    ["a function", () => 1],
    ["nothing", undefined],
  ])("refuses %s from a program", async (_what, data) => {
    expect(await stringify({ data })).toMatchObject({ success: false, error: { code: "invalid_input" } });
  });

  test("refuses a result that is too long", async () => {
    const result = await stringify({ data: "x".repeat(3_999_999) });
    expect(result).toMatchObject({ success: false, error: { code: "input_too_large" } });
    expect(await stringify({ data: "x".repeat(3_999_998) })).toMatchObject({ success: true });
  });
});
