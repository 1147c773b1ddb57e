// How commands find and use the server of their workspace: real processes, other working directories, kill -9.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { until } from "../setup/until.ts";
import { bundleHaft, type HaftProgram, type Running } from "./run-haft.ts";

let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => {
  haft.openFolder();
  writeFileSync(join(haft.folder, "README.md"), "A folder that is not empty\n");
});

async function serve(): Promise<{ server: Running; pid: number }> {
  const server = haft.start(["serve", "--port", "0", "--json"]);
  await server.waitForOutput(/^\{.*\}\n/);
  return { server, pid: server.child.pid ?? 0 };
}

const SET = ["tools", "call", "set_env", "key=COLOR", "value=blue", "--session", "s", "--mode", "bypassPermissions"];
const GET = ["tools", "call", "get_env", "key=COLOR", "--session", "s"];
/** A session's variables are in the memory of the process that runs its calls. */
const sharesMemory = async (options?: Parameters<HaftProgram["run"]>[1]): Promise<boolean> => {
  const set = await haft.run([...SET, "-C", haft.folder], options);
  expect(set, set.stderr).toMatchObject({ code: 0 });
  return (await haft.run([...GET, "-C", haft.folder], options)).stdout.includes("blue");
};

function recordFile(): string {
  const files = readdirSync(dirname(haft.folder), { recursive: true, encoding: "utf8" });
  const file = files.find((name) => name.includes(basename(haft.folder)) && name.endsWith("server.json"));
  if (file === undefined) throw new Error("There is no server.json.");
  return join(dirname(haft.folder), file);
}

test("a command uses it, from another working directory and with another PATH", async () => {
  await serve();
  const elsewhere = join(haft.folder, "..", "elsewhere");
  mkdirSync(elsewhere, { recursive: true });
  expect(await sharesMemory({ cwd: elsewhere, env: { PATH: "/nowhere" } })).toBe(true);
  const direct = await haft.run([...GET, "-C", haft.folder, "--no-server"], { cwd: elsewhere });
  expect(direct.stdout).not.toContain("blue");
});

test("without one, each command works in its own process", async () => {
  expect(await sharesMemory()).toBe(false);
});

test("its address and token are for this user only, and are gone when it has ended", async () => {
  const { server } = await serve();
  const record = recordFile();
  const token = join(dirname(record), "server.token");
  for (const file of [record, token]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(record, "utf8")).not.toContain(readFileSync(token, "utf8"));
  server.child.kill("SIGTERM");
  expect(await server.ended).toMatchObject({ code: 0 });
  expect([existsSync(record), existsSync(token)]).toEqual([false, false]);
});

test("after kill -9 a command says that it is gone, works in process, and the next one is silent", async () => {
  const { server, pid } = await serve();
  const record = recordFile();
  server.child.kill("SIGKILL");
  await server.ended;
  expect(existsSync(record)).toBe(true);
  const first = await haft.run(["tools", "call", "read", "path=README.md"]);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("not empty") });
  expect(first.stderr.split("\n").filter((line) => line.includes(`pid ${pid}`))).toHaveLength(1);
  const second = await haft.run(["tools", "call", "read", "path=README.md"]);
  expect(second).toMatchObject({ code: 0, stderr: "" });
});

test("if it does not answer, a command says so and works in process; with -q it says nothing", async () => {
  const { server, pid } = await serve();
  server.child.kill("SIGSTOP");
  onTestFinished(() => void server.child.kill("SIGCONT"));
  const read = ["tools", "call", "read", "path=README.md"];
  const told = await haft.run(read);
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining("not empty") });
  expect(told.stderr).toMatch(new RegExp(`pid ${pid}\\) does not answer`));
  expect(await haft.run([...read, "-q"])).toMatchObject({ code: 0, stderr: "" });
});

test("one of another version, or with other settings in its environment, is not used", async () => {
  await serve();
  const other = await haft.run(["tools", "list"], { env: { HAFT_MODE: "plan" } });
  expect(other).toMatchObject({ code: 0, stderr: expect.stringContaining("HAFT_ variables") });
  const record = recordFile();
  writeFileSync(record, JSON.stringify({ ...JSON.parse(readFileSync(record, "utf8")), version: "0.0.1" }));
  const older = await haft.run(["tools", "list"]);
  expect(older).toMatchObject({ code: 0, stderr: expect.stringContaining("has version 0.0.1") });
  expect(await sharesMemory()).toBe(false);
});

test("it is not used if others could have written its address", async () => {
  await serve();
  const record = recordFile();
  const text = readFileSync(record, "utf8");
  chmodSync(record, 0o666);
  expect(await sharesMemory()).toBe(false);
  expect(readFileSync(record, "utf8")).toBe(text);
});

test("the configuration is that of the server, which follows its files", async () => {
  await serve();
  writeFileSync(join(haft.folder, "haft.config.yml"), "tools:\n  maxConcurrent: 3\n");
  const shown = async () => (await haft.run(["config", "show"])).stdout;
  // Until the server has read the file, the value is followed by "(restart needed)".
  await expect.poll(shown, { timeout: 60_000, interval: 200 }).toMatch(/tools\.maxConcurrent\s+3$/m);
});

