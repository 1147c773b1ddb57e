import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openConfigFolders } from "../../src/config/config-folders.fixture.ts";
import { distrust, trust } from "../../src/config/trust.ts";
import { type HaftHost, openHaft } from "../../src/host.ts";
import { until } from "../setup/until.ts";

// One host for all tests: each changes a file, and leaves the configuration empty.

const folders = openConfigFolders({ "secret.md": "hidden", "open.md": "shown", "haft.config.yml": "" });
const { folder, home, env, stateFolder, write } = folders;
const FILE = join(folder, "haft.config.yml");
const DENY = 'permissions: { deny: ["Read(./secret.md)"] }';
const warnings: string[] = [];
let host: HaftHost;

beforeAll(async () => {
  host = await openHaft(folder, { home, env, stateFolder, onWarning: (warning) => warnings.push(warning) });
});
afterAll(() => host.close());

async function canRead(path = "secret.md"): Promise<boolean> {
  return (await host.haft.execute("read", { path })).status === "completed";
}

/** Waits until it holds, and prints how long that took: the promise is two seconds on a machine that is not busy. */
async function binds(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const from = performance.now();
  await until(holds);
  console.log(`${what}: ${Math.round(performance.now() - from)} ms`);
}

async function clear(): Promise<void> {
  rmSync(FILE, { recursive: true, force: true });
  write({ "haft.config.yml": "" });
  await until(async () => (await canRead()) && host.configStatus().problems.length === 0);
}

test("a deny rule that is written to a file binds, and ends with the file", async () => {
  write({ "haft.config.yml": DENY });
  await binds("deny rule", async () => !(await canRead()));
  expect(host.haft.policy.rules.rules()).toMatchObject([{ text: "Read(./secret.md)", origin: FILE }]);
  const explained = await host.haft.policy.explain("read", { path: "secret.md" });
  expect(explained.verdict.decision).toBe("deny");
  const found = await host.haft.execute("grep", { pattern: "hidden|shown" });
  expect(JSON.stringify(found.content)).toContain("open.md");
  expect(JSON.stringify(found.content)).not.toContain("secret.md:");

  rmSync(FILE);
  await binds("removed file", () => canRead());
  expect(warnings.at(-1)).toBe(`${FILE} is gone: its rules and settings ended.`);
  await clear();
});

test("a change is in effect after refreshConfig, also if a check runs", async () => {
  for (const text of [DENY, ""]) {
    void host.refreshConfig();
    write({ "haft.config.yml": text });
    await Promise.all([host.refreshConfig(), host.refreshConfig()]);
    expect(await canRead()).toBe(text === "");
  }
});

test("every file binds, also one that did not exist, one that an editor puts in place, and a link", async () => {
  const rule = (path: string) => `permissions: { deny: ["Read(${path})"] }`;
  const json = JSON.stringify({ permissions: { deny: ["Read(./claude.md)"] } });
  write({ "user.md": "", "saved.md": "", "claude.md": "", "editor.md": "", "link.md": "" });
  write({
    "~/.config/haft/config.yml": rule(`${folder}/user.md`.replace("/", "//")),
    "state:config.yml": rule("./saved.md"),
  });
  write({ ".claude/settings.json": json, "new.yml": rule("./editor.md"), "linked.yml": rule("./link.md") });
  renameSync(join(folder, "new.yml"), FILE);
  const denied = async (...paths: string[]) =>
    (await Promise.all(paths.map((path) => canRead(path)))).every((can) => !can);
  await binds("four files", () => denied("user.md", "saved.md", "claude.md", "editor.md"));
  rmSync(FILE);
  symlinkSync(join(folder, "linked.yml"), FILE);
  await binds("a link", () => denied("link.md", "user.md"));
  expect(await canRead("editor.md")).toBe(true);
  write({ "linked.yml": "# its target changes" });
  await binds("its target", () => canRead("link.md"));
  write({ "~/.config/haft/config.yml": "", "state:config.yml": "", ".claude/settings.json": "{}" });
  await clear();
  await until(() => canRead("user.md"));
});

