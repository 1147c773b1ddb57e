import { getEventListeners } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { readProcess } from "./process-tree.ts";
import { type RunningProcess, type StartOptions, startProcess } from "./run-process.ts";
import { shellEnvironment } from "./shell-environment.ts";

const env = shellEnvironment({ host: process.env });
const cwd = temporaryFolder("haft-run-");

type Rest = Partial<Omit<StartOptions, "argv" | "shellCommand">>;
const run = (shellCommand: string, rest: Rest = {}) => startProcess({ shellCommand, cwd, env, ...rest });
const textOf = ({ output }: RunningProcess) => output.snapshot().head;
const isRunning = (pid: number) => readProcess(pid)?.zombie === false;

async function outputMatching(process: RunningProcess, pattern: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const found = pattern.exec(textOf(process));
    if (found) return found;
    await new Promise<void>((resolve) => {
      const leave = process.output.subscribe(() => (leave(), resolve()));
    });
  }
}

describe("an ordinary command", () => {
  test("returns its output and its exit code", async () => {
    const process = await run("echo out; echo err >&2; exit 7", { output: { separateStreams: true } });
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 7, signal: null, leftBehind: false });
    expect(process.output.snapshot()).toMatchObject({ stdout: { head: "out\n" }, stderr: { head: "err\n" } });
  });

  test("runs as argv without a shell", async () => {
    const process = await startProcess({ argv: ["printf", "%s", "$HOME;*"], cwd, env });
    await process.wait();
    expect(textOf(process)).toBe("$HOME;*");
  });

  test("runs in its folder with only the given environment", async () => {
    const process = await run("pwd; env", { env: { PATH: env.PATH as string, ONLY: "this" } });
    await process.wait();
    const lines = textOf(process).split("\n");
    expect(lines[0]).toBe(cwd);
    const names = lines.slice(1).map((line) => line.split("=")[0]);
    expect(names).toContain("ONLY");
    expect(names).not.toContain("HOME");
  });

  test("gets an end of file if its input is closed", async () => {
    const process = await run("cat; echo done");
    expect((await process.wait()).exitCode).toBe(0);
    expect(textOf(process)).toBe("done\n");
  });

  test("can be written to, and its input can be ended", async () => {
    const process = await run("cat", { stdin: "pipe" });
    expect(process.write("hello")).toBe(true);
    process.endInput();
    await process.wait();
    expect(textOf(process)).toBe("hello");
    expect(process.write("late")).toBe(false);
  });

  test("may begin with a dash", async () => {
    const process = await run("-x");
    expect((await process.wait()).exitCode).toBe(127);
    expect(process.exit?.hint).toContain("not found");
  });

  test("reports the signal that ended it", async () => {
    const exit = await (await run("kill -SEGV $$")).wait();
    expect(exit).toMatchObject({ reason: "signalled", signal: "SIGSEGV", exitCode: 139 });
    const killed = await (await run("kill -KILL $$")).wait();
    expect(killed).toMatchObject({ reason: "signalled", exitCode: 137 });
    expect(killed.hint).toContain("memory");
  });

  test("delivers a large output completely, even to a slow spill", async () => {
    const chunks: Buffer[] = [];
    const sink = {
      async write(chunk: Buffer) {
        await new Promise((resolve) => setTimeout(resolve, 3));
        chunks.push(chunk);
      },
      close: async () => ({ ref: "memory" }),
    };
    const process = await run("seq 1 600000", { output: { openSpill: () => sink } });
    await process.wait();
    const all = Buffer.concat(chunks).toString();
    expect(all.length).toBe(process.output.totalBytes);
    expect(all.startsWith("1\n2\n3\n")).toBe(true);
    expect(all.endsWith("599999\n600000\n")).toBe(true);
    expect(all.split("\n").length).toBe(600001);
    const { head, tail } = process.output.snapshot();
    expect(head.length + tail.length).toBeLessThanOrEqual(1024 * 1024);
  });
});

