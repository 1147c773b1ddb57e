// The examples of frameworks that are installed on demand. What each prints stands behind `//>`.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { offline, serveModel } from "./claude-agent-sdk.rig.ts";
import { folderOf, isWanted } from "./on-demand.ts";

const EXAMPLES = join(ROOT, "examples", "frameworks");
const PAY = { id: "call_1", name: "pay", input: { amount: 50 } };

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Runs a copy beside the packages of the framework. */
async function printed(name: string): Promise<string[]> {
  const folder = join(folderOf(name), "examples");
  cpSync(EXAMPLES, folder, { recursive: true });
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...given) => void lines.push(given.join(" ")));
  await import(/* @vite-ignore */ pathToFileURL(join(folder, `${name}.mjs`)).href);
  return lines;
}

function expected(name: string): (string | undefined)[] {
  const source = readFileSync(join(EXAMPLES, `${name}.mjs`), "utf8");
  return [...source.matchAll(/\/\/> (.*)$/gm)].map(([, line]) => line);
}

test.runIf(isWanted("mastra"))("Mastra", async () => {
  vi.stubEnv("MASTRA_TELEMETRY_DISABLED", "1");
  expect(await printed("mastra")).toEqual(expected("mastra"));
});

test.runIf(isWanted("claude-agent-sdk"))("Claude Agent SDK", async () => {
  const model = await serveModel();
  model.calls = [PAY];
  const env = offline(temporaryFolder("haft-adoption-"), model.url);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  expect(await printed("claude-agent-sdk")).toEqual(expected("claude-agent-sdk"));
  await model.close();
});
