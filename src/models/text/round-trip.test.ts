import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textFormat } from "./format-table.ts";
import { TEXT_FORMATS } from "../../core/text-formats.ts";
import { parseToolCalls } from "./tool-call-parser.ts";

const TOOLS = [
  {
    name: "write_file",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string" },
        content: { type: "string" },
        mode: { type: "integer" },
        ratio: { type: "number" },
        force: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        options: { type: "object" },
      },
      required: ["path"],
    },
  },
  { name: "now", parameters: { type: "object", properties: {} } },
];

/** Words only, because a value must not end its own tag. Other tests cover hostile values. */
const word = fc.stringMatching(/^[A-Za-zäé0-9][A-Za-zäé0-9 .,;()#$%'-]{0,20}[A-Za-z0-9]$/);
const lines = fc.array(word, { minLength: 1, maxLength: 4 }).map((each) => each.join("\n  "));
const anyInput = fc.record(
  {
    path: word,
    content: lines,
    mode: fc.integer({ min: -9999, max: 9999 }),
    ratio: fc.integer({ min: -999, max: 999 }).map((n) => n / 4),
    force: fc.boolean(),
    tags: fc.array(word, { maxLength: 3 }),
    options: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.oneof(word, fc.integer(), fc.boolean()), {
      maxKeys: 3,
    }),
  },
  { requiredKeys: ["path"] },
);

describe("a format reads back what it writes, with the same types", () => {
  test.each(TEXT_FORMATS)("%s, by its name and by its markers", (format) => {
    fc.assert(
      fc.property(fc.array(anyInput, { minLength: 1, maxLength: 3 }), (inputs) => {
        const calls = [...inputs.map((input) => ({ name: "write_file", input })), { name: "now", input: {} }];
        const text = textFormat(format).write(calls);
        for (const requested of [format, "auto"] as const) {
          const parsed = parseToolCalls(text, { format: requested, tools: TOOLS });
          expect(parsed.calls.map(({ name, input }) => ({ name, input }))).toEqual(calls);
          expect(parsed.calls.filter(({ failure }) => failure)).toEqual([]);
          expect(parsed.warnings).toEqual([]);
          expect(parsed.text.trim()).toBe("");
        }
      }),
      { numRuns: 25 },
    );
  });
});
