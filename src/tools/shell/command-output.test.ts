import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shortenOutput } from "./command-output.ts";

const whole = (head: string) => ({ head, tail: "", omittedBytes: 0, totalBytes: Buffer.byteLength(head) });

describe("shortenOutput", () => {
  test("removes only terminal codes if the output fits", () => {
    const short = shortenOutput(whole("a\n\u001b[1mb\u001b[0m\n"), { maxBytes: 100, maxLines: 2 });
    expect(short.truncated).toBe(false);
    expect(short.text("elsewhere")).toBe("a\nb\n");
  });

  test("shows as many lines at the end as at the beginning", () => {
    const short = shortenOutput(whole("1\n2\n3\n4\n5\n6\n7"), { maxBytes: 100, maxLines: 4 });
    expect(short).toMatchObject({ truncated: true, gapAt: 3 });
    expect(short.text("Look there.")).toBe("1\n2\n[… lines 3 to 5 of 7 (6 bytes) omitted here. Look there.]\n6\n7");
  });

  test("cuts a line that is too long inside, between characters", () => {
    const short = shortenOutput(whole("你".repeat(5000)), { maxBytes: 20, maxLines: 10 });
    expect(short.text()).toBe("你你你\n[… 14982 bytes of line 1 omitted here.]\n你你你");
  });

  test("uses head and tail if memory has a gap", () => {
    const output = { head: "1\n2\n3\n", tail: "98\n99\n", omittedBytes: 500, totalBytes: 512, totalLines: 99 };
    const short = shortenOutput(output, { maxBytes: 100, maxLines: 4 });
    expect(short.text()).toBe("1\n2\n[… lines 3 to 97 of 99 (502 bytes) omitted here.]\n98\n99\n");
    expect(shortenOutput(output, { maxBytes: 1000, maxLines: 100 }).truncated).toBe(true);
  });

  test("stays within its limits and shows only real output", () => {
    const line = fc.string({ unit: fc.constantFrom("a", "é", "你", "😀", " "), maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(line),
        fc.integer({ min: 8, max: 200 }),
        fc.integer({ min: 2, max: 20 }),
        (lines, maxBytes, maxLines) => {
          const input = lines.join("\n");
          const short = shortenOutput(whole(input), { maxBytes, maxLines });
          const text = short.text();
          if (!short.truncated) return text === input;
          const [, front = "", back = ""] = /^(.*?)\[… [^\]]+\]\n(.*)$/s.exec(text) ?? [];
          expect(Buffer.byteLength(front) + Buffer.byteLength(back)).toBeLessThanOrEqual(maxBytes + 1);
          expect(input.startsWith(front) || input.startsWith(front.slice(0, -1))).toBe(true);
          expect(input.endsWith(back)).toBe(true);
          expect(text.isWellFormed()).toBe(true);
          return true;
        },
      ),
    );
  });
});
