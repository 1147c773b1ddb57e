import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { namesOf } from "./command-table.ts";
import { ENVIRONMENT, SECTIONS, showHelp } from "./help.ts";
import { widthOf } from "./layout.ts";

test("every command is in one section of the help, which fits 80 columns", () => {
  const listed = SECTIONS.flatMap(({ commands }) => Object.keys(commands));
  expect(listed.toSorted()).toEqual(namesOf().toSorted());
  const tooLong = showHelp("0.1.0", (_style, text) => text).filter((line) => widthOf(line) > 80);
  expect(tooLong).toEqual([]);
});

test("every environment variable that the sources read is in the help", () => {
  const sources = fileURLToPath(new URL("..", import.meta.url));
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !/\.(?:test|fixture|suite)\.ts$/.test(name),
  );
  // Read by its name, or listed as a setting: ["HAFT_MODE", "permissions", "defaultMode"].
  const read = files.flatMap((name) =>
    Array.from(
      readFileSync(join(sources, name), "utf8").matchAll(/(?:env\["|\[")(HAFT_\w+)"(?:\]|, "\w+", ")/g),
      ([, variable = ""]) => variable,
    ),
  );
  // HAFT_FAIL_AT makes a process of a test end at a given place.
  const forUsers = [...new Set(read)].filter((name) => name !== "HAFT_FAIL_AT");
  const listed = ENVIRONMENT.map(([name]) => name).filter((name) => name.startsWith("HAFT_"));
  expect(forUsers.toSorted()).toEqual(listed.toSorted());
});
