import { describe, expect, test } from "vitest";
import type { TaintMark, TaintStore } from "./taint.ts";

const MAX = 5;

const mark = (callId: string, label: TaintMark["label"] = "untrusted_input", at = 1): TaintMark => ({
  label,
  callId,
  toolName: "web_fetch",
  at,
});

/** The contract of every taint store. `open` returns a store without these sessions. */
export function describeTaintStore(name: string, open: () => Promise<TaintStore> | TaintStore): void {
  describe(`taint in ${name}`, () => {
    test("is empty in a new session", async () => {
      expect(await (await open()).marks("new")).toEqual([]);
    });

    test("is kept per session with the calls that brought it, oldest first", async () => {
      const store = await open();
      await store.add(
        "a",
        [mark("c1", "sensitive_data", 1_800_000_000_000), mark("c1", "untrusted_input", 1_800_000_000_000)],
        MAX,
      );
      await store.add("a", [mark("c0", "untrusted_input", 1_800_000_000_001)], MAX);
      await store.add("b", [mark("c2")], MAX);
      expect((await store.marks("a")).map(({ callId, label }) => `${callId} ${label}`).sort()).toEqual([
        "c0 untrusted_input",
        "c1 sensitive_data",
        "c1 untrusted_input",
      ]);
      expect((await store.marks("a")).at(-1)).toEqual(mark("c0", "untrusted_input", 1_800_000_000_001));
      expect(await store.marks("b")).toEqual([mark("c2")]);
    });

    test("is kept once per call, and only for the first calls of a label", async () => {
      const store = await open();
      await store.add("a", [mark("c0"), mark("c0")], MAX);
      await store.add("a", [mark("c0", "untrusted_input", 9)], MAX);
      expect(await store.marks("a")).toEqual([mark("c0")]);
      for (let i = 1; i < 3 * MAX; i++) await store.add("a", [mark(`c${i}`, "untrusted_input", i + 1)], MAX);
      await store.add("a", [mark("late", "sensitive_data", 100)], MAX);
      const kept = await store.marks("a");
      expect(kept.filter(({ label }) => label === "untrusted_input").map(({ callId }) => callId)).toEqual(
        Array.from({ length: MAX }, (_, i) => `c${i}`),
      );
      expect(kept.at(-1)).toMatchObject({ callId: "late" });
    });

    test("is removed with its session", async () => {
      const store = await open();
      await store.add("a", [mark("c1")], MAX);
      await store.add("b", [mark("c1")], MAX);
      await store.forget("a");
      expect([await store.marks("a"), (await store.marks("b")).length]).toEqual([[], 1]);
    });

    test("accepts any names", async () => {
      const store = await open();
      const session = "'; DROP TABLE x; -- 会话 \u{1F600}";
      await store.add(session, [mark("c'1")], MAX);
      expect(await store.marks(session)).toEqual([mark("c'1")]);
    });
  });
}
