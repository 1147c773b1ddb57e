// What happens where commands cannot be confined: every command asks, none runs unconfined by itself.
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildTable } from "../../src/io/sandbox/build-table.ts";
import { CallTable } from "../../src/io/sandbox/call-table.ts";
import { describeFailure, findLauncher, runSync, TableFolder } from "../../src/io/sandbox/engines.ts";
import { ACCESS } from "../../src/io/sandbox/landlock.ts";
import { encodeFilter } from "../../src/io/sandbox/seccomp.ts";
import {
  findEngines,
  machineEngines,
  tableFolderPath,
  testEngine,
  usableFolder,
} from "../../src/io/sandbox/self-test.ts";
import { type Architecture, requiredCall, type SystemCall } from "../../src/io/sandbox/system-calls.ts";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";
import { createFiles } from "../../src/io/files/files.ts";
import { createPathPolicy } from "../../src/io/files/path-policy.ts";
import { startProcess } from "../../src/io/shell/run-process.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { canRun } from "../setup/requirements.ts";

const { look, tests } = machineEngines();
const missing = look ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;
const architecture: Architecture = process.arch === "x64" ? "x64" : "arm64";
const LAUNCHER = join("native", `launch-${architecture}`);

let folder: string;
let program: string;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-failures-")));
  mkdirSync(join(folder, "workspace"));
  mkdirSync(join(folder, "app", "native"), { recursive: true });
  copyFileSync(LAUNCHER, join(folder, "app", LAUNCHER));
  program = await bundleProgram("test/sandbox/print-engines.ts", join(folder, "app", "program"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Printed {
  engines: { look?: string; work?: string };
  notice: string;
  status: string;
}

/** Runs the program as an application of its own, with the launcher beside it. */
function printEngines(prefix: readonly string[]): Printed {
  const [file, ...args] = [...prefix, process.execPath, program, join(folder, "workspace")];
  const env = { PATH: process.env["PATH"], HAFT_STATE_DIR: join(folder, "state") };
  const { stdout, stderr } = spawnSync(file, args, { env, encoding: "utf8" });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Printed;
}

/** The launcher with a table that only adds a filter: as a container or another kernel would refuse calls. */
function refusing(calls: readonly SystemCall[], errno: number): string[] {
  const table = new CallTable();
  const checks = calls.map((name, index) => ({
    ...{ code: 0x15, value: requiredCall(architecture, name) },
    ...{ ifTrue: calls.length - index, ifFalse: 0 },
  }));
  const filter = encodeFilter([
    { code: 0x20, value: 0, ifTrue: 0, ifFalse: 0 },
    ...checks,
    { code: 0x06, value: 0x7fff0000, ifTrue: 0, ifFalse: 0 },
    { code: 0x06, value: 0x00050000 | errno, ifTrue: 0, ifFalse: 0 },
  ]);
  const description = Buffer.alloc(16);
  description.writeUInt16LE(filter.length / 8);
  table.call(requiredCall(architecture, "prctl"), [38, 1, 0, 0, 0]);
  table.call(requiredCall(architecture, "seccomp"), [1, 0, table.data(description, [[8, table.data(filter)]])]);
  const path = join(folder, `${calls.join("-")}.table`);
  writeFileSync(path, table.build());
  return [realpathSync(LAUNCHER), path];
}

describe.runIf(canRun("sandbox", missing))("a machine", () => {
  test("without namespaces, as a container, uses Landlock alone and says what is weaker", () => {
    const printed = printEngines(refusing(["unshare", "mount", "setns"], 1));
    expect(printed).toMatchObject({ engines: { look: "landlock", work: "landlock" }, status: "completed" });
    expect(printed.notice).toContain("A command that you allow can change every file of the workspace");
  });

  test.each([
    ["without Landlock", refusing.bind(undefined, ["landlock_create_ruleset"], 38), /no Landlock/],
    ["that refuses filters", refusing.bind(undefined, ["seccomp"], 1), /refused to confine a command/],
  ])("%s asks for every command", (_name, prefix, reason) => {
    const printed = printEngines(prefix());
    expect(printed).toMatchObject({ engines: {}, status: "pending" });
    expect(printed.notice).toMatch(reason);
  });
});

describe.runIf(process.platform === "linux")("a launcher", () => {
  const engines = (launcher: Parameters<typeof findEngines>[0]["launcher"]) =>
    findEngines({
      tables: usableFolder(join(folder, "tables")),
      launcher,
      perl: () => ({ why: "perl is not installed" }),
      bubblewrap: () => undefined,
    });
  const place = (name: string, mode: number, source = LAUNCHER): string => {
    const native = join(folder, name, "native");
    mkdirSync(native, { recursive: true });
    copyFileSync(source, join(native, `launch-${architecture}`));
    chmodSync(join(native, `launch-${architecture}`), mode);
    return join(folder, name, "program.js");
  };

  test("that is missing, not executable or built for another processor is not used", () => {
    const other = architecture === "x64" ? "arm64" : "x64";
    const nowhere = engines(() => findLauncher("/nonexistent/app/program.js"));
    const notExecutable = engines(() => findLauncher(place("not-executable", 0o644)));
    const wrong = engines(() => findLauncher(place("wrong", 0o755, join("native", `launch-${other}`))));
    for (const found of [nowhere, notExecutable, wrong])
      expect(found).toMatchObject({ look: undefined, work: undefined });
    expect(nowhere.tests[0]?.problem).toMatch(/was not found/);
    expect(notExecutable.tests[0]?.problem).toMatch(/is not executable/);
    expect(wrong.tests[0]?.problem).toBeDefined();
  });

  test("stops if something forbidden is possible: the self-test can fail", () => {
    const outside = join(folder, "outside");
    writeFileSync(outside, "");
    if (!look) return;
    const rules = { metadata: true, network: "none", memoryBytes: 2 ** 32 } as const;
    const open = { ...rules, paths: [{ path: "/", access: ACCESS.write, isFolder: true }] };
    const selfTest = { secret: "/nonexistent", outside, process: process.pid };
    const table = usableFolder(join(folder, "tables")).write(buildTable(look.machine, open, selfTest));
    const result = runSync([...look.runner, table, "/bin/true"]);
    expect(result.status).toBe(125);
    expect(describeFailure(result)).toMatch(/refused to confine/);
  });

  test("leaves no table behind that no other process can use", async () => {
    if (!look) return;
    const workspace = join(folder, "workspace");
    const files = createFiles(createPathPolicy({ workspace }));
    const use = async (): Promise<number> => {
      const sandbox = openSandbox({ files, engines: () => ({ look, work: look, tests: [] }) });
      await sandbox.confine("work", ["/bin/true"], { cwd: workspace, terminal: false });
      expect(testEngine(look, "look", new TableFolder(tableFolderPath()))).toBeUndefined();
      sandbox.close();
      return readdirSync(tableFolderPath()).filter((name) => name.endsWith(".table")).length;
    };
    expect([await use(), await use()]).toEqual([await use(), await use()]);
  });

  test("ends everything that a command started, also what has left its session and its environment", async () => {
    if (!look) return;
    const name = join(folder, `haft-left-${process.pid}`);
    copyFileSync("/bin/sleep", name);
    chmodSync(name, 0o755);
    const workspace = join(folder, "workspace");
    const files = createFiles(createPathPolicy({ workspace, readOnlyPaths: [folder] }));
    for (const kill of [false, true]) {
      const sandbox = openSandbox({ files, engines: () => ({ look, work: { ...look, name: "landlock" }, tests: [] }) });
      const command = `env -i setsid ${name} 60 & ${kill ? "trap '' TERM; sleep 60" : "sleep 0.1"}`;
      const options = { cwd: workspace, terminal: false, allowedPaths: undefined, writable: [folder] };
      const confined = await sandbox.confine("work", ["/bin/bash", "-c", command], options);
      const running = await startProcess({
        argv: confined.command,
        cwd: workspace,
        env: {},
        graceMs: 100,
        isSupervised: true,
      });
      if (kill) setTimeout(() => void running.kill(), 100);
      await running.wait();
      const isLeft = readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(name));
      expect(isLeft).toBe(false);
      sandbox.close();
    }
  });

  const hasCompiler = (prefix: string): boolean => spawnSync(`${prefix}gcc`, ["--version"]).status === 0;

  test("has the bytes that its source gives, and its executable bit", () => {
    const built = join(folder, "built");
    mkdirSync(built);
    execFileSync("sh", ["native/build.sh", built]);
    for (const [name, prefix] of [
      ["x64", "x86_64-linux-gnu-"],
      ["arm64", "aarch64-linux-gnu-"],
    ] as const) {
      // The bytes depend on the version of the compiler.
      const isSame =
        hasCompiler(prefix) && execFileSync(`${prefix}gcc`, ["-dumpversion"], { encoding: "utf8" }).startsWith("12");
      for (const file of [`launch-${name}`, `hook-${name}`]) {
        expect(statSync(join("native", file)).mode & 0o111).toBe(0o111);
        if (!isSame) continue;
        const own = existsSync(join(built, file)) && readFileSync(join(built, file));
        expect(own && own.equals(readFileSync(join("native", file)))).toBe(true);
      }
    }
  });
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
