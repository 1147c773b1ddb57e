// A command that reaches the limit of a run before its approval stands still and goes on after a yes, with real processes.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { createHaft, type Haft, textOf, type ToolResult } from "haft";
import { openWorkspace } from "haft/workspace";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { refusalReporting } = machineEngines();
const missing = refusalReporting?.isReported ? undefined : `Refusals are not reported: ${refusalReporting?.why}.`;

/** Prints a number that only this start has, waits for the given time with a child, and prints the number again. */
const JOB = `id=$(cat /proc/sys/kernel/random/uuid); echo "started $id"; echo "$id" > "\${2:-/dev/null}"
sh -c "i=0; while [ \\$i -lt $1 ]; do i=\\$((i + 1)); sleep 0.1; done"; echo "ended $id"
`;

describe.runIf(canRun("sandbox", missing))("a command that reaches its limit", () => {
  let folder: string;
  let haft: Haft;
  let ids = 0;
  let mark: string;

  beforeEach(() => {
    folder = join(temporaryFolder(), "workspace");
    mkdirSync(folder);
    mark = `haft-long-${process.pid}-${++ids}`;
    writeFileSync(at("job.sh"), JOB);
    open();
  });
  afterEach(() => haft.shutdown());

  function open(options: object = {}): void {
    const workspace = openWorkspace(folder, { stateFolder: join(folder, "../state"), sandbox: { previewMs: 800 } });
    haft = createHaft({ workspace, ...options });
  }
  const at = (path: string): string => join(folder, path);
  const run = (command: string, options: object = {}): Promise<ToolResult> =>
    haft.execute("exec", { command }, { id: `call-${++ids}`, caller: { session: "s" }, ...options });

  async function questionOf(result: ToolResult) {
    if (result.status !== "pending") throw new Error(`expected a question, got ${JSON.stringify(result)}`);
    const { preview } = (await haft.approvals.get(result.pending.id))!;
    return {
      id: result.pending.id,
      facts: (preview?.facts ?? []).map(({ text }) => text).join("\n"),
      output: preview?.output ?? "",
    };
  }
  const startOf = (text: string): string | undefined => /started (\S+)/.exec(text)?.[1];
  /** Processes of this machine with a text in their command line, and their states. */
  const processes = (text: string): string[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const line = readFileSync(`/proc/${pid}/cmdline`, "latin1");
          const isOne = line.includes(text) && !line.includes("program.js");
          const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
          return isOne ? [stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3)] : [];
        } catch {
          return [];
        }
      });
  async function until(condition: () => boolean): Promise<void> {
    for (let tries = 0; tries < 200 && !condition(); tries++) await sleep(50);
    expect(condition()).toBe(true);
  }

  test("stands still, goes on after a yes, and nobody is asked again if it changed nothing", async () => {
    const asked = await questionOf(await run(`sh job.sh 15 /dev/null ${mark}`));
    expect(asked.facts).toContain("did not end within 0.8 s and is paused");
    expect(asked.facts).toContain("A yes lets it go on");
    expect(processes(mark).filter((state) => state !== "T")).toEqual(["S"]);
    await sleep(1500);
    const result = await haft.approvals.approve(asked.id, "ann");
    expect(result).toMatchObject({ status: "completed", details: { exitCode: 0 } });
    expect(startOf(textOf(result.content))).toBe(startOf(asked.output));
    expect(textOf(result.content)).toContain(`ended ${startOf(asked.output)}`);
    expect(await haft.approvals.list("pending")).toEqual([]);
    expect(processes(mark)).toEqual([]);
  });

  test("asks about its changes at the end: the yes to go on applies nothing", async () => {
    const first = await questionOf(await run("sh job.sh 15 new.txt"));
    expect(first.facts).toContain("Until then it changed new.txt");
    const second = await questionOf(await haft.approvals.approve(first.id));
    expect(second.facts).toContain("Approve to apply 1 changed file");
    expect(existsSync(at("new.txt"))).toBe(false);
    const done = await haft.approvals.approve(second.id);
    expect(startOf(textOf(done.content))).toBe(startOf(first.output));
    expect(readFileSync(at("new.txt"), "utf8").trim()).toBe(startOf(first.output));
  });

  test("a caller that waits gets the result of the one run", async () => {
    await haft.shutdown();
    open({ approvalWaitMs: 20_000 });
    const asked = new Promise<string>((resolve) =>
      haft.on("permission_requested", ({ approvalId }) => resolve(approvalId)),
    );
    const running = run(`sh job.sh 15 /dev/null ${mark}`);
    const id = await asked;
    const { preview } = (await haft.approvals.get(id))!;
    const [result, answered] = await Promise.all([running, haft.approvals.approve(id)]);
    expect(result).toMatchObject({ status: "completed" });
    expect(result.metadata?.["replayed"]).toBeUndefined();
    expect(textOf(result.content)).toContain(`ended ${startOf(preview?.output ?? "")}`);
    expect(textOf(answered.content)).toBe(textOf(result.content));
  });

  test.each([["deny"], ["cancel"], ["shutdown"]])("%s ends it, and nothing was changed", async (how) => {
    const asked = await questionOf(await run(`sh job.sh 600 new.txt ${mark}`));
    expect(processes(mark).length).toBeGreaterThan(0);
    if (how === "deny") await haft.approvals.deny(asked.id);
    if (how === "cancel") await haft.approvals.cancel(asked.id, "no longer needed");
    if (how === "shutdown") await haft.shutdown();
    await until(() => processes(mark).length === 0);
    expect(readdirSync(folder)).toEqual(["job.sh"]);
  });

  test("a no while it goes on ends it", async () => {
    const asked = await questionOf(await run(`sh job.sh 600 new.txt ${mark}`));
    const going = haft.approvals.approve(asked.id);
    await until(() => processes(mark).some((state) => state !== "T" && state !== "S") || processes(mark).length > 0);
    await sleep(500);
    await haft.approvals.deny(asked.id);
    expect(await going).toMatchObject({ status: "failed", error: { code: "approval_denied" } });
    await until(() => processes(mark).length === 0);
    expect(readdirSync(folder)).toEqual(["job.sh"]);
  });

  test("after a restart a yes starts it again in a copy, to its end, and asks about its changes", async () => {
    const calls = new (await import("../../src/calls/call-store.ts")).MemoryCallStore();
    await haft.shutdown();
    open({ calls });
    const first = await questionOf(await run("sh job.sh 15 new.txt"));
    await haft.shutdown();
    open({ calls });
    const second = await questionOf(await haft.approvals.approve(first.id));
    expect(existsSync(at("new.txt"))).toBe(false);
    await haft.approvals.approve(second.id);
    const written = readFileSync(at("new.txt"), "utf8").trim();
    expect(written).toMatch(/^[0-9a-f-]{36}$/);
    expect(written).not.toBe(startOf(first.output));
  });

  test.each([
    [
      "a program that ignores signals",
      "trap '' TERM HUP INT CONT TSTP; i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done; echo ended",
    ],
    ["sessions of their own", "setsid -w sh -c 'i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done; echo ended'"],
    ["a double fork", "x=$( (setsid sh -c 'i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done' &) ); echo ended"],
    [
      "a child that continues its parent",
      "(while kill -CONT $$; do :; done 2>/dev/null) & i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done; kill $!; echo ended",
    ],
  ])("%s stands still too", async (_, script) => {
    writeFileSync(at("tricks.sh"), `${script} # ${mark}\n`);
    const asked = await questionOf(await run(`sh tricks.sh ${mark}`));
    expect(asked.facts).toContain("is paused");
    const states = processes(mark);
    expect(states.filter((state) => state !== "T" && state !== "t")).toEqual(["S"]);
    const result = await haft.approvals.approve(asked.id);
    expect(textOf(result.content)).toContain("ended");
  });

  test("a server, a refused connection and a call with its own limit are not paused", async () => {
    writeFileSync(at("server.mjs"), "import { createServer } from 'node:http'; createServer().listen(0);\n");
    const server = await questionOf(await run("node server.mjs"));
    const refused = await questionOf(await run("bash -c 'echo > /dev/tcp/192.0.2.1/80; sh job.sh 50'"));
    for (const { facts } of [server, refused]) {
      expect(facts).not.toContain("paused");
      expect(facts).toContain("A yes starts it again");
    }
    const limited = await haft.execute("exec", { command: "sh job.sh 50", timeout: 1000 }, { id: `call-${++ids}` });
    expect(limited).toMatchObject({ status: "failed", error: { code: "timeout" } });
  });

  describe.each(["SQLite", "PostgreSQL"])("of another process, with %s", (store) => {
    let program: string;
    let asking: ChildProcess | undefined;
    let url: string[];
    let stop: (() => Promise<void>) | undefined;
    beforeEach(async () => {
      cpSync(join(ROOT, "native"), join(folder, "../native"), { recursive: true });
      program = await bundleProgram("test/sandbox/long-commands.program.ts", join(folder, "../out"));
      const server = store === "PostgreSQL" ? await startPostgres() : undefined;
      stop = server?.stop;
      url = server ? [await server.createDatabase()] : [];
    }, 60_000);
    afterEach(async () => {
      asking?.kill("SIGKILL");
      await stop?.();
    });
    const argsOf = (mode: string, what: string): string[] => [
      program,
      mode,
      folder,
      join(folder, "../state"),
      what,
      ...url,
    ];

    async function ask(command: string): Promise<ToolResult> {
      const child = spawn(process.execPath, argsOf("ask", command), { stdio: ["ignore", "pipe", "inherit"] });
      asking = child;
      return new Promise((resolve, reject) => {
        child.stdout.once("data", (line: Buffer) => resolve(JSON.parse(line.toString()) as ToolResult));
        child.once("exit", reject);
      });
    }
    const answer = (mode: "approve" | "deny", id: string): Promise<ToolResult> =>
      new Promise((resolve, reject) => {
        execFile(process.execPath, argsOf(mode, id), (error, stdout) =>
          error ? reject(error) : resolve(JSON.parse(stdout) as ToolResult),
        );
      });
    const idOf = (result: ToolResult): string => {
      if (result.status !== "pending") throw new Error(`expected a question, got ${JSON.stringify(result)}`);
      return result.pending.id;
    };

    test("a yes from here continues the run of that process, and nothing starts again", async () => {
      const first = await ask(`sh job.sh 20 new.txt ${mark}`);
      const pids = processes(mark).length;
      expect(pids).toBeGreaterThan(2);
      const second = await answer("approve", idOf(first));
      expect(existsSync(at("new.txt"))).toBe(false);
      expect(processes(mark)).toEqual([]);
      asking?.kill("SIGKILL");
      // The effects are on the disk: any process applies them.
      const done = await answer("approve", idOf(second));
      const start = readFileSync(at("new.txt"), "utf8").trim();
      expect(first.display).toContain(`started ${start}`);
      expect(textOf(done.content)).toContain(`ended ${start}`);
    }, 60_000);

    test("a no from here, and kill -9 there, leave no process; a yes after that starts it again in a copy", async () => {
      const denied = await ask(`sh job.sh 600 new.txt ${mark}`);
      expect(await answer("deny", idOf(denied))).toMatchObject({ status: "failed" });
      await until(() => processes(mark).length === 0);
      asking?.kill("SIGKILL");
      await sleep(200);
      const killed = await ask(`sh job.sh 20 new.txt ${mark}-2`);
      asking?.kill("SIGKILL");
      await until(() => processes(`${mark}-2`).length === 0);
      const again = await answer("approve", idOf(killed));
      expect(existsSync(at("new.txt"))).toBe(false);
      await answer("approve", idOf(again));
      expect(readFileSync(at("new.txt"), "utf8")).toMatch(/^[0-9a-f-]{36}\n$/);
    }, 90_000);
  });
});
