import { expect, test } from "vitest";
import { spliceText } from "./replace-lines.ts";

test("splices replace their ranges and nothing else", () => {
  expect(
    spliceText("abcdef", [
      { start: 1, end: 2, newText: "B$&" },
      { start: 4, end: 4, newText: "+" },
    ]),
  ).toBe("aB$&cd+ef");
});
