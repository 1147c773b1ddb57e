// Installing hooks: what is in the file stays, and the hook that is written is started and denies.
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hookFileOf, type HookScope, planInstall } from "../../src/cli/hook-setup.ts";
import { AGENT_NAMES, type AgentName } from "../../src/models/hook-protocols.ts";
import { bundleHaft, type HaftProgram } from "../cli/run-haft.ts";
import { AGENT_RIGS } from "./events.ts";
import { until } from "../setup/until.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let haft: HaftProgram;
beforeAll(async () => {
  haft = await bundleHaft();
  symlinkSync(resolve("native"), join(dirname(haft.program), "native"));
}, 180_000);
afterAll(async () => {
  const record = join(haft.stateFolder, "server.json");
  if (existsSync(record)) process.kill((JSON.parse(readFileSync(record, "utf8")) as { pid: number }).pid, "SIGKILL");
  haft.remove();
});

const OTHERS = {
  theme: "dark",
  hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "mine" }] }] },
};
const CASES = [...AGENT_NAMES.map((agent) => [agent, "project"] as const), ["claude", "user"] as const];

interface Shown {
  items: {
    agent: string;
    file: string;
    state: string;
    denies: boolean;
    native?: string[];
    slow?: string;
    others: string[];
  }[];
}
async function status(agent: AgentName) {
  const { code, stdout } = await haft.run(["hook", "status", "--json"]);
  return { code, shown: (JSON.parse(stdout) as Shown).items.find((each) => each.agent === agent) };
}

const fileOf = (agent: AgentName, scope: HookScope): string =>
  hookFileOf({ agent, scope, folder: haft.folder, env: haft.env });

test.each(CASES)(
  "%s, for the %s: keeps what is there, denies, and goes",
  { timeout: 900_000 },
  async (agent, scope) => {
    const file = fileOf(agent, scope);
    const isPlugin = /\.(?:js|ts)$/.test(file);
    const before = isPlugin ? undefined : `${JSON.stringify(OTHERS, undefined, 4)}\n`;
    mkdirSync(dirname(file), { recursive: true });
    if (before !== undefined) writeFileSync(file, before);
    const words = ["hook", "install", agent, `--${scope}`];
    const asked = await haft.run(words);
    expect(asked.code).not.toBe(0);
    expect(asked.stderr).toContain(`then run \`haft ${words.join(" ")} --yes\``);
    expect(asked.stderr).toMatch(/^\s*(?:\|\s)?\+/m);
    expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(before);

    const done = await haft.run([...words, "--yes"]);
    expect(done, done.stderr).toMatchObject({ code: 0 });
    const text = readFileSync(file, "utf8");
    expect(isPlugin || text.includes('"command": "mine"')).toBe(true);
    // The native client answers by itself, where there is one.
    const { native, slow, others } = (await status(agent)).shown!;
    // The hook that was there answers too, in agents that know its event by this name.
    const asksIt = agent === "claude" || agent === "codex";
    expect(others.includes(`mine (PreToolUse in ${file})`)).toBe(asksIt);
    expect(native === undefined).toBe(process.platform !== "linux");
    expect(slow === undefined).toBe(native !== undefined);
    // Again: nothing is doubled.
    await haft.run([...words, "--yes"]);
    expect(readFileSync(file, "utf8")).toBe(text);

    // Somebody else writes another program there.
    const broken = isPlugin
      ? text.replaceAll("throw new Error", "void ").replace("block: true", "block: false")
      : text.replaceAll(/"([^"]*? hook )/g, '"touch STARTED; $1');
    writeFileSync(file, isPlugin ? `${broken}spawn("touch", ["STARTED"]);\n` : broken);
    expect(await status(agent)).toMatchObject({ code: 1, shown: { state: "changed", denies: false } });
    expect(existsSync(join(haft.folder, "STARTED"))).toBe(false);
    writeFileSync(file, text);
    expect(await status(agent)).toMatchObject({ code: 0, shown: { state: "installed", denies: true } });

    expect((await haft.run(["hook", "remove", agent, `--${scope}`, "--yes"])).code).toBe(0);
    const left = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as object) : {};
    expect(left).toMatchObject(before === undefined ? {} : OTHERS);
    expect(JSON.stringify(left)).not.toContain("--limit");
    expect(existsSync(file)).toBe(before !== undefined);
    expect((await status(agent)).shown).toBeUndefined();
  },
);

