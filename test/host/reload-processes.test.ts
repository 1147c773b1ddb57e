// A rule that one process writes or saves, as other processes see it. Prints how long it took: the promise is two seconds.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type HaftHost, openHaft } from "../../src/host.ts";
import { startPostgres, type TestPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { bundleHaft, type HaftProgram } from "../cli/run-haft.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";

const DENY = 'permissions: { deny: ["Read(./secret.md)"] }';
let haft: HaftProgram;
let postgres: TestPostgres;

beforeAll(async () => {
  haft = await bundleHaft();
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres.stop();
  haft.remove();
});

type CanRead = () => Promise<boolean>;

async function binds(what: string, canRead: CanRead, expected: boolean): Promise<void> {
  const from = performance.now();
  await until(async () => (await canRead()) === expected, { pauseMs: 20 });
  console.log(`${what}: ${Math.round(performance.now() - from)} ms`);
}

/** `haft mcp` in the folder. */
async function openMcp(folder: string, env: Record<string, string>): Promise<CanRead> {
  const program = {
    command: process.execPath,
    args: [haft.program, "mcp"],
    cwd: folder,
    env,
    stderr: "ignore" as const,
  };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport(program));
  onTestFinished(() => client.close());
  return async () => (await client.callTool({ name: "read", arguments: { path: "secret.md" } })).isError !== true;
}

function openLibrary(folder: string, env: Record<string, string>): Promise<HaftHost> {
  return openHaft(folder, { env, home: env["HOME"], runsJobs: false, connectsMcp: false });
}

async function readsHere({ haft: runtime }: HaftHost): Promise<boolean> {
  return (await runtime.execute("read", { path: "secret.md" })).status === "completed";
}

test("a rule in a file binds a worker, an MCP server, a program and a server of the folder", async () => {
  const folder = haft.openFolder();
  writeFileSync(join(folder, "secret.md"), "hidden");
  // Its user's file, so only the worker knows the rule: the process that submits the job is not denied.
  const workersFile = join(temporaryFolder(), "haft", "config.yml");
  mkdirSync(dirname(workersFile));
  const worker = haft.start(["worker"], { env: { XDG_CONFIG_HOME: dirname(dirname(workersFile)) } });
  await worker.waitForOutput(/runs jobs/);
  const host = await openLibrary(folder, haft.env);
  onTestFinished(() => host.close());
  const byMcp = await openMcp(folder, haft.env);
  const byJob = async (): Promise<boolean> => {
    const submitted = await host.haft.execute("read", { path: "secret.md" }, { background: true });
    if (submitted.status !== "pending") throw new Error("The call did not become a job.");
    return (await host.haft.jobs.wait(submitted.pending.id)).status === "completed";
  };
  const byProgram = () => readsHere(host);
  expect(await Promise.all([byMcp(), byJob(), byProgram()])).toEqual([true, true, true]);
  writeFileSync(workersFile, 'permissions: { deny: ["Read"] }');
  await binds("worker", byJob, false);
  worker.child.kill("SIGTERM");
  writeFileSync(join(folder, "haft.config.yml"), DENY);
  await Promise.all([binds("MCP server", byMcp, false), binds("program", byProgram, false)]);

  writeFileSync(join(folder, "haft.config.yml"), "");
  const server = haft.start(["serve", "--no-open", "--port", "0"]);
  await server.waitForOutput(/http:/);
  const call = () => haft.run(["tools", "call", "read", "path=secret.md"]);
  expect((await call()).stdout).toContain("hidden");
  writeFileSync(join(folder, "haft.config.yml"), DENY);
  await binds("server", async () => (await call()).code !== 6, false);
  const [explained, shown] = [
    await haft.run(["policy", "explain", "read", "path=secret.md"]),
    await haft.run(["config", "show"]),
  ];
  expect(explained.stdout).toMatch(/deny/);
  expect(shown.stdout).toContain("Read(./secret.md)");
  expect(await haft.run(["config", "show", "--no-server"])).toMatchObject({ stdout: shown.stdout });
  // A broken file: the server names it, and what it denied still holds.
  writeFileSync(join(folder, "haft.config.yml"), "permissions: { allow: [");
  await until(async () => (await haft.run(["config", "show"])).stderr.includes("Not in effect"));
  expect((await call()).code).toBe(6);
}, 240_000);

test("a rule that is saved in a store on PostgreSQL binds a process with another state folder, and ends there", async () => {
  const url = await postgres.createDatabase();
  const machine = (name: string) => {
    const base = temporaryFolder(`haft-${name}-`);
    mkdirSync(join(base, "work"));
    writeFileSync(join(base, "work", "secret.md"), "hidden");
    const env = { ...haft.env, HAFT_STATE_DIR: join(base, "state"), HAFT_STORE_URL: url };
    return { folder: join(base, "work"), env };
  };
  const [here, there] = [machine("here"), machine("there")];
  const host = await openLibrary(here.folder, here.env);
  onTestFinished(() => host.close());
  const canRead = await openMcp(there.folder, there.env);
  expect(await canRead()).toBe(true);
  const { origin } = await host.haft.policy.add("Read(./secret.md)", "deny", "ann");
  expect(await readsHere(host)).toBe(false);
  await binds("saved on another machine", canRead, false);
  // A change of its own files keeps it.
  writeFileSync(join(here.folder, "haft.config.yml"), "limits: { maxWait: 5000 }");
  await until(() => host.config.value.limits.maxWait === 5000);
  expect(await readsHere(host)).toBe(false);
  expect(await host.haft.policy.remove("Read(./secret.md)", "deny", origin, "ann")).toBe(true);
  await binds("removed on another machine", canRead, true);
});
