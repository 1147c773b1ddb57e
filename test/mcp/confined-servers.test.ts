// What a confined MCP server or hook must not be able to do, tried with real processes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { textOf, type Haft } from "haft";
import { openHaft } from "haft/host";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFiles } from "../../src/io/files/files.ts";
import { createPathPolicy } from "../../src/io/files/path-policy.ts";
import { ProgramSandbox } from "../../src/io/sandbox/program-sandbox.ts";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";
import { type FoundEngines, machineEngines } from "../../src/io/sandbox/self-test.ts";
import { readHookSettings } from "../../src/gate/permit/hooks/hook-settings.ts";
import { runHook } from "../../src/gate/permit/hooks/run-hook.ts";
import { MemoryPinStore } from "../../src/mcp/client/tool-pinning.ts";
import type { McpServerConfig } from "../../src/mcp/server-config.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { connectHub, SCRIPTED, scripted, until } from "./connect-scripted.ts";

const { work, tests } = machineEngines();
const missing = work?.name === "namespaces" ? undefined : `Programs cannot be confined here: ${JSON.stringify(tests)}.`;

/** A home folder with a workspace and a state folder in it, each with a secret. */
function openPrograms(engines: () => FoundEngines = machineEngines) {
  const home = temporaryFolder("haft-confined-");
  const [workspace, stateFolder] = [join(home, "project"), join(home, "state")];
  for (const folder of [workspace, stateFolder, join(home, ".ssh")]) mkdirSync(folder);
  writeFileSync(join(workspace, "code.txt"), "code");
  writeFileSync(join(workspace, ".env"), "TOKEN=planted");
  writeFileSync(join(stateFolder, "haft.db"), "planted");
  writeFileSync(join(home, ".ssh", "id_rsa"), "planted");
  writeFileSync(join(home, "notes.txt"), "planted");
  const policy = createPathPolicy({ workspace, privatePaths: [stateFolder] });
  const sandbox = openSandbox({ files: createFiles(policy), engines, home });
  const programs = new ProgramSandbox({ sandbox, workspace, stateFolder: () => stateFolder, home });
  onTestFinished(async () => {
    await programs.close();
    sandbox.close();
  });
  return { home, workspace, stateFolder, programs };
}

type Fields = Partial<Extract<McpServerConfig, { transport: "stdio" }>>;

async function connect(fields: Fields = {}, opened = openPrograms(), faults: readonly string[] = []) {
  const { workspace, programs: sandbox } = opened;
  const hub = { workspace, sandbox, hostEnvironment: { ...process.env, PLANTED_TOKEN: "planted" } };
  const connected = await connectHub([scripted("s", faults, fields)], { hub });
  return { ...opened, ...connected };
}

async function attempt(haft: Haft, attempts: Record<string, string>): Promise<Record<string, string>> {
  return JSON.parse(textOf((await haft.execute("mcp__s__attempt", attempts)).content)) as Record<string, string>;
}

async function listen(): Promise<string> {
  const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

/** Processes whose command line has this word. */
function processesWith(word: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(word);
    } catch {
      return false;
    }
  });
}

