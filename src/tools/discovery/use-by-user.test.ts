import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { describeToolUseStore } from "../../core/search/tool-use-store.suite.ts";
import {
  addUse,
  likelihoodOf,
  MemoryToolUse,
  toQuestion,
  type ToolUseChange,
  type ToolUseStore,
} from "../../core/search/tool-use.ts";
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
    uses.add("ada", "pay", ["send money"]);
    expect(store.load("ada")).toEqual([]);
    expect(uses.likelihoods("ada").get("pay")).toBe(2);
    await uses.flush();
    expect(store.load("ada")).toMatchObject([{ tool: "pay", uses: 2, questions: ["send money"] }]);
    expect(uses.likelihoods("ada").get("pay")).toBe(2);
  });

  test("that wait are bounded: at most 20 questions of a tool, the same one once", async () => {
    const added: ToolUseChange[] = [];
    const store: ToolUseStore = { load: () => [], add: (changes) => void added.push(...changes), forget: () => 0 };
    const uses = new ToolUses({ store, clock: createFakeClock(), warn: () => undefined });
    const versionOf = () => uses.wordsOf("ada")?.version;
    uses.add("ada", "pay", ["send money"]);
    const version = versionOf();
    uses.add("ada", "pay", ["send money"]);
    expect(versionOf()).toBe(version);
    for (let at = 0; at < 50; at++) uses.add("ada", "pay", [`question number ${at}`]);
    await uses.flush();
    expect(added).toMatchObject([{ uses: 52 }]);
    expect(added[0]?.questions).toHaveLength(20);
    expect(added[0]?.questions.at(-1)).toBe("question number 49");
  });

  test("of a store that fails are reported once a minute, and searches go on", async () => {
    const warnings: string[] = [];
    let reads = 0;
    const fail = () => Promise.reject(new Error("disk full"));
    const load = () => (reads++, fail());
    const clock = createFakeClock();
    const uses = new ToolUses({
      store: { load, add: fail, forget: fail },
      clock,
      warn: (warning) => warnings.push(warning),
    });
    for (let time = 0; time < 3; time++) {
      await uses.ready("ada");
      uses.add("ada", "pay", ["send money"]);
      await uses.flush();
    }
    expect(reads).toBe(1);
    expect(uses.likelihoods("ada").get("pay")).toBe(3);
    expect(warnings).toEqual([
      "The use of tools could not be read: disk full",
      "The use of tools could not be saved: disk full",
    ]);
    await clock.advance(60_000);
    await uses.ready("ada");
    expect([reads, warnings.length]).toEqual([2, 3]);
    expect(uses.likelihoods("ada").get("pay")).toBeGreaterThan(2.9);
  });
});
