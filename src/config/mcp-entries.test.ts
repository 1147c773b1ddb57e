import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openConfigFolders } from "./config-folders.fixture.ts";
import { readMcpServers } from "./mcp-entries.ts";

const env = { TOKEN: "t0ken", HOME_URL: "https://example.com", EMPTY: "" };
const variables = { env, home: "/home/me", folder: "/work/app" };

async function read(file: string, text: string) {
  const { dialect, servers, notes } = await readMcpServers({ text, file }, variables);
  return { dialect, servers, notes: notes.map(({ message }) => message) };
}

describe("each client's file is read as its client reads it", () => {
  test("Claude Code: .mcp.json", async () => {
    const found = await read(
      "/work/app/.mcp.json",
      `{
        // comments and trailing commas are accepted
        "mcpServers": {
          "local": { "command": "\${CMD:-npx}", "args": ["-y", "pkg@\${VERSION:-1}"], "env": { "T": "\${TOKEN}", "N": 5 } },
          "remote": { "type": "streamable-http", "url": "\${HOME_URL}/mcp", "headers": { "A": "Bearer \${GONE}" }, "timeout": 5000, "alwaysLoad": true },
          "old": { "type": "sse", "url": "https://old.example.com/sse" },
          "socket": { "type": "ws", "url": "wss://ws.example.com" },
          "helped": { "type": "http", "url": "https://h.example.com", "headersHelper": "./headers.sh", "oauth": { "clientId": "x" } },
          "unsaid": { "url": "https://u.example.com" },
        },
      }`,
    );
    expect(found.dialect).toBe("claude");
    expect(found.servers).toMatchObject([
      {
        name: "local",
        transport: "stdio",
        command: "npx",
        args: ["-y", "pkg@1"],
        env: { T: "t0ken", N: "5" },
        line: 4,
      },
      {
        name: "remote",
        transport: "http",
        isInferred: false,
        url: "https://example.com/mcp",
        headers: { A: "Bearer ${GONE}" },
        timeoutMs: 5000,
        alwaysLoad: true,
        missing: ["GONE"],
      },
      { name: "old", transport: "sse" },
      { name: "socket", transport: "ws" },
      { name: "helped", headersHelper: "./headers.sh", oauth: { clientId: "x" } },
      { name: "unsaid", transport: "http", isInferred: true },
    ]);
    expect(found.notes).toEqual([
      'MCP server "remote": Not set: GONE. They stay as written.',
      'MCP server "unsaid": The transport is not given; "http" was inferred. Set "type".',
    ]);
  });

  test("Cursor", async () => {
    const found = await read(
      "/work/app/.cursor/mcp.json",
      '{"mcpServers": {"a": {"url": "https://x/${env:TOKEN}", "auth": {}}, "b": {"command": "${workspaceFolder}/run", "args": ["${userHome}", "${TOKEN}"]}}}',
    );
    expect(found.dialect).toBe("cursor");
    expect(found.servers).toMatchObject([
      { transport: "http", url: "https://x/t0ken" },
      { transport: "stdio", command: "/work/app/run", args: ["/home/me", "${TOKEN}"], missing: ["TOKEN"] },
    ]);
    expect(found.notes).toContain('MCP server "a": "auth" is not converted.');
  });

  test("VS Code, with inputs that a person must give", async () => {
    const found = await read(
      "/work/app/.vscode/mcp.json",
      '{"inputs": [{"id": "key", "type": "promptString", "password": true}], "servers": {"a": {"type": "http", "url": "https://x", "headers": {"K": "${input:key}"}}, "b": {"type": "stdio", "command": "x", "envFile": ".env"}}}',
    );
    expect(found.dialect).toBe("vscode");
    expect(found.servers).toMatchObject([
      { name: "a", transport: "http", headers: { K: "${input:key}" }, missing: ["input:key"] },
      { name: "b", transport: "stdio" },
    ]);
    expect(found.notes).toEqual([
      'MCP server "a": Not set: input:key. They stay as written.',
      'MCP server "b": "envFile" is not converted.',
    ]);
  });

  test("Gemini CLI: url is SSE, httpUrl is HTTP, and its three ways to write a variable", async () => {
    const found = await read(
      "/home/me/.gemini/settings.json",
      '{"theme": "x", "mcpServers": {"s": {"url": "https://x/$TOKEN"}, "h": {"httpUrl": "https://x/${TOKEN}/%TOKEN%", "trust": true, "includeTools": ["a"], "excludeTools": ["b"], "timeout": 9}}}',
    );
    expect(found.servers).toMatchObject([
      { transport: "sse", url: "https://x/t0ken", isInferred: true },
      {
        transport: "http",
        url: "https://x/t0ken/t0ken",
        trust: true,
        includeTools: ["a"],
        excludeTools: ["b"],
        timeoutMs: 9,
      },
    ]);
  });

  test("Codex: config.toml", async () => {
    const found = await read(
      "/home/me/.codex/config.toml",
      [
        'model = "x"',
        "[mcp_servers.docs]",
        'command = "npx"',
        'args = ["-y", "docs-${TOKEN}"]',
        'env_vars = ["TOKEN", "NOT_SET"]',
        "enabled = false",
        "startup_timeout_sec = 20",
        "tool_timeout_sec = 30",
        "[mcp_servers.web]",
        'url = "https://x"',
        'bearer_token_env_var = "TOKEN"',
        'http_headers = { "X-A" = "1" }',
        'env_http_headers = { "X-B" = "TOKEN", "X-C" = "GONE" }',
        'enabled_tools = ["a"]',
        'disabled_tools = ["b"]',
      ].join("\n"),
    );
    expect(found.dialect).toBe("codex");
    expect(found.servers).toMatchObject([
      {
        name: "docs",
        transport: "stdio",
        args: ["-y", "docs-${TOKEN}"],
        env: { TOKEN: "t0ken" },
        enabled: false,
        timeoutMs: 30_000,
      },
      {
        name: "web",
        transport: "http",
        headers: { "X-A": "1", "X-B": "t0ken", "X-C": "${GONE}", Authorization: "Bearer t0ken" },
        includeTools: ["a"],
        excludeTools: ["b"],
        missing: ["GONE"],
      },
    ]);
    expect(found.notes).toContain('MCP server "docs": "startup_timeout_sec" is not converted.');
  });

  test("OpenClaw: JSON5 with mcp.servers", async () => {
    const found = await read(
      "/home/me/openclaw.json",
      "{ mcp: { servers: { a: { command: 'x', env: { T: '${TOKEN}' } } } } }",
    );
    expect(found).toMatchObject({ dialect: "openclaw", servers: [{ name: "a", env: { T: "t0ken" } }] });
  });

  test("the seed's list, alone or below tools", async () => {
    const list = '[{ "name": "fs", "url": "http://localhost:3000", "enabled": true }]';
    for (const text of [list, `{"mcpServers": ${list}}`, `{"tools": {"mcpServers": ${list}}}`]) {
      expect(await read("/work/app/servers.json", text)).toMatchObject({
        dialect: "haft",
        servers: [{ name: "fs", transport: "http", enabled: true }],
      });
    }
  });

  test("text without a file, the folder from the file's place, and disabled entries of other clients", async () => {
    const found = await readMcpServers({ text: '{"mcpServers": {"a": {"command": "x", "disabled": true}}}' });
    expect(found.servers).toMatchObject([{ enabled: false, dialect: "claude" }]);
    const folders = openConfigFolders({
      ".cursor/mcp.json": '{"mcpServers": {"a": {"command": "${workspaceFolder}/x"}}}',
    });
    const own = await readMcpServers({ file: join(folders.folder, ".cursor/mcp.json") });
    expect(own.servers).toMatchObject([
      { command: join(folders.folder, "x"), file: join(folders.folder, ".cursor/mcp.json") },
    ]);
  });
});

