import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addMcpServer, toMcpJson } from "./mcp-json.ts";
import { openConfigFolders } from "./config-folders.fixture.ts";
import { readMcpServers } from "./mcp-entries.ts";

test("a server of another client's file keeps what it was limited to", async () => {
  const { folder } = openConfigFolders({
    "their/.gemini/settings.json": JSON.stringify({
      mcpServers: {
        local: {
          ...{ command: "server", args: ["-v"], env: { MODE: "x" }, cwd: "/srv/data", timeout: 9000, trust: true },
          ...{ includeTools: ["read"], excludeTools: ["write"] },
        },
        off: { httpUrl: "https://mcp.example/", headers: { "X-Team": "blue" }, disabled: true },
      },
    }),
  });
  const read = await readMcpServers({ file: join(folder, "their/.gemini/settings.json") }, { env: {}, folder });
  const notes = [];
  for (const server of read.servers) {
    const { entry, notes: left } = toMcpJson(server);
    notes.push(...left);
    await addMcpServer(folder, server.name, entry);
  }
  expect(notes).toEqual([expect.stringContaining('"trust"')]);
  const file = join(folder, ".mcp.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ mcpServers: { off: { disabled: true } } });
  const again = await readMcpServers({ file }, { env: {}, folder });
  const reported = ({ servers }: typeof read) =>
    servers.map(
      ({ dialect: _dialect, file: _file, line: _line, isInferred: _isInferred, trust: _trust, ...server }) => server,
    );
  expect(reported(again)).toEqual(reported(read));
  expect(again.servers.map(({ enabled }) => enabled)).toEqual([true, false]);
});
