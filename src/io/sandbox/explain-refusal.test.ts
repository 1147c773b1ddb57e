import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { explainRefusal, type RefusalContext } from "./explain-refusal.ts";

function explain(
  output: (workspace: string) => string,
  access: RefusalContext["access"] = {},
  command = ["server"],
): string | undefined {
  const workspace = temporaryFolder();
  mkdirSync(join(workspace, "bin"));
  writeFileSync(join(workspace, "bin/there.js"), "");
  return explainRefusal(output(workspace), {
    access,
    program: "/usr/bin/node",
    command,
    workspace,
    home: "/home/ada",
    readable: [workspace],
    writable: [],
    refusedHosts: [],
    given: {},
    host: {},
  });
}

test("a program that does not exist is a missing file, not a refusal", () => {
  expect(explain((workspace) => `Error: Cannot find module '${workspace}/bin/gone.js'`)).toBe(
    "The file bin/gone.js does not exist. Correct its path in the entry.",
  );
});

test("a server that writes beside its own code is given another place, never its code", () => {
  const memory = "/home/ada/.npm/_npx/1/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl";
  const advice = explain(() => `Error: EACCES: permission denied, open '${memory}'`);
  expect(advice).toMatch(/"env": \{"MEMORY_FILE_PATH": "\/[^"]+\/memory\.jsonl"\}, "write": \["\."\]$/);
  const other = explain(() => "EROFS: read-only file system, open '/opt/x/node_modules/y/data.db'", { write: ["out"] });
  expect(other).toMatch(/in the server's own code\. Give it another place.*"write": \["out","\."\]$/);
  for (const text of [advice, other]) expect(text?.split("Give it")[1]).not.toContain("node_modules");
});

test.each([
  "browserType.launch: Executable doesn't exist at /home/ada/.cache/ms-playwright/chromium-1/chrome",
  "Error: Failed to launch the browser process!",
  "EACCES: permission denied, mkdir '/home/ada/.cache/ms-playwright/mcp-chrome'",
])("a browser needs to run unconfined: %s", (output) => {
  expect(explain(() => output)).toBe(
    'The sandbox refused the browser that it starts. To allow it, add to its entry: "sandbox": false',
  );
});

test("a browser server is known by its package if the error does not name a browser", () => {
  const refused = () => "Error: ENOENT: no such file or directory, mkdir '/home/ada/.cache'";
  expect(explain(refused, {}, ["npx", "@playwright/mcp@latest"])).toMatch(/"sandbox": false$/);
  expect(explain(refused)).toMatch(/"write": \["~\/.cache"\]$/);
});

test("a file of the workspace is still a line of configuration", () => {
  expect(explain((workspace) => `EACCES: permission denied, open '${workspace}/x.txt'`)).toContain('"write": ["."]');
});
