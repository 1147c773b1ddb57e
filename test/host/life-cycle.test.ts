// Breaks each capability of a host in turn, in a process of its own, and counts what is left: handles, file descriptors,
// child processes and temporary files.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openHaft } from "haft/host";
import { CAPABILITIES } from "../../src/capabilities/open-host.ts";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const NAMES = Object.keys(CAPABILITIES);

/** Without a package, because a new process runs in each round. */
const MCP_SERVER = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
appendFileSync(process.argv[2], process.pid + "\\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result =
    method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }
      : method === "tools/list" ? { tools: [] } : undefined;
  const answer = result ? { result } : { error: { code: -32601, message: "unknown method" } };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
}
`;

const PROGRAM = `
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CAPABILITIES, openHost } from "./bundle/host.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const [folder, names] = process.argv.slice(2);
const home = join(folder, "home");
const pids = join(folder, "pids.txt");
process.env.TMPDIR = join(folder, "tmp");
const options = { home, env: { PATH: process.env.PATH, HAFT_STATE_DIR: join(folder, "state") } };

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const startedServers = () => (existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\\n").map(Number) : []);
const count = () => ({
  handles: process.getActiveResourcesInfo().sort().join(),
  descriptors: existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0,
  servers: startedServers().filter(isAlive).length,
  temporary: readdirSync(process.env.TMPDIR).join(),
});

/**
 * Handles close in later turns of the event loop. The database driver closes its files when the last prepared statement has
 * been collected.
 */
async function nextTurn() {
  await new Promise((resolve) => setTimeout(resolve, 10));
  gc();
}
async function settledCount() {
  for (let turns = 0; turns < 300 && JSON.stringify(count()) !== JSON.stringify(before); turns++) await nextTurn();
  return count();
}

/** The real capabilities, with one changed, and the order in which they are opened and closed. */
function watched(broken, change) {
  const opened = [];
  const closed = [];
  const loaders = {};
  for (const [name, load] of Object.entries(CAPABILITIES)) {
    loaders[name] = async () => {
      const real = await load();
      const capability = name === broken ? { ...real, ...change(real) } : real;
      return {
        ...capability,
        async open(context) {
          const one = await capability.open(context);
          opened.push(name);
          return { ...one, close: () => (closed.push(name), one.close?.()) };
        },
      };
    };
  }
  return { loaders, opened, closed };
}

const failsToOpen = (name) => () => ({
  async open({ mcp }) {
    // So its process runs, if it is open already.
    await mcp?.hub.settled();
    throw new Error("cannot open " + name);
  },
});
const failsToClose = (name) => (real) => ({
  async open(context) {
    const one = await real.open(context);
    return {
      ...one,
      async close() {
        await one.close?.();
        throw new Error("cannot close " + name);
      },
    };
  },
});
const messageOf = (promise) => promise.then(() => "", (error) => error.message);

// Once, so that what is loaded and kept for good is there.
const first = await openHost(folder, options);
await first.mcp.settled();
await first.close();
for (let turns = 0; turns < 20; turns++) await nextTurn();
const before = count();

for (const name of names.split(",")) {
  const opening = watched(name, failsToOpen(name));
  const openFailure = await messageOf(openHost(folder, options, opening.loaders));
  const leftByOpen = await settledCount();

  const closing = watched(name, failsToClose(name));
  const host = await openHost(folder, options, closing.loaders);
  await host.mcp.settled();
  const [closeFailure, again] = await Promise.all([messageOf(host.close()), messageOf(host.close())]);
  const leftByClose = await settledCount();
  say(JSON.stringify({
    name, before, openFailure, leftByOpen, closeFailure, again, leftByClose,
    opening: [opening.opened, opening.closed], closing: [closing.opened, closing.closed],
  }));
}
say(JSON.stringify({ servers: startedServers().length }));
`;

interface Round {
  name: string;
  before: object;
  openFailure: string;
  leftByOpen: object;
  closeFailure: string;
  again: string;
  leftByClose: object;
  opening: [opened: string[], closed: string[]];
  closing: [opened: string[], closed: string[]];
}

let children: TestChildren;
beforeAll(async () => {
  children = await prepareChildren({ host: "capabilities/open-host.ts" });
}, 60_000);
afterAll(() => children.remove());

/** A workspace whose configuration uses every capability that needs nothing from outside. */
function openFolder(): string {
  const folder = temporaryFolder("haft-life-cycle-");
  const settings = join(folder, "home", ".config", "haft");
  mkdirSync(settings, { recursive: true });
  mkdirSync(join(folder, "tmp"));
  const server = join(folder, "server.mjs");
  writeFileSync(server, MCP_SERVER);
  const config = {
    // Unconfined: in the sandbox its process ids are its own.
    mcpServers: { modern: { command: process.execPath, args: [server, join(folder, "pids.txt")], sandbox: false } },
    message: { channels: { log: { type: "console" } } },
    sandbox: { allowedHosts: ["example.com"] },
    agent: { model: "ollama/qwen3" },
  };
  writeFileSync(join(settings, "config.json"), JSON.stringify(config));
  return folder;
}

test("each capability that fails to open or to close leaves nothing, and the others are closed in reverse order", async () => {
  const child = children.start(PROGRAM, [openFolder(), NAMES.join()]);
  expect(await child.ended).toMatchObject({ code: 0, errors: "" });
  const lines = child.lines().map((line) => JSON.parse(line) as Round & { servers?: number });
  const rounds = lines.slice(0, -1);
  expect(rounds.map(({ name }) => name)).toEqual(NAMES);
  // The processes were there: a host that is open has one, and so had those whose later capabilities failed.
  expect(lines.at(-1)?.servers).toBeGreaterThan(NAMES.length + 3);
  for (const round of rounds) {
    const { name, before, opening, closing } = round;
    const [openedBefore, closedAfter] = opening;
    expect(round.openFailure, name).toBe(`cannot open ${name}`);
    expect(closedAfter, name).toEqual(openedBefore.toReversed());
    expect(round.leftByOpen, name).toEqual(before);

    const [opened, closed] = closing;
    expect(opened.toSorted(), name).toEqual(NAMES.toSorted());
    expect(closed, name).toEqual(opened.toReversed());
    expect([round.closeFailure, round.again], name).toEqual([`cannot close ${name}`, `cannot close ${name}`]);
    expect(round.leftByClose, name).toEqual(before);
  }
}, 120_000);

test("a later capability that fails ends an MCP server that is running, and the process ends by itself", async () => {
  const folder = openFolder();
  const child = children.start(
    `
    import { CAPABILITIES, openHost } from "./bundle/host.js";
    const [folder] = process.argv.slice(2);
    const plugins = () => ({ name: "plugins", config: [], needs: ["mcp"], async open({ mcp }) {
      await mcp.hub.settled();
      say(mcp.hub.status().map(({ state }) => state).join());
      throw new Error("broken");
    } });
    const env = { PATH: process.env.PATH, HAFT_STATE_DIR: folder + "/state" };
    const opening = openHost(folder, { home: folder + "/home", env }, { ...CAPABILITIES, plugins });
    say(await opening.then(() => "opened", ({ message }) => message));
    `,
    [folder],
  );
  expect(await child.ended).toMatchObject({ code: 0, errors: "" });
  expect(child.lines()).toEqual(["ready", "broken"]);
  const pid = Number(readFileSync(join(folder, "pids.txt"), "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
}, 60_000);

test("a host with `only` opens what is named and what that needs", async () => {
  const folder = openFolder();
  const options = { home: join(folder, "home"), env: { HAFT_STATE_DIR: join(folder, "state") } };
  const host = await openHaft(folder, { ...options, only: ["canvas"] });
  onTestFinished(() => host.close());
  const names = host.haft.tools.list().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["read", "exec", "canvas", "create_artifact"]));
  // Programs and searches reach every tool.
  expect(names.filter((name) => ["message", "run_code", "tool_search"].includes(name))).toEqual([]);
  expect(names.filter((name) => /^mcp__|^web_|^cron$|^sessions_|mcp_resource/.test(name))).toEqual([]);
  expect(host.canvas.list()).toEqual([]);
  expect(host).toMatchObject({ mcp: undefined, sessions: undefined });
  expect(() => readFileSync(join(folder, "pids.txt"))).toThrow("ENOENT");
});

test("a host keeps long outputs as artifacts if that is configured, also with `only`", async () => {
  const folder = openFolder();
  const options = { home: join(folder, "home"), env: { HAFT_STATE_DIR: join(folder, "state") } };
  const overrides = { artifacts: { keepOutputs: true } };
  const host = await openHaft(folder, { ...options, overrides, only: [] });
  onTestFinished(() => host.close());
  expect(host.haft.tools.list().map(({ name }) => name)).toContain("create_artifact");
});

test("a host warns about names in rules and limits that are probably misspelt, and takes the provenance of createHaft", async () => {
  const folder = openFolder();
  const warnings: string[] = [];
  const host = await openHaft(folder, {
    ...{ home: join(folder, "home"), env: { HAFT_STATE_DIR: join(folder, "state") }, connectsMcp: false },
    overrides: { permissions: { deny: ["exce", "later_tool"], limits: [{ tools: ["wrte"], calls: 1, per: "hour" }] } },
    provenance: { mode: "strict", tools: { read: { labels: ["untrusted_input"] }, grpe: {} } },
    onWarning: (warning) => warnings.push(warning),
  });
  onTestFinished(() => host.close());
  expect(warnings.filter((warning) => /exce|wrte|grpe|later_tool/.test(warning))).toEqual([
    expect.stringMatching(/^exce in permissions.deny of call: .*Did you mean "exec"/),
    expect.stringMatching(/^wrte in permissions.limits of call: .*Did you mean "Write" or "write"/),
    expect.stringMatching(/^grpe in provenance.tools: .*Did you mean "Grep" or "grep"/),
  ]);
  expect(host.haft.policy.provenance.settings).toMatchObject({ mode: "strict" });
  expect(host.haft.policy.provenance.settings.tools).toHaveProperty("read");
});