test.each([
  ["an unknown key", `${DENY}\nnonsense: 1\n`, "nonsense"],
  ["a rule that is none", 'permissions: { deny: ["Read(./secret.md)", "Bash(("], allow: ["exec"] }', "Bash(("],
  ["text that is no YAML further down", 'permissions:\n  deny: ["Read(./secret.md)"]\ntools: [1\nx', "YAML"],
])("with %s, what the file denies holds, and the rest of the last good configuration", async (_what, text, named) => {
  write({ "haft.config.yml": 'permissions: { ask: ["Read(./open.md)"] }' });
  await until(async () => !(await canRead("open.md")));
  write({ "haft.config.yml": text });
  await binds("broken file", async () => !(await canRead()));
  // The last good rule, which is not in the file any more.
  expect(await canRead("open.md")).toBe(false);
  expect(host.configStatus().problems[0]).toMatchObject({ file: FILE });
  expect(warnings.at(-1)).toContain(named);
  expect(warnings.at(-1)).toContain("The last good configuration stays in effect");
  await clear();
  expect(warnings.at(-1)).toBe("The configuration can be read again, and is in effect.");
  expect(await canRead("open.md")).toBe(true);
});

test("a file that cannot be read at all leaves the last good rules", async () => {
  write({ "haft.config.yml": DENY });
  await until(async () => !(await canRead()));
  rmSync(FILE);
  mkdirSync(FILE);
  await binds("unreadable file", () => host.configStatus().problems.length > 0);
  expect(await canRead()).toBe(false);
  await clear();
});

test("a replacement in steps never lifts a rule", async () => {
  write({ "haft.config.yml": DENY });
  await until(async () => !(await canRead()));
  let wasReadable = false;
  for (let round = 0; round < 20; round++) {
    rmSync(FILE);
    wasReadable ||= await canRead();
    writeFileSync(FILE, "");
    wasReadable ||= await canRead();
    writeFileSync(FILE, `# ${round}\n${DENY}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    wasReadable ||= await canRead();
  }
  expect(wasReadable).toBe(false);
  await clear();
});

test("what only trust allows binds with the trust, and ends with it", async () => {
  const mode = () => host.haft.policy.rules.rules().length;
  write({ "haft.config.yml": 'permissions: { allow: ["Bash(make:*)"] }' });
  await until(() => warnings.at(-1)?.includes("haft trust") === true);
  expect(mode()).toBe(0);
  await trust(folder, { home, env, stateFolder });
  await binds("trust", () => mode() === 1);
  await distrust(folder, { home, env, stateFolder });
  await binds("no trust", () => mode() === 0);
  write({ "~/.config/haft/trust.json": "{" });
  await binds("damaged file of trust", () => host.configStatus().problems.length > 0);
  rmSync(join(home, ".config/haft/trust.json"));
  await clear();
});

test("a setting that cannot change in a running process is named", async () => {
  write({ "haft.config.yml": "server: { port: 4040, grace: 5 }\nbrowser: { enabled: false }" });
  await binds("restart needed", () => host.configStatus().restartNeeded.length > 0);
  expect(host.configStatus().restartNeeded).toEqual(["browser.enabled", "server.port"]);
  expect(warnings.at(-1)).toMatch(/^Restart needed: browser.enabled, server.port changed/);
  await clear();
  await until(() => host.configStatus().restartNeeded.length === 0);
});

test("a rule that is saved while files are read again is not lost", async () => {
  const { policy } = host.haft;
  for (let round = 0; round < 8; round++) {
    write({ "haft.config.yml": `# ${round}` });
    await new Promise((resolve) => setTimeout(resolve, 90 * round));
    await policy.add(`Bash(echo ${round})`, "deny");
    expect(policy.rules.rules().filter(({ list }) => list === "deny")).toHaveLength(round + 1);
  }
  for (const { text, list, origin } of policy.rules.rules()) await policy.remove(text, list, origin);
  expect(policy.rules.rules()).toEqual([]);
  await clear();
});
