import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { COMMANDS, namesOf } from "./command-table.ts";
import { explainFailure } from "./exit-codes.ts";
import { ENVIRONMENT, SECTIONS, showCommandHelp, showGroupHelp, showHelp } from "./help.ts";
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

const plain = (_style: unknown, text: string): string => text;

test("the help of every first word names all its commands, also where the word alone is a command", async () => {
  for (const word of namesOf()) {
    const entries = COMMANDS.filter(({ path }) => path === word || path.startsWith(`${word} `));
    const own = entries.find(({ path }) => path === word);
    const verbs = entries.filter((entry) => entry !== own);
    const help = own ? showCommandHelp(own, await own.load(), plain) : showGroupHelp(verbs, plain);
    for (const { path, summary } of verbs)
      expect(help.some((line) => line.includes(path) && line.includes(summary))).toBe(true);
  }
});

test("advice about a port in use is what the person can type", () => {
  const thrown = Object.assign(new Error("taken"), { cause: { code: "EADDRINUSE" } });
  vi.stubEnv("npm_lifecycle_event", "start");
  expect(explainFailure(thrown).next).toContain("`npm start -- --port 0`");
  vi.stubEnv("npm_lifecycle_event", undefined);
  expect(explainFailure(thrown).next).toContain("`haft serve --port 0`");
  vi.unstubAllEnvs();
});
