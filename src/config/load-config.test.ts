import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createPolicyLayers } from "../gate/permit/policy-layers.ts";
import { isToolAllowedByPolicy } from "../gate/permit/tool-policy.ts";
import { openConfigFolders } from "./config-folders.fixture.ts";
import type { LoadedConfig } from "./load-config.ts";
import { trust } from "./trust.ts";

/** The example that seed 000 prints, as it is. */
const SEED_000 = `tools:
  timeout: 30000
  maxConcurrent: 3
  allowedPaths:
    - "./data"
    - "./docs"
    - "./src"
  webSearch:
    provider: "tavily"  # "tavily" | "google" | "bing" | "duckduckgo"
    apiKey: "\${WEB_SEARCH_API_KEY}"
    maxResults: 10
  mcpServers:
    - name: "filesystem"
      url: "http://localhost:3000"
      enabled: true
    - name: "database"
      url: "http://localhost:3001"
      enabled: false
`;

/** Which of the tools exist when the layers of every source hold together. */
function visible({ sources }: LoadedConfig, names: string[]): string[] {
  const layers = sources.flatMap(({ policy }) => (policy ? createPolicyLayers(policy)() : []));
  return names.filter((name) => layers.every(({ policy }) => isToolAllowedByPolicy(name, policy)));
}

describe("the configurations of the seeds", () => {
  test("seed 000's config.yml is read as it is", async () => {
    const folders = openConfigFolders({ "haft.config.yml": SEED_000 }, { WEB_SEARCH_API_KEY: "key-1" });
    await trust(folders.folder, folders);
    const { value, mcpServers, untrusted } = await folders.load();
    expect(value.tools).toEqual({
      timeout: 30_000,
      maxConcurrent: 3,
      webSearch: { provider: "tavily", apiKey: "key-1", maxResults: 10 },
    });
    expect(value.workspace.allowedPaths).toEqual(["./data", "./docs", "./src"]);
    expect(mcpServers).toMatchObject([
      {
        name: "filesystem",
        transport: "http",
        isInferred: true,
        url: "http://localhost:3000",
        enabled: true,
        line: 13,
      },
      { name: "database", enabled: false },
    ]);
    expect(untrusted).toEqual([]);
  });

  test("seed 003's tools { profile, allow, deny } is read from a json5 file", async () => {
    const folders = openConfigFolders({
      "haft.config.json5":
        '{ tools: { profile: "coding",  // minimal, coding, messaging, full\n allow: ["group:fs", "group:runtime"], deny: ["exec"] } }',
    });
    const loaded = await folders.load();
    expect(visible(loaded, ["read", "write", "exec", "process", "web_search", "message"])).toEqual([
      "read",
      "write",
      "process",
    ]);
  });

  test("no file is a valid configuration", async () => {
    expect(await openConfigFolders().load()).toMatchObject({
      sources: [],
      warnings: [],
      untrusted: [],
      mcpServers: [],
    });
  });
});

