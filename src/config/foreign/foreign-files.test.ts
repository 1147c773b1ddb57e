import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openConfigFolders } from "../config-folders.fixture.ts";
import type { LoadedConfig } from "../load-config.ts";
import { trust } from "../trust.ts";
import type { ImportedSetting } from "./settings-reader.ts";

const json = (value: unknown) => JSON.stringify(value, null, 1);

/** `setting: outcome` for each line of a file. */
function outcomes({ imported }: LoadedConfig, file: string): string[] {
  return imported.filter((line) => line.file.endsWith(file)).map(({ setting, outcome }) => `${setting}: ${outcome}`);
}

function lineOf({ imported }: LoadedConfig, setting: string): ImportedSetting | undefined {
  return imported.find((line) => line.setting === setting);
}

function rulesOf({ sources }: LoadedConfig, list: "allow" | "ask" | "deny"): string[] {
  return sources.flatMap(({ permissions }) => permissions[list]);
}

function deniedTools({ sources }: LoadedConfig): string[] {
  return sources.flatMap(({ policy }) => policy?.deny ?? []);
}

describe("settings of Claude Code", () => {
  test("decide which servers of .mcp.json are started", async () => {
    const server = { command: "true" };
    const folders = openConfigFolders({
      ".mcp.json": json({ mcpServers: { a: server, b: server, c: { ...server, autoApprove: ["x"] } } }),
      ".claude/settings.json": json({ disabledMcpjsonServers: ["a"], enableAllProjectMcpServers: true }),
    });
    await trust(folders.folder, folders);
    const config = await folders.load();
    expect(config.mcpServers.map(({ name }) => name)).toEqual(["b", "c"]);
    expect(lineOf(config, "mcpServers.a")).toMatchObject({
      outcome: "narrowed",
      reason: expect.stringMatching(/disabledMcpjsonServers of/),
    });
    expect(lineOf(config, "mcpServers.b")).toMatchObject({ outcome: "applied" });
    expect(lineOf(config, "mcpServers.c.autoApprove")).toMatchObject({
      outcome: "not_applied",
      reason: expect.stringMatching(/grant more/),
    });
    expect(lineOf(config, "enableAllProjectMcpServers")).toMatchObject({
      outcome: "not_applied",
      reason: expect.stringMatching(/grant more/),
    });

    folders.write({ ".claude/settings.local.json": json({ enabledMcpjsonServers: ["b"] }) });
    const limited = await folders.load();
    expect(limited.mcpServers.map(({ name }) => name)).toEqual(["b"]);
    expect(limited.excludedServers.map(({ name }) => name)).toEqual(["a", "c"]);
    folders.write({ "~/.claude/settings.json": json({ deniedMcpServers: [{ serverCommand: ["true"] }] }) });
    expect((await folders.load()).mcpServers).toEqual([]);
    folders.write({
      "~/.claude/settings.json": json({ allowedMcpServers: [{ serverName: "a" }, { serverUrl: "https://*.e.org/*" }] }),
      ".claude/settings.local.json": "{}",
      ".claude/settings.json": "{}",
    });
    expect((await folders.load()).mcpServers.map(({ name }) => name)).toEqual(["a"]);
  });

  test("name servers that are not started, also before they are trusted", async () => {
    const folders = openConfigFolders({
      ".mcp.json": json({ mcpServers: { a: { command: "true" }, b: { command: "true" } } }),
      ".claude/settings.json": json({ disabledMcpjsonServers: ["a"] }),
    });
    const config = await folders.load();
    expect(lineOf(config, "mcpServers.a")).toMatchObject({ outcome: "narrowed" });
    expect(lineOf(config, "mcpServers.b")?.reason).toContain("haft trust");
  });

  test("do not stop servers of Haft's own files", async () => {
    const folders = openConfigFolders({
      "~/.config/haft/config.json": json({ mcpServers: { a: { command: "true" } } }),
      "~/.claude/settings.json": json({ disabledMcpjsonServers: ["a"] }),
    });
    expect((await folders.load()).mcpServers.map(({ name }) => name)).toEqual(["a"]);
  });

  test("that confine are kept, and those that widen are named", async () => {
    const folders = openConfigFolders({
      ".claude/settings.json": json({
        env: { TOKEN: "hush" },
        sandbox: {
          enabled: true,
          autoAllowBashIfSandboxed: true,
          excludedCommands: ["docker"],
          filesystem: { denyRead: ["~/.aws", "/srv/x"], allowWrite: ["/data"] },
          network: { deniedDomains: ["evil.example"], allowedDomains: ["example.com"] },
          unheardOf: 1,
        },
      }),
      "haft.config.yml": "sandbox: { mode: off }",
    });
    await trust(folders.folder, folders);
    const config = await folders.load();
    expect(config.commandsConfinedBy).toMatch(/\.claude\/settings\.json$/);
    expect(rulesOf(config, "deny")).toEqual(["Read(~/.aws)", "Read(//srv/x)", "WebFetch(domain:evil.example)"]);
    expect(outcomes(config, "settings.json").toSorted()).toEqual([
      "env.TOKEN: not_applied",
      "sandbox.autoAllowBashIfSandboxed: not_applied",
      "sandbox.enabled: narrowed",
      "sandbox.excludedCommands: not_applied",
      "sandbox.filesystem.allowWrite: not_applied",
      "sandbox.filesystem.denyRead[0]: narrowed",
      "sandbox.filesystem.denyRead[1]: narrowed",
      "sandbox.network.allowedDomains: not_applied",
      "sandbox.network.deniedDomains[0]: narrowed",
      "sandbox.unheardOf: not_applied",
    ]);
    expect(JSON.stringify(config.imported)).not.toContain("hush");
  });

  test("of a folder that is not trusted are named so", async () => {
    const folders = openConfigFolders({
      ".claude/settings.json": json({
        permissions: { allow: ["Bash(ls)"], deny: ["Bash(rm:*)"], defaultMode: "acceptEdits" },
        hooks: {
          PreToolUse: [{ matcher: "Bash", hooks: [{ type: "prompt" }, { type: "command", command: "check" }] }],
        },
      }),
    });
    expect(outcomes(await folders.load(), "settings.json")).toEqual([
      "permissions.allow[0]: not_applied",
      "permissions.deny[0]: narrowed",
      "permissions.defaultMode: not_applied",
      "hooks.PreToolUse[0].hooks[0]: not_applied",
      "hooks.PreToolUse[0].hooks[1]: not_applied",
      "hooks.PreToolUse[0].matcher: not_applied",
    ]);
    await trust(folders.folder, folders);
    expect(outcomes(await folders.load(), "settings.json")).toEqual([
      "permissions.allow[0]: applied",
      "permissions.deny[0]: narrowed",
      "permissions.defaultMode: applied",
      "hooks.PreToolUse[0].hooks[0]: not_applied",
      "hooks.PreToolUse[0].hooks[1]: applied",
      "hooks.PreToolUse[0].matcher: applied",
    ]);
  });
});

