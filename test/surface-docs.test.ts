// Every public name and member has TSDoc, and every entry point shows an example.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readPublicDocs } from "./architecture/public-docs.ts";
import { readEntries, ROOT } from "./architecture/read-entries.ts";

const entries = readEntries();

describe("the public surface", () => {
  test.each(entries)("of $specifier has TSDoc on every name and member", ({ source }) => {
    const { count, missing } = readPublicDocs([source]);
    expect(count).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });

  test.each(entries)("of $specifier shows an example", ({ source }) => {
    expect(readFileSync(join(ROOT, source), "utf8")).toMatch(/^ \* @example\n \* \S/m);
  });
});

describe("the check of TSDoc", () => {
  test("finds names and members without it, follows exports, and counts overloads once", () => {
    const { count, missing } = readPublicDocs(["test/architecture/undocumented.fixture.ts"]);
    expect(missing).toEqual([
      "test/architecture/undocumented.fixture.ts: Bare",
      "test/architecture/undocumented.fixture.ts: Bare.value",
      "test/architecture/undocumented.fixture.ts: Machine.maker",
      "test/architecture/undocumented.fixture.ts: Machine.stop",
      "test/architecture/undocumented.fixture.ts: Shape.side",
    ]);
    expect(count).toBe(12);
  });
});
