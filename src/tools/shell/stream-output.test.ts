import { expect, test } from "vitest";
import { createOutputBuffer } from "../../io/shell/output-buffer.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { streamOutput } from "./exec.ts";

function stage() {
  const output = createOutputBuffer();
  const clock = createFakeClock();
  const updates: string[] = [];
  const stop = streamOutput(output, (text) => updates.push(text), { clock });
  const say = (text: string) => void output.append(Buffer.from(text));
  return { clock, updates, stop, say };
}

test("many small pieces are combined into one update per 100 ms", async () => {
  const { clock, updates, stop, say } = stage();
  for (const piece of ["a", "b", "c"]) say(piece);
  await clock.advance(99);
  expect(updates).toEqual([]);
  await clock.advance(1);
  say("d");
  await clock.advance(100);
  await clock.advance(1000);
  expect(updates).toEqual(["abc", "d"]);
  say("e");
  stop();
  expect(updates).toEqual(["abc", "d", "e"]);
  say("f");
  await clock.advance(1000);
  expect(updates).toEqual(["abc", "d", "e"]);
  expect(clock.pendingTimers).toBe(0);
});

test("a command that ends before the first update sends none", () => {
  const { clock, updates, stop, say } = stage();
  say("all of it");
  stop();
  expect(updates).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test("a split terminal code is not shown as text", async () => {
  const { clock, updates, say } = stage();
  for (const piece of ["red: \u001b[3", "1mhot\u001b", "[0m; title: \u001b]0;na", "me\u0007end"]) {
    say(piece);
    await clock.advance(100);
  }
  expect(updates).toEqual(["red: ", "hot", "; title: ", "end"]);
});

test("of too much output only the end is sent", async () => {
  const { clock, updates, say } = stage();
  say(`${"x".repeat(100_000)}last`);
  await clock.advance(100);
  expect(updates).toHaveLength(1);
  expect(updates[0]).toMatch(/^\[… 83620 characters …\]x+last$/);
});