test.each([
  [".claude/settings.json", { disabledMcpjsonServers: "evil" }, "disabledMcpjsonServers"],
  [".claude/settings.json", { deniedMcpServers: {} }, "deniedMcpServers"],
  [".claude/settings.json", { deniedMcpServers: [{ name: "evil" }] }, "deniedMcpServers[0]"],
  [".claude/settings.json", { sandbox: true }, "sandbox"],
  [".claude/settings.json", { sandbox: { enabled: "true" } }, "sandbox.enabled"],
  [".claude/settings.json", { sandbox: { filesystem: { denyRead: "/etc" } } }, "sandbox.filesystem.denyRead"],
  [".gemini/settings.json", { tools: { exclude: "glob" } }, "tools.exclude"],
  [".gemini/settings.json", { mcp: { excluded: [1] } }, "mcp.excluded[0]"],
  ["opencode.json", { permission: { bash: "denied" } }, "permission.bash"],
  ["opencode.json", { tools: { bash: "false" } }, "tools.bash"],
])("a setting of %s that narrows and cannot be read is an error: %j", async (file, value, path) => {
  const [problem, ...others] = await openConfigFolders({ [file]: json(value) }).problems();
  expect(problem?.startsWith(`${file}:`)).toBe(true);
  expect(problem).toContain(` ${path}: Must `);
  expect(others).toEqual([]);
});

