// A folder with the configuration files of other programs, before the real program: doctor, serve and mcp import.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { trust } from "../../src/config/trust.ts";
import { openHaft } from "../../src/host.ts";
import type { ImportedSetting } from "../../src/config/foreign/settings-reader.ts";
import { canConfine } from "../setup/confinement.ts";
import { bundleHaft, type HaftProgram } from "./run-haft.ts";

let haft: HaftProgram;
beforeAll(async () => {
  haft = await bundleHaft();
});
afterAll(() => haft.remove());

function write(files: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(files)) {
    const base = name.startsWith("~/") ? haft.env["HOME"]! : haft.folder;
    const file = join(base, name.replace(/^~\//, ""));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  }
}

/** The same command line in this process, which is faster. */
async function runHere(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  const terminal: Terminal = {
    stdin: new PassThrough() as unknown as Terminal["stdin"],
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: { ...haft.env, XDG_CONFIG_HOME: join(haft.env["HOME"]!, ".config") },
    cwd: haft.folder,
    onInterrupt: () => () => undefined,
  };
  return { code: await runCli(words, terminal), stdout, stderr };
}

async function openHere() {
  const { env } = haft;
  return openHaft(haft.folder, { home: env["HOME"], env, isShortLived: true, approvalWaitMs: false });
}

interface Report {
  items: { what: string; state: string; found: string }[];
  imported: ImportedSetting[];
}

const server = { command: "node", args: ["server.js"] };
/** Each file that people have, and every setting in it, as the report names it. */
const FILES: Record<string, { content: unknown; settings: string[] }> = {
  ".mcp.json": {
    content: { mcpServers: { one: server, two: { ...server, alwaysAllow: ["x"] } } },
    settings: ["mcpServers.one", "mcpServers.two", "mcpServers.two.alwaysAllow"],
  },
  ".vscode/mcp.json": {
    content: {
      inputs: [{ id: "key", type: "promptString" }],
      servers: { vs: { type: "http", url: "https://e.org/mcp" } },
    },
    settings: ["inputs", "servers.vs"],
  },
  ".cursor/mcp.json": { content: { mcpServers: { cursor: server } }, settings: ["mcpServers.cursor"] },
  "claude_desktop_config.json": {
    content: { mcpServers: { desktop: server }, globalShortcut: "Ctrl+Space" },
    settings: ["globalShortcut", "mcpServers.desktop"],
  },
  ".codex/config.toml": {
    content:
      'model = "m"\napproval_policy = "on-request"\nsandbox_mode = "workspace-write"\n[mcp_servers.codex]\ncommand = "x"\n',
    settings: ["approval_policy", "mcp_servers.codex", "model", "sandbox_mode"],
  },
  ".gemini/settings.json": {
    content: {
      mcpServers: { gemini: server },
      tools: { exclude: ["save_memory", "ShellTool(rm)"], allowed: ["glob"] },
      mcp: { excluded: ["two"] },
      ui: { theme: "x" },
    },
    settings: ["mcp.excluded[0]", "mcpServers.gemini", "tools.allowed", "tools.exclude[0]", "tools.exclude[1]", "ui"],
  },
  "opencode.json": {
    content: {
      $schema: "https://opencode.ai/config.json",
      mcp: { open: { type: "local", command: ["node", "server.js"] } },
      permission: { webfetch: "ask", edit: { "*.lock": "deny" } },
      tools: { websearch: false },
      theme: "x",
    },
    settings: ["mcp.open", 'permission.edit["*.lock"]', "permission.webfetch", "theme", "tools.websearch"],
  },
  ".claude/settings.json": {
    content: {
      permissions: { allow: ["NotebookEdit"], deny: ["Read(./secret/**)"], additionalDirectories: ["../x"] },
      hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] },
      disabledMcpjsonServers: ["one"],
      sandbox: { enabled: true },
      env: { TOKEN: "hush-hush" },
    },
    settings: [
      "disabledMcpjsonServers[0]",
      "env.TOKEN",
      "hooks.Stop",
      "permissions.additionalDirectories",
      "permissions.allow[0]",
      "permissions.deny[0]",
      "sandbox.enabled",
    ],
  },
  ".claude/settings.local.json": {
    content: {
      permissions: { ask: ["Bash(git push:*)"] },
      enabledMcpjsonServers: ["two"],
      enableAllProjectMcpServers: true,
    },
    settings: ["enableAllProjectMcpServers", "enabledMcpjsonServers", "permissions.ask[0]"],
  },
  ".claude/agents/reviewer.md": {
    content: "---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: opus\n---\nReview.",
    settings: ["", "description", "model", "name", "tools"],
  },
  ".claude/commands/ship.md": {
    content: "---\ndescription: Ships\nargument-hint: [version]\n---\nShip $ARGUMENTS. !`git status`",
    settings: ["", "!`command`", "argument-hint"],
  },
  ".claude/skills/notes/SKILL.md": {
    content: "---\nname: notes\ndescription: Use it when: notes are written\nallowed-tools: Read\n---\nWrite.",
    settings: ["", "allowed-tools"],
  },
  "AGENTS.md": { content: "Be brief. See @docs/style.md.", settings: ["", "@docs/style.md"] },
  "CLAUDE.md": { content: "@AGENTS.md and @/etc/hostname", settings: ["", "@/etc/hostname", "@AGENTS.md"] },
};

