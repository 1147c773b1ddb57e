import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createDirectClient } from "../../src/api/direct-client.ts";
import { HostApi } from "../../src/api/host-api.ts";
import type { Scope } from "../../src/contracts/identity.ts";
import { contracts } from "../../src/contracts/index.ts";
import { openHaft } from "../../src/host.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const MODERN = fileURLToPath(new URL("modern-server.mjs", import.meta.url));

async function open({ env = {} }: { env?: Record<string, string> } = {}) {
  const root = temporaryFolder("haft-mcp-servers-");
  const home = join(root, "home");
  const folder = realpathSync(temporaryFolder("haft-work-"));
  mkdirSync(home, { recursive: true });
  const host = await openHaft(folder, { home, env });
  onTestFinished(() => host.close());
  const identity = { id: "1", name: "ada", scopes: ["read", "call", "approve", "admin"], kind: "session" } as const;
  const handlers = new HostApi(host);
  onTestFinished(() => handlers.close());
  const api = createDirectClient(contracts, { identity, handlersOf: handlers.handlersOf });
  const written = (): unknown => JSON.parse(readFileSync(join(folder, ".mcp.json"), "utf8")).mcpServers;
  const isReady = (name: string) =>
    vi.waitFor(() => expect(host.mcp.statusOf(name).state).toBe("ready"), { timeout: 20_000, interval: 50 });
  const apiOf = (...scopes: Scope[]) =>
    createDirectClient(contracts, { identity: { ...identity, scopes }, handlersOf: handlers.handlersOf });
  return { host, home, folder, api, apiOf, written, isReady };
}

describe("servers that a person adds", () => {
  test("are shown before they are saved, run when they are added, and are gone when they are removed", async () => {
    const { api, host, folder, written, isReady } = await open();
    const request = { command: process.execPath, args: [MODERN], env: { TOKEN: "s3cret" } };
    const preview = await api.mcp.preview("modern", request);
    expect(preview.launch).toMatch(/modern-server\.mjs\nwith the variables TOKEN\nconfined; network: all/);
    expect(existsSync(join(folder, ".mcp.json"))).toBe(false);
    await api.mcp.add("modern", request);
    await isReady("modern");
    expect(written()).toMatchObject({ modern: { command: process.execPath, args: [MODERN] } });
    expect((await api.mcp.entries()).items).toMatchObject([{ name: "modern", isTrusted: true, canRemove: true }]);
    expect((await api.tools.get("mcp__modern__add")).annotations).toMatchObject({ isTrusted: false });
    const { items: messages } = await api.mcp.protocol("modern");
    expect(messages.some(({ kind, method }) => kind === "response" && method === "tools/list")).toBe(true);
    expect(await api.mcp.remove("modern")).toEqual({ items: [] });
    expect(written()).toEqual({});
    expect(host.mcp.status()).toEqual([]);
    expect(host.haft.tools.registry.get("mcp__modern__add")).toBeUndefined();
  });

  test("are shown to administrators only, and without the values of variables", async () => {
    const { api, apiOf } = await open({ env: { KEY: "s3cret" } });
    const request = { command: "x", args: ["${KEY}", "${KEY:-y}", "${ABSENT}"], env: { A: "${KEY}" } };
    const preview = await api.mcp.preview("x", request);
    expect(JSON.stringify(preview)).not.toContain("s3cret");
    expect(preview.launch).toContain('x "${KEY}" "${KEY:-y}" "${ABSENT}"');
    expect(preview.notes).toEqual([expect.stringContaining("Not set: ABSENT")]);
    const url = await api.mcp.preview("y", { url: "https://e.org/${KEY}" });
    expect(url.launch).toBe("https://e.org/${KEY}");
    const limited = apiOf("read", "call", "approve");
    await expect(limited.mcp.preview("x", request)).rejects.toMatchObject({ status: 403 });
    await expect(limited.mcp.importSources()).rejects.toMatchObject({ status: 403 });
    await expect(limited.mcp.importPreview({ text: "{}" })).rejects.toMatchObject({ status: 403 });
  });

  test("are not trusted if another program rewrites the file while they are added", async () => {
    const { api, host, folder } = await open();
    const file = join(folder, ".mcp.json");
    const theirs = JSON.stringify({ mcpServers: { mine: { command: "theirs" } } });
    // Runs between any two steps of the file system.
    const rewrite = (): void => {
      if (existsSync(file)) writeFileSync(file, theirs);
      else setImmediate(rewrite);
    };
    rewrite();
    await expect(api.mcp.add("mine", { command: "mine" })).rejects.toThrow('Another program has changed "mine"');
    expect((await api.mcp.entries()).items).toMatchObject([{ name: "mine", isTrusted: false }]);
    expect(host.mcp.status()).toEqual([]);
  });

  test("say why they failed, also during the next attempt", async () => {
    const { api, host } = await open();
    const script = "process.stderr.write('no licence\\n'); process.exit(3)";
    await api.mcp.add("broken", { command: process.execPath, args: ["-e", script] });
    await vi.waitFor(() => expect(host.mcp.statusOf("broken").attempt).toBe(2), { timeout: 20_000, interval: 20 });
    const first = host.mcp.statusOf("broken");
    expect(first.error).toMatch(/exited with code 3.*no licence/);
    void host.mcp.reconnect("broken");
    await vi.waitFor(() => expect(host.mcp.statusOf("broken").state).toBe("connecting"), 5000);
    expect(host.mcp.statusOf("broken")).toMatchObject({ error: first.error, stderr: ["no licence"] });
  });

  test("are refused with what to do if they cannot be read", async () => {
    const { api } = await open();
    await expect(api.mcp.add("../x", { command: "a" })).rejects.toThrow("is not a name of a server");
    await expect(api.mcp.add("x", {})).rejects.toThrow("either a command or an address");
    await expect(api.mcp.add("x", { command: "a", network: ["a b"] })).rejects.toThrow("not a host name");
    await expect(api.mcp.importPreview({ file: "/etc/passwd" })).rejects.toThrow("not a configuration file");
    await expect(api.mcp.remove("nobody")).rejects.toThrow('no MCP server "nobody"');
  });
});