describe("settings of Codex", () => {
  test("read-only and untrusted narrow, and servers are not started unless imported", async () => {
    const folders = openConfigFolders({
      ".codex/config.toml": [
        'approval_policy = "untrusted"',
        'sandbox_mode = "read-only"',
        'web_search = "disabled"',
        'model = "x"',
        "[sandbox_workspace_write]",
        "network_access = true",
        "[mcp_servers.docs]",
        'command = "docs"',
        "startup_timeout_sec = 5",
      ].join("\n"),
    });
    const config = await folders.load();
    expect(rulesOf(config, "ask")).toEqual(["Edit", "kind:execute"]);
    expect(rulesOf(config, "deny")).toEqual(["Edit"]);
    expect(config.value.workspace.readOnlyPaths).toEqual(["."]);
    expect(config.commandsConfinedBy).toBeDefined();
    expect(deniedTools(config)).toEqual(["web_search"]);
    expect(config.mcpServers).toEqual([]);
    expect(lineOf(config, "mcp_servers.docs")?.reason).toContain("haft mcp import .codex/config.toml");
    expect(lineOf(config, "sandbox_workspace_write.network_access")).toMatchObject({ outcome: "not_applied" });
    expect(lineOf(config, "model")).toMatchObject({ outcome: "not_applied" });

    folders.write({ "haft.config.yml": "import: { mcp: [.codex/config.toml] }" });
    expect(lineOf(await folders.load(), "mcp_servers.docs")).toMatchObject({
      reason: expect.stringMatching(/Not trusted yet/),
    });
    await trust(folders.folder, folders);
    const trusted = await folders.load();
    expect(trusted.mcpServers.map(({ name }) => name)).toEqual(["docs"]);
    expect(lineOf(trusted, "mcp_servers.docs")).toMatchObject({ outcome: "applied" });
  });

  test("a setting that would grant more has no effect, and an unknown value is the narrowest one", async () => {
    const wide = openConfigFolders({
      "~/.codex/config.toml": 'approval_policy = "never"\nsandbox_mode = "danger-full-access"',
    });
    const config = await wide.load();
    expect(outcomes(config, "config.toml")).toEqual(["sandbox_mode: not_applied", "approval_policy: not_applied"]);
    expect([config.commandsConfinedBy, rulesOf(config, "allow"), config.value.permissions.defaultMode]).toEqual([
      undefined,
      [],
      undefined,
    ]);
    const odd = openConfigFolders({ ".codex/config.toml": 'sandbox_mode = "someday"' });
    expect((await odd.load()).value.workspace.readOnlyPaths).toEqual(["."]);
    const profile = openConfigFolders({
      ".codex/config.toml":
        'profile = "safe"\n[profiles.safe]\nsandbox_mode = "read-only"\n[profiles.wild]\nmodel = "x"',
    });
    expect((await profile.load()).value.workspace.readOnlyPaths).toEqual(["."]);
    const unknown = openConfigFolders({
      ".codex/config.toml":
        'profile = "p"\n[profiles.p]\nsandbox_mode = "readonly"\napproval_policy = "unless-trusted"\nweb_search = "off"',
    });
    const strict = await unknown.load();
    expect(strict.value.workspace.readOnlyPaths).toEqual(["."]);
    expect(rulesOf(strict, "ask")).toEqual(["Edit", "kind:execute"]);
    expect(deniedTools(strict)).toEqual(["web_search"]);
  });

  test("a permission of OpenCode that is no tool here is not explained as one", async () => {
    const permission = { external_directory: "allow", doom_loop: "allow", lsp: "allow", bash: "allow" };
    const config = await openConfigFolders({ "opencode.json": JSON.stringify({ permission }) }).load();
    const detail = (key: string): string => JSON.stringify(lineOf(config, `permission.${key}`));
    expect(detail("external_directory")).toContain("workspace.allowedPaths");
    for (const key of Object.keys(permission)) expect(detail(key)).not.toMatch(/mcp__|undefined/);
    expect(detail("bash")).toContain("permissions.allow: Bash");
  });

  test("a server whose tools prompt asks here too, and that needs no trust", async () => {
    const folders = openConfigFolders({
      ".codex/config.toml": [
        ...[
          "[mcp_servers.docs]",
          'command = "docs"',
          'default_tools_approval_mode = "prompt"',
          "startup_timeout_sec = 5",
        ],
        ...["[mcp_servers.more]", 'command = "more"', 'default_tools_approval_mode = "approve"'],
        ...["[mcp_servers.more.tools.put]", 'approval_mode = "prompt"'],
      ].join("\n"),
      "haft.config.yml": "import: { mcp: [.codex/config.toml] }",
    });
    const config = await folders.load();
    expect(rulesOf(config, "ask")).toEqual(["mcp__docs", "mcp__more__put"]);
    const outcomeOf = (setting: string) => lineOf(config, `mcp_servers.${setting}`)?.outcome;
    expect(outcomeOf("docs.default_tools_approval_mode")).toBe("narrowed");
    expect(outcomeOf("more.tools.put.approval_mode")).toBe("narrowed");
    expect(lineOf(config, "mcp_servers.more.default_tools_approval_mode")?.reason).toMatch(/grant more/);
    expect(outcomeOf("docs.startup_timeout_sec")).toBe("not_applied");
  });

  test("can be left out, and a file that cannot be read is an error", async () => {
    const folders = openConfigFolders({ ".codex/config.toml": 'sandbox_mode = "read-only"' });
    folders.write({ "haft.config.yml": "import: { codex: false }" });
    expect((await folders.load()).value.workspace.readOnlyPaths).toEqual(["."]);
    await trust(folders.folder, folders);
    const config = await folders.load();
    expect(config.value.workspace.readOnlyPaths).toBeUndefined();
    expect(config.imported).toMatchObject([
      { outcome: "not_applied", reason: expect.stringMatching(/import\.codex is false/) },
    ]);
    expect(await openConfigFolders({ ".codex/config.toml": "sandbox_mode = " }).problems()).toHaveLength(1);
  });
});