test(
  "a file with comments, or of somebody else, is not written, and doctor repeats the proof",
  { timeout: 600_000 },
  async () => {
    const settings = fileOf("claude", "project");
    writeFileSync(settings, "{ // mine\n}\n");
    expect((await haft.run(["hook", "install", "claude", "--yes"])).stderr).toContain("not plain JSON");
    expect(readFileSync(settings, "utf8")).toBe("{ // mine\n}\n");
    const plugin = fileOf("opencode", "project");
    writeFileSync(plugin, "export const Mine = 1;\n");
    expect((await haft.run(["hook", "install", "opencode", "--yes"])).stderr).toContain("not from Haft");
    writeFileSync(settings, "{}");
    expect((await haft.run(["hook", "install", "claude", "--yes"])).code).toBe(0);
    await until(async () => (await haft.run(["doctor"])).stdout.includes(`${settings} denies`), { pauseMs: 1000 });
    writeFileSync(settings, readFileSync(settings, "utf8").replaceAll(/"([^"]*? hook )/g, '"true $1'));
    const found = await haft.run(["doctor"]);
    expect(found.stdout).toContain("It is not what Haft wrote, so it was not started.");
    expect(found.code).toBe(1);
    // The others are shown all the same.
    writeFileSync(settings, "{ // mine\n}\n");
    rmSync(plugin);
    expect((await haft.run(["hook", "install", "opencode", "--yes"])).code).toBe(0);
    const { items } = JSON.parse((await haft.run(["hook", "status", "--json"])).stdout) as Shown;
    expect(items.find(({ agent }) => agent === "claude")).toMatchObject({ state: "unreadable", denies: false });
    expect(items.find(({ agent }) => agent === "opencode")).toMatchObject({ state: "installed", denies: true });
    expect((await haft.run(["doctor"])).stdout).toContain("not plain JSON");
  },
);