describe("what cannot be converted is reported", () => {
  test.each([
    ['{"a": {}}', 'MCP server "a": It has neither "command" nor "url"; set one of them.'],
    ['{"a": {"type": "stdio", "url": "x"}}', 'MCP server "a": A stdio server needs "command".'],
    ['{"a": {"type": "http", "command": "x"}}', 'MCP server "a": A server with transport "http" needs "url".'],
    ['{"a": {"type": "htp", "url": "x"}}', 'MCP server "a": The transport "htp" is not known. Did you mean "http"?'],
    [
      '{"a": {"command": "x", "excludeTool": ["rm"]}}',
      'MCP server "a": "excludeTool" is not converted. Did you mean "excludeTools"?',
    ],
    [
      '{"a": {"command": "x", "headers": {"K": "v"}}}',
      'MCP server "a": "headers" is not converted: a stdio server has none.',
    ],
    ['{"a": {"command": "x", "args": "y"}}', 'MCP server "a": "args" must be a list of texts, and is left out.'],
  ])("%s", async (servers, note) => {
    expect((await read("x.json", `{"mcpServers": ${servers}}`)).notes).toContain(note);
  });

  test("a duplicate name, an entry that is not an object, and a missing file", async () => {
    const twice = await read("x.json", '[{"name": "a", "url": "http://1"}, {"name": "a", "url": "http://2"}]');
    expect(twice.servers).toMatchObject([{ url: "http://2" }]);
    expect(twice.notes).toContain('MCP server "a" is there twice; the later one is used.');
    await expect(read("x.json", '{"mcpServers": {"a": "npx"}}')).rejects.toThrow(
      "x.json mcpServers.a: Must be an object.",
    );
    await expect(read("x.json", '[{"url": "x"}]')).rejects.toThrow('x.json [0]: Must be an object with a "name".');
    await expect(readMcpServers({ file: "/nowhere/mcp.json" })).rejects.toThrow("There is no such file.");
  });
});

