// What `haft mcp config` prints, read in each client's format and started as a client starts it: the official SDK, a
// process of its own, another working folder, and an environment without Node on its PATH.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { parse as parseToml } from "smol-toml";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { clientConfig, MCP_CLIENTS, type McpClientName } from "../../src/mcp/server/client-config.ts";
import { bundleHaft, type HaftProgram } from "../cli/run-haft.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let haft: HaftProgram;
beforeAll(async () => void (haft = await bundleHaft()));
afterAll(() => haft.remove());

interface Started {
  command: string;
  args: string[];
}

/** The entry of Haft, as this client reads its configuration. */
const READERS: Record<McpClientName, (text: string) => unknown> = {
  // The shell splits the command; a function stands in for `claude` and gives its arguments back.
  "claude-code": (text) => {
    const show = `claude() { "$NODE" -p 'JSON.stringify(process.argv.slice(1))' -- "$@"; }`;
    const env = { NODE: process.execPath };
    const args = JSON.parse(execFileSync("/bin/sh", ["-c", `${show}\n${text}`], { env, encoding: "utf8" })) as string[];
    expect(args.slice(0, 4)).toEqual(["mcp", "add", "haft", "--"]);
    return { command: args[4], args: args.slice(5) };
  },
  "claude-desktop": (text) => JSON.parse(text).mcpServers.haft,
  cursor: (text) => JSON.parse(text).mcpServers.haft,
  vscode: (text) => {
    const { type, ...entry } = JSON.parse(text).servers.haft;
    expect(type).toBe("stdio");
    return entry;
  },
  codex: (text) => (parseToml(text) as { mcp_servers: { haft: unknown } }).mcp_servers.haft,
  gemini: (text) => JSON.parse(text).mcpServers.haft,
};

const CLIENTS = Object.keys(MCP_CLIENTS) as McpClientName[];

async function configFor(client: McpClientName): Promise<Started> {
  const { code, stdout } = await haft.run(["mcp", "config", client]);
  expect(code).toBe(0);
  return READERS[client](stdout) as Started;
}

/** How a desktop client starts a program: elsewhere, and without the variables of a shell. */
function launch({ command, args }: Started) {
  const { HOME = "", HAFT_STATE_DIR = "" } = haft.env;
  const env = { HOME, HAFT_STATE_DIR, PATH: "/usr/bin:/bin" };
  return { command, args, env, cwd: temporaryFolder("haft-elsewhere-"), stderr: "ignore" as const };
}

test("every client gets the same command, in its own format", async () => {
  const started = await Promise.all(CLIENTS.map(configFor));
  expect(started[0]?.command).toBe(process.execPath);
  expect(started[0]?.args.slice(1)).toEqual(["mcp", "--folder", haft.folder]);
  for (const each of started) expect(each).toEqual(started[0]);
});

test("a folder with blanks and quotes survives every format", () => {
  const command = ["/opt/no de", "mcp", "--folder", `/home/ada/it's "here" \\ 文件`];
  for (const client of CLIENTS) {
    const { text = "" } = clientConfig(client, { command }) ?? {};
    expect(READERS[client](text), client).toEqual({ command: command[0], args: command.slice(1) });
  }
});

test("a client that can show a form asks its user there", async () => {
  writeFileSync(join(haft.folder, "note.txt"), "Tea at four.\n");
  const client = new Client(
    { name: "form", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  );
  onTestFinished(() => client.close());
  const asked: string[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { decision: "once" } };
  });
  await client.connect(new StdioClientTransport(launch(await configFor("cursor"))));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read", "write"]));
  const read = await client.callTool({ name: "read", arguments: { path: "note.txt" } });
  expect(JSON.stringify(read)).toContain("Tea at four.");
  expect(asked).toEqual([]);
  await client.callTool({ name: "write", arguments: { path: "form.txt", content: "by form" } });
  expect(asked).toEqual([expect.stringContaining("form.txt")]);
  expect(readFileSync(join(haft.folder, "form.txt"), "utf8")).toBe("by form");
});

test("a call of a client without forms waits for an approval elsewhere", async () => {
  const client = new ClientV1({ name: "plain", version: "1.0.0" }, { capabilities: {} });
  onTestFinished(() => client.close());
  await client.connect(new TransportV1(launch(await configFor("codex"))));
  const file = join(haft.folder, "waited.txt");
  const called = client.callTool({ name: "write", arguments: { path: "waited.txt", content: "by command" } });
  const id = await vi.waitFor(async () => {
    const { items } = JSON.parse((await haft.run(["approvals", "list", "--json"])).stdout) as {
      items: { id: string }[];
    };
    expect(items).toHaveLength(1);
    return items[0]!.id;
  }, 20_000);
  expect(existsSync(file)).toBe(false);
  expect((await haft.run(["approvals", "approve", id])).code).toBe(0);
  expect(await called).not.toHaveProperty("isError", true);
  expect(readFileSync(file, "utf8")).toBe("by command");
});

describe("a server that runs", () => {
  const url = "http://127.0.0.1:4117/mcp";

  test("is configured by its address, with a token that the user adds", () => {
    const texts = CLIENTS.map((client) => clientConfig(client, { url })?.text).filter((text) => text !== undefined);
    expect(texts).toHaveLength(CLIENTS.length - 1);
    for (const text of texts) expect(text).toMatch(/http:\/\/127\.0\.0\.1:4117\/mcp[^]*TOKEN/);
  });

  test("needs a token, and the command says where it belongs", async () => {
    const config = async (client: McpClientName) => haft.run(["mcp", "config", client, "--url", url]);
    expect((await config("cursor")).stderr).toContain("Replace TOKEN with a token: haft token create");
    const { stdout, stderr } = await config("codex");
    expect(stdout).toContain('bearer_token_env_var = "HAFT_TOKEN"');
    expect(stderr).toContain("Set HAFT_TOKEN to a token: haft token create");
    expect(stderr).not.toContain("Replace");
  });

  test("cannot be in the file of Claude Desktop, and the command says so", async () => {
    const refused = await haft.run(["mcp", "config", "claude-desktop", "--url", url]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("takes no address") });
    const unknown = await haft.run(["mcp", "config", "emacs"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("claude-code, claude-desktop") });
  });
});
