import { expect, test } from "vitest";
import { VERSION } from "../core/telemetry/version.ts";
import { namesOf } from "./command-table.ts";
import { SECTIONS, showHelp } from "./help.ts";
import { widthOf } from "./layout.ts";

test("every command is in one section of the help, which fits 80 columns", () => {
  const listed = SECTIONS.flatMap(({ commands }) => Object.keys(commands));
  expect(listed.toSorted()).toEqual(namesOf().toSorted());
  const tooLong = showHelp(VERSION, (_style, text) => text).filter((line) => widthOf(line) > 80);
  expect(tooLong).toEqual([]);
});
