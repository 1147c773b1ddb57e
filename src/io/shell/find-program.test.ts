import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { findProgram, findShell } from "./find-program.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder("haft-shell-");
  await writeFile(join(folder, "tool"), "#!/bin/sh\n");
  await chmod(join(folder, "tool"), 0o755);
  await writeFile(join(folder, "plain"), "");
  await mkdir(join(folder, "folder"));
});

test("the shell is absolute and does not depend on PATH", () => {
  const shell = findShell({ PATH: "" });
  expect(shell.path).toMatch(/^\/(usr\/)?bin\/(bash|sh)$/);
});

test("the system's shell is preferred to one in the working folder or first in PATH", async () => {
  await writeFile(join(folder, "bash"), "#!/bin/sh\necho evil\n");
  await chmod(join(folder, "bash"), 0o755);
  expect(findShell({ PATH: folder }).path).not.toContain(folder);
});

test("the command is one argument, even if it begins with a dash", () => {
  const shell = findShell({});
  const run = (command: string) => execFileSync(shell.path, shell.args(command), { encoding: "utf8", stdio: "pipe" });
  expect(run("echo 'a b'; echo $0")).toMatch(/^a b\n/);
  expect(() => run("-x")).toThrow(/-x: (command )?not found/);
});

test("bash reads no start-up files, even if the input looks like a network connection", () => {
  const home = folder;
  const shell = findShell({});
  execFileSync("/bin/sh", ["-c", `echo 'echo from-rc' > ${home}/.bashrc`]);
  const env = { HOME: home, SSH_CLIENT: "1", SHLVL: "0" };
  // `input` makes standard input a socket.
  expect(execFileSync(shell.path, shell.args("echo ok"), { encoding: "utf8", env, input: "" })).toBe("ok\n");
});

test("a program is an executable file in an absolute folder of PATH", () => {
  expect(findProgram("tool", { PATH: `relative:${folder}` })).toBe(join(folder, "tool"));
  expect(findProgram("plain", { PATH: folder })).toBeUndefined();
  expect(findProgram("folder", { PATH: folder })).toBeUndefined();
  expect(findProgram("tool", { PATH: relative(process.cwd(), folder) })).toBeUndefined();
  expect(findProgram("tool", {})).toBeUndefined();
});

test("on Windows without Git, cmd.exe runs the unchanged line", () => {
  const shell = findShell({ ComSpec: "C:\\Windows\\system32\\cmd.exe" }, "win32");
  expect(shell).toMatchObject({ name: "cmd", path: "C:\\Windows\\system32\\cmd.exe", verbatimArguments: true });
  expect(shell.args('dir "a b"')).toEqual(["/d", "/s", "/c", '"dir "a b""']);
});

test("on Windows variables have no case, and PATHEXT has the endings of programs", async () => {
  await writeFile(join(folder, "tool.exe"), "");
  await chmod(join(folder, "tool.exe"), 0o755);
  expect(findProgram("tool", { Path: folder }, { platform: "linux" })).toBeUndefined();
  expect(findProgram("tool", { Path: folder, Pathext: ".CMD" }, { platform: "win32" })).toBe(join(folder, "tool"));
  await writeFile(join(folder, "npx.cmd"), "");
  await chmod(join(folder, "npx.cmd"), 0o755);
  expect(findProgram("npx", { Path: folder }, { platform: "win32" })).toBe(join(folder, "npx.cmd"));
  expect(findProgram("npx", { Path: folder, PATHEXT: ".EXE" }, { platform: "win32" })).toBeUndefined();
  expect(findShell({ COMSPEC: "D:\\cmd.exe" }, "win32").path).toBe("D:\\cmd.exe");
});
