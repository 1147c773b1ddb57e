import { expect, test } from "vitest";
import { createProcessId } from "./process-table.ts";

test("an id is two short words and is never taken already", () => {
  const taken = new Set<string>();
  for (let count = 0; count < 5000; count++) {
    const id = createProcessId((candidate) => taken.has(candidate));
    expect(id).toMatch(/^[a-z]+-[a-z]+(-\d+)?$/);
    expect(taken.has(id)).toBe(false);
    taken.add(id);
  }
});
