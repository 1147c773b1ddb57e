// Every example runs as it is, with the packed package, and prints what its comments say.
import { execFile } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";
import { installPackages } from "../examples/install-packages.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { offline, serveModel } from "./claude-agent-sdk.rig.ts";
import { folderOf, isWanted } from "./on-demand.ts";

const EXAMPLES = join(ROOT, "examples");
/** Versions that are refused have no example. */
const ON_DEMAND = readdirSync(join(import.meta.dirname, "frameworks")).filter((name) => name !== "old-versions");

let haft: string;

beforeAll(async () => {
  const response = await fetch(inject("archiveAddress"));
  haft = await response.text();
  if (!response.ok) throw new Error(haft);
}, 300_000);

/** Files without a `//>` are parts of others. */
function listExamples(): { name: string; isHere: boolean }[] {
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".mjs"));
  const names = files.filter((file) => readFileSync(join(EXAMPLES, file), "utf8").includes("//> "));
  return names.sort().map((name) => {
    const framework = ON_DEMAND.find((each) => name.endsWith(`/${each}.mjs`));
    return { name, isHere: framework === undefined || isWanted(framework) };
  });
}

/** A copy of the example's folder, with the packages that it imports, linked as an installation would have them. */
function installFor(name: string): string {
  const folder = temporaryFolder("haft-example-");
  cpSync(join(EXAMPLES, dirname(name)), folder, { recursive: true });
  const framework = ON_DEMAND.find((each) => name.endsWith(`/${each}.mjs`));
  const places = framework === undefined ? [] : [join(folderOf(framework), "node_modules")];
  installPackages(folder, [join(EXAMPLES, name)], { haft, places });
  return folder;
}

test("there is an example of every system", () => {
  const names = readdirSync(join(EXAMPLES, "adopt"));
  expect(names).toEqual(expect.arrayContaining([...ON_DEMAND, "ai-sdk", "langchain"].map((name) => `${name}.mjs`)));
});

test.concurrent.each(listExamples().filter(({ isHere }) => isHere))("examples/$name", async ({ name }) => {
  const expected = Array.from(readFileSync(join(EXAMPLES, name), "utf8").matchAll(/\/\/> (.*)/g), ([, line]) => line);
  const folder = installFor(name);
  // Only the Claude Agent SDK asks it. It has no fake model of its own.
  const model = await serveModel();
  model.calls = [{ id: "call_1", name: "pay", input: { amount: 50 } }];
  const env = { ...offline(folder, model.url), MASTRA_TELEMETRY_DISABLED: "1" };
  const { stdout } = await promisify(execFile)(process.execPath, [basename(name)], { cwd: folder, env });
  expect(stdout.trimEnd().split("\n")).toEqual(expected);
  await model.close();
});
