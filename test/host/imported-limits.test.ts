// What other programs forbid does not run here either: each setting with a real host, its gate and a tool that counts its runs.
import { describe, expect, onTestFinished, test } from "vitest";
import { openConfigFolders } from "../../src/config/config-folders.fixture.ts";
import { createTool } from "../../src/core/create-tool.ts";
import { openHaft } from "../../src/host.ts";
import { toolsSameAs } from "../../src/tools/built-in-tools.ts";

async function openWith(files: Record<string, string>) {
  const { folder, home, env, stateFolder } = openConfigFolders(files);
  const host = await openHaft(folder, { home, env, stateFolder, isShortLived: true, approvalWaitMs: false });
  onTestFinished(() => host.close());
  return host;
}

const gemini = (value: object) => ({ ".gemini/settings.json": JSON.stringify(value) });
const opencode = (value: object) => ({ "opencode.json": JSON.stringify(value) });
const codex = (...lines: string[]) => ({ ".codex/config.toml": lines.join("\n") });

describe("a tool of an MCP server does not run unasked", () => {
  test.each([
    ["Gemini, with its server", "mcp__ev__echo", gemini({ tools: { exclude: ["mcp_ev_echo"] } }), "failed"],
    [
      "Gemini, whose server has _",
      "mcp__my_ev__echo_it",
      gemini({ tools: { exclude: ["mcp_my_ev_echo_it"] } }),
      "failed",
    ],
    ["Gemini, by its name alone", "mcp__ev__get-sum", gemini({ excludeTools: ["get-sum"] }), "failed"],
    ["OpenCode, by a pattern", "mcp__ev__do_delete", opencode({ permission: { "*_delete": "deny" } }), "failed"],
    ["OpenCode, by everything", "mcp__ev__echo", opencode({ permission: { "*": "ask", bash: "allow" } }), "pending"],
    [
      "Codex, for a server",
      "mcp__ev__echo",
      codex("[mcp_servers.ev]", 'command = "x"', 'default_tools_approval_mode = "prompt"'),
      "pending",
    ],
  ])("%s", async (_case, name, files, status) => {
    const host = await openWith(files);
    let runs = 0;
    const origin = { type: "mcp", server: "ev" } as const;
    const run = () => `run ${++runs}`;
    host.haft.tools.registry.register(
      createTool({ name, description: "x", kind: "readonly", origin, parameters: [], run }),
    );
    expect(await host.haft.execute(name, {})).toMatchObject({ status });
    expect(runs).toBe(0);
    const other = createTool({ name: "mcp__fine__other", description: "x", kind: "readonly", parameters: [], run });
    host.haft.tools.registry.register(other);
    const isForAll = status === "pending" && "opencode.json" in files;
    expect(await host.haft.execute(other.name, {})).toMatchObject({ status: isForAll ? "pending" : "completed" });
  });
});

describe("no file changes", () => {
  const change = { path: "a.txt", content: "x" };
  test.each([
    ["Gemini in its mode plan", gemini({ general: { defaultApprovalMode: "plan" } }), "failed"],
    ["OpenCode without write", opencode({ permission: { write: "deny" } }), "failed"],
    ["OpenCode without patch", opencode({ permission: { patch: "deny" } }), "failed"],
    ["OpenCode without multiedit", opencode({ permission: { multiedit: "deny" } }), "failed"],
    ["OpenCode, by a pattern", opencode({ permission: { "ed*": "deny" } }), "failed"],
    ["OpenCode, the default agent", opencode({ agent: { build: { permission: { edit: "deny" } } } }), "failed"],
    ["Codex, a profile", codex('profile = "p"', "[profiles.p]", 'sandbox_mode = "someday"'), "failed"],
    ["Codex, a profile that asks", codex('profile = "p"', "[profiles.p]", 'approval_policy = "someday"'), "pending"],
  ])("%s", async (_case, files, status) => {
    const host = await openWith(files);
    expect(await host.haft.execute("write", change, { mode: "bypassPermissions" })).toMatchObject({ status });
    expect(await host.haft.execute("read", { path: "a.txt" })).toMatchObject({ error: { code: "path_not_found" } });
  });
});

test("a repository cannot drop the denials of the settings in it before that is trusted", async () => {
  const host = await openWith({
    "haft.config.json": '{ "import": { "claude": false } }',
    ".claude/settings.local.json": '{ "permissions": { "deny": ["Edit"] } }',
  });
  const change = { path: "a.txt", content: "x" };
  expect(await host.haft.execute("write", change, { mode: "bypassPermissions" })).toMatchObject({ status: "failed" });
});

test("code asks if OpenCode asks for everything, and the report names what asks", async () => {
  const host = await openWith(opencode({ permission: "ask" }));
  expect(await host.haft.execute("run_code", { code: "1 + 1" })).toMatchObject({ status: "pending" });
  const line = host.config.imported.find(({ setting }) => setting === "permission");
  expect(line?.reason).toMatch(/^Needs approval here, by Bash, .*run_code, mcp__\*\. Haft.s other tools follow/);
});

test("pages are not fetched if a pattern of OpenCode denies it", async () => {
  const host = await openWith(opencode({ permission: { "webf*": "deny" } }));
  const call = host.haft.execute("web_fetch", { url: "https://example.com" }, { mode: "bypassPermissions" });
  expect(await call).toMatchObject({ status: "failed", error: { code: "denied" } });
});

test("a denial of OpenCode is applied to every built-in tool that does the same", async () => {
  const keys = [...toolsSameAs("opencode").keys()];
  const host = await openWith(
    opencode({ permission: Object.fromEntries([...keys, "lsp"].map((key) => [key, "deny"])) }),
  );
  const outcomeOf = (key: string) =>
    host.config.imported.find(({ setting }) => setting === `permission.${key}`)?.outcome;
  expect(keys.filter((key) => outcomeOf(key) !== "narrowed")).toEqual([]);
  expect(outcomeOf("lsp")).toBe("applied");
  for (const [name, input] of [
    ["todo", {}],
    ["ask_user", { questions: [{ question: "Now?" }] }],
    ["list_files", {}],
  ] as const) {
    const result = await host.haft.execute(name, input, { mode: "bypassPermissions" });
    expect([name, result]).toMatchObject([name, { status: "failed", error: { code: "denied" } }]);
  }
});
