import { expect, test } from "vitest";
import { parseExactly, writeExactly } from "../parse-json.ts";

test.each([
  '{"id":12345678901234567890}',
  '{"id":-9007199254740993,"text":"12345678901234567890 \\" 12345678901234567890"}',
  "[0.1234567890123456789,1e400,9007199254740992,0.30000000000000004,1.5]",
])("%s is written as it was read", (text) => expect(writeExactly(parseExactly(text))).toBe(text));

test("other numbers are numbers", () => {
  expect(parseExactly('{"a":12,"b":9007199254740991,"c":12345678901234567890}')).toMatchObject({
    a: 12,
    b: 9_007_199_254_740_991,
  });
  expect(() => parseExactly('{"a":12345678901234567890,}')).toThrow(SyntaxError);
});
