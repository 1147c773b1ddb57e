import { type HaftConfig, loadConfig } from "haft/host";
import { expect, test } from "vitest";
import { checkBrowser, checkWebSearch } from "../../src/cli/commands/doctor.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

function load(overrides: HaftConfig) {
  const folder = temporaryFolder("haft-doctor-");
  return loadConfig({ folder, home: folder, env: {}, overrides });
}

test("the doctor says whether a browser is there, and how to get one", async () => {
  const broken = await load({ browser: { executable: "/nowhere/chromium" } });
  expect(await checkBrowser(broken, {})).toMatchObject({
    state: "warning",
    next: expect.stringContaining("Install"),
  });
  const off = await load({ browser: { enabled: false } });
  expect(await checkBrowser(off, {})).toEqual({ state: "ok", found: "disabled" });
  const ready = await load({ browser: { executable: process.execPath, confined: true } });
  expect(await checkBrowser(ready, {})).toEqual({ state: "ok", found: process.execPath });
});

test("the doctor says which search providers would be asked, and what those lack that cannot be", async () => {
  expect(await checkWebSearch(await load({}), { BRAVE_API_KEY: "x" })).toEqual({
    state: "ok",
    found: "brave, then duckduckgo",
  });
  const lacking = await load({ tools: { webSearch: { provider: "tavily" } } });
  expect(await checkWebSearch(lacking, {})).toMatchObject({
    state: "warning",
    next: expect.stringContaining("TAVILY_API_KEY"),
  });
});
