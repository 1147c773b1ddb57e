import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createBase64DecodeTool } from "./base64-tools.ts";

const haft = createHaft({ tools: [createBase64DecodeTool()] });
const decode = (encoded: string, encoding?: string) =>
  haft.execute("base64_decode", { encoded, ...(encoding ? { encoding } : {}) });

describe("base64_decode", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createBase64DecodeTool(), {
      inputs: [{ encoded: "" }],
      badInputs: [{}, { encoded: 1 }, { encoded: "Zg==", encoding: "hex" }, { encoded: "!" }],
    });
  });

  test("decodes any text, in either alphabet, with or without padding", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), async (text) => {
        const encoded = Buffer.from(text).toString("base64");
        for (const form of [encoded, encoded.replaceAll("=", ""), Buffer.from(text).toString("base64url")]) {
          expect((await decode(form)).details).toEqual({ decoded: text });
        }
      }),
    );
  });

  test("shows the text to the model and its size to a person", async () => {
    const result = await decode("SGVsbG8sIOS4lueVjA==");
    expect(textOf(result.content)).toBe("Hello, 世界");
    expect(result.display).toBe("13 bytes of text");
    expect(textOf((await decode("")).content)).toBe("The decoded text is empty.");
  });

  test("ignores line breaks and keeps a byte order mark", async () => {
    expect((await decode(" Zm9v\r\nYmFy\n")).details).toEqual({ decoded: "foobar" });
    expect((await decode("77u/QQ==")).details).toEqual({ decoded: "\uFEFFA" });
  });

  test.each([
    ["Zm9v!mFy", undefined, 'Character 5, "!", does not belong to base64'],
    ["👍", undefined, 'Character 1, "👍"'],
    ["8J-RjT8+", undefined, 'Character 8, "+", does not belong to base64url'],
    ["8J-RjT8-", "base64", 'Character 3, "-", does not belong to base64.'],
    ["8J+RjT8+", "base64url", 'Character 3, "+"'],
    ["data:text/plain;base64,Zg==", undefined, "send only the part after the comma"],
    ["Zm9vY", undefined, "one character too many or too few"],
    ["Zg==Zg==", undefined, "Something follows the padding"],
    ["Zg=", undefined, "does not fit its length"],
    ["Zm8==", undefined, "does not fit its length"],
    ["Zm9v=", undefined, "does not fit its length"],
    ["=", undefined, "does not fit its length"],
    ["Zh==", undefined, "cut off or changed"],
    ["Zm9", undefined, "cut off or changed"],
  ])("refuses %j (%s): %s", async (encoded, encoding, says) => {
    const result = await decode(encoded, encoding);
    expect(result).toMatchObject({ success: false, error: { code: "invalid_input" } });
    expect(textOf(result.content)).toContain(says);
  });

  test("names the type of binary data instead of showing it as text", async () => {
    const image = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(100, 0xff)]);
    const result = await decode(image.toString("base64"));
    expect(result).toMatchObject({
      success: false,
      error: { code: "bad_encoding", data: { bytes: 108, mediaType: "image/png" } },
    });
    expect(textOf(result.content)).toContain(
      "108 bytes that are not UTF-8 text, but image/png. In hex: 89 50 4e 47 0d 0a",
    );
    expect(textOf(result.content)).not.toContain("\uFFFD");
  });

  test("shows a few bytes completely, and only the first of many", async () => {
    expect(textOf((await decode("/w==")).content)).toContain("In hex: ff. To use them");
    const { error } = (await decode(Buffer.alloc(1000, 0x80).toString("base64"))) as { error: { message: string } };
    expect(error.message).toContain(`${"80 ".repeat(32)}…`);
  });

  test("refuses a result that is too long", async () => {
    const max = 4_000_000;
    expect(await decode(Buffer.alloc(max, "x").toString("base64"))).toMatchObject({ success: true });
    const result = await decode(Buffer.alloc(max + 1, "x").toString("base64"));
    expect(result).toMatchObject({ success: false, error: { code: "input_too_large" } });
  });
});
