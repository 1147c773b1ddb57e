import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createBase64EncodeTool } from "./base64-tools.ts";

const encode = (input: unknown) => createHaft({ tools: [createBase64EncodeTool()] }).execute("base64_encode", input);

describe("base64_encode", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createBase64EncodeTool(), {
      inputs: [{ text: "" }],
      badInputs: [{}, { text: 1 }, { text: "x", encoding: "hex" }],
    });
  });

  test.each([
    ["", ""],
    ["f", "Zg=="],
    ["fo", "Zm8="],
    ["foobar", "Zm9vYmFy"],
    ["Hello, 世界", "SGVsbG8sIOS4lueVjA=="],
    ["👍\r\n", "8J+RjQ0K"],
  ])("%j is %s", async (text, encoded) => {
    expect((await encode({ text })).details).toEqual({ encoded });
  });

  test("writes base64url without padding", async () => {
    const result = await encode({ text: "👍?>", encoding: "base64url" });
    expect(result.details).toEqual({ encoded: "8J-RjT8-" });
    expect((await encode({ text: "f", encoding: "base64url" })).details).toEqual({ encoded: "Zg" });
  });

  test("shows the encoded text to the model and its size to a person", async () => {
    const result = await encode({ text: "世界" });
    expect(textOf(result.content)).toBe("5LiW55WM");
    expect(result.display).toBe("6 bytes as 8 characters of base64");
  });

  test("refuses a result that is too long", async () => {
    expect(await encode({ text: "x".repeat(3_000_000) })).toMatchObject({ success: true });
    const result = await encode({ text: "x".repeat(3_000_001) });
    expect(result).toMatchObject({ success: false, error: { code: "input_too_large" } });
  });
});