describe("a folder with the configuration of every program", () => {
  beforeAll(() => {
    haft.openFolder();
    write({ ...Object.fromEntries(Object.entries(FILES).map(([name, { content }]) => [name, content])) });
    write({ "docs/style.md": "Short lines." });
  });

  test("has a line for each setting in the report of doctor", async () => {
    const { code, stdout } = await haft.run(["doctor", "--json"]);
    const { items, imported } = JSON.parse(stdout) as Report;
    expect(items.filter(({ state }) => state === "broken")).toEqual([]);
    expect(code).toBe(0);
    for (const [name, { settings }] of Object.entries(FILES)) {
      const lines = imported.filter(({ file }) => file === join(haft.folder, name));
      expect(lines.map(({ setting }) => setting).toSorted(), name).toEqual(settings);
    }
    expect(imported.every(({ reason }) => reason.length > 0)).toBe(true);
    expect(JSON.stringify(imported)).not.toContain("hush-hush");
    const shown = await runHere("doctor");
    expect(shown.stdout).toMatch(/narrowed\s+disabledMcpjsonServers\[0\]:\d+/);
    expect(shown.stdout).toMatch(
      /not applied\s+permissions\.additionalDirectories:\d+\s+It would grant more\. .*workspace\.allowedPaths/,
    );
  });

  test("is served with one line about it", async () => {
    const running = haft.start(["serve", "--port", "0", "--no-open"]);
    const [line] = await running.waitForOutput(/Settings of other programs: .*/, "stderr");
    expect(line).toMatch(/\d+ applied, \d+ narrowed, \d+ not applied\. `haft doctor` lists them/);
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("keeps what narrows: calls are denied, asked about and confined as the files say", async () => {
    const host = await openHere();
    const call = (tool: string, input: object) => host.haft.execute(tool, input, { mode: "bypassPermissions" });
    const denied = { error: { code: "denied" } };
    expect(await call("read", { path: "secret/a.txt" })).toMatchObject(denied);
    expect(await call("write", { path: "x.lock", content: "x" })).toMatchObject(denied);
    expect(await call("exec", { command: "rm -f x" })).toMatchObject(denied);
    expect(await call("exec", { command: "id", outside_sandbox: true })).toMatchObject(denied);
    // Commands run confined, or not at all.
    expect(await call("exec", { command: "git push origin x" })).toMatchObject(
      canConfine ? { status: "pending" } : denied,
    );
    expect(await call("write", { path: "a.txt", content: "x" })).toMatchObject({ status: "completed" });
    const names = host.haft.tools.list().map(({ name }) => name);
    expect([names.includes("exec"), names.includes("web_search")]).toEqual([true, false]);
    await host.close();
  });
});

test("a read-only sandbox of Codex lets nothing change files", async () => {
  haft.openFolder();
  write({ ".codex/config.toml": 'sandbox_mode = "read-only"' });
  const host = await openHere();
  const call = (tool: string, input: object) => host.haft.execute(tool, input, { mode: "bypassPermissions" });
  expect(await call("write", { path: "a.txt", content: "x" })).toMatchObject({ error: { code: "denied" } });
  expect(await call("exec", { command: "echo x > a.txt" })).toMatchObject({ status: "failed" });
  expect(existsSync(join(haft.folder, "a.txt"))).toBe(false);
  await host.close();
});

describe("doctor fails where the host refuses to start", () => {
  test.each([
    ["haft.config.yml", 'permissions: { deny: ["Refund(amount>>5)"] }', /amount>>5/],
    ["haft.config.yml", 'permissions: { deny: ["Bash(rm"] }', /bracket is not closed/],
    ["haft.config.yml", "audit: { enabled: false }", /audit log cannot be switched off/],
    ["haft.config.yml", "tools: { profile: cooding }", /cooding/],
    [".claude/settings.json", '{"permissions": {"deny": "Bash"}}', /Must be an array/],
    [".codex/config.toml", "sandbox_mode = ", /Not valid TOML/],
  ])("%s: %s", async (file, text, reason) => {
    haft.openFolder();
    write({ [file]: text });
    await trust(haft.folder, { home: haft.env["HOME"], env: haft.env }).catch(() => undefined);
    await expect(openHere()).rejects.toThrow(reason);
    const { code, stdout } = await runHere("doctor", "--json");
    expect(code).toBe(1);
    const { items } = JSON.parse(stdout) as Report;
    const broken = items.filter(({ state }) => state === "broken").map(({ found }) => found);
    expect(broken).toEqual([expect.stringMatching(reason)]);
  });
});

test("doctor fails where the server refuses to listen", async () => {
  haft.openFolder();
  write({ "haft.config.yml": "server: { host: 0.0.0.0 }" });
  await trust(haft.folder, { home: haft.env["HOME"], env: haft.env });
  const { code, stdout } = await runHere("doctor");
  expect(code).toBe(1);
  expect(stdout).toMatch(/broken\s+host\s+Haft does not listen on 0\.0\.0\.0 without a token/);
});

describe("haft mcp import", () => {
  const own = { type: "http", url: "https://mcp.example/", headers: { Authorization: "Bearer ${KEY}" } };
  const written = () =>
    (JSON.parse(readFileSync(join(haft.folder, ".mcp.json"), "utf8")) as { mcpServers: Record<string, unknown> })
      .mcpServers;

  test("replaces no server of the same name unless that is said", async () => {
    haft.openFolder();
    write({
      ".mcp.json": { mcpServers: { docs: own } },
      ".cursor/mcp.json": { mcpServers: { docs: { url: "https://mcp.example/" }, more: server } },
    });
    const refused = await runHere("mcp", "import", ".cursor/mcp.json");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/"docs" is in .*\.mcp\.json already, with other settings, so nothing was written/);
    expect(refused.stderr).toContain("--replace, or --rename docs=NEW");
    expect(written()).toEqual({ docs: own });
    expect(await runHere("mcp", "import", ".cursor/mcp.json", "--rename", "docs=docs2")).toMatchObject({ code: 0 });
    expect(written()).toMatchObject({ docs: own, docs2: { url: "https://mcp.example/" }, more: server });
    const replaced = await runHere("mcp", "import", ".cursor/mcp.json", "--replace");
    expect(replaced).toMatchObject({ code: 0, stderr: expect.stringContaining("Replaced: docs.") });
    expect(written()["docs"]).not.toHaveProperty("headers");
    const add = await runHere("mcp", "add", "more", "--", "node", "other.js");
    expect(add).toMatchObject({ code: 2, stderr: expect.stringContaining("--replace") });
  });

  test("names servers that wait for trust, new and changed ones", async () => {
    haft.openFolder();
    expect(await runHere("mcp", "add", "docs", "--", "node", "docs.js")).toMatchObject({ code: 0 });
    const listed = await runHere("mcp", "list");
    expect(listed.stderr).toContain('"docs" is not started: it is not trusted yet.');
    expect(listed.stderr).not.toContain("No MCP servers");
    const checked = await runHere("mcp", "doctor");
    expect(checked).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not trusted yet. Review it: haft trust"),
    });
    expect(await runHere("trust", "--yes")).toMatchObject({ code: 0 });
    expect(await runHere("mcp", "add", "docs", "--replace", "--", "node", "other.js")).toMatchObject({ code: 0 });
    const approved = await runHere("mcp", "approve", "docs", "--yes");
    expect(approved).toMatchObject({ code: 2, stderr: expect.stringContaining("it changed since you trusted it.") });
    expect(approved.stderr).toContain("haft trust");
  });

  test("of an agent prints the command to repeat with every option that was given", async () => {
    haft.openFolder();
    write({ ".cursor/mcp.json": { mcpServers: { docs: server } } });
    const words = ["-C", haft.folder, "mcp", "import", "cursor", "--project", "--rename", "docs=do cs"];
    const asked = await runHere(...words);
    expect(asked.code).toBe(7);
    const command = `haft ${words.slice(0, -1).join(" ")} 'docs=do cs' --yes`;
    expect(asked.stderr).toContain(`Nothing was written yet. Read it, then run \`${command}\`.`);
    write({ ".mcp.json": { mcpServers: { docs: server } } });
    expect((await runHere("trust", "--folder", ".")).stderr).toContain("run `haft trust --folder . --yes`");
  });

  test("keeps headers, and reports every setting of the file", async () => {
    haft.openFolder();
    write({
      "their/opencode.json": {
        mcp: { docs: { type: "remote", url: own.url, headers: { Authorization: "Bearer {env:KEY}" } } },
        permission: { edit: "deny" },
      },
      ".gemini/settings.json": { mcpServers: { a: server, b: server }, mcp: { allowed: ["a"] } },
    });
    const { stdout } = await runHere("mcp", "import", "their/opencode.json", "--json");
    expect(written()).toEqual({ docs: own });
    expect(JSON.parse(stdout)).toMatchObject({
      servers: ["docs"],
      imported: [
        { setting: "mcp.docs", outcome: "applied" },
        { setting: "permission.edit", outcome: "not_applied", reason: expect.stringContaining("Only MCP servers") },
      ],
    });
    expect(await runHere("mcp", "import", ".gemini/settings.json")).toMatchObject({ code: 0 });
    expect(written()).toMatchObject({ b: { disabled: true } });
    expect(written()["a"]).not.toHaveProperty("disabled");
  });
});
