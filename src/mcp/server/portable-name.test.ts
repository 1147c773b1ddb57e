import { expect, test } from "vitest";
import { isMadePortable, toPortableName } from "./listed-tools.ts";

test.each(["read", "read_file", "mcp__github__create-issue", "a".repeat(40)])("%s is told as it is", (name) => {
  expect(toPortableName(name)).toBe(name);
});

test.each(["mcp__a-server-with-a-name__and-a-tool-with-another", "files.read", "读取文件", "a b", `${"a".repeat(41)}`])(
  "%s is told in at most 40 characters that every client takes, the same each time",
  (name) => {
    const portable = toPortableName(name);
    expect(portable).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
    expect(isMadePortable(portable)).toBe(true);
    expect(toPortableName(name)).toBe(portable);
  },
);

test("two names that look alike stay two names", () => {
  expect(toPortableName("files.read")).not.toBe(toPortableName("files/read"));
});
