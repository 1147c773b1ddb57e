import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { findBrowser } from "./find-program.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder("haft-browser-");
  await writeFile(join(folder, "my-chromium"), "#!/bin/sh\n");
  await chmod(join(folder, "my-chromium"), 0o755);
  await writeFile(join(folder, "no-program"), "");
});

test("the configured browser comes first, then the one from the environment", () => {
  const path = join(folder, "my-chromium");
  expect(findBrowser({ named: path, env: { HAFT_BROWSER: "/other" } })).toEqual({ path });
  expect(findBrowser({ env: { HAFT_BROWSER: path } })).toEqual({ path });
});

test("a configured path that is not a program is reported, and no other browser replaces it", () => {
  for (const named of [join(folder, "no-program"), join(folder, "nothing"), "my-chromium"]) {
    expect(findBrowser({ named, env: { PATH: folder } })).toEqual({
      missing: expect.stringMatching(/not the absolute path of a program.*Install/),
    });
  }
});

test("if there is none, the message says how to install one", () => {
  expect(findBrowser({ env: {}, platform: "win32" })).toEqual({ missing: expect.stringContaining("Install Chromium") });
});
