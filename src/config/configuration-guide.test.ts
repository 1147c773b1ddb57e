import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { openConfigFolders } from "./config-folders.fixture.ts";
import { FOREIGN_PLACES } from "./foreign/foreign-files.ts";
import { trust } from "./trust.ts";

const read = (name: string) => readFileSync(new URL(`../../docs/guides/${name}`, import.meta.url), "utf8");
const guide = read("configuration.md");
const importGuide = read("import-configuration.md");
const examples = [...`${guide}\n${importGuide}`.matchAll(/```(yaml|js)\n([^]*?)```/g)].map(([, language, text]) => ({
  language,
  text: text!,
}));

test("the guide has examples", () => expect(examples).toHaveLength(3));

test("the guide about other programs names every file that is read", () => {
  for (const { path } of FOREIGN_PLACES) expect(importGuide).toContain(basename(path));
});

test.each(examples)("an example of the guide is a valid configuration: $language", async ({ language, text }) => {
  const folders = openConfigFolders({ [`haft.config.${language}`]: text });
  await trust(folders.folder, folders);
  const { untrusted, sources } = await folders.load();
  expect(untrusted).toEqual([]);
  expect(sources.some(({ file }) => file?.endsWith(`haft.config.${language}`))).toBe(true);
});

test("the environment variables of the guide are the ones that are read", async () => {
  // It says where the state folder is, and is not a setting of the configuration.
  const names = [...new Set(guide.match(/HAFT_[A-Z_]+/g))].filter((name) => name !== "HAFT_STATE_DIR");
  const values: Record<string, string> = {
    HAFT_MODE: "plan",
    HAFT_TOOL_SEARCH: "false",
    HAFT_TIMEOUT: "5",
    HAFT_MAX_CONCURRENT: "6",
    HAFT_PORT: "7",
  };
  const env = Object.fromEntries(names.map((name) => [name, values[name] ?? "x"]));
  const { origins } = await openConfigFolders({}, env).load();
  expect(origins.map(({ value }) => String(value).slice(2, -1)).toSorted()).toEqual(names.toSorted());
});

test("the errors of the guide are the ones that are reported", async () => {
  const folders = openConfigFolders({ "haft.config.yml": '# a\n# b\ntools:\n  timeot: 5\n\n  maxConcurrent: "3"\n' });
  const said = guide.match(/^ {4}haft\.config\.yml:.*$/gm)!.map((line) => line.trim());
  expect((await folders.problems()).toSorted()).toEqual(said.toSorted());
});
