import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import type { CallOptions } from "../../core/call.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { readProcess } from "../../io/shell/process-tree.ts";
import { ProcessTable } from "../../io/shell/process-table.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createExecTool, type ExecDependencies } from "./exec.ts";
import type { ExecDetails } from "./exec-result.ts";

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

function stage(more: Partial<ExecDependencies> = {}, host: Record<string, string | undefined> = process.env) {
  const workspace = temporaryFolder("haft-exec-");
  const processes = new ProcessTable();
  const environments = createSessionEnvironments({ host });
  const files = createFiles(createPathPolicy({ workspace }));
  const tool = createExecTool({ processes, environments, files, ...more });
  const haft = createHaft({
    tools: [tool],
    folder: workspace,
    approver: async () => ({ approved: true, by: "test" }),
    approvals: { maxShownBytes: 8 * 1024 * 1024 },
  });
  endings.push(() => processes.shutdown());
  const exec = (input: Record<string, unknown> | string, options: CallOptions = {}) =>
    haft.execute("exec", typeof input === "string" ? { command: input } : input, options);
  return { workspace, processes, environments, files, tool, haft, exec };
}

const detailsOf = (result: ToolResult): ExecDetails => result.details as ExecDetails;
const isRunning = (pid: number) => readProcess(pid)?.zombie === false;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Process ids that a command has written into files of the workspace. */
async function pidsIn(workspace: string, ...names: string[]): Promise<number[]> {
  const read = (name: string): number => {
    try {
      return Number(readFileSync(join(workspace, name), "utf8"));
    } catch {
      return 0;
    }
  };
  await until(() => names.every((name) => read(name) > 0));
  return names.map(read);
}

describe("exec", () => {
  test("keeps a tool's contract", async () => {
    await testTool(stage().tool, {
      inputs: [{ command: "true" }, { command: "echo hi", timeout: 60_000, working_directory: "." }],
      badInputs: [
        {},
        { command: "" },
        { command: "  \n" },
        { command: "true", timeout: 0 },
        { command: "true", timeout: 600_001 },
        { command: "true", yield_ms: 700_000 },
        { command: "true", env: { A: 1 } },
        { command: "true", cwd: ".", working_directory: "src" },
      ],
    });
  });

  test("returns the output, the exit code and one line for a person", async () => {
    const { exec } = stage();
    const result = await exec("echo out; echo err >&2");
    expect(result.status).toBe("completed");
    // Two pipes have no order between them.
    expect(textOf(result.content).split("\n").sort()).toEqual(["err", "out"]);
    expect(result.display).toMatch(/^\$ echo out; echo err >&2 — exit 0 in [\d.]+ s$/);
    expect(detailsOf(result)).toMatchObject({
      status: "completed",
      exitCode: 0,
      output: "out\nerr\n",
      stdout: "out\n",
      stderr: "err\n",
      truncated: false,
      timedOut: false,
      reason: "exited",
      workingDirectory: ".",
    });
    expect(detailsOf(result)).not.toHaveProperty("processId");
  });

  test("reports that there is no output", async () => {
    expect(textOf((await stage().exec("true")).content)).toBe("(no output)");
  });

  test("fails with a code other than 0, and keeps the whole output", async () => {
    const result = await stage().exec("echo oops; (exit 7)");
    expect(result).toMatchObject({ status: "failed", error: { code: "exit_code", data: { exitCode: 7 } } });
    expect(textOf(result.content)).toBe("oops\n\n[exit code 7]");
    expect(detailsOf(result)).toMatchObject({ status: "failed", exitCode: 7, output: "oops\n" });
    expect(result.display).toContain("— exit 7 in");
  });

  test("explains a command that does not exist and one that crashed", async () => {
    const { exec } = stage();
    expect(textOf((await exec("no-such-command-at-all")).content)).toContain("127: a command was not found");
    const crashed = await exec("kill -SEGV $$");
    expect(crashed).toMatchObject({ status: "failed", error: { code: "exit_code" } });
    expect(detailsOf(crashed)).toMatchObject({ exitCode: 139, signal: "SIGSEGV", reason: "signalled" });
  });

  test("treats exit code 1 of grep and the like as a result", async () => {
    const { exec, workspace } = stage();
    writeFileSync(join(workspace, "a"), "one\n");
    const nothing = await exec("grep zzz a");
    expect(nothing).toMatchObject({ status: "completed", details: { exitCode: 1, status: "completed" } });
    expect(textOf(nothing.content)).toBe("(no output)\n\n[exit code 1: nothing matched]");
    expect(await exec("grep zzz no-such-file")).toMatchObject({ status: "failed", details: { exitCode: 2 } });
    expect(await exec("cd no-such-folder && grep zzz a")).toMatchObject({ status: "failed" });
  });

  test("recognises a failure on a terminal, which has only one stream", async () => {
    const { exec } = stage();
    expect(await exec({ command: "cd no-such-folder && grep zzz a", pty: true })).toMatchObject({ status: "failed" });
  });

  test.each(["Bash", "bash", "shell"])("is also available as %s", async (name) => {
    const { haft } = stage();
    expect(await haft.execute(name, { command: "true" })).toMatchObject({ status: "completed", toolName: "exec" });
  });

  test("has names for each model family, and accepts them all", async () => {
    const { tool, haft, workspace } = stage();
    mkdirSync(join(workspace, "sub"));
    expect(tool.getFunctionDeclaration("claude").name).toBe("Bash");
    expect(Object.keys(tool.getFunctionDeclaration("openclaw").parameters["properties"] as object)).toEqual(
      expect.arrayContaining(["command", "workdir", "background", "yieldMs", "timeout", "env", "pty"]),
    );
    const result = await haft.execute("exec", { command: "pwd", workdir: "sub", yieldMs: 9000, background: false });
    expect(detailsOf(result).output).toBe(`${join(workspace, "sub")}\n`);
  });

  test("needs approval, with the exact command and escaped hidden characters", async () => {
    const { tool, workspace } = stage();
    const { haft } = stage();
    const input = { command: "echo \u202eabc", env: { A: "1" }, stdin: "x\u0007" };
    const { params } = tool.build(input);
    expect(tool.permission(params)).toBe("confirm");
    expect(tool.signature?.(params)).toMatchObject({ text: input.command, command: { seen: [input.command] } });
    const context = { allowedPaths: undefined } as Parameters<NonNullable<typeof tool.preview>>[1];
    const { facts = [], content } = await tool.preview!(params, context);
    expect(facts.map((fact) => fact.text)).toEqual([`It runs in ${workspace}.`, "With A=1"]);
    expect(textOf(content)).toBe("Its input:\n| x\\u{7}");
    const asking = createHaft({ registry: haft.tools.registry });
    expect(await asking.execute("exec", { command: "touch x" })).toMatchObject({ pending: { kind: "approval" } });
  });
});

