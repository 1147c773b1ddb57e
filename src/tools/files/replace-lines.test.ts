import { expect, test } from "vitest";
import { changedLines, joinAdjacent, replaceLines, spliceText } from "./replace-lines.ts";
import { splitLines } from "./text-match.ts";

test("common lines are not part of a change", () => {
  expect(changedLines(10, ["a", "b", "c", "d"], ["a", "B", "c", "new", "d"])).toEqual([
    { first: 11, count: 1, added: ["B"] },
    { first: 13, count: 0, added: ["new"] },
  ]);
  expect(changedLines(0, ["a"], ["a"])).toEqual([]);
});

test("in a very long text, common lines at both ends are excluded", () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`);
  expect(changedLines(0, lines, lines.with(2_500, "new"))).toEqual([{ first: 2_500, count: 1, added: ["new"] }]);
  const other = lines.map((line, index) => (index > 1_000 && index < 4_000 ? `${line}!` : line));
  expect(changedLines(0, lines, other)).toEqual([{ first: 1_001, count: 2_999, added: other.slice(1_001, 4_000) }]);
});

test("the callback gets the line that added lines replace or follow", () => {
  const reported: unknown[] = [];
  changedLines(0, ["a", "b", "c"], ["a", "B", "c", "d"], (added, at) => {
    reported.push([added, at]);
    return added;
  });
  expect(reported).toEqual([
    [["B"], { fileLine: 1, newLine: 1 }],
    [["d"], { fileLine: 2, newLine: 3 }],
  ]);
});

test("joining costs as much as the lines do", () => {
  const changes = Array.from({ length: 100_000 }, (_, first) => ({ first, count: 1, added: [`${first}`] }));
  const [joined, ...others] = joinAdjacent(changes);
  expect(others).toEqual([]);
  expect([joined?.count, joined?.added.length, changes[0]?.added.length]).toEqual([100_000, 100_000, 1]);
});

test("adjacent changes are joined, so their splices never share a line end", () => {
  const changes = joinAdjacent([
    { first: 0, count: 1, added: ["A"] },
    { first: 1, count: 1, added: [] },
  ]);
  expect(changes).toEqual([{ first: 0, count: 2, added: ["A"] }]);
  const text = "a\nb";
  expect(
    spliceText(
      text,
      replaceLines(text, splitLines(text), changes, () => "\n"),
    ),
  ).toBe("A");
});

test("a change without effect gives no splice", () => {
  const text = "a\nb\n";
  expect(replaceLines(text, splitLines(text), [{ first: 0, count: 1, added: ["a"] }], () => "\n")).toEqual([]);
});
