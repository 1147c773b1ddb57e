import { readdirSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { expect, test } from "vitest";
import parts from "../parts.json" with { type: "json" };
import { ROOT } from "./read-entries.ts";

test("every pattern of test/parts.json names test files, and no file is in two parts", () => {
  const files = ["src", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const found = Object.entries(parts).flatMap(([part, patterns]) =>
    patterns.map((pattern) => ({ part, pattern, matched: files.filter((file) => picomatch.isMatch(file, pattern)) })),
  );
  expect(found.filter(({ matched }) => matched.length === 0)).toEqual([]);
  const all = found.flatMap(({ matched }) => matched);
  expect(all.filter((file, at) => all.indexOf(file) !== at)).toEqual([]);
  expect(all.every((file) => file.endsWith(".test.ts"))).toBe(true);
});