describe.runIf(canRun("sandbox", missing))("a confined MCP server", () => {
  test("reads the workspace, but no secret, not the home folder and not the state", async () => {
    const { haft, workspace, home, stateFolder } = await connect();
    expect(await attempt(haft, { read: join(workspace, "code.txt") })).toEqual({ read: "code" });
    for (const path of [
      join(workspace, ".env"),
      join(home, ".ssh", "id_rsa"),
      join(home, "notes.txt"),
      join(stateFolder, "haft.db"),
      `/proc/${process.pid}/environ`,
    ]) {
      expect(await attempt(haft, { read: path }), path).toEqual({
        read: expect.stringMatching(/^E(ACCES|NOENT|PERM)$/),
      });
    }
  });

  test("writes its own folder, nothing else, and sees no variable that its entry does not name", async () => {
    const { haft, workspace, home, stateFolder } = await connect({ env: { NAMED: "yes" } });
    const outcome = await attempt(haft, { own: "data", variable: "PLANTED_TOKEN" });
    expect(outcome).toEqual({ own: "done", variable: expect.stringContaining("not set") });
    expect(await attempt(haft, { variable: "NAMED" })).toEqual({ variable: "yes" });
    for (const path of [join(workspace, "code.txt"), join(workspace, "new"), join(home, "new"), "/etc/haft-new"]) {
      expect(await attempt(haft, { write: path }), path).toEqual({ write: expect.stringMatching(/^E(ACCES|ROFS)$/) });
    }
    const [own = ""] = readdirSync(join(stateFolder, "programs"));
    expect(readFileSync(join(stateFolder, "programs", own, "kept.txt"), "utf8")).toBe("data");
    expect(readFileSync(join(workspace, "code.txt"), "utf8")).toBe("code");
  });

  test("has the network that its entry allows", async () => {
    const port = await listen();
    expect(await attempt((await connect()).haft, { connect: port })).toEqual({ connect: "connected" });
    const none = await connect({ network: "none" });
    expect(await attempt(none.haft, { connect: port })).toEqual({ connect: "ECONNREFUSED" });
    const { haft, hub } = await connect({ network: ["example.com"] });
    // The proxy answers, and refuses a host that is not listed.
    const outcome = await attempt(haft, { connect: port, tunnel: `other.example:${port}` });
    expect(outcome).toEqual({ connect: "ECONNREFUSED", tunnel: "403" });
    expect(hub.statusOf("s").launch).toContain("confined; network: example.com");
  });

  test("may use what its entry names: a folder, and a secret by its own name", async () => {
    const opened = openPrograms();
    const { home } = opened;
    mkdirSync(join(home, "data"));
    writeFileSync(join(home, "data", ".env"), "planted");
    const fields = { read: [join(home, ".ssh", "id_rsa")], write: [join(home, "data"), join(home, "made")] };
    const { haft } = await connect(fields, opened);
    expect(await attempt(haft, { read: join(home, ".ssh", "id_rsa") })).toEqual({ read: "planted" });
    expect(await attempt(haft, { write: join(home, "data", "x") })).toEqual({ write: "done" });
    expect(await attempt(haft, { write: join(home, "made", "x") })).toEqual({ write: "done" });
    expect(await attempt(haft, { read: join(home, "data", ".env") })).not.toEqual({ read: "planted" });
  });

  test("that cannot start says what was refused, and starts with the line that it prints", async () => {
    const opened = openPrograms();
    const start = async (fault: string, fields: Fields = {}) =>
      (await connect(fields, opened, [`attempt:${fault}`])).hub.statusOf("s");
    const written = await start(`mkdir:${join(opened.home, ".thing/cache")}`);
    expect(written.error).toContain('add to its entry: "write": ["~/.thing/cache"]');
    const allowed = { write: [join(opened.home, ".thing/cache")] };
    expect((await start(`mkdir:${join(opened.home, ".thing/cache")}`, allowed)).state).toBe("ready");
    expect((await start(`read:${join(opened.home, "notes.txt")}`)).error).toContain('"read": ["~/notes.txt"]');
    expect((await start(`write:${join(opened.workspace, "out")}`)).error).toContain('"write": ["."]');
    expect((await start("variable:PLANTED_TOKEN")).error).toContain('"env": {"PLANTED_TOKEN": "${PLANTED_TOKEN}"}');
    const port = await listen();
    expect((await start(`connect:${port}`, { network: "none" })).error).toContain('"network": "all"');
    const own = await start("read:/etc/hostname", { read: [join(opened.stateFolder, "haft.db")] });
    expect(own.error).toContain("belongs to Haft itself");
  });

  test("ends with everything that it started, also what left its group and ignores signals", async () => {
    const { haft, hub } = await connect({}, openPrograms(), ["ignore-sigterm", "stay"]);
    const mark = `left-behind-${process.pid}`;
    await attempt(haft, { leave: mark });
    await until(() => processesWith(mark).length === 1);
    await hub.close();
    expect(processesWith(mark)).toEqual([]);
  });

  test("asks again if its limits change", async () => {
    const pins = new MemoryPinStore();
    const { workspace, programs: sandbox } = openPrograms();
    const start = async (fields: Fields) =>
      (await connectHub([scripted("s", [], fields)], { hub: { workspace, sandbox, pins } })).hub.statusOf("s");
    expect((await start({ network: "none" })).state).toBe("ready");
    const changed = await start({ network: "all", write: ["."] });
    expect(changed).toMatchObject({ state: "needs_approval", error: expect.stringContaining('+  "network": "all"') });
    expect(changed.launch).toContain(`${SCRIPTED}\nconfined; network: all\nwrites .`);
  });

  test("is started by a host with the limits of its configuration", async () => {
    const root = temporaryFolder("haft-confined-host-");
    const [home, folder] = [join(root, "home"), join(root, "work")];
    mkdirSync(join(home, ".config", "haft"), { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, ".env"), "TOKEN=planted");
    const mcpServers = { s: { command: process.execPath, args: [SCRIPTED], write: ["."], network: "none" } };
    writeFileSync(join(home, ".config", "haft", "config.json"), JSON.stringify({ mcpServers }));
    const host = await openHaft(folder, { home, env: { PATH: process.env["PATH"] ?? "" } });
    onTestFinished(() => host.close());
    await host.mcp.settled();
    const run = async (attempts: Record<string, string>) =>
      textOf((await host.haft.execute("mcp__s__attempt", attempts, { mode: "bypassPermissions" })).content);
    expect(await run({ read: join(folder, ".env") })).not.toContain("planted");
    expect(await run({ write: join(folder, "new"), connect: await listen() })).toBe(
      '{"write":"done","connect":"ECONNREFUSED"}',
    );
  });
});

