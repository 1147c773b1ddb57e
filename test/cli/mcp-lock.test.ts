// `haft mcp lock` and `haft mcp verify` with a real server of a folder, in this process.
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { trust } from "../../src/config/trust.ts";
import { SCRIPTED } from "../mcp/connect-scripted.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const env = { PATH: process.env["PATH"] ?? "" };

interface Written {
  servers: {
    name: string;
    launch: Record<string, unknown>;
    tools: { name: string; definition: Record<string, unknown>; hash: string }[];
  }[];
}

async function open({ isTrusted = true, lock }: { isTrusted?: boolean | "before"; lock?: object } = {}) {
  const folder = realpathSync(temporaryFolder("haft-lock-"));
  const tools = { command: process.execPath, args: [SCRIPTED, "none"], env: { KEY: "s3cret-value" } };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { tools } }));
  // The user's own servers are no business of the team.
  mkdirSync(join(folder, ".config", "haft"), { recursive: true });
  const mine = { command: process.execPath, args: [SCRIPTED], enabled: false };
  writeFileSync(join(folder, ".config", "haft", "config.json"), JSON.stringify({ mcpServers: { mine } }));
  const file = join(folder, "haft.lock");
  if (lock) writeFileSync(file, JSON.stringify(lock));
  if (isTrusted) await trust(folder, { home: folder, env });
  if (isTrusted === "before")
    writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { tools: { ...tools, args: ["x"] } } }));
  const { host, haft } = await openHostCli(folder, { env });
  await host.mcp.settled();
  const written = () => JSON.parse(readFileSync(file, "utf8")) as Written;
  const change = (edit: (lock: Written) => void) => {
    const lock = written();
    edit(lock);
    writeFileSync(file, JSON.stringify(lock, null, 2));
  };
  return { folder, file, host, haft: (...words: string[]) => haft("mcp", ...words), written, change };
}

test("a lock has what the servers of the folder offer and start, and no values of variables", async () => {
  const { haft, written, file } = await open();
  expect(await haft("lock")).toMatchObject({
    code: 0,
    stdout: `${file}\n`,
    stderr: expect.stringMatching(/Locked \d+ tools of 1 server/),
  });
  const [server, ...others] = written().servers;
  expect(others).toEqual([]);
  expect(server).toMatchObject({
    name: "tools",
    launch: { command: process.execPath, args: [SCRIPTED, "none"], env: ["KEY"] },
  });
  expect(server!.tools.find(({ name }) => name === "echo")).toMatchObject({
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    definition: { description: "Does echo", inputSchema: { type: "object" } },
  });
  expect(readFileSync(file, "utf8")).not.toContain("s3cret");
  expect(await haft("verify")).toMatchObject({ code: 0, stderr: expect.stringContaining("1 server as in haft.lock") });
});

test("a server that changes a definition fails, as a table, as JSON and as SARIF with the line", async () => {
  const { haft, host, file } = await open();
  expect(await haft("verify")).toMatchObject({ code: 2, stderr: expect.stringContaining("haft mcp lock") });
  await haft("lock");
  await host.haft.execute("mcp__tools__change", {}, { mode: "bypassPermissions" });
  await vi.waitFor(async () => expect((await haft("verify")).code).toBe(1), { timeout: 60_000, interval: 200 });
  const table = await haft("verify");
  expect(table.stdout).toMatch(/tool-changed +tools +add +The description of tools\/add changed\./);
  expect(table.stdout).toMatch(/^\+.*IMPORTANT/m);
  const { ok, findings } = JSON.parse((await haft("verify", "--json")).stdout) as { ok: boolean; findings: object[] };
  expect({ ok, findings }).toMatchObject({ ok: false, findings: [{ rule: "tool-changed", tool: "add" }] });
  const { code, stdout } = await haft("verify", "--sarif");
  expect(code).toBe(1);
  const [run] = (JSON.parse(stdout) as { runs: unknown }).runs as [
    { results: { ruleId: string; locations: { physicalLocation: { region: { startLine: number } } }[] }[] },
  ];
  expect(run.results).toMatchObject([{ ruleId: "tool-changed", level: "error" }]);
  const line = run.results[0]!.locations[0]!.physicalLocation.region.startLine;
  const text = readFileSync(file, "utf8").split("\n");
  expect(text.slice(line - 1, line + 2).join()).toContain('"name": "add"');
  // Accepted by writing it again, which shows the same difference.
  expect((await haft("lock")).stdout).toMatch(/tool-changed +tools +add/);
  expect((await haft("verify")).code).toBe(0);
});

test("a server that is gone, edited, new or not trusted fails", async () => {
  const { haft, change } = await open();
  await haft("lock");
  change((lock) => {
    lock.servers[0]!.tools[0]!.definition["description"] = "Harmless";
    lock.servers[0]!.launch["args"] = ["other.js"];
    lock.servers.push({ name: "gone", launch: {}, tools: [] });
  });
  const { findings } = JSON.parse((await haft("verify", "--json")).stdout) as { findings: { rule: string }[] };
  expect(findings.map(({ rule }) => rule).sort()).toEqual([
    ...["launch-changed", "lock-edited", "server-removed", "tool-changed"],
  ]);
  change((lock) => void lock.servers.splice(0));
  expect((await haft("verify")).stdout).toContain("server-added");

  const untrusted = await open({ isTrusted: false, lock: { version: 1, servers: [] } });
  const verified = await untrusted.haft("verify");
  expect(verified.stdout).toMatch(/server-missing +tools.*nobody has trusted it/);
  expect(verified.stderr).toContain("Review and trust what they start: haft trust");
  expect(verified.stderr).not.toContain("haft mcp lock");
  const changed = await open({ isTrusted: "before", lock: { version: 1, servers: [] } });
  expect((await changed.haft("verify")).stdout).toContain("tools was not started: it changed since you trusted it.");
  expect(await untrusted.haft("lock")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Nothing was written"),
  });
});

test("a tool that differs from the lock asks with the difference where nobody has approved it", async () => {
  const locked = {
    name: "echo",
    hash: "0".repeat(64),
    definition: { name: "echo", description: "Repeats a text", inputSchema: { type: "object" } },
  };
  const { host } = await open({ lock: { version: 1, servers: [{ name: "tools", launch: {}, tools: [locked] }] } });
  const { tools } = host.mcp.statusOf("tools");
  expect(tools.find(({ name }) => name === "echo")).toMatchObject({
    review: "changed",
    lock: "differs",
    difference: expect.stringMatching(/^-.*Repeats a text/m),
  });
  // One that the lock does not know.
  expect(tools.find(({ name }) => name === "pid")).toMatchObject({ review: "changed", lock: "missing" });
  // An allow rule does not let a changed definition run.
  host.haft.policy.rules.add("mcp__tools__echo", "allow", "test");
  expect(await host.haft.execute("mcp__tools__echo", { a: 1 })).toMatchObject({ status: "pending" });
});

test("a broken lock is a warning, and fails in verify", async () => {
  const { haft, host } = await open({ lock: { version: 2 } });
  expect(host.mcp.statusOf("tools").state).toBe("ready");
  expect(await haft("verify")).toMatchObject({ code: 1, stderr: expect.stringContaining("haft.lock") });
});
