import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { ROOT } from "./architecture/read-entries.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";

// A small project with one packed package beside it, so that the real npm installs it without a network.
const LOCK = "package-lock.json";
const archives = temporaryFolder("haft-install-archive-");
let project: string;

beforeAll(() => {
  for (const version of ["1.0.0", "1.1.0"]) {
    const folder = join(archives, version);
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "vendor", version }));
    execFileSync("npm", ["pack", "--pack-destination", archives], { cwd: folder, stdio: "ignore" });
  }
});

beforeEach(() => {
  project = temporaryFolder("haft-install-test-");
  mkdirSync(join(project, "scripts"));
  for (const name of ["ensure-installed.mjs", "start.mjs"])
    cpSync(join(ROOT, "scripts", name), join(project, "scripts", name));
  wantVendor("1.0.0");
});

function writeJson(path: string, value: unknown): void {
  writeFileSync(join(project, path), JSON.stringify(value, null, 2));
}

function vendorAddress(version: string): string {
  return `file:${join(archives, `vendor-${version}.tgz`)}`;
}

function wantVendor(version: string): void {
  const archive = join(archives, `vendor-${version}.tgz`);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  const own = { name: "project", version: "1.0.0", devDependencies: { vendor: vendorAddress(version) } };
  const vendor = { version, resolved: vendorAddress(version), integrity, dev: true };
  writeJson("package.json", own);
  writeJson(LOCK, { ...own, lockfileVersion: 3, requires: true, packages: { "": own, "node_modules/vendor": vendor } });
}

const ensureInstalled = (env: NodeJS.ProcessEnv = {}, scope: string[] = []) =>
  runScript("ensure-installed.mjs", scope, env);

async function runScript(name: string, words: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [join(project, "scripts", name), ...words], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

function installedVersion(): string | undefined {
  const file = join(project, "node_modules", "vendor", "package.json");
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

test("installs when nothing is installed, also in production mode, and then stays silent", async () => {
  const first = await ensureInstalled({ NODE_ENV: "production" });
  expect(first).toEqual({
    code: 0,
    output: expect.stringMatching(/^Installing .*nothing is installed yet.*\nInstalled in \d+ s\.\n$/),
  });
  expect(installedVersion()).toBe("1.0.0");
  expect(await ensureInstalled()).toEqual({ code: 0, output: "" });
});

test("installs again when a package is gone", async () => {
  await ensureInstalled();
  rmSync(join(project, "node_modules", "vendor"), { recursive: true });
  expect((await ensureInstalled()).output).toContain("(vendor is missing)");
  expect(installedVersion()).toBe("1.0.0");
});

test("installs again when the lock file asks for another version", async () => {
  await ensureInstalled();
  wantVendor("1.1.0");
  expect((await ensureInstalled()).output).toContain("(vendor has changed)");
  expect(installedVersion()).toBe("1.1.0");
});

test("a start leaves out what only tests need, and a test adds it", async () => {
  const own = {
    name: "project",
    version: "1.0.0",
    workspaces: ["tests"],
    devDependencies: { vendor: vendorAddress("1.0.0") },
  };
  const tests = { name: "tests", version: "1.0.0", devDependencies: { other: vendorAddress("1.1.0") } };
  writeJson("package.json", own);
  mkdirSync(join(project, "tests"));
  writeJson("tests/package.json", tests);
  rmSync(join(project, LOCK));
  execFileSync("npm", ["install", "--package-lock-only", "--offline"], { cwd: project, stdio: "ignore" });
  const hasOther = () => existsSync(join(project, "node_modules", "other"));
  expect((await ensureInstalled({}, ["start"])).code).toBe(0);
  expect([installedVersion(), hasOther()]).toEqual(["1.0.0", false]);
  expect(await ensureInstalled({}, ["start"])).toEqual({ code: 0, output: "" });
  expect((await ensureInstalled()).output).toContain("(other is missing)");
  expect(hasOther()).toBe(true);
  expect(await ensureInstalled({}, ["start"])).toEqual({ code: 0, output: "" });
});

test("a start refuses a folder that does not exist before it installs", async () => {
  expect(await runScript("start.mjs", ["../not-there"])).toEqual({
    code: 2,
    output: `There is no folder ${join(realpathSync(project), "..", "not-there")}. Create it first, or use another one.\n`,
  });
  expect(installedVersion()).toBeUndefined();
});

test("takes over the turn of a run that died", async () => {
  const key = createHash("sha256").update(realpathSync(project)).digest("hex").slice(0, 16);
  const turn = join(tmpdir(), `haft-install-${key}`);
  mkdirSync(turn);
  const dead = spawn(process.execPath, ["-e", ""]);
  await once(dead, "close");
  writeFileSync(join(turn, "pid"), String(dead.pid));
  expect((await ensureInstalled()).code).toBe(0);
  expect(installedVersion()).toBe("1.0.0");
  expect(existsSync(turn)).toBe(false);
});

test("lets two runs at once take turns", async () => {
  const runs = await Promise.all([ensureInstalled(), ensureInstalled()]);
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(runs.filter(({ output }) => output.includes("Installed in"))).toHaveLength(1);
  expect(installedVersion()).toBe("1.0.0");
});

test("says what to do when npm cannot install", async () => {
  writeJson("package.json", { name: "project", version: "1.0.0", devDependencies: { absent: "^1.0.0" } });
  const { code, output } = await ensureInstalled();
  expect(code).toBe(1);
  expect(output).toContain("run `npm install`");
});

test("the package brings at most 60 others, without optional ones", () => {
  interface Locked {
    dev?: boolean;
    optional?: boolean;
    devOptional?: boolean;
    peer?: boolean;
  }
  const { packages } = JSON.parse(readFileSync(join(ROOT, LOCK), "utf8")) as { packages: Record<string, Locked> };
  const needed = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional, peer }]) => path !== "" && !dev && !optional && !devOptional && !peer,
  );
  expect(needed.length).toBeGreaterThan(20);
  expect(needed.length).toBeLessThanOrEqual(60);
});

test("every package of test/dependencies is named by a file that uses it", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "test", "dependencies", "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const files = execFileSync(
    "git",
    ["ls-files", "src", "test", "scripts", "bench", "console", ".oxlintrc.json", "vitest.config.ts"],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  const text = files
    .split("\n")
    .filter((path) => /\.(ts|tsx|mjs|json)$/.test(path) && !path.startsWith("test/dependencies/"))
    .map((path) => readFileSync(join(ROOT, path), "utf8"))
    .join("\n");
  // The type-aware linter is started by the other one.
  const names = Object.keys(devDependencies).filter((name) => name !== "oxlint-tsgolint");
  const isNamed = (name: string) => text.includes(`"${name}`) || text.includes(`${name}/`);
  expect(names.filter((name) => !isNamed(name))).toEqual([]);
});
