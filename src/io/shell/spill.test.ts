import { expect, test } from "vitest";
import { createSpillWriter, type SpillSink } from "./output-buffer.ts";

function memorySink(delay?: () => Promise<void>): SpillSink & { writes: string[]; closes: number } {
  const sink = {
    writes: [] as string[],
    closes: 0,
    async write(chunk: Buffer) {
      const text = chunk.toString();
      await delay?.();
      sink.writes.push(text);
    },
    async close() {
      sink.closes++;
      return { ref: "memory" };
    },
  };
  return sink;
}

test("chunks arrive in order, and those that come during a write are batched", async () => {
  const sink = memorySink(() => new Promise((resolve) => setTimeout(resolve, 5)));
  const writer = createSpillWriter(async () => sink, 1000);
  for (const text of ["a", "b", "c", "d"]) void writer.write(Buffer.from(text));
  expect(await writer.close()).toEqual({ status: "closed", ref: "memory", bytes: 4, complete: true });
  expect(sink.writes.join("")).toBe("abcd");
  expect(sink.writes.length).toBeLessThan(4);
});

test("a slow sink returns a promise that resolves when writing may continue", async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const sink = memorySink(() => gate);
  const writer = createSpillWriter(() => sink, 10_000_000);
  expect(writer.write(Buffer.alloc(1000))).toBeUndefined();
  const pressure = writer.write(Buffer.alloc(512 * 1024));
  expect(pressure).toBeInstanceOf(Promise);
  release();
  await pressure;
  expect(writer.state).toEqual({ status: "open", bytes: 1000 + 512 * 1024 });
  await writer.close();
});

test("the limit cuts the spill and reports that it is incomplete", async () => {
  const sink = memorySink();
  const writer = createSpillWriter(() => sink, 5);
  void writer.write(Buffer.from("abc"));
  void writer.write(Buffer.from("defg"));
  void writer.write(Buffer.from("more"));
  expect(await writer.close()).toEqual({ status: "closed", ref: "memory", bytes: 5, complete: false });
  expect(sink.writes.join("")).toBe("abcde");
});

test("a sink that cannot be opened is reported in the state, never thrown", async () => {
  const writer = createSpillWriter(() => {
    throw new Error("no space left");
  }, 100);
  void writer.write(Buffer.from("x"));
  expect(await writer.close()).toEqual({ status: "failed", message: "no space left" });
  expect(writer.write(Buffer.from("y"))).toBeUndefined();
});

test("a sink that fails while writing is closed, and a waiting writer continues", async () => {
  let closes = 0;
  const writer = createSpillWriter(
    () => ({
      write: async () => {
        throw new Error("disk full");
      },
      close: async () => {
        closes++;
        return { ref: "gone" };
      },
    }),
    10_000_000,
  );
  await writer.write(Buffer.alloc(512 * 1024));
  expect(await writer.close()).toEqual({ status: "failed", message: "disk full" });
  expect(closes).toBe(1);
});

test("a sink that takes no more cuts the output, and its state says so", async () => {
  const written: string[] = [];
  const sink: SpillSink = {
    write: async (chunk) => {
      written.push(chunk.subarray(0, 3).toString());
      return Math.min(3, chunk.length);
    },
    close: async () => ({ ref: "memory" }),
  };
  const writer = createSpillWriter(async () => sink, 1000);
  void writer.write(Buffer.from("abcde"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  void writer.write(Buffer.from("fgh"));
  expect(await writer.close()).toEqual({ status: "closed", ref: "memory", bytes: 3, complete: false });
  expect(written).toEqual(["abc"]);
});