describe("in a configuration", () => {
  test("servers are under mcpServers, servers or tools.mcpServers, and pasted entries work", async () => {
    const folders = openConfigFolders(
      {
        "~/.config/haft/config.yml": [
          "mcpServers:",
          "  a: { command: x, args: ['${TOKEN}', '${env:TOKEN}', '${workspaceFolder}', '$${TOKEN}'] }",
          "servers: { b: { type: http, url: 'https://x/${env:TOKEN}' } }",
          "tools: { mcpServers: [{ name: c, url: 'http://localhost:1' }] }",
        ].join("\n"),
      },
      { TOKEN: "has ${HOME} in it", HOME: "no" },
    );
    const { mcpServers } = await folders.load();
    const token = "has ${HOME} in it";
    expect(mcpServers).toMatchObject([
      { name: "a", args: [token, token, folders.folder, "${TOKEN}"], line: 2 },
      { name: "c", transport: "http" },
      { name: "b", dialect: "vscode", url: `https://x/${token}` },
    ]);
  });

  test("limits are read from every file, and an entry with a wrong one is not used", async () => {
    const read = (fields: object) =>
      readMcpServers({ text: JSON.stringify({ mcpServers: { a: { command: "x", ...fields } } }) }, { home: "/h" });
    const limits = { network: ["example.com", "*.example.org"], read: ["~/a"], write: ["."], sandbox: true };
    expect((await read(limits)).servers).toMatchObject([limits]);
    expect((await read({ sandbox: { enabled: true } })).servers[0]).not.toHaveProperty("sandbox");
    for (const [fields, why] of [
      [{ network: "off" }, '"network" must be "all", "none" or a list of hosts. The server is not used.'],
      [{ network: ["a b"] }, '"network" lists "a b", which is not a host name. The server is not used.'],
      [{ write: "~" }, '"write" must be a list of paths. The server is not used.'],
    ] as const) {
      const { servers, notes } = await read(fields);
      expect(servers).toEqual([]);
      expect(notes.map(({ message }) => message)).toContain(`MCP server "a": ${why}`);
    }
  });

  test("of a program that runs unconfined are shown before they are trusted", async () => {
    const entry = { command: "y", sandbox: false };
    const folders = openConfigFolders({ ".mcp.json": JSON.stringify({ mcpServers: { theirs: entry } }) });
    const [item] = (await folders.load()).untrusted;
    expect(item?.what).toBe(
      'MCP server "theirs": {"command":"y","sandbox":false} (runs UNCONFINED, with all rights of your user)',
    );
  });

  test(".mcp.json is read unless it is turned off, other clients' files if they are named", async () => {
    const files = {
      "~/.config/haft/config.yml": "import: { mcp: ['~/.codex/config.toml'] }",
      "~/.codex/config.toml": '[mcp_servers.mine]\ncommand = "x"',
      ".mcp.json": '{"mcpServers": {"theirs": {"command": "y"}}}',
    };
    const folders = openConfigFolders(files);
    const { mcpServers, untrusted } = await folders.load();
    expect(mcpServers.map(({ name }) => name)).toEqual(["mine"]);
    expect(untrusted).toMatchObject([
      { kind: "mcp_server", what: 'MCP server "theirs": {"command":"y"} (runs confined, reaches the whole network)' },
    ]);
    folders.write({ "haft.config.yml": "import: { mcp: false }" });
    expect((await folders.load()).untrusted).toEqual([]);
  });
});
