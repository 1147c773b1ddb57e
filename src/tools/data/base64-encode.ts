import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { MAX_TEXT_LENGTH, textTooLong } from "./text-limit.ts";

export function createBase64EncodeTool() {
  return createTool({
    name: "base64_encode",
    title: "Encode base64",
    description: {
      short: "Encodes a text, as UTF-8, in base64.",
      examples: [
        { input: { text: "Hello, 世界" } },
        { input: { text: "a?b>c", encoding: "base64url" }, description: "for an address or a file name" },
      ],
    },
    parameters: z.object({
      text: z.string().describe("The text to encode"),
      encoding: z
        .enum(["base64", "base64url"])
        .optional()
        .describe('"base64url" writes - and _ for + and /, and no padding; "base64" when absent'),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["base64", "encode"],
    origin: { type: "builtin" },
    run({ text, encoding = "base64" }) {
      const bytes = Buffer.from(text, "utf8");
      if (Math.ceil(bytes.length / 3) * 4 > MAX_TEXT_LENGTH) throw textTooLong("The encoded text");
      const encoded = bytes.toString(encoding);
      return {
        content: [textBlock(encoded === "" ? "The text is empty, and so is its base64." : encoded)],
        display: `${bytes.length} bytes as ${encoded.length} characters of ${encoding}`,
        details: { encoded },
      };
    },
  });
}