describe("the working directory", () => {
  test("is the workspace or a path in it, for each call separately", async () => {
    const { exec, workspace } = stage();
    mkdirSync(join(workspace, "deep/er"), { recursive: true });
    expect(detailsOf(await exec("pwd")).output).toBe(`${workspace}\n`);
    const inside = await exec({ command: "cd .. && pwd", working_directory: "deep/er" });
    expect(detailsOf(inside)).toMatchObject({ output: `${workspace}/deep\n`, workingDirectory: "deep/er" });
    expect(detailsOf(await exec("pwd")).output).toBe(`${workspace}\n`);
  });

  test("outside the allowed paths is refused, even behind a link, and nothing runs", async () => {
    const { exec, workspace, processes } = stage();
    symlinkSync("/", join(workspace, "link"));
    mkdirSync(join(workspace, "src"));
    for (const directory of ["/", "..", "link", "link/etc"]) {
      const result = await exec({ command: `touch ${workspace}/ran`, working_directory: directory });
      expect(result).toMatchObject({ status: "failed", error: { code: "path_denied" } });
      expect(textOf(result.content)).toMatch(/Permission denied.*Access denied.*Allowed paths/s);
    }
    expect(await exec("pwd", { allowedPaths: ["src"] })).toMatchObject({ error: { code: "path_denied" } });
    const narrowed = await exec({ command: "pwd", cwd: "src" }, { allowedPaths: ["src"] });
    expect(detailsOf(narrowed).output).toBe(`${workspace}/src\n`);
    expect(detailsOf(await exec("ls")).output).toBe("link\nsrc\n");
    expect(processes.list("default")).toEqual([]);
  });

  test("that is missing or a file fails with a clear message", async () => {
    const { exec, workspace } = stage();
    writeFileSync(join(workspace, "file"), "");
    expect(await exec({ command: "pwd", cwd: "nope" })).toMatchObject({ error: { code: "path_not_found" } });
    expect(await exec({ command: "pwd", cwd: "file" })).toMatchObject({ error: { code: "not_directory" } });
  });
});

