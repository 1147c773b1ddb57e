import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { readProcess } from "./process-tree.ts";
import { type RunningProcess, startProcess } from "./run-process.ts";
import { shellEnvironment } from "./shell-environment.ts";
import { stripTerminalCodes } from "./terminal-text.ts";

const base = {
  cwd: tmpdir(),
  env: shellEnvironment({ host: process.env, terminal: true }),
  pty: { cols: 80, rows: 24 },
};
const textOf = ({ output }: RunningProcess) => stripTerminalCodes(output.snapshot().head);

async function seen(process: RunningProcess, text: string): Promise<void> {
  while (!textOf(process).includes(text)) {
    await new Promise<void>((resolve) => {
      const leave = process.output.subscribe(() => (leave(), resolve()));
    });
  }
}

test("a command sees a terminal of the given size and type", async () => {
  const process = await startProcess({
    ...base,
    shellCommand: "test -t 0 && test -t 1 && echo tty; stty size; echo $TERM",
  });
  expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 0 });
  expect(textOf(process)).toBe("tty\n24 80\nxterm-256color\n");
});

test("text echoes, and Ctrl-D ends the input", async () => {
  const process = await startProcess({ ...base, argv: ["cat"] });
  process.write("grüße\n");
  await seen(process, "grüße\ngrüße");
  process.endInput();
  expect(await process.wait()).toMatchObject({ exitCode: 0 });
  expect(process.write("late")).toBe(false);
});

test("Ctrl-C typed on a terminal is a signal", async () => {
  const process = await startProcess({ ...base, shellCommand: "echo ready; sleep 300" });
  await seen(process, "ready");
  process.write("\x03");
  expect(await process.wait()).toMatchObject({ reason: "signalled", signal: "SIGINT", exitCode: 130 });
});

test("an abort while the terminal opens still kills the command", async () => {
  const controller = new AbortController();
  const starting = startProcess({ ...base, shellCommand: "sleep 300", signal: controller.signal });
  controller.abort();
  expect(await (await starting).wait()).toMatchObject({ reason: "aborted", survivors: [] });
});

test("a terminal can change its size", async () => {
  const process = await startProcess({ ...base, shellCommand: "read x; stty size" });
  process.resize({ cols: 100, rows: 30 });
  process.write("\n");
  await process.wait();
  expect(textOf(process)).toContain("30 100");
});

test("kill ends an interactive shell and its jobs", async () => {
  const process = await startProcess({ ...base, argv: ["bash", "--norc", "--noprofile", "-i"], graceMs: 500 });
  process.write("sleep 300 &\necho job:$!:\n");
  let pid = 0;
  while (!pid) {
    pid = Number(/job:(\d+):/.exec(textOf(process))?.[1] ?? 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(readProcess(pid)?.zombie).toBe(false);
  expect(await process.kill()).toMatchObject({ reason: "killed", signal: "SIGHUP", survivors: [] });
  expect(readProcess(pid)?.zombie ?? true).toBe(true);
});

test("a background child does not delay the end of a command on a terminal", async () => {
  const process = await startProcess({ ...base, shellCommand: "trap '' HUP; sleep 300 & echo started" });
  expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 0 });
  expect(textOf(process)).toContain("started");
  await process.kill();
});

test("all of a large output arrives", async () => {
  const process = await startProcess({ ...base, shellCommand: "seq 1 50000" });
  await process.wait();
  expect(textOf(process).trimEnd().split("\n").length).toBe(50_000);
});

test("a failed start is an error, as on pipes", async () => {
  const program = startProcess({ ...base, argv: ["no-such-program-here"] });
  await expect(program).rejects.toMatchObject({ code: "path_not_found", message: /no-such-program-here/ });
  const folder = startProcess({ ...base, cwd: "/no/such/folder", argv: ["true"] });
  await expect(folder).rejects.toMatchObject({ code: "path_not_found", message: /working directory/ });
  await expect(startProcess({ ...base, argv: ["echo", "a\0b"] })).rejects.toMatchObject({ code: "invalid_input" });
});

test("no child can reach the terminal of another", async () => {
  const other = await startProcess({ ...base, shellCommand: "echo here; sleep 300" });
  await seen(other, "here");
  const listing = { cwd: base.cwd, env: base.env, argv: ["ls", "-l", "/proc/self/fd"] };
  const onPipes = await startProcess(listing);
  const onTerminal = await startProcess({ ...base, argv: ["ls", "-l", "/proc/self/fd"] });
  await Promise.all([onPipes.wait(), onTerminal.wait()]);
  await other.kill();
  expect(textOf(onPipes)).toContain("/proc/");
  expect(textOf(onPipes)).not.toContain("ptmx");
  expect(textOf(onTerminal)).toContain("/dev/pts/");
  expect(textOf(onTerminal)).not.toContain("ptmx");
});

test("arguments reach a program on a second terminal unchanged", async () => {
  const first = await startProcess({ ...base, argv: ["cat"] });
  const second = await startProcess({ ...base, argv: ["printf", "<%s>", "a b", "$HOME", "-x", ""] });
  await second.wait();
  await first.kill();
  expect(textOf(second)).toBe("<a b><$HOME><-x><>");
});
