import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "./json.ts";

describe("canonicalJson", () => {
  test("is the same for equal data, in any order of keys", () => {
    expect(canonicalJson({ b: 1, a: [{ d: 1, c: 2 }] })).toBe(canonicalJson({ a: [{ c: 2, d: 1 }], b: 1 }));
    expect(canonicalJson({ a: 1, gone: undefined })).toBe(canonicalJson({ a: 1 }));
  });

  test("is equal for two values only if their JSON is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const sorted = (value: unknown): string => JSON.stringify(JSON.parse(canonicalJson(value)));
        expect(JSON.parse(canonicalJson(left))).toEqual(JSON.parse(JSON.stringify(left)));
        expect(canonicalJson(left) === canonicalJson(right)).toBe(sorted(left) === sorted(right));
      }),
    );
  });

  test.each([
    ["maps", new Map([["a", 1]]), new Map([["a", 2]])],
    ["sets", new Set([1]), new Set([2])],
    ["a set and a list", new Set([1]), [1]],
    ["a map and an object", new Map(), {}],
    ["dates", new Date(0), new Date(1)],
    ["big integers", 1n, 2n],
    ["a big integer and a text", 1n, "1n"],
    ["bytes", new Uint8Array([1]), new Uint8Array([2])],
    ["a list and a text of it", [1], "[1]"],
  ])("tells %s apart", (_what, left, right) => {
    expect(canonicalJson(left)).not.toBe(canonicalJson(right));
  });
});
