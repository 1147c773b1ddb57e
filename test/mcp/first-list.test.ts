// What a client of `haft mcp` gets while the servers behind it are still starting.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openHaft } from "haft/host";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { connectDirectly } from "./serve-haft.ts";

const MODERN = fileURLToPath(new URL("./modern-server.mjs", import.meta.url));
/** A server that starts when the file is there. */
const LATE = `
  import { existsSync } from "node:fs";
  process.argv[1] = ${JSON.stringify(MODERN)};
  const look = () => existsSync(process.argv[2]) ? import(${JSON.stringify(pathToFileURL(MODERN).href)}) : setTimeout(look, 20);
  look();`;

async function open() {
  const root = temporaryFolder("haft-first-list-");
  const [home, folder, go] = [join(root, "home"), join(root, "work"), join(root, "go")];
  mkdirSync(join(home, ".config", "haft"), { recursive: true });
  mkdirSync(folder);
  const late = join(root, "late.mjs");
  writeFileSync(late, LATE);
  const server = { command: process.execPath, args: [late, go], trust: true, sandbox: false };
  writeFileSync(join(home, ".config", "haft", "config.json"), JSON.stringify({ mcpServers: { notes: server } }));
  const host = await openHaft(folder, { home, env: { PATH: process.env["PATH"] ?? "" } });
  onTestFinished(() => host.close());
  return { host, start: () => writeFileSync(go, "") };
}

describe("a client whose servers are still connecting", () => {
  test("gets their tools with its first list", async () => {
    const { host, start } = await open();
    const client = await connectDirectly(host.haft, {}, { ready: () => host.mcp.settled(), listWaitMs: 60_000 });
    const listed = client.listTools();
    start();
    expect((await listed).tools.map(({ name }) => name)).toContain("mcp__notes__add");
  });

  test("gets a list without them after a while, hears why a call fails, and is told when they are there", async () => {
    const { host, start } = await open();
    const serving = { ready: () => host.mcp.settled(), listWaitMs: 10 };
    let changes = 0;
    const options = { listChanged: { tools: { autoRefresh: false, onChanged: () => void changes++ } } };
    const client = await connectDirectly(host.haft, { era: "legacy", options }, serving);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).filter((name) => name.startsWith("mcp__"))).toEqual([]);

    const called = await client.callTool({ name: "mcp__notes__add", arguments: { a: 1, b: 2 } });
    expect(JSON.stringify(called.content)).toContain('The MCP server \\"notes\\" is still connecting.');
    expect(JSON.stringify(called.content)).not.toContain("Did you mean");
    expect(await host.haft.execute("mcp__notes__add", { a: 1, b: 2 }, { id: "early" })).toMatchObject({
      error: { code: "unavailable", retryable: true, next: expect.stringContaining("Call again in a few seconds.") },
    });
    const other = await host.haft.execute("forecast", {});
    expect(other).toMatchObject({
      error: {
        code: "tool_not_found",
        next: expect.stringContaining('MCP servers that are still connecting: "notes".'),
      },
    });

    start();
    await host.mcp.settled();
    await expect.poll(() => changes).toBeGreaterThan(0);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("mcp__notes__add");
    expect(await host.haft.execute("mcp__notes__add", { a: 1, b: 2 }, { id: "early" })).toMatchObject({
      status: "pending",
    });
    const later = await host.haft.execute("forecast", {});
    expect(JSON.stringify(later)).not.toContain("connecting");
  });
});
