import { expect, test } from "vitest";
import { createIgnoreRules } from "./file-filter.ts";

test("rules of a file apply at any depth unless they are anchored", () => {
  const isIgnored = createIgnoreRules([{ directory: "", text: "node_modules/\n*.log\n/dist\n" }]);
  expect(isIgnored("src/app.log")).toBe(true);
  expect(isIgnored("a/node_modules/x/i.js")).toBe(true);
  expect(isIgnored("node_modules")).toBe(false);
  expect(isIgnored("node_modules", true)).toBe(true);
  expect(isIgnored("dist/bundle.js")).toBe(true);
  expect(isIgnored("src/dist/bundle.js")).toBe(false);
  expect(isIgnored("src/index.js")).toBe(false);
});

test("a deeper file can un-ignore a file, but not inside an ignored folder", () => {
  const isIgnored = createIgnoreRules([
    { directory: "", text: "*.gen\nout/\n" },
    { directory: "a", text: "!keep.gen\n" },
    { directory: "out", text: "!keep.gen\n" },
  ]);
  expect(isIgnored("a/keep.gen")).toBe(false);
  expect(isIgnored("a/drop.gen")).toBe(true);
  expect(isIgnored("b/keep.gen")).toBe(true);
  expect(isIgnored("out/keep.gen")).toBe(true);
});

test("a nested file applies only to its own folder", () => {
  const isIgnored = createIgnoreRules([{ directory: "a", text: "/x\n" }]);
  expect(isIgnored("a/x")).toBe(true);
  expect(isIgnored("x")).toBe(false);
  expect(isIgnored("ab/x")).toBe(false);
});
