// The packed package in the bundlers and runtimes that people use, each without settings. They are installed into a temporary folder;
// without a network these tests are skipped.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runNpm } from "../../scripts/ensure-installed.mjs";
import { ROOT } from "../architecture/read-entries.ts";
import { childEnd } from "../setup/child-end.ts";
import { freePort } from "../setup/free-port.ts";
import { packedPackage } from "../setup/packed-package.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const PACKAGES = {
  deno: "2.9.6",
  esbuild: "0.28.2",
  next: "16.4.6",
  react: "19.3.1",
  "react-dom": "19.3.1",
  workerd: "1.20261110.1",
};

/** The limits in bytes, minified. What is reached is in docs/benchmarks.md. */
const MAX_CREATE_TOOL = 31_000;
const MAX_CREATE_HAFT = 550_000;
const MAX_INSTALLED = 60_000_000;

const TOOLS = `import { createHaft, createTool } from "haft";
const add = createTool({ name: "add", description: "d", kind: "readonly", parameters: [{ name: "n", type: "number" }], run: ({ n }) => n + 1 });
const pay = createTool({ name: "pay", description: "d", permission: "confirm", parameters: [{ name: "n", type: "number" }], run: ({ n }) => n });
async function answer() {
  const haft = createHaft({ tools: [add, pay] });
  const asked = await haft.execute("pay", { n: 3 });
  return [(await haft.execute("add", { n: 3 })).details, asked.status, (await haft.approvals.approve(asked.pending.id, "ann")).details];
}
`;
const ANSWER = '[4,"pending",3]';
const PROGRAM = `${TOOLS}console.log(JSON.stringify(await answer()));`;
const HOST = `import { openHaft } from "haft/host";
const host = await openHaft(process.argv[2]);
console.log((await host.haft.execute("current_time", {})).status);
await host.close();`;

/** The part of esbuild that is used: its package is only installed here. */
interface Esbuild {
  build(options: Record<string, unknown>): Promise<{
    metafile: {
      outputs: Record<string, { bytes: number; entryPoint?: string; imports: { path: string; kind: string }[] }>;
    };
  }>;
}
interface BuildOptions {
  platform?: "browser" | "neutral";
  minify?: boolean;
  splitting?: boolean;
  conditions?: string[];
}

// Not below the repository: esbuild would read its tsconfig.json, which names the sources.
const project = temporaryFolder("haft-targets-");

/** Why they cannot be installed, or undefined. */
function installPackages(): string | undefined {
  const { dependencies, optionalDependencies } = readPackage(ROOT);
  const wanted = { ...dependencies, ...optionalDependencies, ...PACKAGES };
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module", dependencies: wanted }));
  const { status, stderr } = runNpm(
    ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    project,
  );
  return status === 0 ? undefined : `npm could not install ${Object.keys(PACKAGES).join(", ")}: ${stderr.trim()}`;
}

function readPackage(folder: string) {
  type Dependencies = Record<string, string>;
  const text = readFileSync(join(folder, "package.json"), "utf8");
  return JSON.parse(text) as { dependencies: Dependencies; optionalDependencies: Dependencies };
}

