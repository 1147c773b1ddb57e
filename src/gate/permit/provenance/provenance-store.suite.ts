import { describe, expect, test } from "vitest";
import type { ProvenanceStore } from "./provenance.ts";

/** The contract of every store of provenance. `open` returns a store without these sessions. */
export function describeProvenanceStore(name: string, open: () => Promise<ProvenanceStore> | ProvenanceStore): void {
  describe(`provenance in ${name}`, () => {
    test("keeps the entries of each session in their order", async () => {
      const store = await open();
      expect(await store.after("a", 0)).toEqual([]);
      for (const [at, entry] of ["one", "two", "three"].entries())
        expect(await store.add("a", at + 1, entry)).toBe(true);
      await store.add("b", 1, "other");
      expect(await store.after("a", 0)).toEqual(["one", "two", "three"]);
      // The first entry says whether it is still the same session.
      expect([await store.after("a", 2), await store.after("a", 3)]).toEqual([["one", "three"], ["one"]]);
    });

    test("stores one entry at a place", async () => {
      const store = await open();
      const added = await Promise.all(["x", "y", "z"].map(async (entry) => store.add("a", 1, entry)));
      expect(added.filter((isAdded) => isAdded)).toHaveLength(1);
      expect(await store.after("a", 0)).toHaveLength(1);
    });

    test("removes a session, whatever its name", async () => {
      const store = await open();
      const session = "'; DROP TABLE x; -- 会话 \u{1F600}";
      await store.add(session, 1, "one");
      await store.add("b", 1, "other");
      await store.forget(session);
      expect([await store.after(session, 0), await store.after("b", 0)]).toEqual([[], ["other"]]);
    });
  });
}
