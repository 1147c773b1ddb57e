import { describe, expect, test } from "vitest";
import { systemClock } from "../../core/clock.ts";
import { createDefinitionReview, type Pin, type ReviewOptions } from "./tool-pinning.ts";

function review(pinned: string | undefined, hash: string) {
  const saved: Pin[] = [];
  const pin: Pin | undefined =
    pinned === undefined ? undefined : { server: "s", tool: "t", hash: pinned, definition: "old", pinnedAt: 1 };
  const options: ReviewOptions = {
    server: "s",
    tool: "t",
    definition: "new",
    hash,
    pin,
    clock: systemClock,
    save: (each) => void saved.push(each),
  };
  return { saved, ...{ made: createDefinitionReview(options) } };
}

describe("the review of a definition", () => {
  test("passes what is pinned as it is, and saves nothing", async () => {
    const { made, saved } = review("A", "A");
    expect(made.state).toBe("approved");
    expect(made.before).toBeUndefined();
    await made.pass("call", "mcp__s__t");
    expect(saved).toEqual([]);
  });

  test("pins what is used for the first time", async () => {
    const { made, saved } = review(undefined, "A");
    expect(made.state).toBe("new");
    await made.pass("call", "mcp__s__t");
    expect(saved).toMatchObject([{ server: "s", tool: "t", hash: "A", definition: "new" }]);
    expect(made.state).toBe("approved");
  });

  test("mc-003: refuses a changed one that nobody was shown in this very call", () => {
    const { made, saved } = review("A", "B");
    expect(made).toMatchObject({ state: "changed", before: "old" });
    made.shown("another call");
    expect(() => made.pass("call", "mcp__s__t")).toThrow(/has changed since it was approved/);
    expect(saved).toEqual([]);
  });

  test("takes the yes to a call in which it was shown for a yes to the definition", async () => {
    const { made, saved } = review("A", "B");
    made.shown("call");
    await made.pass("call", "mcp__s__t");
    expect(saved).toMatchObject([{ hash: "B" }]);
    await made.pass("the next call", "mcp__s__t");
  });
});
