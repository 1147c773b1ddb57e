import { expect, test } from "vitest";
import { aQuestion } from "./approval.fixture.ts";
import { MemoryCallStore } from "./call-store.ts";
import { describeCallStore } from "./call-store.suite.ts";
import { describeGrants } from "./grants.suite.ts";
import { describeLimits } from "./limits.suite.ts";
import { end } from "./stored-call.ts";

const memory = new MemoryCallStore(10_000);
describeCallStore("memory", () => memory);
describeGrants("memory", () => memory);
describeLimits("memory", () => memory);

test("the memory store deletes the oldest calls that have ended, never one that runs", () => {
  const store = new MemoryCallStore(2);
  const result = { status: "completed", metadata: {} } as never;
  const add = (key: string) =>
    store.insert(aQuestion({ id: key, key, question: undefined, state: "running", owner: "me", epoch: 1 }));
  add("running");
  for (const key of ["a", "b", "c", "d", "e"]) {
    add(key);
    const ended = end("me", 1, { outcome: "completed", result, releasesKey: false });
    store.change(key, (row) => ended(row, 0));
  }
  const states = ["running", "a", "b", "d", "e"].map((key) => store.find(key)?.state);
  expect(states).toEqual(["running", undefined, undefined, "ended", "ended"]);
});