test("settings of Gemini that narrow are kept, in both forms of the file", async () => {
  const server = { command: "true" };
  const folders = openConfigFolders({
    ".gemini/settings.json": json({
      tools: {
        exclude: ["run_shell_command(rm -rf)", "WriteFileTool", "github__push", "save_memory"],
        allowed: ["glob"],
      },
      mcp: { excluded: ["a"], allowed: ["b"] },
      mcpServers: { a: server, b: server, c: { ...server, trust: true } },
      ui: { theme: "x", hideTips: true },
    }),
    ".mcp.json": json({ mcpServers: { a: server, d: server } }),
    "haft.config.yml": "import: { mcp: [.mcp.json, .gemini/settings.json] }",
  });
  await trust(folders.folder, folders);
  const config = await folders.load();
  expect(config.mcpServers.map(({ name }) => name).toSorted()).toEqual(["b", "d"]);
  expect(rulesOf(config, "deny")).toEqual([
    ...["Bash(rm -rf:*)", "mcp__github__push", "github__push", "mcp__*__github__push"],
  ]);
  expect(deniedTools(config)).toEqual(["apply_patch", "delete_file", "move_file", "write"]);
  expect(lineOf(config, "tools.allowed")).toMatchObject({
    outcome: "not_applied",
    reason: expect.stringMatching(/permissions\.allow/),
  });
  expect(lineOf(config, "ui")).toMatchObject({ outcome: "not_applied", reason: "Haft has no such setting." });
  expect(lineOf(config, "mcpServers.c.trust")).toMatchObject({ outcome: "not_applied" });

  const flat = openConfigFolders({ ".gemini/settings.json": json({ coreTools: ["ReadFileTool", "ShellTool(git)"] }) });
  const policy = (await flat.load()).sources[0]?.policy;
  expect(policy?.allow).toEqual(expect.arrayContaining(["read", "group:mcp"]));
  expect(policy?.allow).not.toContain("exec");
});

