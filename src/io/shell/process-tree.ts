import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A started process and everything that came out of it. */
export interface TreeRoot {
  pid: number;
  /** The kernel's start time of `pid`, which tells it from a later process with the same number. */
  startTime?: string;
  /** A `NAME=value` in the environment that descendants inherit. */
  mark: string;
}

interface TreeMember {
  pid: number;
  parent: number;
  group: number;
  session: number;
  startTime: string;
  /** Dead, and only waiting for its parent to notice. */
  zombie: boolean;
}

/**
 * Every living member of the tree that can be found: by group, by session, by parenthood and by the mark in the
 * environment, which still shows a daemon that left group, session and parent behind.
 * Not found: a process that left all three and also cleared its environment, or runs as another user; and on systems
 * without /proc anything outside the group. Only a PID namespace (the sandbox) promises more.
 * Reads synchronously, some ten microseconds a process: a snapshot that is spread over time misses forks.
 */
export function findProcessTree(root: TreeRoot): TreeMember[] {
  const processes = listProcesses().filter((process) => !process.zombie && !isOlder(process, root));
  const leader = processes.find((process) => process.pid === root.pid);
  // The number was given to a stranger: then group and session of that number are the stranger's, too.
  const recycled = leader !== undefined && root.startTime !== undefined && leader.startTime !== root.startTime;
  const found = new Map<number, TreeMember>();
  const rest: TreeMember[] = [];
  for (const process of processes) {
    const related = !recycled && (process.group === root.pid || process.session === root.pid);
    if (related || hasMark(process.pid, root.mark)) found.set(process.pid, process);
    else rest.push(process);
  }
  let grew = found.size > 0;
  while (grew) {
    grew = false;
    for (const process of rest) {
      if (found.has(process.pid) || !found.has(process.parent)) continue;
      found.set(process.pid, process);
      grew = true;
    }
  }
  return [...found.values()];
}

/** Undefined when there is no such process. Throws when it cannot be known, as without a free descriptor. */
export function readProcess(pid: number): TreeMember | undefined {
  const stat = readIfExists(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain anything, so the fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? "",
    zombie: fields[0] === "Z" || fields[0] === "X",
  };
}

function listProcesses(): TreeMember[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((process) => process !== undefined);
}

function isOlder(process: TreeMember, root: TreeRoot): boolean {
  return root.startTime !== undefined && Number(process.startTime) < Number(root.startTime);
}

function hasMark(pid: number, mark: string): boolean {
  return readIfExists(`/proc/${pid}/environ`)?.split("\0").includes(mark) ?? false;
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Gone, or not ours to see.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
}

export interface KillOptions {
  /** Time between asking (SIGTERM) and ending (SIGKILL). */
  graceMs: number;
  /** Also SIGHUP: an interactive shell ignores SIGTERM. */
  sendHangup: boolean;
}

const POLL_MS = 10;
const KILL_ROUNDS = 100;

/** Ends the whole tree and resolves when it is gone, with the numbers of those that could not be ended. */
export async function killProcessTree(root: TreeRoot, options: KillOptions): Promise<number[]> {
  if (process.platform === "win32") return killOnWindows(root.pid);
  if (process.platform !== "linux") return killGroup(root.pid, options);
  try {
    return await killMembers(root, options);
  } catch {
    // /proc cannot be read, as without a free descriptor: then at least what needs no looking up.
    return killGroup(root.pid, options);
  }
}

async function killMembers(root: TreeRoot, { graceMs, sendHangup }: KillOptions): Promise<number[]> {
  // Recorded before the first signal: once a parent is dead its children are somebody else's.
  const known = new Map<number, TreeMember>();
  const living = (): TreeMember[] => {
    for (const member of findProcessTree(root)) known.set(member.pid, member);
    return [...known.values()].filter(isAlive);
  };
  const requested = living();
  for (const signal of firstSignals(sendHangup)) signalMembers(requested, root.pid, signal);
  for (let waited = 0; waited < graceMs && requested.some(isAlive); waited += POLL_MS) await sleep(POLL_MS);
  // Looked up anew each round: something may have forked while it was being ended.
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const left = living();
    if (left.length === 0) return [];
    signalMembers(left, root.pid, "SIGKILL");
    await sleep(POLL_MS);
  }
  return living().map((member) => member.pid);
}

function firstSignals(sendHangup: boolean): NodeJS.Signals[] {
  return sendHangup ? ["SIGHUP", "SIGTERM"] : ["SIGTERM"];
}

/** Sends a signal to the group, as a terminal does for Ctrl-C. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
    return true;
  } catch {
    return false;
  }
}

function signalMembers(members: readonly TreeMember[], group: number, signal: NodeJS.Signals): void {
  // The group at once, because nothing can fork away in between; the rest one by one.
  if (members.some((member) => member.group === group)) signalGroup(group, signal);
  for (const member of members) {
    if (member.group === group || !isAlive(member)) continue;
    try {
      process.kill(member.pid, signal);
    } catch {
      // Gone already, or another user's: the caller counts who is left.
    }
  }
}

function isAlive(member: TreeMember): boolean {
  const now = readProcess(member.pid);
  return now !== undefined && !now.zombie && now.startTime === member.startTime;
}

async function killGroup(pid: number, { graceMs, sendHangup }: KillOptions): Promise<number[]> {
  const exists = (): boolean => {
    try {
      process.kill(-pid, 0);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EPERM";
    }
  };
  for (const signal of firstSignals(sendHangup)) signalGroup(pid, signal);
  for (let waited = 0; waited < graceMs && exists(); waited += POLL_MS) await sleep(POLL_MS);
  for (let round = 0; round < KILL_ROUNDS && exists(); round++) {
    signalGroup(pid, "SIGKILL");
    await sleep(POLL_MS);
  }
  return exists() ? [pid] : [];
}

async function killOnWindows(pid: number): Promise<number[]> {
  const taskkill = spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
  await once(taskkill, "close").catch(() => undefined);
  return [];
}
