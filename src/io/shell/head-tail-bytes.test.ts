import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeadTailBytes } from "./output-buffer.ts";

test("stores everything while it fits", () => {
  const bytes = createHeadTailBytes(10);
  bytes.push(Buffer.from("01234"));
  expect(bytes.fits(5)).toBe(true);
  expect(bytes.fits(6)).toBe(false);
  bytes.push(Buffer.from("56789"));
  expect(bytes.head().toString() + bytes.tail().toString()).toBe("0123456789");
  expect(bytes.omittedBytes).toBe(0);
});

test("a budget of one byte keeps the last one", () => {
  const bytes = createHeadTailBytes(1);
  bytes.push(Buffer.from("xyz"));
  expect(bytes.head().toString() + bytes.tail().toString()).toBe("z");
  expect(bytes.omittedBytes).toBe(2);
});

test("later bytes do not change a copy", () => {
  const bytes = createHeadTailBytes(4);
  bytes.push(Buffer.from("abcd"));
  const tail = bytes.tail();
  bytes.push(Buffer.from("ef"));
  expect(tail.toString()).toBe("cd");
});

test("stores the first and last bytes of any chunks and counts the rest", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 30 }),
      (max, chunks) => {
        const bytes = createHeadTailBytes(max);
        for (const chunk of chunks) bytes.push(chunk);
        const all = Buffer.concat(chunks);
        const headMax = Math.floor(max / 2);
        const head = all.subarray(0, headMax);
        const tail = all.subarray(Math.max(head.length, all.length - (max - headMax)));
        expect(bytes.head()).toEqual(Buffer.from(head));
        expect(bytes.tail()).toEqual(Buffer.from(tail));
        expect(bytes.totalBytes).toBe(all.length);
        expect(bytes.omittedBytes).toBe(all.length - head.length - tail.length);
      },
    ),
  );
});

test("large budgets grow as needed and wrap correctly", () => {
  const bytes = createHeadTailBytes(64 * 1024);
  const all: Buffer[] = [];
  for (let index = 0; index < 5000; index++) {
    const chunk = Buffer.from(`line ${index}\n`.repeat(1 + (index % 7)));
    all.push(chunk);
    bytes.push(chunk);
  }
  const joined = Buffer.concat(all);
  expect(bytes.head().equals(joined.subarray(0, 32 * 1024))).toBe(true);
  expect(bytes.tail().equals(joined.subarray(joined.length - 32 * 1024))).toBe(true);
});