describe("errors", () => {
  test("are all reported at once, each with file, line, column, key and the nearest known key", async () => {
    const folders = openConfigFolders({
      "haft.config.yml": [
        "tool:",
        "  timeout: 1",
        "tools:",
        "  timeot: 5",
        '  maxConcurrent: "3"',
        "  denny: [exec]",
        "  byProvider:",
        "    openai: { allowed: [read] }",
        "permissions:",
        "  defaultMode: bypass",
        "  deny: Read(./secrets)",
        "server: { port: 99999 }",
        "hooks:",
        "  PreToolUs: []",
        "  PostToolUse:",
        "    - hooks: [{ type: command, comand: x }, { type: shell }]",
        "plugins: [{ form: ./x }]",
        "profiles: { mine: read }",
      ].join("\n"),
      "~/.config/haft/config.json": '{\n  "workspace": { "denyGlob": ["*.db"] } }',
    });
    expect(await folders.problems()).toEqual([
      '~/.config/haft/config.json:2:18 workspace.denyGlob: Unknown key. Did you mean "denyGlobs"?',
      'haft.config.yml:5:3 tools.maxConcurrent: Must be a number, but is the text "3".',
      'haft.config.yml:8:15 tools.byProvider.openai.allowed: Unknown key. Did you mean "allow"?',
      'haft.config.yml:4:3 tools.timeot: Unknown key. Did you mean "timeout"?',
      'haft.config.yml:6:3 tools.denny: Unknown key. Did you mean "deny"?',
      'haft.config.yml:18:13 profiles.mine: Must be an array, but is the text "read".',
      'haft.config.yml:11:3 permissions.deny: Must be an array, but is the text "Read(./secrets)".',
      'haft.config.yml:10:3 permissions.defaultMode: Must be one of default, acceptEdits, plan, dontAsk, bypassPermissions, but is the text "bypass". Did you mean "bypassPermissions"?',
      "haft.config.yml:16:15 hooks.PostToolUse[0].hooks[0].command: Must be text, but is missing.",
      'haft.config.yml:16:32 hooks.PostToolUse[0].hooks[0].comand: Unknown key. Did you mean "command"?',
      'haft.config.yml:16:47 hooks.PostToolUse[0].hooks[1].type: Must be one of command, http, but is the text "shell".',
      'haft.config.yml:14:3 hooks.PreToolUs: Unknown key. Did you mean "PreToolUse" or "PostToolUse"?',
      expect.stringMatching(/^haft\.config\.yml:17:\d+ plugins\[0\]\.from: Must be text/),
      expect.stringMatching(/^haft\.config\.yml:17:\d+ plugins\[0\]\.form: Unknown key. Did you mean "from"\?/),
      "haft.config.yml:12:11 server.port: Too big: expected number to be <=65535.",
      'haft.config.yml:1:1 tool: Unknown key. Did you mean "tools" or "toolSearch"?',
    ]);
  });

  test("two files for one place are refused: the denials of one of them would be lost", async () => {
    const folders = openConfigFolders({ "haft.config.yml": "{}", "haft.config.json": "{}" });
    expect(await folders.problems()).toEqual([
      "haft.config.json " +
        join(folders.folder, "haft.config.yml").replace(`${folders.folder}/`, "") +
        " exists too. Keep one of them.",
    ]);
  });

  test("a setting given twice in one file, a list instead of an object, and an empty section are refused", async () => {
    const both = { "haft.config.yml": "tools: { allowedPaths: [a] }\nworkspace: { allowedPaths: [b] }" };
    expect(await openConfigFolders(both).problems()).toEqual([
      "haft.config.yml:1:10 tools.allowedPaths: The same as workspace.allowedPaths. Keep one of them.",
    ]);
    expect(await openConfigFolders({ "haft.config.yml": "- tools" }).problems()).toEqual([
      "haft.config.yml Must be an object, but is a list.",
    ]);
    expect(await openConfigFolders({ "haft.config.yml": "tools:\npermissions: {}" }).problems()).toEqual([
      "haft.config.yml:1:1 tools: Must be an object, but is empty (null).",
    ]);
  });

  test("a file that is not a readable text file is reported, and does not block the start", async () => {
    const folders = openConfigFolders();
    mkdirSync(join(folders.folder, "haft.config.yml"));
    expect(await folders.problems()).toEqual([
      "haft.config.yml Is not a regular file. Put a file there, or remove it.",
    ]);
    const pipe = openConfigFolders();
    execFileSync("mkfifo", [join(pipe.folder, "haft.config.yml")]);
    expect(await pipe.problems()).toEqual(["haft.config.yml Is not a regular file. Put a file there, or remove it."]);
    const latin = openConfigFolders();
    latin.write({ "haft.config.yml": Buffer.from([0x61, 0x3a, 0xff]) as never });
    expect(await latin.problems()).toEqual(["haft.config.yml Is not text in UTF-8. Save it as UTF-8."]);
  });

  test("overrides of a caller are checked as well", async () => {
    expect(await openConfigFolders().problems({ tools: { deni: ["exec"] } } as never)).toEqual([
      'tools.deni: Unknown key. Did you mean "deny"?',
    ]);
  });
});

