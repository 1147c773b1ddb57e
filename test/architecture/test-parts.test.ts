import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { expect, test } from "vitest";
import parts from "../parts.json" with { type: "json" };
import { ROOT } from "./read-entries.ts";

test("every pattern of test/parts.json names test files, and no file is in two parts", () => {
  // Not what is installed in it.
  const folders = readdirSync(join(ROOT, "test")).filter((name) => name !== "dependencies");
  const files = ["src", ...folders.map((name) => join("test", name))].flatMap((place) => {
    if (place.endsWith(".test.ts")) return [place];
    if (!statSync(join(ROOT, place)).isDirectory()) return [];
    return readdirSync(join(ROOT, place), { recursive: true, encoding: "utf8" }).map((name) => join(place, name));
  });
  const found = Object.entries(parts).flatMap(([part, patterns]) =>
    patterns.map((pattern) => {
      const matches = picomatch(pattern);
      return { part, pattern, matched: files.filter((file) => matches(file)) };
    }),
  );
  expect(found.filter(({ matched }) => matched.length === 0)).toEqual([]);
  const all = found.flatMap(({ matched }) => matched);
  expect(all.filter((file, at) => all.indexOf(file) !== at)).toEqual([]);
  expect(all.every((file) => file.endsWith(".test.ts"))).toBe(true);
});
