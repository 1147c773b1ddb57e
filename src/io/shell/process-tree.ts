import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../core/error.ts";

/** Identifies a started process and its descendants. */
export interface TreeRoot {
  pid: number;
  /** The kernel's start time of `pid`, which distinguishes it from a later process with the same number. */
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
  /** Dead but not yet reaped by its parent. */
  zombie: boolean;
  stopped: boolean;
}

/** The tree of a process that was just started. `mark` is described at `TreeRoot`. */
export function treeRoot(pid: number, mark: string): TreeRoot {
  try {
    return { pid, startTime: readProcess(pid)?.startTime, mark };
  } catch {
    return { pid, mark };
  }
}

/**
 * Finds every living member of the tree: by group, by session, by parent and by the mark in the environment, which
 * still identifies a daemon that left group, session and parent.
 * Not found: a process that left all three and cleared its environment, or runs as another user; and on systems
 * without /proc anything outside the group. Only a PID namespace (the sandbox) guarantees more.
 * Reads synchronously, about ten microseconds per process: a snapshot spread over time would miss forks.
 */
export function findProcessTree(root: TreeRoot): TreeMember[] {
  const processes = listProcesses().filter((process) => !process.zombie && !isOlder(process, root));
  const leader = processes.find((process) => process.pid === root.pid);
  // If the pid was reused, group and session with that number are not ours either.
  const recycled = leader !== undefined && root.startTime !== undefined && leader.startTime !== root.startTime;
  const found = new Map<number, TreeMember>();
  const rest: TreeMember[] = [];
  for (const process of processes) {
    const related = !recycled && (process.group === root.pid || process.session === root.pid);
    if (related || hasMark(process.pid, root.mark)) found.set(process.pid, process);
    else rest.push(process);
  }
  let hasGrown = found.size > 0;
  while (hasGrown) {
    hasGrown = false;
    for (const process of rest) {
      if (found.has(process.pid) || !found.has(process.parent)) continue;
      found.set(process.pid, process);
      hasGrown = true;
    }
  }
  return [...found.values()];
}

/** Undefined if there is no such process. Throws if it cannot be read, for example without a free file descriptor. */
export function readProcess(pid: number): TreeMember | undefined {
  const stat = readIfExists(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain anything, so the fields are read after its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? "",
    zombie: fields[0] === "Z" || fields[0] === "X",
    stopped: fields[0] === "T" || fields[0] === "t",
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
    // It ended, or belongs to another user.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

export interface KillOptions {
  /** Time between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Also SIGHUP: an interactive shell ignores SIGTERM. */
  sendHangup: boolean;
  /** The root is the launcher of the sandbox: SIGQUIT makes it kill everything below it, also what is not found here. */
  isSupervised?: boolean;
}

const POLL_MS = 10;
const KILL_ROUNDS = 100;
const SUPERVISOR_ROUNDS = 100;
const FREEZE_ROUNDS = 100;

/** Kills the whole tree. Resolves when it is gone, with the ids of processes that could not be killed. */
export async function killProcessTree(root: TreeRoot, options: KillOptions): Promise<number[]> {
  if (process.platform === "win32") return killOnWindows(root.pid);
  if (process.platform !== "linux") return killGroup(root.pid, options);
  try {
    return await killMembers(root, options);
  } catch {
    // /proc cannot be read, for example without a free file descriptor: kill at least the group.
    return killGroup(root.pid, options);
  }
}

async function killMembers(root: TreeRoot, { graceMs, sendHangup, isSupervised }: KillOptions): Promise<number[]> {
  // Recorded before the first signal: once a parent is dead, its children are re-parented.
  const known = new Map<number, TreeMember>();
  const living = (): TreeMember[] => {
    for (const member of findProcessTree(root)) known.set(member.pid, member);
    return [...known.values()].filter(isAlive);
  };
  const requested = living();
  for (const signal of firstSignals(sendHangup)) signalMembers(requested, root.pid, signal);
  for (let waited = 0; waited < graceMs && requested.some(isAlive); waited += POLL_MS) await sleep(POLL_MS);
  const supervisor = isSupervised ? requested.find(({ pid }) => pid === root.pid) : undefined;
  if (supervisor && isAlive(supervisor)) {
    signalProcess(supervisor.pid, "SIGQUIT");
    for (let round = 0; round < SUPERVISOR_ROUNDS && isAlive(supervisor); round++) await sleep(POLL_MS);
  }
  // Looked up again in each round: a process may have forked in between.
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

const endedOnExit = new Set<number>();
let isWatchingExit = false;

/** Ends the group when this process exits. Returns what cancels that. SIGKILL of this process ends no group. */
export function endGroupOnExit(pid: number): () => void {
  endedOnExit.add(pid);
  if (!isWatchingExit) {
    isWatchingExit = true;
    process.once("exit", () => endedOnExit.forEach((each) => signalGroup(each, "SIGTERM")));
  }
  return () => void endedOnExit.delete(pid);
}

/** Whether the group has a living member. Zombies do not count. */
export function groupIsAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
  if (process.platform !== "linux") return true;
  try {
    return listProcesses().some((member) => member.group === group && !member.zombie);
  } catch {
    return true;
  }
}

export interface FrozenTree {
  /** False if a member may still run. */
  complete: boolean;
  thaw(): void;
}

/** Stops every running member of the tree with SIGSTOP until `thaw`. */
export async function freezeTree(root: TreeRoot): Promise<FrozenTree> {
  const frozen = new Map<number, TreeMember>();
  const thaw = (): void => {
    for (const member of frozen.values()) if (isAlive(member)) signalProcess(member.pid, "SIGCONT");
  };
  if (process.platform !== "linux") {
    signalGroup(root.pid, "SIGSTOP");
    await sleep(POLL_MS);
    return { complete: true, thaw: () => void signalGroup(root.pid, "SIGCONT") };
  }
  try {
    for (let round = 0; round < FREEZE_ROUNDS; round++) {
      const running = findProcessTree(root).filter((member) => !member.stopped);
      if (running.length === 0) return { complete: true, thaw };
      for (const member of running) {
        frozen.set(member.pid, member);
        signalProcess(member.pid, "SIGSTOP");
      }
      await sleep(round === 0 ? 1 : POLL_MS);
    }
  } catch {
    // /proc cannot be read.
  }
  return { complete: false, thaw };
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended, or belongs to another user: the caller checks what is left.
  }
}

function signalMembers(members: readonly TreeMember[], group: number, signal: NodeJS.Signals): void {
  // The group in one call, so nothing can fork in between; the rest one by one.
  if (members.some((member) => member.group === group)) signalGroup(group, signal);
  for (const member of members) {
    if (member.group !== group && isAlive(member)) signalProcess(member.pid, signal);
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
      return errorCode(error) === "EPERM";
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
