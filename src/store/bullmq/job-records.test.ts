import { expect, test } from "vitest";
import { queueNameOf, newJobId, toolOfId } from "./job-records.ts";

test("the id of a job tells its tool, whatever that is called, and is fit for a queue's name and an address", () => {
  for (const name of ["read", "mcp__files__read", "my-tool", "files:read.v2/x", "读文件", "a~b", "🙂"]) {
    const id = newJobId(name);
    expect(toolOfId(id)).toBe(name);
    expect(encodeURIComponent(id)).toBe(id);
    expect(queueNameOf(name)).not.toContain(":");
  }
});

test("what is no id of a job tells no tool", () => {
  for (const text of ["", "unknown", "read", "read.", "../x.0123456789abcdef01234567", "read.0123"]) {
    expect(toolOfId(text)).toBeUndefined();
  }
});
