import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findBrowser } from "./find-program.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "haft-browser-"));
  await writeFile(join(folder, "my-chromium"), "#!/bin/sh\n");
  await chmod(join(folder, "my-chromium"), 0o755);
  await writeFile(join(folder, "no-program"), "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the browser that the configuration names comes first, then that of the environment", () => {
  const path = join(folder, "my-chromium");
  expect(findBrowser({ named: path, env: { HAFT_BROWSER: "/other" } })).toEqual({ path });
  expect(findBrowser({ env: { HAFT_BROWSER: path } })).toEqual({ path });
});

test("a name that is no program is told, and nothing else is taken in its place", () => {
  for (const named of [join(folder, "no-program"), join(folder, "nothing"), "my-chromium"]) {
    expect(findBrowser({ named, env: { PATH: folder } })).toEqual({
      missing: expect.stringMatching(/no program.*Install/),
    });
  }
});

test("where there is none, it is said how to get one", () => {
  expect(findBrowser({ env: {}, platform: "win32" })).toEqual({ missing: expect.stringContaining("Install Chromium") });
});
