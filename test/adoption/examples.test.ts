// Every example runs as it is, with the packed package, and prints what its comments say.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { folderOf, isWanted } from "./on-demand.ts";

const EXAMPLES = join(ROOT, "examples");
const ON_DEMAND = readdirSync(join(import.meta.dirname, "frameworks"));

let haft: string;

beforeAll(async () => {
  const response = await fetch(inject("archiveAddress"));
  haft = await response.text();
  if (!response.ok) throw new Error(haft);
}, 300_000);

function listExamples(): { name: string; isHere: boolean }[] {
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".mjs"));
  return files.sort().map((name) => {
    const framework = ON_DEMAND.find((each) => name.endsWith(`/${each}.mjs`));
    return { name, isHere: framework === undefined || isWanted(framework) };
  });
}

/** The packages that an example imports, linked as an installation would have them. */
function installFor(source: string, name: string): string {
  const modules = join(temporaryFolder("haft-example-"), "node_modules");
  const framework = ON_DEMAND.find((each) => name.endsWith(`/${each}.mjs`));
  const places = [
    ...(framework === undefined ? [] : [join(folderOf(framework), "node_modules")]),
    join(ROOT, "node_modules"),
  ];
  const packages = Array.from(source.matchAll(/from "(?!node:)((?:@[^/"]+\/)?[^/"]+)/g), ([, found = ""]) => found);
  for (const found of new Set(packages)) {
    const place = found === "haft" ? dirname(haft) : places.find((each) => existsSync(join(each, found)));
    if (place === undefined) throw new Error(`${name} imports ${found}, which is not installed.`);
    mkdirSync(dirname(join(modules, found)), { recursive: true });
    symlinkSync(join(place, found), join(modules, found), "junction");
  }
  return dirname(modules);
}

test("there is an example of every system", () => {
  const names = readdirSync(join(EXAMPLES, "adopt"));
  expect(names).toEqual(expect.arrayContaining([...ON_DEMAND, "ai-sdk", "langchain"].map((name) => `${name}.mjs`)));
});

test.concurrent.each(listExamples().filter(({ isHere }) => isHere))("examples/$name", async ({ name }) => {
  const source = readFileSync(join(EXAMPLES, name), "utf8");
  const expected = Array.from(source.matchAll(/\/\/> (.*)/g), ([, line]) => line);
  const folder = installFor(source, name);
  writeFileSync(join(folder, "example.mjs"), source);
  const { stdout } = await promisify(execFile)(process.execPath, ["example.mjs"], { cwd: folder });
  expect(stdout.trimEnd().split("\n")).toEqual(expected);
});
