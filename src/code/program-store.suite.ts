import { expect, test } from "vitest";
import type { ProgramStore, StoredProgram } from "./code-runner.ts";

function program(id: string, approvals: readonly string[] = ["a"], bytes = 10): StoredProgram {
  return {
    id,
    call: {
      ...{ callId: id, toolName: "run_code", toolVersion: "1.0.0" },
      input: { code: "return 1" },
      caller: { session: "s\u0000", depth: 0 },
      options: {},
      verdict: { decision: "allow", by: "tool", reason: "" },
      idempotent: false,
    },
    state: { snapshot: new Uint8Array(bytes).fill(7), output: ["line"], calls: 2, lastStep: 2, approvals },
    engine: "e",
    savedAt: 5,
  };
}

/** The behaviour of every program store. */
export function programStoreSuite(open: () => Promise<ProgramStore>): void {
  test("a program is read as it was saved", async () => {
    const store = await open();
    const saved = program("one", ["a", "b"], 1_000_000);
    await store.save(saved);
    const read = await store.get(saved.id);
    // Comparing a megabyte byte by byte takes a test runner minutes.
    expect(Buffer.from(read!.state.snapshot).equals(saved.state.snapshot)).toBe(true);
    expect({ ...read, state: { ...read!.state, snapshot: 0 } }).toEqual({
      ...saved,
      state: { ...saved.state, snapshot: 0 },
    });
    expect(await store.get("another")).toBeUndefined();
  });

  test("a program that is saved again replaces the old one, and can be removed", async () => {
    const store = await open();
    await store.save(program("k", ["a"]));
    await store.save(program("k", ["b", "c"]));
    await store.save(program("other"));
    expect((await store.list()).map(({ id, approvals }) => `${id}: ${approvals.join()}`).toSorted()).toEqual([
      "k: b,c",
      "other: a",
    ]);
    await store.remove("k");
    expect(await store.get("k")).toBeUndefined();
    expect(await store.list()).toHaveLength(1);
  });
}