describe.runIf(canRun("sandbox", missing))("a confined hook", () => {
  test("that the sandbox stops blocks the call, and says how to allow it", async () => {
    const { home, workspace, programs } = openPrograms();
    const run = async (hook: Record<string, unknown>) => {
      const settings = { PreToolUse: [{ hooks: [{ type: "command" as const, command: "", ...hook }] }] };
      const [read] = readHookSettings([{ settings, origin: "settings.json" }]).hooks;
      return runHook(
        read!,
        "{}",
        { workspace, environment: process.env, programs: () => programs },
        new AbortController().signal,
      );
    };
    expect(await run({ command: "cat code.txt" })).toMatchObject({ kind: "exit", code: 0, stdout: "code" });
    expect(await run({ command: "cat .env; true" })).toMatchObject({ kind: "exit", stdout: "" });
    const command = `echo x > "${home}/log"`;
    expect(await run({ command })).toMatchObject({ kind: "none", why: expect.stringContaining('"write": ["~/log"]') });
    expect(await run({ command, sandbox: false })).toMatchObject({ kind: "exit", code: 0 });
    expect(await run({ command: "echo y > code.txt", write: ["."] })).toMatchObject({ kind: "exit", code: 0 });
    expect(readFileSync(join(workspace, "code.txt"), "utf8")).toBe("y\n");
  });
});

test("without an engine a server starts unconfined with one notice, and not if its network must be limited", async () => {
  const opened = openPrograms(() => ({ tests: [{ profile: "work", engine: "landlock", problem: "no Landlock" }] }));
  const notices: string[] = [];
  opened.programs.onNotice((notice) => notices.push(notice));
  const { haft } = await connect({}, opened);
  expect(await attempt(haft, { read: join(opened.home, "notes.txt") })).toEqual({ read: "planted" });
  await connect({}, opened);
  expect(notices).toEqual([expect.stringContaining("start unconfined, with all rights of your user: no Landlock")]);
  const { hub } = await connect({ network: "none" }, opened);
  expect(hub.statusOf("s")).toMatchObject({
    state: "unavailable",
    error: expect.stringContaining("cannot be limited"),
  });
});
