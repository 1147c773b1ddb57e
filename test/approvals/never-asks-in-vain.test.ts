// A person is never asked about a call that would be refused anyway.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getuid } from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { createHaft } from "../../src/index.ts";
import { createGuardedNet } from "../../src/io/net/guarded-fetch.ts";
import { createResourceTools } from "../../src/tools/discovery/mcp-resources.ts";
import { createHttpTools } from "../../src/tools/web/http-tools.ts";
import { openWorkspace } from "../../src/workspace.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-in-vain-")));
for (const name of [".vscode", "full", "locked", "docs"]) mkdirSync(join(folder, name));
for (const name of ["a.txt", "b.txt", "full/inside.txt", ".env", "docs/read-only.txt"]) {
  writeFileSync(join(folder, name), "content\n");
}
symlinkSync("/etc/hosts", join(folder, "link-out"));
chmodSync(join(folder, "locked"), 0o555);

const asked: unknown[] = [];
const net = createGuardedNet();
const haft = createHaft({
  rules: { ask: ["read", "list_files", "grep", "glob"] },
  workspace: openWorkspace(folder, { readOnlyPaths: ["docs"] }),
  tools: [
    ...createHttpTools({ fetch: net.fetch, checkUrl: net.checkUrl }),
    ...createResourceTools({
      names: () => ["known"],
      isTrusted: () => false,
      list: async () => ({ resources: [], templates: [] }),
      read: async () => [],
    }),
  ],
  approver: async (approval) => {
    asked.push(approval);
    return { approved: false };
  },
});
afterAll(async () => {
  await haft.shutdown();
  await net.close();
  chmodSync(join(folder, "locked"), 0o755);
  rmSync(folder, { recursive: true, force: true });
});

const patch = (...lines: string[]) => ({ patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });

const REFUSED: [tool: string, what: string, input: object][] = [
  ["write", "settings of an editor", { path: ".vscode/settings.json", content: "{}" }],
  ["write", "a shell start-up file", { path: ".bashrc", content: "x" }],
  ["write", "a path outside the workspace", { path: "/etc/outside", content: "x" }],
  ["write", "a path with ..", { path: "../outside", content: "x" }],
  ["write", "a read-only path", { path: "docs/new.txt", content: "x" }],
  ["write", "a folder", { path: "full", content: "x" }],
  ["write", "a path below a file", { path: "a.txt/b.txt", content: "x" }],
  ["write", "an unread file", { path: "b.txt", content: "x" }],
  ["write", "a link that leads out", { path: "link-out", content: "x" }],
  ["write", "content with an ellipsis", { path: "new.txt", content: "a\n// ... rest of the code unchanged\n" }],
  ["edit", "text that is not there", { path: "a.txt", old_string: "missing", new_string: "x" }],
  ["edit", "a missing file", { path: "none.txt", old_string: "a", new_string: "b" }],
  ["edit", "a secret", { path: ".env", old_string: "content", new_string: "x" }],
  ["edit", "a read-only file", { path: "docs/read-only.txt", old_string: "content", new_string: "x" }],
  ["delete_file", "a folder that is not empty", { path: "full" }],
  ["delete_file", "a missing file", { path: "none.txt" }],
  ["delete_file", "the workspace", { path: ".", recursive: true }],
  ["delete_file", "a folder of editor settings", { path: ".vscode", recursive: true }],
  ["delete_file", "a secret", { path: ".env" }],
  ["move_file", "a missing source", { from: "none.txt", to: "c.txt" }],
  ["move_file", "an existing target", { from: "a.txt", to: "b.txt" }],
  ["move_file", "a target outside", { from: "a.txt", to: "/tmp/outside.txt" }],
  ["move_file", "a protected target", { from: "a.txt", to: ".git/hooks/pre-commit" }],
  ["move_file", "a folder into itself", { from: "full", to: "full/deeper" }],
  ["apply_patch", "no patch", { patch: "nothing" }],
  ["apply_patch", "a hunk that does not match", patch("*** Update File: a.txt", "-missing", "+x")],
  ["apply_patch", "a protected file", patch("*** Add File: .vscode/tasks.json", "+{}")],
  ["apply_patch", "a file that exists", patch("*** Add File: a.txt", "+x")],
  ["apply_patch", "a read-only file", patch("*** Delete File: docs/read-only.txt")],
  ["exec", "a folder outside", { command: "touch x", working_directory: "/etc" }],
  ["exec", "a missing folder", { command: "touch x", working_directory: "none" }],
  ["exec", "a file as its folder", { command: "touch x", working_directory: "a.txt" }],
  ["exec", "a variable that makes programs run something", { command: "touch x", env: { LD_PRELOAD: "/tmp/x.so" } }],
  ["exec", "a blank command", { command: "  " }],
  ["exec", "a time limit that is too long", { command: "touch x", timeout: 700_000 }],
  ["process", "an unknown process", { action: "write", id: "calm-otter", data: "x" }],
  ["http_post", "a private address", { url: "http://127.0.0.1:8080/", body: "x" }],
  ["http_post", "a private name", { url: "http://printer.local/", body: "x" }],
  ["http_request", "another scheme", { method: "DELETE", url: "file:///etc/passwd" }],
  ["read", "a missing file", { path: "none.txt" }],
  ["read", "a secret", { path: ".env" }],
  ["list_files", "a folder outside", { path: "/etc" }],
  ["grep", "a missing folder", { path: "none", pattern: "x" }],
  ["glob", "a folder outside", { path: "/etc", pattern: "*" }],
  ["read_mcp_resource", "an unknown server", { server: "unknown", uri: "x://y" }],
];

describe("nobody is asked", () => {
  test.each(REFUSED)("%s: %s", async (tool, _what, input) => {
    asked.length = 0;
    const result = await haft.execute(tool, input, { caller: { session: "s" } });
    expect({ status: result.status, asked: asked.length }).toEqual({ status: "failed", asked: 0 });
  });

  test("process: a process that has ended, or takes no input", async () => {
    const caller = { session: "s" };
    const start = async (command: string) => {
      const options = { caller, mode: "bypassPermissions" } as const;
      const { details } = await haft.execute("exec", { command, yield_ms: 50 }, options);
      return (details as { processId: string }).processId;
    };
    const running = await start("sleep 20");
    asked.length = 0;
    const write = { action: "write", id: running, data: "x" };
    expect(await haft.execute("process", write, { caller })).toMatchObject({ error: { code: "invalid_input" } });
    await haft.execute("process", { action: "kill", id: running }, { caller });
    expect(await haft.execute("process", write, { caller })).toMatchObject({ status: "failed" });
    expect(asked).toEqual([]);
  });

  test.skipIf(getuid?.() === 0)("write: a folder that the user may not write", async () => {
    asked.length = 0;
    const result = await haft.execute("write", { path: "locked/new.txt", content: "x" });
    expect({ status: result.status, asked: asked.length }).toEqual({ status: "failed", asked: 0 });
  });
});

describe("a person is asked", () => {
  test.each<[string, object]>([
    ["write", { path: "new/deep/file.txt", content: "x" }],
    ["delete_file", { path: "full", recursive: true }],
    ["move_file", { from: "a.txt", to: "new/place.txt" }],
    ["apply_patch", patch("*** Add File: new/other.txt", "+x")],
    ["exec", { command: "touch x" }],
    ["http_post", { url: "https://example.com/", body: "x" }],
    ["read_mcp_resource", { server: "known", uri: "x://y" }],
  ])("%s, if the call is possible", async (tool, input) => {
    asked.length = 0;
    await haft.execute(tool, input);
    expect(asked).toHaveLength(1);
  });
});
