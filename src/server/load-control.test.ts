import { describe, expect, onTestFinished, test } from "vitest";
import { LoadControl, type LoadLimits } from "./load-control.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Keeps the event loop busy for longer than a turn may take. */
function block(ms = 8): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** A control that starts one request in each turn: all turns so far were long. */
async function openBusy(limits?: LoadLimits): Promise<LoadControl> {
  const load = new LoadControl(limits);
  onTestFinished(() => load.close());
  for (let count = 0; count < 8; count++) {
    void load.enter("warm-up");
    block();
    await turn();
  }
  await turn();
  return load;
}

/** Enters and notes what happens, while every turn is long. */
function enterAll(load: LoadControl, callers: readonly string[]) {
  const started: string[] = [];
  const refused: unknown[] = [];
  const done = callers.map(async (caller) => {
    try {
      await load.enter(caller);
      started.push(caller);
    } catch (error) {
      const { status, headers } = error as { status: number; headers: Record<string, string> };
      refused.push([caller, status, headers["retry-after"]]);
    }
  });
  const run = async () => {
    while (started.length + refused.length < callers.length) {
      block();
      await turn();
    }
    await Promise.all(done);
  };
  return { started, refused, run };
}

describe("requests at a server that is busy", () => {
  test("start at once if there are few", () => {
    const load = new LoadControl();
    expect(Array.from({ length: 20 }, () => load.enter("a"))).toEqual(Array(20).fill(undefined));
  });

  test("take turns by caller, so one caller does not hold up the others", async () => {
    const load = await openBusy();
    const { started, refused, run } = enterAll(load, ["a", "a", "a", "a", "a", "a", "b", "b", "c"]);
    await run();
    expect(refused).toEqual([]);
    expect(started.slice(0, 6).join("")).toMatch(/^a+b?c?[abc]*$/);
    expect(started.indexOf("c"), started.join("")).toBeLessThan(5);
    expect(started.indexOf("b"), started.join("")).toBeLessThan(4);
  });

  test("are refused with 429 if their caller has too many, and others are not", async () => {
    const load = await openBusy({ maxWaitingPerCaller: 3 });
    const { started, refused, run } = enterAll(load, [..."aaaaaaaa", "b"]);
    await run();
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(refused.every((each) => String(each) === "a,429,1")).toBe(true);
    expect(started).toContain("b");
    expect(load.isOverloaded).toBe(true);
  });

  test("make room for others if too many wait: the newest of the longest queue is refused", async () => {
    const load = await openBusy({ maxWaiting: 4 });
    const { started, refused, run } = enterAll(load, [..."aaaaa", "b", "c"]);
    await run();
    expect(started).toEqual(expect.arrayContaining(["b", "c"]));
    expect(refused.every((each) => String(each) === "a,429,1")).toBe(true);
    expect(refused.length).toBeGreaterThan(0);
  });

  test("are refused with 503 if all wait too long, and when the server closes", async () => {
    const load = await openBusy({ maxWaitMs: 0 });
    const { refused, run } = enterAll(load, [..."abcdefgh"]);
    block(150);
    await run();
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((each) => String(each).endsWith(",503,1"))).toBe(true);
    const last = await openBusy();
    const closing = enterAll(last, [..."aaaaaa"]);
    last.close();
    await closing.run();
    expect(closing.refused.length).toBeGreaterThan(0);
  });
});
