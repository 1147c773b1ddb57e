import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createJsonParseTool } from "./json-tools.ts";

const parse = (text: string) => createHaft({ tools: [createJsonParseTool()] }).execute("json_parse", { text });

describe("json_parse", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createJsonParseTool(), {
      inputs: [{ text: "null" }, { text: '"text"' }, { text: " [1, 2.5e3, true] " }],
      badInputs: [{}, { text: 1 }, { text: "" }, { text: "{a: 1}" }],
    });
  });

  test("returns data for programs, indented JSON for the model and a summary for a person", async () => {
    const result = await parse('{"a":[1,{"b":null}],"c":"ü"}');
    expect(result.details).toEqual({ data: { a: [1, { b: null }], c: "ü" } });
    expect(JSON.parse(textOf(result.content))).toEqual({ a: [1, { b: null }], c: "ü" });
    expect(textOf(result.content)).toContain("\n");
    expect(result.display).toBe("valid JSON: an object with 2 keys");
    expect(result.metadata).toEqual({});
  });

  test.each([
    ["[1]", "a list of 1 item"],
    ['""', "a text of 0 characters"],
    ["false", "false"],
    ["null", "null"],
  ])("%s is shown as %s", async (text, shown) => {
    expect((await parse(text)).display).toBe(`valid JSON: ${shown}`);
  });

  test("reports the position of an error and the next step", async () => {
    const result = await parse('{\n  "a": 1,\n}');
    expect(result).toMatchObject({ success: false, error: { code: "invalid_input", data: { line: 3, column: 1 } } });
    expect(textOf(result.content)).toMatch(/Line 3, column 1: .*send it again/);
  });

  test("notes a number that lost digits, for the model and for programs", async () => {
    const result = await parse('{"id": 12345678901234567891}');
    expect(textOf(result.content)).toMatch(/^Note: 12345678901234567891 has too many digits/);
    expect(result.metadata.warnings).toHaveLength(1);
  });

  test("returns the largest accepted text completely", async () => {
    const deep = await parse("[".repeat(60) + "]".repeat(60));
    expect(deep).toMatchObject({ success: true });
    expect(JSON.stringify(deep.details)).toBe(`{"data":${"[".repeat(60)}${"]".repeat(60)}}`);
    const wide = await parse(`[${"{},".repeat(89_998)}{}]`);
    expect(wide).toMatchObject({ success: true });
    expect((wide.details as { data: unknown[] }).data).toHaveLength(89_999);
    const long = await parse(JSON.stringify("x".repeat(3_999_998)));
    expect(long).toMatchObject({ success: true });
    expect((long.details as { data: string }).data).toHaveLength(3_999_998);
  });

  test("refuses a longer text", async () => {
    const result = await parse(JSON.stringify("x".repeat(3_999_999)));
    expect(result).toMatchObject({ success: false, error: { code: "input_too_large" } });
  });
});
