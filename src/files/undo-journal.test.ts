import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "./undo-journal.ts";

describe("the journal in memory", () => {
  it("keeps changes in order and forgets the oldest beyond its size", async () => {
    const journal = createMemoryJournal({ maxBytes: 3_000 });
    for (const name of ["a", "b", "c", "d"]) {
      await journal.before({ kind: "write", path: `/${name}`, was: "file", old: Buffer.alloc(1_000) });
    }
    expect(journal.changes.map(({ path }) => path)).toEqual(["/c", "/d"]);
  });

  it("keeps the last change even when it is larger than all", async () => {
    const journal = createMemoryJournal({ maxBytes: 10 });
    await journal.before({ kind: "delete", path: "/a", was: "file", old: Buffer.alloc(100) });
    expect(journal.changes).toHaveLength(1);
  });
});