describe("variables", () => {
  const env = { PORT: "8080", BYPASS: "true", EMPTY: "", HOST_NAME: "127.0.0.1", BAD: "secret-value" };
  const user = (text: string) => openConfigFolders({ "~/.config/haft/config.yml": text }, env);

  test("are expanded in values, never in keys; they become numbers and booleans if the schema wants them", async () => {
    const { value } = await user(
      "server: { port: '${PORT}', host: '${HOST_NAME}', token: 'a-${PORT}-$${PORT}-$PORT' }\n" +
        "audit: { enabled: '${BYPASS}', redact: ['${EMPTY:-none}', '${NONE:-}', '${EMPTY}'] }\n" +
        "message: { channels: { '${PORT}': { type: console } } }",
    ).load();
    expect(value.server).toEqual({ port: 8080, host: "127.0.0.1", token: "a-8080-${PORT}-$PORT" });
    expect(value.audit).toEqual({ enabled: true, redact: ["none", "", ""] });
    expect(Object.keys(value.message.channels!)).toEqual(["${PORT}"]);
  });

  test("that are missing are an error with a position; values of variables are not shown", async () => {
    expect(await user("store:\n  url: ${DATABASE_URL}\nserver: { port: '${BAD}' }").problems()).toEqual([
      "~/.config/haft/config.yml:2:3 store.url: The variable DATABASE_URL is not set. Set it, or write ${DATABASE_URL:-default}.",
      "~/.config/haft/config.yml:3:11 server.port: Must be a number, but is what the variable holds.",
    ]);
  });

  test("of settings that are used later are a warning, and stay as written", async () => {
    const { value, warnings } = await user("tools: { webSearch: { apiKey: '${WEB_KEY}' } }").load();
    expect(value.tools.webSearch).toEqual({ apiKey: "${WEB_KEY}" });
    expect(warnings).toMatchObject([{ line: 1, path: "tools.webSearch.apiKey", message: /WEB_KEY is not set/ }]);
  });

  test("stay as they are in rules and hooks, which a shell or a matcher reads", async () => {
    const { sources } = await user(
      "permissions: { deny: ['Bash(echo ${PORT})'] }\n" +
        "hooks: { PreToolUse: [{ hooks: [{ type: command, command: 'echo ${PORT} ${NONE}' }] }] }",
    ).load();
    expect(sources[0]!.permissions.deny).toEqual(["Bash(echo ${PORT})"]);
    expect(sources[0]!.hooks.PreToolUse![0]!.hooks[0]).toMatchObject({ command: "echo ${PORT} ${NONE}" });
  });

  test("named HAFT_… are settings, checked like those of a file", async () => {
    const haft = { HAFT_PORT: "9000", HAFT_PROFILE: "minimal", HAFT_TIMEOUT: "5", HAFT_MODE: "plan" };
    const { value, sources } = await openConfigFolders({}, haft).load();
    expect(value).toMatchObject({
      server: { port: 9000 },
      tools: { timeout: 5 },
      permissions: { defaultMode: "plan" },
    });
    expect(sources).toMatchObject([{ origin: "environment", policy: { profile: "minimal" } }]);
    expect(await openConfigFolders({}, { HAFT_PORT: "many" }).problems()).toEqual([
      "server.port: Must be a number, but is what the variable holds.",
    ]);
  });
});