describe.skipIf(!canRun("network", installPackages()))("with bundlers and runtimes of other people", () => {
  beforeAll(async () => {
    const installed = join(project, "node_modules", "haft");
    rmSync(installed, { recursive: true, force: true });
    cpSync(await packedPackage(), installed, { recursive: true });
  }, 300_000);

  async function build(name: string, source: string, options: BuildOptions = {}) {
    const entry = join(project, `${name}.mjs`);
    writeFileSync(entry, source);
    const outdir = join(project, "out", `${name}-${options.platform ?? "node"}`);
    rmSync(outdir, { recursive: true, force: true });
    const esbuild = createRequire(entry)("esbuild") as Esbuild;
    const { metafile } = await esbuild.build({
      ...{ entryPoints: [entry], outdir, bundle: true, format: "esm", platform: "node", metafile: true },
      ...{ outExtension: { ".js": ".mjs" }, logLevel: "silent", absWorkingDir: project },
      ...options,
    });
    const file = join(outdir, `${name}.mjs`);
    return { file, outdir, outputs: metafile.outputs, code: readFileSync(file, "utf8") };
  }

  function run(file: string, ...words: string[]): string {
    return execFileSync(process.execPath, [file, ...words], { encoding: "utf8" }).trim();
  }

  function away(outdir: string, name: string): string {
    const folder = temporaryFolder("haft-target-away-");
    cpSync(outdir, folder, { recursive: true });
    return join(folder, name);
  }

  test.each(["browser", "neutral"] as const)(
    "esbuild for %s: createTool is small, imports nothing of Node and works without it",
    async (platform) => {
      const source = `import { createTool } from "haft";
const tool = createTool({ name: "t", description: "d", parameters: [{ name: "n", type: "number" }], run: () => 1 });
console.log(tool.getFunctionDeclaration().name);`;
      const { outdir, code } = await build("define", source, { platform, minify: true });
      expect(code.length).toBeLessThanOrEqual(MAX_CREATE_TOOL);
      expect(code).not.toMatch(/(?:from|import|import\(|require\()\s*"(?:node:|fs|path|crypto)/);
      const file = away(outdir, "define.mjs");
      writeFileSync(`${file}.run.mjs`, 'delete globalThis.process;\nawait import("./define.mjs");');
      expect(run(`${file}.run.mjs`)).toBe("t");
    },
  );

  test("esbuild: a program with createHaft has a bounded entry, and runs without node_modules", async () => {
    const { outputs, outdir } = await build("program", PROGRAM, { minify: true, splitting: true });
    const loaded = new Set(Object.keys(outputs).filter((name) => outputs[name]?.entryPoint === "program.mjs"));
    for (const name of loaded) {
      for (const { kind, path } of outputs[name]?.imports ?? []) if (kind === "import-statement") loaded.add(path);
    }
    const bytes = [...loaded].reduce((sum, name) => sum + (outputs[name]?.bytes ?? 0), 0);
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThanOrEqual(MAX_CREATE_HAFT);
    expect(run(away(outdir, "program.mjs"))).toBe(ANSWER);
  });

  test("esbuild: haft/host builds, and opens its store beside node_modules", async () => {
    const { file } = await build("host", HOST, { splitting: true });
    expect(run(file, temporaryFolder("haft-target-host-"))).toBe("completed");
  });

  test("rolldown: haft/host builds, and opens its store beside node_modules", async () => {
    const input = join(project, "host-rolldown.mjs");
    writeFileSync(input, HOST);
    const bundle = await rolldown({ input, platform: "node", logLevel: "silent" });
    const dir = join(project, "out", "host-rolldown");
    await bundle.write({ dir, format: "esm", entryFileNames: "[name].mjs" });
    await bundle.close();
    expect(run(join(dir, "host-rolldown.mjs"), temporaryFolder("haft-target-host-"))).toBe("completed");
  });

  test("Deno runs createHaft", () => {
    const file = join(project, "deno-program.mjs");
    writeFileSync(file, PROGRAM);
    const said = execFileSync(
      join(project, "node_modules", ".bin", "deno"),
      ["run", "--allow-all", "--no-prompt", file],
      {
        ...{ cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
      },
    );
    expect(said.trim()).toBe(ANSWER);
  });

  test("workerd runs createHaft, with its modules of Node", async () => {
    const source = `${TOOLS}export default { fetch: async () => Response.json(await answer()) };`;
    const { outdir } = await build("worker", source, {
      platform: "browser",
      conditions: ["workerd", "worker", "browser"],
    });
    const port = await freePort();
    writeFileSync(
      join(outdir, "config.capnp"),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
const worker :Workerd.Worker = (modules = [(name = "worker", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-01-01", compatibilityFlags = ["nodejs_compat"]);`,
    );
    const { default: binary } = createRequire(join(project, "package.json"))("workerd") as { default: string };
    expect(await answerOf(binary, ["serve", join(outdir, "config.capnp")], `http://127.0.0.1:${port}/`)).toBe(ANSWER);
  });

  test("Next.js builds and serves a route handler with createHaft", { timeout: 300_000 }, async () => {
    const app = join(project, "app");
    mkdirSync(join(app, "api"), { recursive: true });
    writeFileSync(join(app, "layout.js"), "export default ({ children }) => <html><body>{children}</body></html>;");
    writeFileSync(
      join(app, "api", "route.js"),
      `${TOOLS}export const dynamic = "force-dynamic";\nexport async function GET() { return Response.json(await answer()); }`,
    );
    const next = createRequire(join(project, "package.json")).resolve("next/dist/bin/next");
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
    const built = spawnSync(process.execPath, [next, "build"], { cwd: project, env, encoding: "utf8" });
    expect(built.status, built.stdout + built.stderr).toBe(0);
    const port = await freePort();
    expect(await answerOf(process.execPath, [next, "start", "-p", String(port)], `http://127.0.0.1:${port}/api`)).toBe(
      ANSWER,
    );
  });

  /** Of a server that is started for it. */
  async function answerOf(program: string, words: string[], url: string): Promise<string> {
    const child = spawn(program, words, { cwd: project, stdio: ["ignore", "ignore", "pipe"], detached: true });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    onTestFinished(async () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
      await childEnd(child);
    });
    for (;;) {
      const answer = await fetch(url).catch(() => undefined);
      if (answer) return answer.text();
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  test("installed without optional packages it takes at most 60 packages and 60 MB", { timeout: 300_000 }, async () => {
    const folder = temporaryFolder("haft-installed-");
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const haft = await packedPackage();
    const options = [
      "--omit=optional",
      "--install-links",
      "--no-audit",
      "--no-fund",
      "--ignore-scripts",
      "--prefer-offline",
    ];
    const { status, stderr } = runNpm(["install", haft, ...options], folder);
    expect(status, stderr).toBe(0);
    const modules = join(folder, "node_modules");
    const lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8")) as { packages: object };
    expect(Object.keys(lock.packages).length).toBeLessThanOrEqual(60);
    const files = readdirSync(modules, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(MAX_INSTALLED);
  });
});
