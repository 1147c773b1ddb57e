import { expect, test } from "vitest";
import { createFileFilter } from "./file-filter.ts";

const filterOf = (options: { include?: string; exclude?: string; hidden?: boolean }) =>
  createFileFilter({ hidden: true, fromWorkspace: (path) => `pkg/${path}`, ...options });

test("an include without a slash matches names at any depth", () => {
  const { accepts, names } = filterOf({ include: "*.{ts,tsx}" });
  expect(["a.ts", "x/y/b.tsx", "c.js"].filter(accepts)).toEqual(["a.ts", "x/y/b.tsx"]);
  expect(names).toEqual(["*.ts", "*.tsx"]);
});

test("an include with a slash is relative to the searched folder or the workspace", () => {
  expect(["src/a.ts", "b/a.ts"].filter(filterOf({ include: "src/*.ts" }).accepts)).toEqual(["src/a.ts"]);
  expect(["src/a.ts", "b/a.ts"].filter(filterOf({ include: "pkg/src/**" }).accepts)).toEqual(["src/a.ts"]);
});

test("patterns are separated by commas, and an exclamation mark excludes", () => {
  const { accepts } = filterOf({ include: "*.ts, *.js,!*.test.ts" });
  expect(["a.ts", "b.js", "c.test.ts", "d.md"].filter(accepts)).toEqual(["a.ts", "b.js"]);
});

test("an exclude is a line of .gitignore, and a simple one also prunes the walk", () => {
  const { accepts, prune } = filterOf({ exclude: "build/,/top.ts,*.min.js,a/b" });
  expect(["build/x.ts", "s/build/x.ts", "top.ts", "s/top.ts", "x.min.js", "a/b/c"].filter(accepts)).toEqual([
    "s/top.ts",
  ]);
  expect(prune).toEqual(["build/", "*.min.js"]);
});

test("a folder with brackets in its name is found by that name", () => {
  expect(filterOf({ include: "app/[id]/*.ts" }).accepts("app/[id]/a.ts")).toBe(true);
});

test("hidden files can be excluded", () => {
  expect([".a", "x/.b/c", "d"].filter(filterOf({ hidden: false }).accepts)).toEqual(["d"]);
});