describe("opencode.json", () => {
  const opencode = {
    $schema: "https://opencode.ai/config.json",
    mcp: {
      files: { type: "local", command: ["node", "server.js"], environment: { TOKEN: "{env:TOKEN}" }, enabled: true },
      docs: { type: "remote", url: "https://docs.example/mcp", headers: { Authorization: "Bearer {env:TOKEN}" } },
    },
    permission: { bash: { "git push *": "ask", "rm *": "deny", "*": "allow" }, edit: "deny", "docs_*": "ask" },
    tools: { websearch: false, "files_delete*": false, grep: true },
    instructions: ["CONTRIBUTING.md"],
    theme: "x",
  };

  test("narrows with its permissions and tools", async () => {
    const config = await openConfigFolders({ "opencode.json": json(opencode) }).load();
    expect(rulesOf(config, "ask")).toEqual(["Bash(git push *)", "mcp__docs__*", "mcp__docs_*"]);
    expect(rulesOf(config, "deny")).toEqual(["Bash(rm *)", "Edit"]);
    expect(rulesOf(config, "allow")).toEqual([]);
    expect(deniedTools(config)).toEqual(["web_search", "mcp__files__delete*", "mcp__files_delete*"]);
    expect(lineOf(config, 'permission.bash["*"]')).toMatchObject({
      outcome: "not_applied",
      reason: expect.stringMatching(/grant more/),
    });
    expect(lineOf(config, "theme")).toMatchObject({ outcome: "not_applied" });
    const paths = { permission: { read: { "src/*.key": "deny", "$HOME/x/*": "deny" }, bash: { "rm ?": "ask" } } };
    const matched = await openConfigFolders({ "opencode.json": json(paths) }).load();
    expect(rulesOf(matched, "deny")).toEqual([
      ...["Read(src/*.key)", "Read(src/**/*.key)", "Read(~/x/*)", "Read(~/x/**/*)"],
    ]);
    expect(rulesOf(matched, "ask")).toEqual(["Bash(rm *)"]);
    const strict = openConfigFolders({ "opencode.json": json({ permission: { "*": "deny", read: "allow" } }) });
    expect((await strict.load()).sources[0]?.policy?.allow).toContain("read");
    const asking = openConfigFolders({ "opencode.json": json({ permission: "ask" }) });
    expect(rulesOf(await asking.load(), "ask")).toEqual(expect.arrayContaining(["Bash", "Edit", "mcp__*"]));
  });

  test("has servers that can be used", async () => {
    const folders = openConfigFolders(
      { "opencode.json": json(opencode), "haft.config.yml": "import: { mcp: [opencode.json] }" },
      { TOKEN: "hush" },
    );
    await trust(folders.folder, folders);
    expect((await folders.load()).mcpServers).toMatchObject([
      { name: "files", transport: "stdio", command: "node", args: ["server.js"], env: { TOKEN: "hush" } },
      { name: "docs", transport: "http", headers: { Authorization: "Bearer hush" } },
    ]);
  });
});

test("lists of servers of editors are named, also if they cannot be read", async () => {
  const folders = openConfigFolders({
    ".vscode/mcp.json": json({ servers: { a: { command: "true" } }, inputs: [{ id: "key" }] }),
    ".cursor/mcp.json": "{ broken",
    "~/.config/Claude/claude_desktop_config.json": json({
      mcpServers: { b: { command: "true" } },
      globalShortcut: "x",
    }),
  });
  const config = await folders.load();
  expect(config.imported.map(({ file, setting, outcome }) => `${folders.short(file)} ${setting} ${outcome}`)).toEqual([
    "~/.config/Claude/claude_desktop_config.json mcpServers.b not_applied",
    "~/.config/Claude/claude_desktop_config.json globalShortcut not_applied",
    ".cursor/mcp.json  not_applied",
    ".vscode/mcp.json inputs not_applied",
    ".vscode/mcp.json servers.a not_applied",
  ]);
});