describe("layers", () => {
  const all = () =>
    openConfigFolders(
      {
        "~/.config/haft/config.yml":
          "tools: { timeout: 1, maxConcurrent: 1, profile: coding, deny: [exec] }\nworkspace: { denyGlobs: ['*.db'] }\npermissions: { deny: [WebFetch] }\nprofiles: { mine: [read, exec] }",
        "haft.config.yml":
          "tools:\n  timeout: 2\n  profile: full\n  alsoAllow: [exec, message]\nworkspace: { denyGlobs: ['*.log'], allowedPaths: [src] }\npermissions: { ask: [Bash] }\nprofiles: { mine: ['*'] }",
        "state:config.yml": "tools: { timeout: 3 }\npermissions:\n  deny:\n    # never\n    - Bash(rm:*)",
      },
      { HAFT_TIMEOUT: "4" },
    );

  test("the later value is used, and every value can be traced to its line", async () => {
    const folders = all();
    const { value, origins } = await folders.load({ tools: { timeout: 5 } });
    expect(value.tools).toMatchObject({ timeout: 5, maxConcurrent: 1 });
    expect(value.workspace).toEqual({ denyGlobs: ["*.db", "*.log"], allowedPaths: ["src"] });
    const timeouts = origins.filter(({ path }) => path === "tools.timeout");
    expect(timeouts.map(({ origin, value: said, line, isOverridden }) => [origin, said, line, isOverridden])).toEqual([
      ["user", 1, 1, true],
      ["project", 2, 2, true],
      ["local", 3, 1, true],
      ["environment", "${HAFT_TIMEOUT}", undefined, true],
      ["call", 5, undefined, false],
    ]);
    expect(origins.find(({ path }) => path === "permissions.deny[0]")).toMatchObject({
      value: "WebFetch",
      isOverridden: false,
    });
    expect(folders.short(timeouts[2]!.file!)).toBe("state:config.yml");
  });

  test("rules of every file have effect, each with its file, folder and line", async () => {
    const folders = all();
    const { sources } = await folders.load();
    const rules = sources.flatMap(({ file, folder, rules: own }) =>
      own.map(({ list, rule, line }) => [folders.short(file!), folders.short(`${folder}/`), list, rule, line]),
    );
    expect(rules).toEqual([
      ["~/.config/haft/config.yml", "~/.config/haft/", "deny", "WebFetch", 3],
      ["haft.config.yml", "", "ask", "Bash", 6],
      ["state:config.yml", "", "deny", "Bash(rm:*)", 5],
    ]);
  });

  test("no file of a folder widens which tools the user lets exist, nor does a profile of the same name", async () => {
    const folders = all();
    expect(visible(await folders.load(), ["read", "exec", "message", "process"])).toEqual(["read", "process"]);
    const loaded = await folders.load({ tools: { profile: "mine" } });
    expect(visible(loaded, ["read", "exec", "process"])).toEqual(["read"]);
    expect(loaded.sources.at(-1)!.policy!.profiles).toEqual({ mine: ["read", "exec"] });
  });

  test("policies for providers, agents, sandboxes and subagents reach the layers", async () => {
    const { sources } = await openConfigFolders({
      "haft.config.yml": [
        "tools: { byProvider: { openai/gpt: { deny: [exec] } } }",
        "agents: { coder: { tools: { allow: [read] } } }",
        "sandbox: { tools: { deny: ['group:web'] } }",
        "subagents: { tools: { deny: [message] }, byDepth: { '2': { allow: [read] } } }",
      ].join("\n"),
    }).load();
    const layers = createPolicyLayers(sources[0]!.policy!)({
      caller: { agent: "coder", depth: 2, model: "openai/gpt" },
      sandbox: true,
    });
    expect(layers.map(({ name }) => name)).toHaveLength(5);
  });

  test("a folder cannot lift the user's own protections", async () => {
    const folders = all();
    folders.write({ "haft.config.yml": "workspace: { permitGlobs: ['*.db'] }" });
    await trust(folders.folder, folders);
    const { value, warnings } = await folders.load();
    expect(value.workspace.permitGlobs).toBeUndefined();
    expect(warnings).toMatchObject([{ path: "workspace.permitGlobs" }]);
  });

  test("bypassPermissions stays off if any file disables it", async () => {
    const folders = openConfigFolders({
      "~/.claude/settings.json": '{"permissions": {"disableBypassPermissionsMode": "disable"}}',
    });
    const { value, warnings } = await folders.load({ permissions: { defaultMode: "bypassPermissions" } });
    expect(value.permissions.defaultMode).toBe("default");
    expect(warnings).toHaveLength(1);
  });

  test("XDG_CONFIG_HOME says where the user's file is, unless it is relative", async () => {
    const folders = openConfigFolders({ "~/xdg/haft/config.json": '{"tools": {"timeout": 7}}' });
    const load = (base: string) => openConfigFolders({}, { XDG_CONFIG_HOME: base }).load();
    expect((await load(join(folders.home, "xdg"))).value.tools.timeout).toBe(7);
    expect((await load("xdg")).value.tools.timeout).toBeUndefined();
  });
});

