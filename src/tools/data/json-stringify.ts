import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import { MAX_TEXT_LENGTH, textTooLong } from "./text-limit.ts";

export function createJsonStringifyTool() {
  return createTool({
    name: "json_stringify",
    title: "Write JSON",
    description: {
      short: "Writes data as JSON text.",
      usageNotes: ["Send objects and lists as they are: a text that holds JSON already becomes a quoted text."],
      examples: [
        { input: { data: { name: "Ann", tags: ["a", "b"] } } },
        { input: { data: [1, 2], pretty: true }, description: "indented, a value a line" },
      ],
    },
    parameters: z.object({
      data: z.unknown().describe("What to write: an object, list, text, number, true, false or null"),
      pretty: z.boolean().optional().describe("Whether to indent it by two blanks; false when absent"),
    }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "stringify", "encode", "format"],
    origin: { type: "builtin" },
    run({ data, pretty = false }) {
      const text = stringify(data, pretty);
      if (text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      return { content: [textBlock(text)], display: `JSON text of ${text.length} characters`, details: { text } };
    },
  });
}

/** Programs may pass what JSON cannot say: a BigInt, a function. */
function stringify(data: unknown, pretty: boolean): string {
  let cause: unknown;
  try {
    const text = JSON.stringify(data, null, pretty ? 2 : 0) as string | undefined;
    if (text !== undefined) return text;
  } catch (thrown) {
    cause = thrown;
  }
  throw toolError("invalid_input", "The data holds something that JSON cannot say, such as a BigInt or a function.", {
    next: "Send plain data: objects, lists, texts, finite numbers, true, false and null.",
    cause,
  });
}
