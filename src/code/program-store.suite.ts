import { expect, test } from "vitest";
import type { ProgramStore, StoredProgram } from "./program-store.ts";

export interface ProgramStoreSuite {
  open(): Promise<ProgramStore>;
  /** Another process with the same store, and a function that ends it. Omitted for stores of one process. */
  openAnother?(): Promise<{ store: ProgramStore; die: () => Promise<void> }>;
}

function program(key: string, approvals: readonly string[] = ["a"], bytes = 10): StoredProgram {
  return {
    key,
    call: {
      name: "run_code@1.0.0",
      input: { code: "return 1" },
      options: { id: key, caller: { session: "s\u0000", depth: 0 } },
      verdict: { decision: "allow", by: "tool", reason: "" },
    },
    state: { snapshot: new Uint8Array(bytes).fill(7), output: ["line"], calls: 2, lastStep: 2, approvals },
    engine: "e",
    savedAt: 5,
  };
}

/** The behaviour of every program store. */
export function programStoreSuite({ open, openAnother }: ProgramStoreSuite): void {
  test("a program is claimed as it was saved, once it was released", async () => {
    const store = await open();
    const saved = program("one\u0000key", ["a", "b"], 1_000_000);
    await store.save(saved);
    expect(await store.claim(saved.key)).toBeUndefined();
    await store.release(saved.key);
    const claimed = await store.claim(saved.key);
    // Comparing a megabyte byte by byte takes a test runner minutes.
    expect(Buffer.from(claimed!.state.snapshot).equals(saved.state.snapshot)).toBe(true);
    expect({ ...claimed, state: { ...claimed!.state, snapshot: 0 } }).toEqual({
      ...saved,
      state: { ...saved.state, snapshot: 0 },
    });
    expect(await store.claim(saved.key)).toBeUndefined();
  });

  test("a program that is saved again replaces the old one, and can be removed", async () => {
    const store = await open();
    await store.save(program("k", ["a"]));
    await store.save(program("k", ["b", "c"]));
    await store.save(program("other"));
    expect((await store.list()).map(({ key, approvals }) => `${key}: ${approvals.join()}`).toSorted()).toEqual([
      "k: b,c",
      "other: a",
    ]);
    await store.remove("k");
    await store.release("k");
    expect(await store.claim("k")).toBeUndefined();
    expect(await store.list()).toHaveLength(1);
  });

  test("a program that somebody holds can be taken over", async () => {
    const store = await open();
    expect(await store.takeOver("k")).toBeUndefined();
    await store.save(program("k", ["a"]));
    expect(await store.takeOver("k")).toMatchObject({ key: "k", state: { approvals: ["a"] } });
    expect(await store.claim("k")).toBeUndefined();
  });

  if (!openAnother) return;
  test("another process can claim a program only after its holder has ended", async () => {
    const mine = await open();
    const { store: theirs, die } = await openAnother();
    await theirs.save(program("held"));
    expect(await mine.claim("held")).toBeUndefined();
    await die();
    expect(await mine.claim("held")).toMatchObject({ key: "held" });
  });

  test("a program that was taken over is not released by the process that held it before", async () => {
    const mine = await open();
    const { store: theirs, die } = await openAnother();
    await theirs.save(program("taken"));
    expect(await mine.takeOver("taken")).toMatchObject({ key: "taken" });
    await theirs.release("taken");
    expect(await mine.claim("taken")).toBeUndefined();
    await die();
    expect(await mine.claim("taken")).toBeUndefined();
  });
}
