import fc from "fast-check";
import { expect, test } from "vitest";
import { createOutputBuffer, type OutputBuffer } from "./output-buffer.ts";

function feed(output: OutputBuffer, ...texts: string[]): OutputBuffer {
  for (const text of texts) void output.append(Buffer.from(text));
  return output;
}

function memorySpill() {
  const chunks: Buffer[] = [];
  return {
    text: () => Buffer.concat(chunks).toString(),
    opened: 0,
    open() {
      this.opened++;
      return { write: (chunk: Buffer) => void chunks.push(chunk), close: async () => ({ ref: "spill-1" }) };
    },
  };
}

test("all of a short output is in the head", () => {
  const snapshot = feed(createOutputBuffer(), "one\n", "two").snapshot();
  expect(snapshot).toMatchObject({ head: "one\ntwo", tail: "", omittedBytes: 0, totalBytes: 7, totalLines: 2 });
});

test("characters survive any split into chunks, even if the other stream writes in between", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 60 }),
      async (text, sizes) => {
        const bytes = Buffer.from(text);
        const output = createOutputBuffer({ separateStreams: true });
        let at = 0;
        for (let turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] as number;
          void output.append(bytes.subarray(at, at + size), "stdout");
          void output.append(Buffer.from("!"), "stderr");
          at += size;
        }
        await output.close();
        const { head, stdout, stderr } = output.snapshot();
        expect(stdout?.head).toBe(bytes.toString());
        expect(head.length).toBe(bytes.toString().length + (stderr?.head.length ?? 0));
        expect(head).not.toContain("\ufffd".repeat(2));
      },
    ),
  );
});

test("an incomplete character is still delivered at the end", async () => {
  const output = createOutputBuffer();
  void output.append(Buffer.from([0x61, 0xe2, 0x82]));
  expect(output.snapshot().head).toBe("a");
  await output.close();
  expect(output.snapshot().head).toBe("a\ufffd");
});

test("a cut inside a character leaves no broken character", () => {
  const snapshot = feed(createOutputBuffer({ maxBytes: 10 }), "ääääääääää").snapshot();
  expect(snapshot.head).toBe("ää");
  expect(snapshot.tail).toBe("ää");
  expect(snapshot.omittedBytes).toBe(10);
});

test("the three copies together stay within the budget", () => {
  const output = createOutputBuffer({ maxBytes: 400, separateStreams: true });
  for (let index = 0; index < 100; index++) {
    void output.append(Buffer.from(`out ${index}\n`), "stdout");
    void output.append(Buffer.from(`err ${index}\n`), "stderr");
  }
  const { head, tail, stdout, stderr } = output.snapshot();
  const kept = [head, tail, stdout?.head, stdout?.tail, stderr?.head, stderr?.tail].join("").length;
  expect(kept).toBeLessThanOrEqual(400);
  expect(stderr?.tail.endsWith("err 99\n")).toBe(true);
  expect(stdout?.head.startsWith("out 0\n")).toBe(true);
  expect(output.bytesOf("stderr")).toBe(stderr?.totalBytes);
});

test("the spill opens when memory is exceeded and gets everything from the first byte", async () => {
  const spill = memorySpill();
  const output = createOutputBuffer({ maxBytes: 8, openSpill: () => spill.open() });
  feed(output, "12345678");
  expect(spill.opened).toBe(0);
  feed(output, "9", "abc");
  await output.close();
  expect(spill.opened).toBe(1);
  expect(spill.text()).toBe("123456789abc");
  expect(output.snapshot().spill).toEqual({ status: "closed", ref: "spill-1", bytes: 12, complete: true });
});

test("an output that fits can be spilled on demand, before and after its end", async () => {
  const spill = memorySpill();
  const output = feed(createOutputBuffer({ openSpill: () => spill.open() }), "abc");
  expect(await output.spillAll()).toMatchObject({ status: "open" });
  feed(output, "def");
  await output.close();
  expect(spill.text()).toBe("abcdef");

  const later = memorySpill();
  const ended = feed(createOutputBuffer({ openSpill: () => later.open() }), "xyz");
  await ended.close();
  expect(await ended.spillAll()).toMatchObject({ status: "closed", bytes: 3 });
  expect(later.text()).toBe("xyz");
  expect(await feed(createOutputBuffer(), "no sink").spillAll()).toBeUndefined();
});

test("reading with a cursor returns each piece of output once", () => {
  const output = feed(createOutputBuffer(), "one ");
  const first = output.since(0);
  expect(first).toEqual({ text: "one ", cursor: 4, missedBytes: 0 });
  expect(output.since(first.cursor).text).toBe("");
  feed(output, "two");
  expect(output.since(first.cursor)).toEqual({ text: "two", cursor: 7, missedBytes: 0 });
});

test("a gap is marked in the text with the number of missed bytes", () => {
  const output = feed(createOutputBuffer({ maxBytes: 10 }), "0123456789abcdefghij");
  expect(output.since(2)).toEqual({ text: "234\n[… 10 bytes omitted …]\nfghij", cursor: 20, missedBytes: 10 });
  expect(output.since(8)).toMatchObject({ text: "\n[… 7 bytes omitted …]\nfghij", missedBytes: 7 });
  expect(output.since(17)).toEqual({ text: "hij", cursor: 20, missedBytes: 0 });
});

test("a listener is called for every chunk until it unsubscribes, and a throwing listener does no harm", () => {
  const output = createOutputBuffer();
  let received = 0;
  output.subscribe(() => {
    throw new Error("reader broke");
  });
  const leave = output.subscribe(() => received++);
  feed(output, "a", "b");
  leave();
  feed(output, "c");
  expect(received).toBe(2);
  expect(output.totalBytes).toBe(3);
});

test("a skipped part is counted, cuts the spill, and never joins what is before and after it", async () => {
  const spill = memorySpill();
  const output = createOutputBuffer({ maxBytes: 40, separateStreams: true, openSpill: () => spill.open() });
  feed(output, "first\nsecond\n");
  output.skip({ bytes: 1000, newlines: 10 }, "stdout");
  feed(output, "last\n");
  await output.close();
  const { stdout, ...snapshot } = output.snapshot();
  expect(snapshot).toMatchObject({ head: "first\nseco", tail: "last\n", totalBytes: 1018, totalLines: 13 });
  expect(snapshot.omittedBytes).toBe(1018 - "first\nseco".length - "last\n".length);
  expect(stdout).toMatchObject({ head: "first", tail: "last\n", totalBytes: 1018 });
  expect(snapshot.spill).toMatchObject({ status: "closed", complete: false, bytes: 13 });
  expect(spill.text()).toBe("first\nsecond\n");
  expect(output.lines({ limit: 1 }).lines).toEqual([{ number: 13, text: expect.stringContaining("last") }]);
});
