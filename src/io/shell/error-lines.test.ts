import fc from "fast-check";
import { expect, test } from "vitest";
import { countNewlines, ErrorLines } from "./error-lines.ts";

const LINES = fc.constantFrom(
  "ok",
  "",
  "an Error here",
  "TypeError: x",
  "0 errors",
  "1 failed",
  "✗ broken",
  "é",
  "not ok 3",
);

test("finds the lines that look like errors, with their numbers, however the output arrives", () => {
  fc.assert(
    fc.property(
      fc.array(LINES, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const errors = new ErrorLines();
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const chunk = bytes.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
          errors.push(chunk, countNewlines(chunk));
          at += chunk.length;
        }
        const isError = (text: string) => !["ok", "", "0 errors", "é"].includes(text);
        const expected = lines.map((text, index) => ({ number: index + 1, text })).filter(({ text }) => isError(text));
        expect(errors.lines).toEqual(expected);
      },
    ),
  );
});

test("looks at the beginning of a long line only, and at no more lines than it has time for", () => {
  const errors = new ErrorLines();
  for (const text of [`${"x".repeat(5000)} error\n`, `error ${"x".repeat(5000)}\n`, "fail\n".repeat(50_000)]) {
    const chunk = Buffer.from(text);
    errors.push(chunk, countNewlines(chunk));
  }
  expect(errors.lines[0]).toEqual({ number: 2, text: `error ${"x".repeat(1994)}` });
  expect(errors.lines).toHaveLength(80);
});
