import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text as textBlock } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { MAX_TEXT_LENGTH, textTooLong } from "./text-limit.ts";
import { readJson } from "./read-json.ts";

export function createJsonParseTool() {
  return createTool({
    name: "json_parse",
    title: "Parse JSON",
    description: {
      short: "Parses a JSON text strictly and returns the data, or says in which line and column it is wrong.",
      usageNotes: ["Comments, trailing commas and keys that stand twice are errors."],
      examples: [{ input: { text: '{"name": "Ann", "tags": ["a", "b"]}' } }],
    },
    parameters: z.object({ text: z.string().describe("The JSON text") }),
    kind: "readonly",
    category: ToolCategory.DATA,
    tags: ["json", "parse", "decode", "validate"],
    origin: { type: "builtin" },
    run({ text }) {
      if (text.length > MAX_TEXT_LENGTH) throw textTooLong("The JSON text");
      const { data, notes } = readJson(text);
      return {
        content: [
          ...(notes.length > 0 ? [textBlock(`Note: ${notes.join(" ")}`)] : []),
          textBlock(JSON.stringify(data, null, 2)),
        ],
        display: `valid JSON: ${describe(data)}`,
        details: { data },
        ...(notes.length > 0 ? { metadata: { warnings: notes } } : {}),
      };
    },
  });
}

function describe(data: unknown): string {
  if (Array.isArray(data)) return `a list of ${count(data.length, "item")}`;
  if (typeof data === "string") return `a text of ${count(data.length, "character")}`;
  if (typeof data === "object" && data !== null) return `an object with ${count(Object.keys(data).length, "key")}`;
  return String(data);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