test("a slow spill slows down the command", async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const sink = { write: () => gate, close: async () => ({ ref: "memory" }) };
  const process = await run("yes", { output: { openSpill: () => sink } });
  await outputMatching(process, /y/);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(process.output.totalBytes).toBeLessThan(8 * 1024 * 1024);
  release();
  expect(await process.kill()).toMatchObject({ reason: "killed", survivors: [] });
});

describe("a background child", () => {
  test("does not delay the call and keeps running", async () => {
    const process = await run("sleep 300 & echo pid:$!");
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 0, leftBehind: true });
    const pid = Number(/pid:(\d+)/.exec(textOf(process))?.[1]);
    expect(isRunning(pid)).toBe(true);
    await process.kill();
    expect(isRunning(pid)).toBe(false);
    expect(process.exit?.reason).toBe("exited");
  });

  test("is killed with the command if configured", async () => {
    const process = await run("sleep 300 & echo pid:$!", { leftBehind: "kill" });
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 0, leftBehind: false });
    expect(isRunning(Number(/pid:(\d+)/.exec(textOf(process))?.[1]))).toBe(false);
  });

  test("that writes endlessly does not delay the call either", async () => {
    const process = await run("yes & sleep 0.1");
    expect(await process.wait()).toMatchObject({ exitCode: 0, leftBehind: true });
    await process.kill();
  });
});