describe("servers of configuration files", () => {
  test("wait for trust, which is for what was shown", async () => {
    const { api, folder, isReady } = await open();
    const entry = { command: process.execPath, args: [MODERN] };
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: entry } }));
    const [shown] = (await api.mcp.entries()).items;
    expect(shown).toMatchObject({ name: "theirs", isTrusted: false, what: expect.stringContaining("modern-server") });
    writeFileSync(
      join(folder, ".mcp.json"),
      JSON.stringify({ mcpServers: { theirs: { ...entry, args: ["-e", ""] } } }),
    );
    await expect(api.mcp.trust("theirs", { digest: shown!.digest })).rejects.toThrow("has changed");
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: entry } }));
    await api.mcp.trust("theirs", { digest: shown!.digest });
    await isReady("theirs");
  });

  test("of other clients are found and imported, without values of variables", async () => {
    const { api, home, written, isReady } = await open();
    mkdirSync(join(home, ".cursor"));
    const servers = {
      mine: { command: process.execPath, args: [MODERN], env: { KEY: "${env:KEY}" } },
      other: { url: "http://127.0.0.1:1/mcp" },
    };
    writeFileSync(join(home, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: servers }));
    const { items } = await api.mcp.importSources();
    expect(items).toMatchObject([{ client: "Cursor", servers: [{ name: "mine" }, { name: "other" }] }]);
    await api.mcp.import({ file: items[0]!.file, names: ["mine"] });
    await isReady("mine");
    expect(written()).toEqual({ mine: { command: process.execPath, args: [MODERN], env: { KEY: "${KEY}" } } });
    const pasted = await api.mcp.importPreview({
      text: JSON.stringify({ servers: { vs: { url: "https://e.org/mcp" } } }),
    });
    expect(pasted).toMatchObject({ client: "vscode", servers: [{ name: "vs", launch: "https://e.org/mcp" }] });
  });

  test("of other clients replace none of the same name unless that is said", async () => {
    const { api, folder, written } = await open();
    const own = { type: "http", url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer ${KEY}" } };
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { docs: own } }));
    const text = JSON.stringify({ mcpServers: { docs: { type: "http", url: "http://127.0.0.1:2/mcp" } } });
    expect((await api.mcp.importPreview({ text })).servers).toMatchObject([
      { replaces: expect.stringContaining("docs") },
    ]);
    const refused = api.mcp.import({ text, names: ["docs"] });
    await expect(refused).rejects.toMatchObject({ status: 409, message: expect.stringContaining("docs") });
    expect(written()).toEqual({ docs: own });
    await api.mcp.import({ text, names: ["docs"], rename: { docs: "docs2" } });
    expect(written()).toMatchObject({ docs: own, docs2: { url: "http://127.0.0.1:2/mcp" } });
    await api.mcp.import({ text, names: ["docs"], replace: ["docs"] });
    expect(written()).toMatchObject({ docs: { url: "http://127.0.0.1:2/mcp" } });
  });

  test("that a setting of another program excludes are not started, even if trusted", async () => {
    const { api, folder } = await open();
    const entry = { command: process.execPath, args: [MODERN] };
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: entry } }));
    mkdirSync(join(folder, ".claude"));
    writeFileSync(join(folder, ".claude/settings.json"), JSON.stringify({ disabledMcpjsonServers: ["theirs"] }));
    const [shown] = (await api.mcp.entries()).items;
    await expect(api.mcp.trust("theirs", { digest: shown!.digest })).rejects.toThrow(/disabledMcpjsonServers of/);
    expect((await api.mcp.list()).items).toEqual([]);
  });
});
