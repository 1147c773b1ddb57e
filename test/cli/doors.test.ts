import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient } from "../../src/client.ts";
import { SCRIPTED } from "../mcp/connect-scripted.ts";
import { bundleHaft, type HaftProgram } from "./run-haft.ts";

let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

const configure = (text: string): void => writeFileSync(join(haft.folder, "haft.config.yml"), text);

describe("tools of an MCP server", () => {
  test("are there for a command that has only just begun to connect it", async () => {
    const servers = { slow: { command: process.execPath, args: [SCRIPTED] } };
    writeFileSync(join(haft.folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
    expect((await haft.run(["tools", "list", "--wait", "30s"])).stdout).toContain("mcp__slow__echo");
    expect((await haft.run(["tools", "search", "mcp__slow__echo", "--wait", "30s"])).stdout).toContain(
      "mcp__slow__echo",
    );
    expect(await haft.run(["tools", "describe", "mcp__slow__echo"])).toMatchObject({ code: 0 });
    const requested = await haft.run(["tools", "call", "mcp__slow__echo", "--json"]);
    expect(requested.code).toBe(7);
    const { pending } = JSON.parse(requested.stdout) as { pending: { id: string } };
    const { code, stderr } = await haft.run(["approvals", "approve", pending.id]);
    expect(code, stderr).toBe(0);
  }, 60_000);
});

describe("what is asked of a person", () => {
  test("is approved here where another process waits for it, which runs it", async () => {
    configure("approvals: { waitMs: 60000 }\n");
    const token = (await haft.run(["token", "create", "test", "--scope", "read,call"])).stdout.trim();
    const running = haft.start(["serve", "--port", "0", "--json"]);
    const [line] = await running.waitForOutput(/^\{.*\}\n/);
    const client = createClient({ url: (JSON.parse(line) as { url: string }).url, token });
    const result = client.calls.execute({ tool: "write", input: { path: "a.txt", content: "x" } });
    let id: string | undefined;
    while (id === undefined) id = (await client.approvals.list({ state: "pending" })).items[0]?.id;
    const approved = await haft.run(["approvals", "approve", id]);
    expect(approved.stderr).not.toContain("waits for");
    expect(approved.code, approved.stderr).toBe(0);
    expect(await result).toMatchObject({ status: "completed" });
  }, 60_000);

  test("is shown by trust without the secrets in it, and with its hidden characters", async () => {
    configure('server: { token: "CANARY-of-22-characters-1" }\n');
    const servers = { db: { command: "db", args: ["\u202e"], env: { API_KEY: "CANARY" }, headers: {} } };
    writeFileSync(join(haft.folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    for (const words of [
      ["trust", "--list"],
      ["trust", "--list", "--json"],
    ]) {
      const { code, stdout } = await haft.run(words);
      expect(code).toBe(7);
      expect(stdout).toContain("server.token");
      expect(stdout).not.toMatch(/CANARY|\u202e/);
    }
  });
});

describe("what cannot be done is told in the words of a command line", () => {
  test.each([
    [["approvals", "show", "apr_none"], 1, "haft approvals list"],
    [["tools", "describe", "zzzzzzzzzz"], 1, "haft tools list"],
    [["audit", "query", "--limit", "0"], 2, "from 1 to 500"],
    [["tools", "list", "--folder", "not-there"], 2, "There is no folder"],
    [["serve", "not-there"], 2, "There is no folder"],
  ])("%j", async (words, code, waitForOutput) => {
    const ran = await haft.run(words);
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(waitForOutput);
    expect(ran.stderr).not.toMatch(/\/api\/|ENOENT/);
  });

  test("an import says what it left behind, and leaves off what was off", async () => {
    mkdirSync(join(haft.folder, ".cursor"));
    const servers = { a: { command: "a", disabled: true }, b: { command: "b", envFile: ".env" } };
    writeFileSync(join(haft.folder, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: servers }));
    const { code, stderr } = await haft.run(["mcp", "import", join(haft.folder, ".cursor", "mcp.json")]);
    expect(code).toBe(0);
    expect(stderr).toContain("Disabled, because they are disabled in that file: a.");
    expect(stderr).toContain('"envFile" is not converted');
  });
});

test("documents are listed, shown in any version, and compared", async () => {
  const call = (tool: string, input: object) =>
    haft.run([
      "tools",
      "call",
      tool,
      "id=doc",
      ...Object.entries(input).map((pair) => pair.join("=")),
      "--session",
      "s",
    ]);
  expect(await call("create_artifact", { title: "A \u001b[31mtitle", content: "one\ntwo\n" })).toMatchObject({
    code: 0,
  });
  expect((await call("update_artifact", { old_str: "two", new_str: "three" })).code).toBe(0);
  const listed = await haft.run(["artifacts", "list"]);
  expect(listed.stdout).toMatch(/^doc +v2 /);
  expect(listed.stdout).not.toContain("\u001b");
  const of = ["doc", "--session", "s"];
  expect((await haft.run(["artifacts", "show", ...of])).stdout).toBe("one\nthree\n");
  expect((await haft.run(["artifacts", "show", "doc", "1", "--session", "s"])).stdout).toBe("one\ntwo\n");
  expect(await haft.run(["artifacts", "show", "doc", "first"])).toMatchObject({ code: 2 });
  expect((await haft.run(["artifacts", "versions", ...of])).stdout).toMatch(/^v2 +update .*\nv1 +create /);
  expect((await haft.run(["artifacts", "diff", ...of])).stdout).toContain("-two\n+three\n");
  const missing = await haft.run(["artifacts", "show", "doc"]);
  expect(missing.code).not.toBe(0);
  expect(missing.stderr).toContain('There is no artifact "doc"');
}, 60_000);