describe("the environment", () => {
  test("has session variables, call variables and no secrets of the host", async () => {
    const { exec, environments } = stage(
      {},
      { PATH: process.env.PATH, HOME: "/home/x", AWS_SECRET_ACCESS_KEY: "canary" },
    );
    environments.of("one").set("COLOUR", "red");
    const print = { command: 'echo "$COLOUR|$SHADE|$AWS_SECRET_ACCESS_KEY|$HOME|$TERM|$NO_COLOR"' };
    const first = await exec({ ...print, env: { SHADE: "dark" } }, { caller: { session: "one" } });
    expect(detailsOf(first).output).toBe("red|dark||/home/x|dumb|1\n");
    expect(detailsOf(await exec(print, { caller: { session: "two" } })).output).toBe("|||/home/x|dumb|1\n");
    expect(detailsOf(await exec(print, { caller: { session: "one" } })).output).toBe("red|||/home/x|dumb|1\n");
  });

  test.each([
    ["LD_PRELOAD", "name_denied"],
    ["BASH_ENV", "name_denied"],
    ["PATH", "name_denied"],
    ["git_ssh_command", "name_denied"],
    ["A B", "invalid_input"],
  ])("refuses %s", async (name, code) => {
    const { exec, workspace } = stage();
    const result = await exec({ command: "touch ran", env: { [name]: "x" } });
    expect(result).toMatchObject({ status: "failed", error: { code } });
    expect(existsSync(join(workspace, "ran"))).toBe(false);
  });
});

describe("the input", () => {
  test("is closed, so a program that reads gets the end", async () => {
    expect(detailsOf(await stage().exec("cat; echo done")).output).toBe("done\n");
  });

  test("is the whole text of the call, then closed", async () => {
    const { exec } = stage();
    expect(detailsOf(await exec({ command: "cat; echo .", stdin: "héllo\n" })).output).toBe("héllo\n.\n");
    expect(detailsOf(await exec({ command: "wc -c", stdin: "x".repeat(700_000) })).output.trim()).toBe("700000");
    expect(await exec({ command: "exit 0", stdin: "x".repeat(700_000) })).toMatchObject({ status: "completed" });
  });

  test("may be a terminal", async () => {
    const { exec } = stage();
    const result = await exec({ command: "tty && read name && echo hello $name", pty: true, stdin: "ann\n" });
    expect(detailsOf(result)).toMatchObject({ exitCode: 0 });
    expect(detailsOf(result).output).toMatch(/^\/dev\/pts\/\d+$/m);
    expect(detailsOf(result).output).toContain("hello ann");
    expect(detailsOf(result)).not.toHaveProperty("stdout");
  });
});