test("MCP servers are started by commands that need them, and not again while a server runs", async () => {
  const script = "echo started >> starts.txt; exec sleep 600";
  const hanging = { command: "/bin/sh", args: ["-c", script], sandbox: false };
  writeFileSync(join(haft.folder, ".mcp.json"), JSON.stringify({ mcpServers: { hanging } }));
  expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
  const file = join(haft.folder, "starts.txt");
  const starts = (): number => (existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0);
  for (const words of [
    ["tools", "describe", "read"],
    ["approvals", "list"],
    ["policy", "explain", "read", "path=a"],
  ])
    expect(await haft.run(words)).toMatchObject({ code: 0 });
  expect(starts()).toBe(0);
  const list = ["tools", "list", "--wait", "300ms"];
  const listed = await haft.run(list);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("apply_patch") });
  expect(listed.stderr).toMatch(/The tools of the MCP server "hanging" are missing: .*`--wait 30s` waits longer/);
  expect(starts()).toBe(1);
  await serve();
  await until(() => starts() === 2);
  expect((await haft.run(list)).stderr).toContain('"hanging" are missing');
  expect(starts()).toBe(2);
});

/** A plugin whose tool returns `answer`. */
function writePlugin(answer: string, description = "Pays money back."): void {
  writeFileSync(
    join(haft.folder, "refunds.ts"),
    `export default {
      manifest: { id: "refunds" },
      register(api: { registerTool(tool: object): void }) {
        const permission = ({ amount }: { amount: number }) => (amount > 100 ? amout : "auto");
        const parameters = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };
        const description = ${JSON.stringify(description)};
        api.registerTool({ name: "refund", description, kind: "write", permission, parameters, run: () => ${JSON.stringify(answer)} });
      },
    };`,
  );
}

const REFUND = ["tools", "call", "refund", "amount:=1"];

test("an edited plugin is used once it is trusted; until then, and if its tools changed, a warning says that an earlier version ran", async () => {
  writeFileSync(join(haft.folder, "haft.config.yml"), "plugins: [./refunds.ts]\n");
  writePlugin("first");
  expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
  await serve();
  expect(await haft.run(REFUND)).toMatchObject({ code: 0, stdout: "first\n", stderr: "" });
  writePlugin("second");
  const untrusted = await haft.run(REFUND);
  expect(untrusted).toMatchObject({ code: 0, stdout: "first\n" });
  expect(untrusted.stderr).toMatch(/earlier version of the plugin "\.\/refunds\.ts".* not trusted\. .*haft trust/);
  expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
  expect(await haft.run(REFUND)).toMatchObject({ code: 0, stdout: "second\n", stderr: "" });
  writePlugin("third", "Pays all money back.");
  expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
  const changed = await haft.run(REFUND);
  expect(changed).toMatchObject({ code: 0, stdout: "second\n" });
  expect(changed.stderr).toMatch(/earlier version .* its tools changed\. Restart Haft \(haft serve\)/);
  const missing = await haft.run(["tools", "call", "refund_all"]);
  expect(missing).toMatchObject({ code: 5, stderr: expect.stringContaining("Restart Haft (haft serve)") });
});

test("a plugin that is added while it runs needs a restart, and every command that meets that says so", async () => {
  await serve();
  writeFileSync(join(haft.folder, "haft.config.yml"), "plugins: [./refunds.ts]\n");
  writePlugin("first");
  const trusted = await haft.run(["trust", "--yes"]);
  expect(trusted).toMatchObject({ code: 0, stderr: expect.stringMatching(/Restart the server \(http.*new plugins/) });
  await until(async () => (await haft.run(["--json"])).stdout.includes('"plugins"'));
  expect(await haft.run(REFUND)).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("Restart Haft (haft serve)"),
  });
  const { stdout } = await haft.run(["doctor", "--json"]);
  const { items } = JSON.parse(stdout) as { items: { what: string; found: string }[] };
  expect(items).toContainEqual(expect.objectContaining({ what: "server", found: expect.stringContaining("plugins") }));
  expect(items.filter(({ what }) => what === "port")).toEqual([]);
});

test("without one, a plugin that changed is named, and a tool that is not found may be one of it", async () => {
  writeFileSync(join(haft.folder, "haft.config.yml"), "plugins: [./refunds.ts]\n");
  writePlugin("first");
  expect(await haft.run(["trust", "--yes"])).toMatchObject({ code: 0 });
  const thrown = await haft.run(["tools", "call", "refund", "amount:=101"]);
  expect(thrown.stderr).toContain('refund failed: permission of "refund" threw: amout is not defined');
  writePlugin("second");
  const missing = await haft.run(REFUND);
  expect(missing.code).toBe(5);
  expect(missing.stderr).toContain('the plugin "./refunds.ts" changed since you trusted it');
  expect(missing.stderr).toContain("Some plugins of this folder are not loaded, because they are not trusted.");
  expect((await haft.run(["trust", "--list"])).stdout).toMatch(/^changed +plugin/);
});
