import { expect, test } from "vitest";
import { createOutputBuffer } from "./output-buffer.ts";

function outputOf(text: string, maxBytes?: number) {
  const output = createOutputBuffer({ maxBytes });
  void output.append(Buffer.from(text));
  return output;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

test("a page begins at the offset and names the next offset", () => {
  const output = outputOf(numbers(10));
  expect(output.lines({ offset: 3, limit: 2 })).toEqual({
    lines: [
      { number: 3, text: "line 3" },
      { number: 4, text: "line 4" },
    ],
    totalLines: 10,
    nextOffset: 5,
  });
  expect(output.lines({ offset: 0, limit: 1 }).lines[0]?.number).toBe(1);
  expect(output.lines({ offset: 9, limit: 5 })).toMatchObject({ lines: [{ number: 9 }, { number: 10 }] });
  expect(output.lines({ offset: 9, limit: 5 }).nextOffset).toBeUndefined();
});

test("without an offset it returns the last lines", () => {
  expect(outputOf(`${numbers(5)}unfinished`).lines({ limit: 2 }).lines).toEqual([
    { number: 5, text: "line 5" },
    { number: 6, text: "unfinished" },
  ]);
});

test("an offset after the end is an empty page", () => {
  expect(outputOf(numbers(3)).lines({ offset: 7, limit: 2 })).toEqual({ lines: [], totalLines: 3 });
});

test("missing lines are reported, and the others keep their numbers", () => {
  const output = outputOf(numbers(1000), 200);
  const page = output.lines({ offset: 1, limit: 1000 });
  expect(page.lines[0]).toEqual({ number: 1, text: "line 1" });
  expect(page.lines.at(-1)).toEqual({ number: 1000, text: "line 1000" });
  const whole = page.lines.filter(({ text }) => !text.includes("[… cut …]"));
  expect(whole.every(({ number, text }) => text === `line ${number}`)).toBe(true);
  const { from, to } = page.missing as { from: number; to: number };
  expect(page.lines.length + (to - from + 1)).toBe(1000);
  expect(output.lines({ offset: 500, limit: 2 })).toMatchObject({ lines: [], missing: { from: 500, to: 501 } });
});

test("one endless line shows its beginning and its end", () => {
  const page = outputOf(`${"a".repeat(500)}END`, 20).lines({ limit: 5 });
  expect(page.lines).toEqual([{ number: 1, text: "aaaaaaaaaa[… cut …]aaaaaaaEND" }]);
});
