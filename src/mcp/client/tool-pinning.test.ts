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
  test("accepts a pinned definition, and saves nothing", async () => {
    const { made, saved } = review("A", "A");
    expect(made.state).toBe("approved");
    expect(made.before).toBeUndefined();
    await made.pass("call", "mcp__s__t");
    expect(saved).toEqual([]);
  });

  test("pins a definition on first use", async () => {
    const { made, saved } = review(undefined, "A");
    expect(made.state).toBe("new");
    await made.pass("call", "mcp__s__t");
    expect(saved).toMatchObject([{ server: "s", tool: "t", hash: "A", definition: "new" }]);
    expect(made.state).toBe("approved");
  });

  test("mc-003: rejects a changed definition that the approver of this call has not seen", () => {
    const { made, saved } = review("A", "B");
    expect(made).toMatchObject({ state: "changed", before: "old" });
    made.shown("another call");
    expect(() => made.pass("call", "mcp__s__t")).toThrow(/has changed since it was approved/);
    expect(saved).toEqual([]);
  });

  test("approves the definition together with a call whose approver has seen it", async () => {
    const { made, saved } = review("A", "B");
    made.shown("call");
    await made.pass("call", "mcp__s__t");
    expect(saved).toMatchObject([{ hash: "B" }]);
    await made.pass("the next call", "mcp__s__t");
  });
});
