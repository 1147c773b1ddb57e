import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { type AgentName, planAgentImport, planRestore, writeAgentImport, writeRestore } from "./agent-servers.ts";
import { parseConfigText } from "./config-text.ts";
import { loadConfig } from "./load-config.ts";
import { findMcpEntries } from "./mcp-entries.ts";
import { trust } from "./trust.ts";

const HAFT = ["haft", "mcp"];

function open(files: Record<string, string>) {
  const root = realpathSync(temporaryFolder("haft-agents-"));
  const [home, folder] = [join(root, "home"), join(root, "work")];
  mkdirSync(home);
  mkdirSync(folder);
  const at = (name: string) => join(root, name.replaceAll("FOLDER", folder));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text.replaceAll("FOLDER", folder), { mode: 0o640 });
  }
  const user = { home, env: { TOKEN: "s3cret" } };
  const plan = (agent: AgentName, more: { names?: Map<string, string>; replaces?: boolean } = {}) =>
    planAgentImport({
      ...{ folder, user, agent, scopes: ["user", "project"], names: new Map(), replaces: false },
      commandFor: (scope) => (scope === "project" ? [...HAFT, "--folder", folder] : HAFT),
      ...more,
    });
  const take = async (agent: AgentName) => writeAgentImport(await plan(agent), user, Date.now());
  const giveBack = async (agent: AgentName) => writeRestore(await planRestore(agent, user));
  const read = (name: string) => readFileSync(at(name), "utf8");
  const names = async () => {
    await trust(folder, user);
    const { mcpServers } = await loadConfig({ folder, ...user });
    return mcpServers.map(({ name }) => name).sort();
  };
  return { root, home, folder, user, at, plan, take, giveBack, read, names };
}

const FILES: Record<AgentName, Record<string, string>> = {
  claude: {
    "home/.claude.json": `{
  "numStartups": 7,
  "mcpServers": { "one": { "command": "a", "args": ["--x"], "env": { "K": "\${TOKEN}" } } },
  "projects": {
    "/elsewhere": { "mcpServers": { "other": { "command": "z" } } },
    "FOLDER": { "allowedTools": [], "mcpServers": { "two": { "type": "http", "url": "https://two.example/mcp" } } }
  }
}
`,
    "work/.mcp.json": `{"mcpServers": {"three": {"command": "c"}}}`,
  },
  codex: {
    "home/.codex/config.toml": `# My settings
model = "gpt" # best

[mcp_servers.one]
command = "a" # why
args = ["x"]

[mcp_servers.one.env]
K = "v"

# About the profile
[profiles.fast]
text = """
[mcp_servers.not_one]
"""

[mcp_servers."two"]
url = "https://two.example/mcp"
`,
  },
  gemini: {
    "home/.gemini/settings.json": `{
  // The theme
  "theme": "dark", /* keep */
  "mcpServers": {
    // The first
    "one": { "command": "a", },
  },
}
`,
  },
  cursor: {
    "home/.cursor/mcp.json": `{"mcpServers":{"one":{"command":"a"}}}`,
    "work/.cursor/mcp.json": `{ "mcpServers": { "two": { "url": "https://two.example/mcp" } } }`,
  },
  copilot: {
    "home/.copilot/mcp-config.json": `{ "mcpServers": { "one": { "type": "local", "command": "a", "args": [], "tools": ["*"] } } }`,
    "work/.vscode/mcp.json": `{ "inputs": [], "servers": { "two": { "type": "stdio", "command": "b" } } }`,
  },
  opencode: {
    "work/opencode.json": `{
  "$schema": "https://opencode.ai/config.json",
  "permission": { "bash": "ask" },
  "mcp": { "one": { "type": "local", "command": ["a", "b"], "environment": { "K": "v" } } }
}`,
  },
};

const SERVERS: Record<AgentName, string[]> = {
  ...{ claude: ["one", "three", "two"], codex: ["one", "two"], gemini: ["one"], cursor: ["one", "two"] },
  ...{ copilot: ["one", "two"], opencode: ["one"] },
};