describe("agents of Claude Code", () => {
  const agent = (head: string) => `---\n${head}\n---\n\nReview the change. \${NOT_A_VARIABLE}\n`;

  test("become agents with at most their tools", async () => {
    const folders = openConfigFolders({
      ".claude/agents/reviewer.md": agent(
        "name: reviewer\ndescription: Use it when: a change is ready\ntools: Read, Grep, Bash(git *), Task\ndisallowedTools: Write\nmodel: opus\nmaxTurns: 7",
      ),
      ".claude/agents/deep/planner.md": agent("name: planner\npermissionMode: plan"),
      ".claude/agents/guarded.md": agent("hooks: { PreToolUse: [] }"),
      ".claude/agents/none.md": "no head",
      "~/.claude/agents/helper.md": agent("name: helper\ndescription: of the user"),
    });
    const config = await folders.load();
    expect(config.value.agents).toEqual({
      helper: { instructions: "Review the change. ${NOT_A_VARIABLE}", description: "of the user" },
      reviewer: {
        instructions: "Review the change. ${NOT_A_VARIABLE}",
        description: "Use it when: a change is ready",
        toolkit: ["Read", "Grep", "call_subagent"],
        limits: { steps: 7 },
      },
    });
    expect(config.sources.flatMap(({ policy }) => policy?.agents?.["reviewer"] ?? [])).toContainEqual({
      deny: ["Write"],
    });
    expect(config.imported.find(({ file, setting }) => file.endsWith("planner.md") && setting === "")).toMatchObject({
      outcome: "not_applied",
      reason: expect.stringMatching(/more rights/),
    });
    expect(outcomes(config, "guarded.md")[0]).toBe(": not_applied");
    expect(outcomes(config, "none.md")).toEqual([": not_applied"]);
    expect(
      config.imported.find(
        ({ file, setting }) => file === `${folders.folder}/.claude/agents/reviewer.md` && setting === "",
      )?.reason,
    ).toMatch(/quotes/);
  });

  test("of a folder do not take the name of an agent of the user", async () => {
    const folders = openConfigFolders({
      "~/.claude/agents/r.md": agent("name: reviewer\ntools: Read"),
      ".claude/agents/r.md": agent("name: reviewer"),
      "haft.config.yml": 'agents: { reviewer: { toolkit: ["*"] } }',
    });
    const config = await folders.load();
    expect(config.value.agents["reviewer"]?.toolkit).toEqual(["Read"]);
    expect(config.warnings.map(({ path }) => path)).toEqual(["agents.reviewer.toolkit"]);
    const [line] = config.imported.filter(({ file }) => file === `${folders.folder}/.claude/agents/r.md`);
    expect(line).toMatchObject({ outcome: "not_applied", reason: expect.stringMatching(/which is used/) });
  });

  test("of a folder are left out by its file at once, and those of the user are not", async () => {
    const folders = openConfigFolders({
      "~/.claude/agents/r.md": agent("name: reviewer"),
      ".claude/agents/other.md": agent("name: other"),
      "haft.config.yml": "import: { claude: false }",
    });
    expect(Object.keys((await folders.load()).value.agents)).toEqual(["reviewer"]);
  });

  test("behind a link out of the workspace are not loaded", async () => {
    const folders = openConfigFolders({ "~/elsewhere/a.md": agent("name: a"), ".claude/settings.json": "{}" });
    symlinkSync(join(folders.home, "elsewhere"), join(folders.folder, ".claude", "agents"));
    const config = await folders.load();
    expect(config.value.agents).toEqual({});
    expect(config.imported).toMatchObject([{ outcome: "not_applied", reason: expect.stringMatching(/leads out/) }]);
  });

  test("are limited in number, and the rest is named", async () => {
    const files = Array.from({ length: 201 }, (_, index) => [`.claude/agents/a${index}.md`, agent("description: x")]);
    const config = await openConfigFolders(Object.fromEntries(files) as Record<string, string>).load();
    expect(Object.keys(config.value.agents)).toHaveLength(200);
    expect(outcomes(config, join(".claude", "agents"))).toEqual([": not_applied"]);
  });

  test("may have names and tools that objects have by themselves", async () => {
    const folders = openConfigFolders({
      ".claude/agents/a.md": agent("name: constructor\ntools: constructor, toString"),
      "opencode.json": json({ permission: { "*": "deny", constructor: "ask" } }),
    });
    expect((await folders.load()).value.agents["constructor"]).toMatchObject({ toolkit: ["constructor", "toString"] });
  });

  test.each([
    [
      "51 lines that are no YAML",
      Array.from({ length: 51 }, (_, index) => `k${index}: a: b`).join("\n"),
      /not valid YAML/,
    ],
    ["501 lines", Array.from({ length: 501 }, (_, index) => `k${index}: a`).join("\n"), /more than 500 lines/],
    ["the name __proto__", "name: __proto__", /cannot have this name/],
  ])("with %s are not loaded", async (_what, head, reason) => {
    const config = await openConfigFolders({ ".claude/agents/a.md": agent(head) }).load();
    expect(config.value.agents).toEqual({});
    expect(config.imported[0]).toMatchObject({ outcome: "not_applied", reason: expect.stringMatching(reason) });
  });

  test("do not change agents of Haft's own files", async () => {
    const folders = openConfigFolders({
      ".claude/agents/reviewer.md": agent("name: reviewer\ndescription: theirs"),
      "haft.config.yml": "agents: { reviewer: { description: ours } }",
    });
    const config = await folders.load();
    expect(config.value.agents).toEqual({ reviewer: { description: "ours" } });
    expect(config.imported).toMatchObject([
      { outcome: "not_applied", reason: expect.stringMatching(/haft\.config\.yml has an agent/) },
    ]);
  });
});