test("only what a person typed is sent as the words of the user", { timeout: 120_000 }, async () => {
  const sent = join(haft.folder, "sent");
  const recorder = join(haft.folder, "recorder.cjs");
  writeFileSync(
    recorder,
    `const fs = require("node:fs"); fs.appendFileSync(${JSON.stringify(sent)}, fs.readFileSync(0, "utf8") + "\\n");
     console.log('{"decision":"pass"}');`,
  );
  type Handlers = Record<string, (...given: object[]) => Promise<void>>;
  const load = async (agent: AgentName): Promise<Record<string, (given: object) => Promise<Handlers>>> => {
    const place = { agent, scope: "project", folder: temporaryFolder(), env: haft.env } as const;
    const file = join(haft.folder, `${agent}.mjs`);
    writeFileSync(file, planInstall(place, [process.execPath, recorder]).after);
    return import(/* @vite-ignore */ pathToFileURL(file).href) as never;
  };
  const get = ({ path: { id } }: { path: { id: string } }) =>
    id === "lost"
      ? Promise.reject(new Error("gone"))
      : Promise.resolve({ data: { parentID: id === "child" ? "s" : undefined } });
  const { Haft } = await load("opencode");
  const opencode = await Haft!({ directory: haft.folder, client: { session: { get } } });
  const text = (said: string, more = {}) => ({ type: "text", text: said, ...more });
  const parts = [text("typed"), text("of a file", { synthetic: true }), text("not sent", { ignored: true })];
  for (const sessionID of ["s", "child", "lost"]) await opencode["chat.message"]!({ sessionID }, { parts });
  const handlers: Handlers = {};
  const { default: extend } = await load("pi");
  void extend!({ on: (name: string, handler: Handlers[string]) => (handlers[name] = handler) });
  for (const source of ["interactive", "extension"])
    await handlers["input"]!({ text: source, source }, { cwd: haft.folder });
  const prompts = readFileSync(sent, "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { prompt: string }).prompt);
  expect(prompts).toEqual(["typed", "interactive"]);
});

test(
  "a settings file keeps its mode, its link and the hooks of others, and may not turn the hook off",
  { timeout: 600_000 },
  async () => {
    const file = fileOf("gemini", "project");
    const target = join(haft.folder, "dotfiles.json");
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true });
    writeFileSync(target, '{"id": "12345678901234567890"}', { mode: 0o600 });
    symlinkSync(target, file);
    const words = ["hook", "install", "gemini", "--yes"];
    expect(await haft.run(words)).toMatchObject({ code: 0 });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    const installed = JSON.parse(readFileSync(target, "utf8")) as { hooks: { BeforeTool: { hooks: object[] }[] } };
    // The user adds a hook to the group that Haft made.
    installed.hooks.BeforeTool[0]!.hooks.unshift({ type: "command", command: "touch STARTED" });
    writeFileSync(target, JSON.stringify(installed));
    expect(await status("gemini")).toMatchObject({ shown: { state: "installed", denies: true } });
    expect(existsSync(join(haft.folder, "STARTED"))).toBe(false);
    writeFileSync(target, JSON.stringify({ ...installed, hooksConfig: { enabled: false } }));
    expect(await status("gemini")).toMatchObject({ code: 1, shown: { state: "disabled", denies: false } });
    expect((await haft.run(["hook", "remove", "gemini", "--yes"])).code).toBe(0);
    expect(readFileSync(target, "utf8")).toContain("touch STARTED");
    expect(readFileSync(target, "utf8")).not.toContain("--limit");
    writeFileSync(target, '{"id": 12345678901234567890}');
    expect((await haft.run(words)).stderr).toContain("so many digits");
    expect(readFileSync(target, "utf8")).toBe('{"id": 12345678901234567890}');
  },
);

test("another file that turns hooks off is noticed, in the folder and of the user", { timeout: 900_000 }, async () => {
  const off = { disableAllHooks: true };
  const cases: [AgentName, HookScope, string, string][] = [
    ["claude", "user", join(haft.folder, ".claude/settings.json"), JSON.stringify(off)],
    [
      "gemini",
      "project",
      join(haft.env["HOME"]!, ".gemini/settings.json"),
      '{ // mine\n"hooksConfig": {"disabled": ["haft"]} }',
    ],
    ["codex", "project", join(haft.folder, ".codex/config.toml"), "[features]\nhooks = false\n"],
    ["copilot", "project", join(haft.folder, ".github/copilot/settings.json"), JSON.stringify(off)],
  ];
  for (const [agent, scope, file, text] of cases) {
    rmSync(fileOf(agent, scope), { force: true });
    const installed = await haft.run(["hook", "install", agent, `--${scope}`, "--yes"]);
    expect(installed, installed.stderr).toMatchObject({ code: 0 });
    mkdirSync(dirname(file), { recursive: true });
    const before = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    writeFileSync(file, text);
    const found = async () => {
      const { items } = JSON.parse((await haft.run(["hook", "status", "--json"])).stdout) as Shown;
      return items.find((each) => each.file === fileOf(agent, scope));
    };
    expect(await found(), agent).toMatchObject({ state: "disabled", denies: false });
    if (before === undefined) rmSync(file);
    else writeFileSync(file, before);
    expect(await found(), agent).toMatchObject({ state: "installed", denies: true });
    await haft.run(["hook", "remove", agent, `--${scope}`, "--yes"]);
  }
});

