import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { ToolPromptGenerator } from "../../compat/tool-definitions.ts";
import { writeToolInstructions } from "./tool-instructions.ts";
import { TEXT_FORMATS } from "../../core/text-formats.ts";
import { parseToolCalls } from "./tool-call-parser.ts";

const search = createTool({
  name: "web_search",
  description: "Search the web",
  parameters: [
    { name: "query", type: "string", description: "What to look for.\nUse keywords." },
    { name: "freshness", type: "string", description: "How old", required: false, default: "noLimit" },
    { name: "count", type: "integer", description: "How many (1-50)", required: false, default: 10 },
  ],
  needsApproval: false,
  run: () => "found",
});
const colours = {
  name: "paint",
  description: "Paints",
  parameters: {
    type: "object",
    properties: { colour: { enum: ["red", "blue"] }, size: { type: ["number", "null"], minimum: 2 }, raw: {} },
    required: ["colour"],
  },
};

describe("the instruction", () => {
  test("lists each tool in the layout that models know, with one example", () => {
    expect(writeToolInstructions([search])).toContain(
      [
        "### web_search",
        "Description: Search the web",
        "Parameters:",
        "  - query: string (required) - What to look for.",
        "    Use keywords.",
        "  - freshness: string (optional) - How old",
        "    Default: noLimit",
        "  - count: integer (optional) - How many (1-50)",
        "    Default: 10",
        "Example:",
        "<tool_call>",
        "  <name>web_search</name>",
        "  <params>",
        "    <query><![CDATA[your_query_here]]></query>",
        "    <freshness><![CDATA[noLimit]]></freshness>",
        "    <count><![CDATA[10]]></count>",
        "  </params>",
        "</tool_call>",
      ].join("\n"),
    );
  });

  test("has notes, and is empty without tools", () => {
    expect(ToolPromptGenerator.generateToolInstruction([search])).toMatch(
      /## Notes\n- Call a tool exactly[^]*]]]]><!\[CDATA\[>/,
    );
    expect(writeToolInstructions([])).toBe("");
  });

  test("lists the types and values of the schema, or any", () => {
    const text = writeToolInstructions([colours, { name: "now" }], { format: "hermes" });
    expect(text).toContain(
      "  - colour: string (required)\n    One of: red, blue\n  - size: number or null (optional)\n  - raw: any (optional)",
    );
    expect(text).toContain('{"name":"paint","arguments":{"colour":"red"}}');
    expect(text).toContain("### now\nDescription: \nParameters: none\nExample:");
  });

  test("prefers the example of the tool to a generated one", () => {
    const own = createTool({
      name: "own",
      description: { short: "Has one", examples: [{ input: { path: "src/a.ts" } }] },
      parameters: [{ name: "path", type: "string", description: "A path" }],
      needsApproval: false,
      run: () => "",
    });
    expect(writeToolInstructions([own], { format: "mistral" })).toContain('[TOOL_CALLS]own[ARGS]{"path":"src/a.ts"}');
  });

  test("has examples of plausible values", () => {
    const parameters = z.object({
      count: z.number().int(),
      level: z.int().min(5).max(9),
      ratio: z.number().positive(),
      half: z.number().max(-2),
      page: z.url(),
      when: z.iso.datetime(),
      people: z.array(z.object({ name: z.string(), age: z.number().optional() })),
      colour: z.enum(["red", "blue"]),
      flag: z.boolean().optional(),
      size: z.number().default(7),
      code: z.string().meta({ examples: ["A-1"] }),
    });
    const tool = createTool({ name: "order", description: "Orders", parameters, needsApproval: false, run: () => "" });
    const [, example = ""] = /Example:\n<tool_call>\n(.*)\n<\/tool_call>/.exec(
      writeToolInstructions([tool], { format: "hermes" }),
    )!;
    const input = JSON.parse(example).arguments;
    expect(input).toEqual({
      ...{ count: 1, level: 5, ratio: 1, half: -2, page: "https://example.com/", when: "2026-01-31T12:00:00Z" },
      ...{ people: [{ name: "Ada" }], colour: "red", size: 7, code: "A-1" },
    });
    expect(() => tool.build(input)).not.toThrow();
  });

  test("has examples that satisfy the schema, or shows only the form", () => {
    const inputOf = (properties: object, required: string[]) =>
      /"arguments":(.*)\}\n<\/tool_call>/.exec(
        writeToolInstructions([{ name: "f", parameters: { type: "object", properties, required } }], {
          format: "hermes",
        }),
      )![1]!;
    const text = { type: "string" };
    const code = { type: "string", pattern: "^[A-Z]{3}$" };
    expect(
      JSON.parse(
        inputOf({ filePath: text, shell_command: text, urls: { type: "array", items: text, minItems: 2 } }, [
          ...["filePath", "shell_command", "urls"],
        ]),
      ),
    ).toEqual({
      filePath: "src/main.ts",
      shell_command: "ls -l",
      urls: ["https://example.com/", "https://example.com/"],
    });
    expect(inputOf({ e: { ...code, default: "no" }, path: text }, ["path"])).toBe('{"path":"src/main.ts"}');
    expect(inputOf({ e: code }, ["e"])).toBe('{"parameter_name":"value"}');
  });

  test.each(TEXT_FORMATS)("in %s has an example that reads as a call of the tool", (format) => {
    const text = writeToolInstructions([search], { format });
    const example = text.slice(text.indexOf("Example:\n") + 9, text.indexOf("\n\n## Notes"));
    const parsed = parseToolCalls(example, { format, tools: [search] });
    expect(parsed.calls).toMatchObject([
      { name: "web_search", input: { query: "your_query_here", freshness: "noLimit", count: 10 } },
    ]);
    expect(parsed.calls[0]!.failure).toBeUndefined();
  });
});
