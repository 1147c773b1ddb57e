import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { describeToolUseStore } from "../../core/search/tool-use-store.suite.ts";
import { addUse, likelihoodOf, MemoryToolUse, toQuestion } from "../../core/search/tool-use.ts";
import { ToolUses } from "./use-by-user.ts";

describeToolUseStore("memory", () => new MemoryToolUse());

const DAY_MS = 24 * 60 * 60_000;

describe("a question", () => {
  test("has no secrets, one kind of white space and at most 200 characters", () => {
    expect(toQuestion("  push\n\tto the   repository ")).toBe("push to the repository");
    expect(toQuestion(`push with token=ghp_${"a1B2".repeat(9)} now`)).not.toContain("a1B2");
    expect(toQuestion("word ".repeat(100))).toHaveLength(199);
    // A secret at the limit is masked before the text is cut.
    expect(toQuestion(`${"x ".repeat(95)}ghp_${"a1B2".repeat(9)}`)).not.toContain("ghp_");
    expect(toQuestion(" ?! \0")).toBeUndefined();
  });
});

describe("uses", () => {
  test("count half after two weeks", () => {
    const old = { tool: "pay", uses: 4, lastUsedAt: 0, questions: [] };
    expect(likelihoodOf(old, 14 * DAY_MS)).toBe(2);
    const added = addUse(old, { tool: "pay", uses: 1, lastUsedAt: 14 * DAY_MS, questions: [] });
    expect(added).toMatchObject({ uses: 3, lastUsedAt: 14 * DAY_MS });
  });

  test("are written in groups, and at once when they are flushed", async () => {
    const clock = createFakeClock();
    const store = new MemoryToolUse();
    const uses = new ToolUses({ store, clock, warn: () => undefined });
    uses.add("ada", "pay");
    uses.add("ada", "pay", "send money");
    expect(store.load("ada")).toEqual([]);
    expect(uses.likelihoods("ada").get("pay")).toBe(2);
    await uses.flush();
    expect(store.load("ada")).toMatchObject([{ tool: "pay", uses: 2, questions: ["send money"] }]);
    expect(uses.likelihoods("ada").get("pay")).toBe(2);
  });

  test("of a store that fails are reported, and searches go on", async () => {
    const warnings: string[] = [];
    const fail = () => Promise.reject(new Error("disk full"));
    const store = { load: fail, add: fail, forget: fail };
    const uses = new ToolUses({ store, clock: createFakeClock(), warn: (warning) => warnings.push(warning) });
    await uses.ready("ada");
    uses.add("ada", "pay", "send money");
    await uses.flush();
    expect(uses.wordsOf("ada")).toBeUndefined();
    expect(warnings).toContain("The use of tools could not be saved: disk full");
    expect(warnings).toContain("The use of tools could not be read: disk full");
  });
});
