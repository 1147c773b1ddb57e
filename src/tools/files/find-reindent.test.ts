import { expect, test } from "vitest";
import { findFlatReindent, findReindent } from "./text-match.ts";

test.each([
  ["adds what is missing", ["a", "  b"], ["    a", "      b"], ["x", "  y", ""], ["    x", "      y", ""]],
  ["takes away what is too much", ["    a", "      b"], ["a", "  b"], ["    x", " y"], ["x", "y"]],
  ["turns blanks into tabs", ["  a", "    b"], ["\ta", "\t\tb"], ["    x", "      y"], ["\t\tx", "\t\t\ty"]],
  ["takes the likeliest tab width where several fit", ["      a"], ["\ta"], ["          x"], ["\t\tx"]],
  ["turns tabs into blanks", ["\ta", "\t\tb"], ["    a", "        b"], ["\tx"], ["    x"]],
  [
    "repairs a first line that alone lost its indentation",
    ["a", "  b"],
    ["    a", "  b"],
    ["x", "  y"],
    ["    x", "  y"],
  ],
])("a uniform shift %s", (_, model, file, given, expected) => {
  expect(findReindent(model, file)?.(given, { index: 0, indent: "" })).toEqual(expected);
});

test("no shift is found if the lines move differently", () => {
  expect(findReindent(["a", "b"], ["  a", "    b"])).toBeUndefined();
  expect(findReindent(["  a", "  b"], ["    a", "  b"])).toBeUndefined();
});

test("lines without indentation get the depth of the line they replace", () => {
  expect(findFlatReindent(["a", "b"], ["  a", "    b"])?.(["x", "  y"], { index: 1, indent: "    " })).toEqual([
    "    x",
    "      y",
  ]);
  expect(findFlatReindent(["a", " b"], ["  a", "      b"])).toBeUndefined();
  expect(findFlatReindent(["a"], ["  a"])).toBeUndefined();
});
