import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineReader, type LongLine, parseFrame, errorForLongLine } from "./stdio-transport.ts";

function readAll(chunks: readonly Buffer[], maxBytes: number) {
  const lines: string[] = [];
  const long: LongLine[] = [];
  const read = createLineReader(maxBytes, { line: (text) => lines.push(text), tooLong: (line) => long.push(line) });
  for (const chunk of chunks) read(chunk);
  return { lines, long };
}

describe("the line reader", () => {
  test("gives the same lines for any chunks, also if a character is split", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat(40)), (texts, cuts) => {
        const wanted = texts.map((text) => text.replaceAll("\n", " "));
        const bytes = Buffer.from(wanted.map((text) => `${text}\n`).join(""));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut));
          at = Math.min(bytes.length, at + cut);
        }
        expect(readAll([...chunks, bytes.subarray(at)], 1e6).lines).toEqual(wanted);
      }),
    );
  });

  test("skips a line that is too long, reports its head and tail, and continues", () => {
    const long = `begin${"x".repeat(5000)}end`;
    const { lines, long: passed } = readAll(
      [Buffer.from(`a\n${long.slice(0, 3000)}`), Buffer.from(`${long.slice(3000)}\nb\n`)],
      1000,
    );
    expect(lines).toEqual(["a", "b"]);
    expect(passed).toMatchObject([{ bytes: 5008 }]);
    expect(passed[0]!.head.startsWith("begin")).toBe(true);
    expect(passed[0]!.tail.endsWith("end")).toBe(true);
    expect(passed[0]!.head.length).toBeLessThanOrEqual(256);
  });

  test("accepts a line of exactly the maximum length", () => {
    expect(readAll([Buffer.from(`${"x".repeat(10)}\n${"y".repeat(11)}\n`)], 10)).toMatchObject({
      lines: ["x".repeat(10)],
      long: [{ bytes: 11 }],
    });
  });
});

describe("a frame", () => {
  test("is found after half of another one", () => {
    const whole = '{"jsonrpc":"2.0","id":2,"result":{}}';
    expect(parseFrame(whole)).toMatchObject({ id: 2 });
    expect(parseFrame(`{"jsonrpc":"2.0","id":1,"result":{"con${whole}`)).toMatchObject({ id: 2 });
    expect(parseFrame(`{"jsonrpc":"2.0","id":1{"result":{},"jsonrpc":"2.0","id":3}`)).toMatchObject({ id: 3 });
  });

  test.each(["", "null", "[]", "42", '"text"', '{"jsonrpc":"1.0"}', "Starting up...", '{"jsonrpc":"2.0","id":'])(
    "is not %j",
    (line) => {
      expect(parseFrame(line)).toBeUndefined();
    },
  );

  test("that is too long gives an error for its call, with the id at either end, but not for requests", () => {
    const line = (head: string, tail = "") => ({ bytes: 99, head, tail });
    expect(errorForLongLine(line('{"jsonrpc":"2.0","id":7,"result":{'), 10)).toMatchObject({
      id: 7,
      error: { code: -32_090 },
    });
    expect(errorForLongLine(line('{"result":', '}]},"jsonrpc":"2.0","id":"a-1"}'), 10)).toMatchObject({ id: "a-1" });
    expect(errorForLongLine(line('{"jsonrpc":"2.0","method":"x"', "xxx"), 10)).toBeUndefined();
  });
});