describe("Claude Code's settings", () => {
  const settings = JSON.stringify(
    {
      model: "x",
      permissions: {
        deny: ["Read(./.env)"],
        allow: ["Bash(ls)"],
        dney: ["Bash"],
        defaultMode: "auto",
        additionalDirectories: ["../x"],
      },
      hooks: {
        SessionStart: [{ hooks: [{ type: "command", command: "true" }] }],
        PreToolUse: [
          {
            matcher: "Bash",
            hooks: [
              { type: "prompt", prompt: "?" },
              { type: "command", command: "check", async: true },
            ],
          },
        ],
      },
    },
    null,
    1,
  );

  test("are read as they are, with notes about what is not imported", async () => {
    const folders = openConfigFolders({ "~/.claude/settings.json": settings });
    const { sources, warnings, imported } = await folders.load();
    expect(sources).toMatchObject([
      {
        origin: "user",
        kind: "claude",
        folder: join(folders.home, ".claude"),
        permissions: { allow: ["Bash(ls)"], deny: ["Read(./.env)"] },
      },
    ]);
    expect(sources[0]!.hooks).toEqual({
      PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "check" }] }],
    });
    expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'permissions.dney: Did you mean "deny"?',
    ]);
    const left = imported.filter(({ outcome }) => outcome === "not_applied");
    expect(left.map(({ setting, reason }) => `${setting}: ${reason}`)).toEqual([
      'permissions.dney: Did you mean "deny"?',
      'permissions.defaultMode: The mode "auto" is not known; default is used.',
      "permissions.additionalDirectories: It would grant more. To let tools reach these folders, set workspace.allowedPaths.",
      "hooks.SessionStart: Haft has no hooks for SessionStart, but for PreToolUse, PermissionRequest, PostToolUse.",
      'hooks.PreToolUse[0].hooks[0]: Hooks of type "prompt" do not run here; command and http do.',
      "hooks.PreToolUse[0].hooks[1].async: Haft's hooks have no such key.",
      "model: The model of Haft's agent is agent.model.",
    ]);
    expect(imported.every(({ line }) => line !== undefined)).toBe(true);
  });

  test("of a folder: denials have effect at once, what loosens or executes only when trusted", async () => {
    const folders = openConfigFolders({
      ".claude/settings.json": settings,
      ".claude/settings.local.json": '{"permissions": {"ask": ["Edit"]}}',
    });
    const { sources, untrusted } = await folders.load();
    expect(sources.map(({ origin, permissions }) => [origin, permissions])).toEqual([
      ["project", { allow: [], ask: [], deny: ["Read(./.env)"] }],
      ["local", { allow: [], ask: ["Edit"], deny: [] }],
    ]);
    expect(untrusted.map(({ kind, path }) => [kind, path])).toEqual([
      ["hook", "hooks.PreToolUse[0].hooks[0]"],
      ["permission", "permissions.allow[0]"],
    ]);
  });

  test("can be excluded: by a folder its own, by the user all", async () => {
    const files = { "~/.claude/settings.json": settings, ".claude/settings.json": settings };
    const project = openConfigFolders({ ...files, "haft.config.yml": "import: { claude: false }" });
    const kindsOf = ({ sources }: LoadedConfig) => sources.map(({ origin, kind }) => [origin, kind]);
    // A repository cannot drop denials before a person has trusted that.
    const untrusted = await project.load();
    expect(kindsOf(untrusted)).toContainEqual(["project", "claude"]);
    expect(untrusted.untrusted.map(({ path }) => path)).toContain("import.claude");
    expect(untrusted.importsClaude).toEqual({ home: true, folder: false });
    await trust(project.folder, project);
    expect(kindsOf(await project.load())).toEqual([
      ["user", "claude"],
      ["project", "haft"],
    ]);
    const user = openConfigFolders({ ...files, "~/.config/haft/config.yml": "import: { claude: false }" });
    expect((await user.load()).sources.map(({ kind }) => kind)).toEqual(["haft"]);
  });

  test("that are broken are an error: a denial in them would be lost", async () => {
    expect(await openConfigFolders({ ".claude/settings.json": "{ permissions: " }).problems()).toHaveLength(1);
    expect(
      await openConfigFolders({ ".claude/settings.json": '{"permissions": {"deny": "Bash"}}' }).problems(),
    ).toEqual(['.claude/settings.json:1:18 permissions.deny: Must be an array, but is the text "Bash".']);
  });
});
