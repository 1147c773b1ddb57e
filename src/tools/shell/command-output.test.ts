import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimatedTokens } from "../../core/results/estimated-tokens.ts";
import { createOutputBuffer } from "../../io/shell/output-buffer.ts";
import { asksForInput, shortenOutput } from "./command-output.ts";

const whole = (head: string) => ({ head, tail: "", omittedBytes: 0, totalBytes: Buffer.byteLength(head) });

const limits = (maxBytes: number, maxLines: number, maxTokens = Infinity) => ({ maxBytes, maxLines, maxTokens });

describe("shortenOutput", () => {
  test("keeps lines that look like errors from the middle, in order, with the number of lines between them", () => {
    const buffer = createOutputBuffer();
    const lines = Array.from({ length: 6000 }, (_, i) => `step ${i + 1} is done`);
    lines[2999] = "src/a.ts(3,4): error TS2345: wrong type";
    lines[3000] = "npm ERR! code 1";
    lines[3010] = "TypeError: x is undefined";
    lines[3020] = "0 errors";
    for (let at = 0; at < lines.length; at += 7)
      void buffer.append(Buffer.from(`${lines.slice(at, at + 7).join("\n")}\n`));
    const short = shortenOutput(buffer.snapshot(), limits(2000, 20));
    expect(short.text("Look there.")).toMatch(
      /step 10 is done\n\[… lines 11 to 5990 of 6000 \(\d+ bytes\) omitted here, except lines that look like errors\. Look there\.\]\n\[… 2989 lines …\]\nsrc\/a\.ts\(3,4\): error TS2345: wrong type\n\[… 10 lines …\]\nTypeError: x is undefined\n\[… 2979 lines …\]\nstep 5991 is done\n/,
    );
  });

  test("shows few of many errors, within its tokens", () => {
    const buffer = createOutputBuffer();
    for (let i = 0; i < 20_000; i++) void buffer.append(Buffer.from(`${i} error: ${"something failed ".repeat(10)}\n`));
    const text = shortenOutput(buffer.snapshot(), limits(50_000, 2000, 3000)).text();
    expect(estimatedTokens.count(text)).toBeLessThanOrEqual(3200);
    expect(text.split("\n").filter((line) => line.startsWith("[… "))).toHaveLength(
      text.split("\n").filter((line) => /^\[… \d+ lines …\]$/.test(line)).length + 1,
    );
  });

  test("removes only terminal codes if the output fits", () => {
    const short = shortenOutput(whole("a\n\u001b[1mb\u001b[0m\n"), limits(100, 2));
    expect(short.truncated).toBe(false);
    expect(short.text("elsewhere")).toBe("a\nb\n");
  });

  test("shows as many lines at the end as at the beginning", () => {
    const short = shortenOutput(whole("1\n2\n3\n4\n5\n6\n7"), limits(100, 4));
    expect(short).toMatchObject({ truncated: true, gapAt: 3 });
    expect(short.text("Look there.")).toBe("1\n2\n[… lines 3 to 5 of 7 (6 bytes) omitted here. Look there.]\n6\n7");
  });

  test("cuts a line that is too long inside, between characters", () => {
    const short = shortenOutput(whole("你".repeat(5000)), limits(20, 10));
    expect(short.text()).toBe("你你你\n[… 14982 bytes of line 1 omitted here.]\n你你你");
  });

  test("uses head and tail if memory has a gap", () => {
    const output = { head: "1\n2\n3\n", tail: "98\n99\n", omittedBytes: 500, totalBytes: 512, totalLines: 99 };
    const short = shortenOutput(output, limits(100, 4));
    expect(short.text()).toBe("1\n2\n[… lines 3 to 97 of 99 (502 bytes) omitted here.]\n98\n99\n");
    expect(shortenOutput(output, limits(1000, 100)).truncated).toBe(true);
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
          const short = shortenOutput(whole(input), limits(maxBytes, maxLines));
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

test.each([
  ["package name: (demo) ", true],
  ["Proceed? [y/N] ", true],
  ["Password: ", true],
  ["the input device is not a TTY\n", true],
  ["EOFError: EOF when reading a line\n", true],
  ["grep: not a tty is what it says\ndone\n", false],
  ["done\n", false],
  ["Total: 5\n", false],
  ["no newline at the end", false],
  ["", false],
])("%j seems to ask for input: %s", (output, asks) => expect(asksForInput("", output, 1)).toBe(asks));

test.each([
  ['read -p "Name? " name; echo "hi $name"', true],
  ["if true; then read -r -p x y; fi", true],
  ["read -rp 'Sure? ' answer", true],
  ["cat a.txt | while read -r line; do echo $line; done", false],
  ["spread -p x", false],
  ["read name", false],
])("%s shows a prompt: %s", (command, asks) => expect(asksForInput(command, "hi\n", 0)).toBe(asks));

test("what a successful command printed about terminals is no question", () => {
  expect(asksForInput("", "except EOFError:\n", 0)).toBe(false);
  expect(asksForInput("", "Continue? ", 0)).toBe(true);
});

test("an error in the first lines is kept too, and summaries with failures are errors", () => {
  const buffer = createOutputBuffer();
  const lines = Array.from({ length: 3000 }, (_, i) => `step ${i + 1} is done`);
  const errors = [
    "FATAL: broken",
    "[ERROR] Tests run: 5, Failures: 1, Errors: 0",
    "FAILED (failures=2, errors=0)",
    "3 failed, 0 errors",
  ];
  const summaries = ["[INFO] Tests run: 5, Failures: 0, Errors: 0", "0 failed, no errors"];
  lines.splice(200, 0, ...errors, ...summaries);
  void buffer.append(Buffer.from(`${lines.join("\n")}\n`));
  const text = shortenOutput(buffer.snapshot(), limits(2000, 20)).text();
  for (const line of errors) expect(text).toContain(`\n${line}\n`);
  for (const line of summaries) expect(text).not.toContain(line);
});
