import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { didYouMean, nearestNames } from "./nearest-name.ts";

const TOOLS = ["read", "write", "edit", "read_file", "web_search", "list_files", "exec"];

describe("nearestNames", () => {
  test.each([
    ["raed", "read"],
    ["Read", "read"],
    ["readfile", "read_file"],
    ["read-file", "read_file"],
    ["websearch", "web_search"],
    ["web_serach", "web_search"],
    ["listfile", "list_files"],
    ["exce", "exec"],
  ])("puts what %s was meant to be first", (wrong, right) => {
    expect(nearestNames(wrong, TOOLS)[0]).toBe(right);
  });

  test("suggests nothing if nothing is similar", () => {
    expect(nearestNames("frobnicate", TOOLS)).toEqual([]);
    expect(nearestNames("", TOOLS)).toEqual([]);
    expect(nearestNames("---", TOOLS)).toEqual([]);
    expect(didYouMean("frobnicate", TOOLS)).toBeUndefined();
  });

  test("supports other scripts", () => {
    expect(nearestNames("读取文", ["读取文件", "写入文件"])).toEqual(["读取文件"]);
  });

  test("suggests at most three, each once, in a sentence", () => {
    expect(nearestNames("read", ["reada", "readb", "readc", "readd", "reada"])).toHaveLength(3);
    expect(didYouMean("raed", ["read", "write"])).toBe('Did you mean "read"?');
  });

  test("returns only known names for any input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.string()), (wrong, names) => {
        const near = nearestNames(wrong, names);
        expect(names).toEqual(expect.arrayContaining(near));
        expect(near.length).toBeLessThanOrEqual(3);
      }),
    );
  });

  test("is fast for a name of a megabyte", () => {
    expect(nearestNames("x".repeat(1_000_000), TOOLS)).toEqual([]);
  });
});