describe("a time limit", () => {
  test("kills the command and everything it started, keeps the output and gives the reason", async () => {
    const { exec, workspace, processes } = stage();
    const command =
      "echo before; sleep 300 & echo $! > child; (sleep 300 & echo $! > grandchild; wait) & " +
      "setsid sh -c 'echo $$ > away; exec sleep 300' & wait";
    const result = await exec({ command, timeout: 2500 });
    expect(result).toMatchObject({ status: "failed", error: { code: "timeout", retryable: false } });
    expect(textOf(result.content)).toMatch(/^before\n\n\[timed out after 2\.5 s: the command and everything/);
    expect(detailsOf(result)).toMatchObject({ timedOut: true, reason: "timeout", output: "before\n" });
    const pids = await pidsIn(workspace, "child", "grandchild", "away");
    expect(pids.filter(isRunning)).toEqual([]);
    expect(processes.list("default")).toEqual([]);
  });

  test("also kills a command that resists, and keeps its last output", async () => {
    const { exec } = stage();
    const result = await exec({ command: "trap 'echo refused' TERM; while :; do sleep 0.05; done", timeout: 900 });
    expect(result).toMatchObject({ error: { code: "timeout" } });
    expect(detailsOf(result).output).toContain("refused");
    expect(textOf(result.content)).toContain("`timeout` is in milliseconds");
  });

  test("does not affect the next call", async () => {
    const { exec } = stage();
    await exec({ command: "sleep 300", timeout: 100 });
    expect(detailsOf(await exec("echo recovered")).output).toBe("recovered\n");
  });
});

describe("an abort", () => {
  test("kills a command in the foreground and returns its output until then", async () => {
    const { exec, workspace, processes } = stage();
    const controller = new AbortController();
    const running = exec("echo begun; echo $$ > shell; sleep 300", { signal: controller.signal });
    const [pid = 0] = await pidsIn(workspace, "shell");
    controller.abort();
    const result = await running;
    expect(result).toMatchObject({ status: "failed", error: { code: "cancelled" }, details: { reason: "aborted" } });
    expect(textOf(result.content)).toContain("begun");
    expect(textOf(result.content)).toMatch(/cancelled: the command and everything it started/);
    await until(() => !isRunning(pid) && processes.list("default").length === 0);
  });

  test("returns in time even if the command resists, which is still killed", async () => {
    const { exec, workspace, processes } = stage();
    const controller = new AbortController();
    const command = "trap '' TERM; echo begun; echo $$ > shell; while :; do sleep 0.05; done";
    const running = exec(command, { signal: controller.signal });
    const [pid = 0] = await pidsIn(workspace, "shell");
    controller.abort();
    const result = await running;
    expect(textOf(result.content)).toContain("begun");
    expect(detailsOf(result)).toMatchObject({ reason: "aborted", exitCode: null });
    await until(() => !isRunning(pid) && processes.list("default").length === 0);
  });

  test("before the start runs nothing", async () => {
    const { exec, workspace } = stage();
    expect(await exec("touch ran", { signal: AbortSignal.abort() })).toMatchObject({ error: { code: "cancelled" } });
    expect(existsSync(join(workspace, "ran"))).toBe(false);
  });

  test("by the time limit of the caller is a timeout, with the output", async () => {
    const result = await stage().exec("echo begun; sleep 300", { timeoutMs: 1500 });
    expect(result).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(textOf(result.content)).toContain("begun");
  });

  test("does not kill a command in the background", async () => {
    const { exec, processes } = stage();
    const controller = new AbortController();
    const result = await exec({ command: "sleep 300", run_in_background: true }, { signal: controller.signal });
    controller.abort();
    const { processId = "" } = detailsOf(result);
    expect(await processes.poll("default", processId, { waitMs: 50 })).toMatchObject({ running: true });
  });
});

describe("output", () => {
  test("held by a background child does not delay the call, and the child can be killed", async () => {
    const { exec, processes } = stage();
    const result = await exec("echo before && sleep 300 & echo bgpid:$! && echo after");
    expect(result).toMatchObject({ status: "completed", details: { exitCode: 0 } });
    const { output, processId = "" } = detailsOf(result);
    expect(output).toContain("before");
    expect(textOf(result.content)).toContain(`{"action":"kill","id":"${processId}"}`);
    const pid = Number(/bgpid:(\d+)/.exec(output)?.[1]);
    expect(isRunning(pid)).toBe(true);
    await processes.shutdown();
    expect(isRunning(pid)).toBe(false);
  });

  test("of 50 MB is limited to beginning, end and where the rest is", async () => {
    const { exec, processes } = stage();
    const result = await exec("echo first; yes 0123456789abcdef | head -c 50000000; echo last");
    const { output, processId = "", truncated } = detailsOf(result);
    expect(truncated).toBe(true);
    expect(Buffer.byteLength(textOf(result.content))).toBeLessThan(50 * 1024);
    expect(result.metadata).not.toHaveProperty("spill");
    expect(output.startsWith("first\n")).toBe(true);
    expect(output.endsWith("last\n")).toBe(true);
    const offset = Number(/"offset":(\d+)/.exec(output)?.[1]);
    const shownBefore = output.slice(0, output.indexOf("[…")).split("\n").length - 1;
    expect(offset).toBe(shownBefore + 1);
    expect(processes.log("default", processId, { offset, limit: 1 }).lines).toEqual([
      { number: offset, text: "0123456789abcdef" },
    ]);
    const kept = processes.get("default", processId).process.output.snapshot();
    expect(Buffer.byteLength(kept.head) + Buffer.byteLength(kept.tail)).toBeLessThanOrEqual(1024 * 1024);
  });

  test("is spilled completely if the result cannot show it", async () => {
    const spilled: Buffer[] = [];
    const openSpill = ({ callId }: { callId: string }) => ({
      write: (chunk: Buffer) => void spilled.push(chunk),
      close: async () => ({ ref: `${callId}.txt` }),
    });
    const { exec, processes } = stage({ openSpill });
    const result = await exec("for i in $(seq 1 2500); do echo line $i; done", { id: "call7" });
    expect(detailsOf(result)).toMatchObject({ truncated: true, spillRef: "call7.txt" });
    expect(textOf(result.content)).toContain(
      "line 1000\n[… lines 1001 to 1500 of 2500 (5000 bytes) omitted here. " +
        'Continue with read {"path":"call7.txt","offset":1001}.]\nline 1501\n',
    );
    const whole = Buffer.concat(spilled).toString();
    expect(whole.startsWith("line 1\nline 2\n")).toBe(true);
    expect(whole.split("\n")).toHaveLength(2501);
    expect(processes.list("default")).toEqual([]);
    spilled.length = 0;
    expect(detailsOf(await exec("echo short"))).not.toHaveProperty("spillRef");
    expect(spilled).toEqual([]);
  });

  test("with split characters is intact, and terminal codes are removed", async () => {
    const { exec } = stage();
    const split = await exec(
      "printf '\\xe4'; sleep 0.1; printf '\\xbd\\xa0'; sleep 0.1; printf '\\xe5\\xa5'; sleep 0.1; printf '\\xbd'",
    );
    expect(detailsOf(split).output).toBe("你好");
    const coloured = await exec("printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'");
    expect(detailsOf(coloured).output).toBe("red\n100%\n");
  });

  test("arrives as updates while the command runs, each piece once", async () => {
    const { exec, workspace } = stage();
    const updates: string[] = [];
    let endedFirst = true;
    const running = exec("echo one; until [ -e go ]; do sleep 0.02; done; echo two; sleep 0.3; echo three", {
      onUpdate: ({ content = [] }) => {
        updates.push(textOf(content));
        endedFirst = false;
        writeFileSync(join(workspace, "go"), "");
      },
    });
    const result = await running;
    expect(endedFirst).toBe(false);
    expect(updates.length).toBeGreaterThan(1);
    expect(updates[0]).toBe("one\n");
    expect(updates.join("")).toBe(detailsOf(result).output);
  });
});

describe("a yield", () => {
  test("returns while the command continues, which can then be polled", async () => {
    const { exec, processes } = stage();
    const result = await exec({ command: "echo ready; sleep 300", yield_ms: 1500 }, { caller: { session: "s" } });
    expect(result.status).toBe("completed");
    const details = detailsOf(result);
    expect(details).toMatchObject({ status: "running", reason: "running", exitCode: null, output: "ready\n" });
    expect(textOf(result.content)).toContain(`still running after`);
    expect(textOf(result.content)).toContain(`{"action":"poll","id":"${details.processId}"}`);
    expect(result.display).toContain(`— continues as ${details.processId} after`);
    expect(processes.list("session:s")).toMatchObject([{ id: details.processId, running: true }]);
    expect(processes.list("default")).toEqual([]);
  });

  test("does not wait after the command has ended", async () => {
    const result = await stage().exec({ command: "echo done", yield_ms: 600_000 });
    expect(detailsOf(result)).toMatchObject({ status: "completed", exitCode: 0 });
  });

  test("in the background still reports a command that fails immediately", async () => {
    const { exec, processes } = stage();
    const result = await exec({ command: "no-such-server", run_in_background: true });
    expect(result).toMatchObject({ status: "failed", error: { code: "exit_code" }, details: { exitCode: 127 } });
    expect(processes.list("default")).toEqual([]);
  });

  test("does not override a given time limit", async () => {
    const { exec, processes } = stage();
    const result = await exec({ command: "sleep 300", run_in_background: true, timeout: 2000 });
    const { processId = "" } = detailsOf(result);
    expect(await processes.poll("default", processId, { until: "exit", waitMs: 20_000 })).toMatchObject({
      running: false,
      exit: { reason: "timeout" },
    });
  });
});

test("what a finished command left in the background is killed with the runtime", async () => {
  const { exec, processes, workspace } = stage();
  await exec("setsid sleep 600 >/dev/null 2>&1 & echo $! > left.pid");
  const [pid] = await pidsIn(workspace, "left.pid");
  expect(isRunning(pid!)).toBe(true);
  await processes.shutdown();
  await until(() => !isRunning(pid!));
});