describe("a kill", () => {
  test("by time limit is reported and leaves no process of the tree, however it tried to escape", async () => {
    const script = `
      trap '' TERM
      sleep 301 & echo plain:$!
      setsid sh -c 'echo session:$$; sleep 302' &
      (setsid sh -c 'echo daemon:$$; exec sleep 303' &)
      sh -c 'trap "" TERM; echo stubborn:$$; while :; do sleep 0.05; done' &
      sleep 0.2; echo ready; wait; sleep 304`;
    const process = await run(script, { timeoutMs: 1500, graceMs: 200 });
    await outputMatching(process, /ready/);
    const pids = [...textOf(process).matchAll(/\w+:(\d+)/g)].map((found) => Number(found[1]));
    expect(pids.length).toBe(4);
    expect(pids.every(isRunning)).toBe(true);
    expect(await process.wait()).toMatchObject({ reason: "timeout", survivors: [] });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(isRunning(process.pid)).toBe(false);
  });

  test("by time limit does not wait for what a stubborn command goes on printing", async () => {
    const written: number[] = [];
    const sink = { write: (chunk: Buffer) => void written.push(chunk.length), close: async () => ({ ref: "s" }) };
    const stubborn = "trap '' TERM; while :; do yes; done";
    const process = await run(stubborn, { timeoutMs: 1000, output: { separateStreams: true, openSpill: () => sink } });
    const exit = await process.wait();
    expect(exit).toMatchObject({ reason: "timeout", survivors: [] });
    // It took many seconds when every line was examined and read. A busy machine needs some.
    expect(exit.durationMs).toBeLessThan(6000);
    const { head, tail, omittedBytes, totalBytes, spill } = process.output.snapshot();
    expect(head.length + omittedBytes + tail.length).toBe(totalBytes);
    const bytes = written.reduce((sum, length) => sum + length, 0);
    expect(spill).toMatchObject({ status: "closed", bytes, complete: bytes === totalBytes });
  });

  test("comes if everything that it started together uses too much", async () => {
    const limits = { processes: 20, memoryBytes: 2 ** 40 };
    const process = await run("for i in $(seq 30); do sleep 60 & done; wait", { limits });
    expect(await process.wait()).toMatchObject({
      reason: "limit",
      hint: "It used more than 20 processes.",
      survivors: [],
    });
  });

  test("lets a command clean up first", async () => {
    const process = await run("trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    await outputMatching(process, /ready/);
    expect(await process.kill()).toMatchObject({ reason: "killed", exitCode: 3 });
    expect(textOf(process)).toContain("cleaned\n");
  });

  test("keeps what a child prints while it is being killed", async () => {
    const child = "trap 'sleep 0.3; echo child cleaned; exit' TERM; echo ready; while :; do sleep 0.05; done";
    const process = await run(`sh -c "${child}" & wait`);
    await outputMatching(process, /ready/);
    expect(await process.kill()).toMatchObject({ reason: "killed", survivors: [] });
    expect(textOf(process)).toContain("child cleaned");
  });

  test("by abort is reported, and the first reason wins", async () => {
    const controller = new AbortController();
    const process = await run("sleep 300", { signal: controller.signal, timeoutMs: 20_000 });
    controller.abort();
    const exit = await process.kill("killed");
    expect(exit).toMatchObject({ reason: "aborted", exitCode: 143, signal: "SIGTERM" });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  test("does not come from a signal once the process is in the background", async () => {
    const controller = new AbortController();
    const process = await run("sleep 0.3; echo finished", { signal: controller.signal });
    process.sendToBackground();
    controller.abort();
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 0 });
    expect(textOf(process)).toBe("finished\n");
  });

  test("before the start starts nothing", async () => {
    const marker = join(cwd, "started");
    await expect(run(`touch ${marker}`, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    await expect(readFile(marker)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("also kills a stopped process", async () => {
    const process = await run("kill -STOP $$", { graceMs: 100 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await process.kill()).toMatchObject({ reason: "killed", exitCode: 137, survivors: [] });
  });

  test("leaves no listener behind when the command ends by itself", async () => {
    const { signal } = new AbortController();
    await (await run("true", { signal, timeoutMs: 1000 })).wait();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("a time limit beyond the range of timers is no limit", async () => {
    expect(await (await run("sleep 0.1", { timeoutMs: Number.POSITIVE_INFINITY })).wait()).toMatchObject({
      exitCode: 0,
    });
  });
});

describe("an interrupt", () => {
  test("ends a command as Ctrl-C does", async () => {
    const process = await run("echo ready; sleep 300");
    await outputMatching(process, /ready/);
    process.interrupt();
    expect(await process.wait()).toMatchObject({ reason: "signalled", exitCode: 130 });
  });

  test("runs a trap", async () => {
    const process = await run("trap 'exit 42' INT; echo ready; while :; do sleep 0.05; done");
    await outputMatching(process, /ready/);
    process.interrupt();
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 42 });
  });
});

describe("a command that cannot start", () => {
  const start = (argv: string[], rest: Rest = {}) => startProcess({ argv, cwd, env, ...rest });

  test("names the missing program", async () => {
    const failure = start(["no-such-program-here"]);
    await expect(failure).rejects.toMatchObject({
      code: "path_not_found",
      message: /"no-such-program-here" was not found/,
    });
  });

  test("names the missing folder, not the program", async () => {
    const failure = start(["true"], { cwd: join(cwd, "missing") });
    await expect(failure).rejects.toMatchObject({ code: "path_not_found", message: /working directory .*missing/ });
  });

  test("reports that the folder is a file", async () => {
    const file = join(cwd, "file");
    await writeFile(file, "");
    await expect(start(["true"], { cwd: file })).rejects.toMatchObject({ code: "not_directory" });
  });

  test("reports that the file is not executable", async () => {
    const file = join(cwd, "script");
    await writeFile(file, "echo hi\n");
    await expect(start([file])).rejects.toMatchObject({ code: "failed", message: /may not be executed/ });
  });

  test("reports that it is too long", async () => {
    await expect(run(`: ${"x".repeat(3_000_000)}`)).rejects.toMatchObject({ code: "input_too_large" });
  });

  test("refuses NUL characters and an empty command", async () => {
    await expect(start(["echo", "a\0b"])).rejects.toMatchObject({ code: "invalid_input" });
    await expect(start([])).rejects.toMatchObject({ code: "invalid_input" });
  });
});
