import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseModule } from "./architecture/parse-module.ts";
import { readEntries, ROOT } from "./architecture/read-entries.ts";

interface Surface {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

const PINNED = join(ROOT, "test", "surface.json");
const MAX_NAMES = 260;
const updating = process.env["HAFT_UPDATE"] === "1";

function readSurface(source: string): Surface {
  const { exports } = parseModule(source);
  const named = (kind: "value" | "type") =>
    // Overloads of a function are one name.
    [...new Set(exports.filter((each) => each.kind === kind).map(({ name }) => name))].sort(byCodeUnit);
  return { values: named("value"), types: named("type") };
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function describeChange(pinned: Surface | undefined, present: Surface): string {
  const listed = ({ values, types }: Surface) => [...values, ...types.map((name) => `type ${name}`)];
  const before = listed(pinned ?? { values: [], types: [] });
  const after = listed(present);
  const changes = [
    ...before.filter((name) => !after.includes(name)).map((name) => `- ${name}`),
    ...after.filter((name) => !before.includes(name)).map((name) => `+ ${name}`),
  ];
  if (changes.length === 0) return "";
  return [
    ...changes,
    "If this change of the public surface is meant, run `npm run surface:update` and commit the list.",
  ].join("\n");
}

describe("the public surface", () => {
  if (updating) {
    test("is written down anew", () => {
      const surface = readEntries().map(({ specifier, source }) => [specifier, readSurface(read(source))]);
      expect(surface).not.toEqual([]);
      writeFileSync(PINNED, `${JSON.stringify(Object.fromEntries(surface), null, 2)}\n`);
    });
    return;
  }

  const pinned = JSON.parse(readFileSync(PINNED, "utf8")) as Record<string, Surface>;

  test("has the entry points that are written down", () => {
    expect(readEntries().map(({ specifier }) => specifier)).toEqual(Object.keys(pinned));
  });

  test.each(readEntries())("of $specifier is the list in test/surface.json", ({ specifier, source }) => {
    expect(describeChange(pinned[specifier], readSurface(read(source)))).toBe("");
  });

  test("has at most 260 names outside haft/compat", () => {
    const names = readEntries()
      .filter(({ specifier }) => specifier !== "haft/compat")
      .flatMap(({ source }) => Object.values(readSurface(read(source))).flat());
    expect(names.length).toBeLessThanOrEqual(MAX_NAMES);
  });

  test.each(readEntries())("of $specifier names each export, never `export *`", ({ source }) => {
    expect(parseModule(read(source)).stars).toEqual([]);
  });

  test.each(readEntries())("of $specifier is what an import really gives", async ({ specifier, source }) => {
    const module: object = await import(/* @vite-ignore */ specifier);
    expect(Object.keys(module).sort(byCodeUnit)).toEqual(readSurface(read(source)).values);
  });
});

describe("the surface check", () => {
  test("tells values from types in every form of export", () => {
    const source = [
      'export { a, type B, c as d } from "./x.ts";',
      'export type { E } from "./x.ts";',
      'export * as f from "./y.ts";',
      "export interface G {}",
      "export const h = 1, i = 2;",
      "export class J {}",
      "export function k() {}",
      "export type L = string;",
    ].join("\n");
    expect(readSurface(source)).toEqual({ values: ["J", "a", "d", "f", "h", "i", "k"], types: ["B", "E", "G", "L"] });
  });

  test("says what was added, what was removed, and how to accept it", () => {
    const change = describeChange(
      { values: ["kept", "gone"], types: ["Old"] },
      { values: ["fresh", "kept"], types: [] },
    );
    expect(change.split("\n")).toEqual([
      "- gone",
      "- type Old",
      "+ fresh",
      "If this change of the public surface is meant, run `npm run surface:update` and commit the list.",
    ]);
    expect(describeChange({ values: ["kept"], types: [] }, { values: ["kept"], types: [] })).toBe("");
  });
});

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
