import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { findProcessTree, readProcess } from "./process-tree.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
});

async function start(script: string, env: Record<string, string> = {}): Promise<number> {
  const options = {
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    stdio: ["ignore", "pipe", "ignore"] as const,
  };
  const child = spawn("/bin/sh", ["-c", script], { ...options, stdio: [...options.stdio] });
  children.push(child);
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child.pid as number;
}

test("reads parent, group and session of a process with any name", async () => {
  const pid = await start("printf ') R 1 1 1' > /dev/null; echo ready; sleep 300");
  expect(readProcess(pid)).toMatchObject({ pid, parent: process.pid, group: pid, session: pid, zombie: false });
  expect(readProcess(2 ** 22 + 1)).toBeUndefined();
});

test("a group is found without its mark, and an unrelated process is not", async () => {
  const pid = await start("sleep 300 & echo ready; wait");
  const stranger = await start("echo ready; sleep 300");
  const found = findProcessTree({ pid, startTime: readProcess(pid)?.startTime, mark: "NO=mark" });
  expect(found.length).toBe(2);
  expect(found.every((member) => member.group === pid)).toBe(true);
  expect(found.some((member) => member.pid === stranger)).toBe(false);
});

test("a child that left the session and has no environment is found by its parent", async () => {
  const pid = await start("env -i setsid sleep 300 & sleep 0.1; echo ready; wait");
  const found = findProcessTree({ pid, startTime: readProcess(pid)?.startTime, mark: "NO=mark" });
  expect(found.map((member) => String(member.session === pid)).sort((a, b) => a.localeCompare(b))).toEqual([
    "false",
    "true",
  ]);
  for (const member of found) process.kill(member.pid, "SIGKILL");
});

test("a process with a reused pid is not part of the tree", async () => {
  const pid = await start("sleep 300 & echo ready; wait");
  const before = String(Number(readProcess(pid)?.startTime) - 1);
  expect(findProcessTree({ pid, startTime: before, mark: "NO=mark" })).toEqual([]);
});

test("a marked daemon is found after it left group, session and parent; one with a longer mark is not", async () => {
  const script = "(setsid sh -c 'echo ready; exec sleep 300' &)";
  const value = randomUUID();
  const marked = await start(script, { MARK: value });
  await start(script, { MARK: `${value}0` });
  const found = findProcessTree({ pid: marked, mark: `MARK=${value}` });
  const longer = findProcessTree({ pid: marked, mark: `MARK=${value}0` });
  for (const member of [...found, ...longer]) process.kill(member.pid, "SIGKILL");
  expect(found.length).toBe(1);
  expect(longer.length).toBe(1);
});
