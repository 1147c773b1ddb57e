import { expect, test } from "vitest";
import { createProcessId } from "./process-table.ts";

test("ids are two short words, and never one that is taken", () => {
  const taken = new Set<string>();
  for (let count = 0; count < 5000; count++) {
    const id = createProcessId((candidate) => taken.has(candidate));
    expect(id).toMatch(/^[a-z]+-[a-z]+(-\d+)?$/);
    expect(taken.has(id)).toBe(false);
    taken.add(id);
  }
});