async function entriesIn(text: string, file: string) {
  return findMcpEntries((await parseConfigText(text, file)).value, file).map(({ name }) => name);
}

describe.each(Object.keys(FILES) as AgentName[])("the servers of %s", (agent) => {
  const files = FILES[agent];

  test("go to Haft, its files start Haft, and everything else in them stays", async () => {
    const { take, read, names, at, plan } = open(files);
    await take(agent);
    expect(await names()).toEqual(SERVERS[agent]);
    for (const [name, before] of Object.entries(files)) {
      const after = read(name);
      expect(await entriesIn(after, at(name)), name).toEqual([]);
      expect(after).toMatch(/haft/);
      expect(after).not.toContain("s3cret");
      expect(statSync(at(name)).mode & 0o777).toBe(0o640);
      for (const [comment] of before.matchAll(/\/\/ The theme|\/\* keep \*\/|# (?:My|best|About).*/g))
        expect(after).toContain(comment);
    }
    // A second import finds nothing.
    expect((await plan(agent)).servers).toEqual([]);
  });

  test("are given back, byte for byte, and leave Haft", async () => {
    const { take, giveBack, read, names, folder } = open(files);
    await take(agent);
    await giveBack(agent);
    for (const [name, before] of Object.entries(files)) expect(read(name)).toBe(before.replaceAll("FOLDER", folder));
    expect(await names()).toEqual(agent === "claude" ? ["three"] : []);
  });
});

describe.each(Object.keys(FILES) as AgentName[])("an interrupted import of %s", (agent) => {
  const files = FILES[agent];
  const start = () => open({ ...files, "work/haft.config.yml": "# Mine\nagent: {}\n" });

  test("loses nothing, wherever it was stopped, and goes on or back", async () => {
    for (let written = 0; ; written++) {
      const { plan, take, giveBack, read, names, user, folder } = start();
      const shown = await plan(agent);
      await writeAgentImport({ ...shown, changes: shown.changes.slice(0, written) }, user, 1);
      const goesOn = written % 2 === 0;
      if (goesOn) await take(agent);
      expect(goesOn ? await names() : SERVERS[agent]).toEqual(SERVERS[agent]);
      await giveBack(agent);
      for (const [name, before] of Object.entries(files))
        expect(read(name), `${written}`).toBe(before.replaceAll("FOLDER", folder));
      expect(read("work/haft.config.yml")).toBe("# Mine\nagent: {}\n");
      if (written > shown.changes.length) break;
    }
  });

  test("is given back also if giving it back was stopped", async () => {
    for (let written = 0; ; written++) {
      const { take, giveBack, read, user, folder } = start();
      await take(agent);
      const back = await planRestore(agent, user);
      const records = written < back.changes.length ? [] : back.records.slice(0, 1);
      await writeRestore({ changes: back.changes.slice(0, written), records });
      await giveBack(agent);
      for (const [name, before] of Object.entries(files))
        expect(read(name), `${written}`).toBe(before.replaceAll("FOLDER", folder));
      expect(read("work/haft.config.yml")).toBe("# Mine\nagent: {}\n");
      if (written > back.changes.length) break;
    }
  });
});

test("what was added to an agent's file since stays when the servers are given back", async () => {
  const { take, giveBack, at, read } = open(FILES.cursor);
  await take("cursor");
  const now = JSON.parse(read("work/.cursor/mcp.json")) as { mcpServers: object };
  const changed = { ...now, mcpServers: { ...now.mcpServers, late: { command: "l" } }, more: 1 };
  writeFileSync(at("work/.cursor/mcp.json"), JSON.stringify(changed));
  await giveBack("cursor");
  expect(JSON.parse(read("work/.cursor/mcp.json"))).toEqual({
    mcpServers: { late: { command: "l" }, two: { url: "https://two.example/mcp" } },
    more: 1,
  });

  const codex = open(FILES.codex);
  const file = "home/.codex/config.toml";
  await codex.take("codex");
  writeFileSync(codex.at(file), `${codex.read(file)}\n[mcp_servers.late]\ncommand = "l"\n`);
  await codex.giveBack("codex");
  expect((await entriesIn(codex.read(file), file)).sort()).toEqual(["late", "one", "two"]);
  expect(codex.read(file)).toContain("# About the profile");
  expect(codex.read(file)).not.toContain("haft");
});

test("comments of Haft's own file stay, and other settings of the same name are not replaced unasked", async () => {
  const { plan, take, read, giveBack } = open({
    ...FILES.cursor,
    "work/haft.config.yml": `# Mine\nmcpServers:\n  # The one\n  two: { command: mine }\n`,
  });
  await expect(plan("cursor")).rejects.toThrow(/other settings for "two"/);
  const renamed = await plan("cursor", { names: new Map([["two", "second"]]) });
  expect(renamed.servers).toEqual(["one", "second"]);
  const replaced = await plan("cursor", { replaces: true });
  expect(replaced.changes.find(({ file }) => file.endsWith("haft.config.yml"))!.after).toMatch(
    /# Mine\nmcpServers:\n[^]*https:\/\/two/,
  );
  await expect(take("cursor")).rejects.toThrow("other settings for");
  expect(read("work/haft.config.yml")).toContain("command: mine");
  await giveBack("cursor");
});

test("a file that changed after it was shown is not written", async () => {
  const { plan, user, at, read } = open(FILES.gemini);
  const shown = await plan("gemini");
  writeFileSync(at("home/.gemini/settings.json"), "{}");
  await expect(writeAgentImport(shown, user, 1)).rejects.toThrow(/has changed since it was shown/);
  expect(read("home/.gemini/settings.json")).toBe("{}");
});

test("a link stays a link", async () => {
  const { take, home, root } = open({ "dotfiles/mcp.json": FILES.cursor["home/.cursor/mcp.json"]! });
  mkdirSync(join(home, ".cursor"));
  symlinkSync(join(root, "dotfiles/mcp.json"), join(home, ".cursor/mcp.json"));
  await take("cursor");
  expect(readFileSync(join(root, "dotfiles/mcp.json"), "utf8")).toContain("haft");
  expect(existsSync(join(home, ".cursor/mcp.json"))).toBe(true);
});

test.each([
  ["TOML with inline servers", "home/.codex/config.toml", `mcp_servers = { one = { command = "a" } }\n`],
  ["dotted keys", "home/.codex/config.toml", `mcp_servers.one.command = "a"\n`],
])("%s are refused, and nothing is written", async (_what, file, text) => {
  const { plan } = open({ [file]: text });
  await expect(plan("codex")).rejects.toThrow(/cannot change safely/);
});

test("an entry that Haft cannot start is not taken away from the agent", async () => {
  const { plan } = open({
    "home/.cursor/mcp.json": `{"mcpServers":{"one":{"command":"a"},"odd":{"type":"carrier-pigeon"}}}`,
  });
  await expect(plan("cursor")).rejects.toThrow(/cannot start "odd"/);
});

describe("an entry that starts Haft itself", () => {
  const isFound = (fields: object) => findMcpEntries({ mcpServers: { x: fields } }).length === 1;

  test.each([
    [{ command: "haft", args: ["mcp"] }],
    [{ command: "/usr/bin/node", args: ["/usr/lib/node_modules/haft/dist/cli/main.js", "mcp", "--folder", "."] }],
    [{ command: "npx", args: ["-y", "haft@1.0.0", "mcp"] }],
  ])("is no server of Haft: %j", (fields) => {
    expect(isFound(fields)).toBe(false);
  });

  test.each([
    [{ command: "sh", args: ["-c", "evil", "haft", "mcp"] }],
    [{ command: "npx", args: ["-p", "evil", "haft", "mcp"] }],
    [{ command: "node", args: ["--import=./evil.js", "haft", "mcp"] }],
    [{ command: "haft-evil", args: ["mcp"] }],
    [{ command: "mcp", args: ["haft"] }],
  ])("is one if another program could run: %j", (fields) => {
    expect(isFound(fields)).toBe(true);
  });
});
