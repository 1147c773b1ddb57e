import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "./json-tools.ts";

function faultOf(text: string): { code: string; message: string; data: { line: number; column: number } } {
  try {
    readJson(text);
  } catch (error) {
    return error as ReturnType<typeof faultOf>;
  }
  throw new Error(`${text} was accepted`);
}

function judge(read: () => unknown): { data?: unknown; why?: string } {
  try {
    return { data: read() };
  } catch (error) {
    return { why: (error as Error).message };
  }
}

describe("valid JSON", () => {
  test("is parsed like JSON.parse", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "grapheme" }), fc.constantFrom(undefined, 2, "\t"), (text, indent) => {
        const data = JSON.parse(text) as unknown;
        fc.pre(!text.includes("__proto__"));
        expect(readJson(JSON.stringify(data, null, indent)).data).toEqual(data);
      }),
    );
  });

  test("is accepted exactly like JSON.parse", () => {
    const pieces = '{ } [ ] , : "a" "b" 1 - 0 .5 e3 true null " \\u0041'.split(" ").concat(" ", "\n");
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (chosen) => {
        const text = chosen.join("");
        const verdict = judge(() => readJson(text).data);
        fc.pre(!verdict.why?.includes("occurs twice"));
        const expected = judge(() => JSON.parse(text) as unknown);
        expect({ text, data: verdict.data, isRefused: verdict.why !== undefined }).toEqual({
          text,
          data: expected.data,
          isRefused: expected.why !== undefined,
        });
      }),
      { numRuns: 5000 },
    );
  });

  test("may begin with a byte order mark, which is not part of a column", () => {
    expect(readJson("\uFEFF[1]").data).toEqual([1]);
    expect(faultOf("\uFEFF[1").data).toMatchObject({ line: 1, column: 3 });
  });

  test("has integers of any length, with a note if digits are lost", () => {
    const { data, notes } = readJson("[9007199254740993, 9007199254740992, -12345678901234567890, 1e30]");
    expect(data).toEqual([9007199254740992, 9007199254740992, -12345678901234567000, 1e30]);
    expect(notes).toHaveLength(2);
    expect(notes[0]).toContain("9007199254740993");
  });
});

describe("invalid JSON", () => {
  test.each([
    ["", 1, 1, "found the end of the text"],
    ['{"a": 1,\n "b": 2,\n}', 3, 1, "a comma before a closing bracket is not allowed"],
    ['{"a": 1,\r\n "b" 2}', 2, 6, 'expected ":" after the key "b", found "2"'],
    ["[1,\r2 3]", 2, 3, 'expected "," or "]", found "3"'],
    ["{'a': 1}", 1, 2, "straight double quotes"],
    ["{a: 1}", 1, 2, 'found "a"; text and keys need double quotes'],
    ["```json\n{}\n```", 1, 1, "leave out the code fence"],
    ["[1, // one\n2]", 1, 5, "comments are not allowed"],
    ['{"a": True}', 1, 7, "it is written true"],
    ['{"a": nullish}', 1, 7, 'found "nullish"'],
    ['{"a": None}', 1, 7, "write null"],
    ["[NaN]", 1, 2, "write null"],
    ["[01]", 1, 3, "a number looks like"],
    ["[1.]", 1, 3, "a number looks like"],
    ["[+1]", 1, 2, "a number begins with a digit or a minus"],
    ["[-]", 1, 3, 'expected a digit after "-"'],
    ["[1e999]", 1, 2, "is too large"],
    ['{"a": [1, 2', 1, 12, "cut off"],
    ['["一二", "x]', 1, 8, "no closing quote"],
    ['["👍", x]', 1, 7, 'found "x"'],
    ['["a\nb"]', 1, 4, "U+000A must be escaped"],
    ['["C:\\dir"]', 1, 5, "is not a valid escape"],
    ['["\\ud83d"]', 1, 2, "half of a surrogate pair"],
    ["{} {}", 1, 4, 'the value ends here, but "{" follows'],
    ["[1,\u00a02]", 1, 4, "found U+00A0"],
    ['{"a": 1, "b": {"a": 2, "a": 3}}', 1, 24, 'the key "a" occurs twice in this object'],
    ['{"\\u0061": 1, "a": 2}', 1, 15, "occurs twice"],
    ['{"__proto__": {}}', 1, 2, "__proto__"],
  ])("%j fails in line %i, column %i", (text, line, column, says) => {
    const { code, message, data } = faultOf(text);
    expect(message).toContain(says);
    expect(message).toContain(`Line ${line}, column ${column}:`);
    expect(data).toMatchObject({ line, column });
    expect(code).toBe("invalid_input");
  });

  test("quotes little of the text in its message", () => {
    expect(faultOf(`[${"x".repeat(100_000)}]`).message.length).toBeLessThan(300);
    expect(faultOf(`{"${"k".repeat(100_000)}" 1}`).message.length).toBeLessThan(300);
  });
});

test("nesting and the number of values are bounded", () => {
  expect(readJson("[".repeat(60) + "]".repeat(60)).data).toHaveLength(1);
  expect(faultOf("[".repeat(200_000)).code).toBe("input_too_large");
  expect(faultOf('{"a":'.repeat(61)).code).toBe("input_too_large");
  expect(faultOf(`[${"1,".repeat(90_000)}1]`).code).toBe("input_too_large");
});

test("closed brackets do not add to the depth", () => {
  expect(readJson(`[${"[],".repeat(100)}[]]`).data).toHaveLength(101);
});