test("the environment of an agent does not lead the hook elsewhere", { timeout: 600_000 }, async () => {
  const serverPid = (): number =>
    (JSON.parse(readFileSync(join(haft.stateFolder, "server.json"), "utf8")) as { pid: number }).pid;
  rmSync(fileOf("claude", "project"), { force: true });
  expect(await haft.run(["hook", "install", "claude", "--yes"])).toMatchObject({ code: 0 });
  const earlier = serverPid();
  process.kill(earlier, "SIGKILL");
  await until(() => spawnSync("kill", ["-0", String(earlier)]).status !== 0);
  const evil = temporaryFolder();
  mkdirSync(join(evil, "haft"));
  writeFileSync(join(evil, "haft", "config.yml"), 'permissions:\n  allow: ["Bash"]\n');
  writeFileSync(join(evil, "evil.cjs"), `require("node:fs").writeFileSync(${JSON.stringify(join(evil, "ran"))}, "")`);
  const { hooks } = JSON.parse(readFileSync(fileOf("claude", "project"), "utf8")) as {
    hooks: { PreToolUse: { hooks: { command: string }[] }[] };
  };
  const led = { HAFT_STATE_DIR: evil, XDG_STATE_HOME: evil, XDG_CONFIG_HOME: evil, HOME: evil };
  const child = spawn("/bin/sh", ["-c", hooks.PreToolUse[0]!.hooks[0]!.command], {
    cwd: haft.folder,
    env: {
      ...{ ...haft.env, ...led, HAFT_MODE: "bypassPermissions", HAFT_SERVER_TOKEN: "known-to-everybody" },
      NODE_OPTIONS: `--require ${join(evil, "evil.cjs")}`,
    },
  });
  child.stdin.end(JSON.stringify(AGENT_RIGS.claude.before("mkdir made", haft.folder)));
  let said = "";
  child.stdout.on("data", (part) => (said += String(part)));
  child.stderr.on("data", (part) => (said += String(part)));
  // The question is where the user looks for it.
  const waiting = async () => {
    expect(child.exitCode, said).toBe(null);
    const { code, stdout } = await haft.run(["approvals", "list", "--json"]);
    return code === 0 && (JSON.parse(stdout) as { items: object[] }).items.length === 1;
  };
  await until(waiting, { pauseMs: 500 });
  child.kill("SIGKILL");
  expect(existsSync(join(evil, "ran"))).toBe(false);
  expect(readdirSync(evil).toSorted()).toEqual(["evil.cjs", "haft"]);
  const { url } = JSON.parse(readFileSync(join(haft.stateFolder, "server.json"), "utf8")) as { url: string };
  const headers = { authorization: "Bearer known-to-everybody" };
  expect((await fetch(new URL("/api/approvals", url), { headers })).status).toBe(401);
  expect(serverPid()).not.toBe(earlier);
});

test("Haft does not take its own hook out of the settings of Claude Code", { timeout: 600_000 }, async () => {
  for (const scope of ["project", "user"] as const)
    expect(await haft.run(["hook", "install", "claude", `--${scope}`, "--yes"])).toMatchObject({ code: 0 });
  const trusted = await haft.run(["trust", "--yes"]);
  expect(trusted.stdout + trusted.stderr).not.toContain("hook claude");
  const input = JSON.stringify(AGENT_RIGS.claude.before("ls", haft.folder));
  const answer = await haft.run(["hook", "claude", "--limit", "2m"], { input });
  expect(answer).toMatchObject({ code: 0, stdout: "" });
  const called = await haft.run(["tools", "call", "list_files"]);
  expect(called, called.stderr).toMatchObject({ code: 0 });
  expect(called.stderr).not.toContain("PostToolUse");
  for (const scope of ["project", "user"]) await haft.run(["hook", "remove", "claude", `--${scope}`, "--yes"]);
});
