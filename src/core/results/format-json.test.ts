import fc from "fast-check";
import { expect, test } from "vitest";
import { formatJson } from "./format-json.ts";

test("what fits into a line stays in one, and the rest is broken at its values", () => {
  const items = Array.from({ length: 60 }, (_, id) => ({ id, name: `item ${id}`, "a,b": ["{", "]"] }));
  const lines = formatJson(JSON.stringify({ total: 60, items }))!.split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "{",
    '  "total":60,',
    '  "items":[',
    '    {"id":0,"name":"item 0","a,b":["{","]"]},',
  ]);
  expect(lines.slice(-3)).toEqual(['    {"id":59,"name":"item 59","a,b":["{","]"]}', "  ]", "}"]);
});

test("numbers and strings stay as they are written", () => {
  const long = String.raw`\u00e9 \" , [ `.repeat(200);
  const text = `{"price": 1.10, "id": 12345678901234567890, "text": "${long}"}`;
  const formatted = formatJson(text)!;
  expect(formatted).toContain("1.10");
  expect(formatted).toContain("12345678901234567890");
  expect(formatted.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
});

test("any JSON keeps its value", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (json) => {
      const long = `[${json}, "${"x".repeat(1200)}", {"a":${json}}]`;
      expect(JSON.parse(formatJson(long)!)).toEqual(JSON.parse(long));
    }),
  );
});

test("other text, and JSON in lines of readable length, stay", () => {
  expect(formatJson("{not json".padEnd(2000, "x"))).toBeUndefined();
  expect(
    formatJson(
      JSON.stringify(
        Array.from({ length: 1000 }, (_, i) => i),
        null,
        1,
      ),
    ),
  ).toBeUndefined();
});
