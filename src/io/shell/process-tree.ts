import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt, errorCode } from "../../core/error.ts";

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
  threads: number;
  residentPages: number;
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
    threads: Number(fields[17]),
    residentPages: Number(fields[21]),
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
const SUPERVISOR_MS = 1000;
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
  // Without waiting, before a search that takes long if they are many.
  if (isSupervised && graceMs === 0 && readProcess(root.pid)?.startTime === root.startTime)
    signalProcess(root.pid, "SIGQUIT");
  // Recorded before the first signal: once a parent is dead, its children are re-parented.
  const known = new Map<number, TreeMember>();
  const living = (): TreeMember[] => {
    for (const member of findProcessTree(root)) known.set(member.pid, member);
    return [...known.values()].filter(isAlive);
  };
  const requested = living();
  for (const signal of firstSignals(sendHangup)) signalMembers(requested, root.pid, signal);
  await waitWhile(() => requested.some(isAlive), graceMs);
  const supervisor = isSupervised ? requested.find(({ pid }) => pid === root.pid) : undefined;
  if (supervisor && isAlive(supervisor)) {
    signalProcess(supervisor.pid, "SIGQUIT");
    await waitWhile(() => isAlive(supervisor), SUPERVISOR_MS);
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

/** By the clock: on a busy machine a pause takes longer than it should. */
async function waitWhile(condition: () => boolean, maxMs: number): Promise<void> {
  const until = performance.now() + maxMs;
  while (performance.now() < until && condition()) await sleep(POLL_MS);
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
  return attempt(() => listProcesses().some((member) => member.group === group && !member.zombie), true);
}

export interface FrozenTree {
  /** False if a member may still run. */
  complete: boolean;
  thaw(): void;
}

/** Stops every running member of the tree with SIGSTOP until `thaw`, except a launcher that supervises it. */
export async function freezeTree(root: TreeRoot, isSupervised = false): Promise<FrozenTree> {
  const isLauncher = ({ pid }: TreeMember): boolean => isSupervised && pid === root.pid;
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
      const running = findProcessTree(root).filter((member) => !member.stopped && !isLauncher(member));
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
  await waitWhile(exists, graceMs);
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

/** What a process and its descendants may use together. */
export interface TreeLimits {
  /** Threads count too, as for the kernel's own limits. */
  processes: number;
  memoryBytes: number;
  /** Time between two looks, at least. More for what runs long. Default: 100. */
  pauseMs?: number;
}

/** Time between two looks, at least, and as a multiple of the time that one took. */
const MIN_PAUSE_MS = 100;
const PAUSE_FACTOR = 20;
/** How often the processes of the machine are counted, which costs microseconds: if there are many more, it looks now. */
const COUNT_MS = 20;
/** A machine with less free memory than this share is short of it. */
const SCARCE_SHARE = 0.25;

/** Watches a tree until stopped, and reports a sum beyond its limits once: the kernel has no such limit. Linux only. */
export function watchTree(root: TreeRoot, limits: TreeLimits, onExceeded: (what: string) => void): () => void {
  if (process.platform !== "linux") return () => undefined;
  const freeAtStart = machineMemory()?.free;
  const tasksAtStart = machineTasks();
  // It may change.
  const pauseMs = (): number => limits.pauseMs ?? MIN_PAUSE_MS;
  let nextLook = performance.now() + pauseMs();
  const timer = setInterval(() => {
    const startedAt = performance.now();
    if (startedAt < nextLook && machineTasks() - tasksAtStart < limits.processes) return;
    const what = exceeded(root, limits, freeAtStart);
    nextLook = performance.now() + Math.max(pauseMs(), PAUSE_FACTOR * (performance.now() - startedAt));
    if (what === undefined) return;
    clearInterval(timer);
    onExceeded(what);
  }, COUNT_MS).unref();
  return () => clearInterval(timer);
}

/** How many processes and threads the machine has; 0 if it is not known. */
export function machineTasks(): number {
  return attempt(() => Number(/\/(\d+) /.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0), 0);
}

function exceeded(root: TreeRoot, limits: TreeLimits, freeAtStart: number | undefined): string | undefined {
  try {
    const members = findProcessTree(root);
    const processes = members.reduce((sum, { threads }) => sum + threads, 0);
    if (processes > limits.processes) return `more than ${limits.processes} processes`;
    const memory = `more than ${Math.round(limits.memoryBytes / 2 ** 20)} MiB of memory`;
    const resident = members.reduce((sum, { residentPages }) => sum + residentPages, 0) * pageBytes();
    // Pages that processes share are resident in each of them.
    if (resident > limits.memoryBytes) {
      const shares = members.reduce((sum, { pid, residentPages }) => sum + shareOf(pid, residentPages), 0);
      if (shares > limits.memoryBytes) return memory;
    }
    // What no process has mapped, such as buffers of pipes and sockets, only the machine knows.
    const now = machineMemory();
    const taken = now && freeAtStart !== undefined ? freeAtStart - now.free : 0;
    return now && taken > limits.memoryBytes && now.free < now.total * SCARCE_SHARE ? memory : undefined;
  } catch {
    // /proc cannot be read now, for example without a free file descriptor.
    return undefined;
  }
}

/** Its memory, with shared pages divided among those who share them. */
function shareOf(pid: number, residentPages: number): number {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1")) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // It ended, or this kernel does not have the file.
  }
  return residentPages * pageBytes();
}

function machineMemory(): { free: number; total: number } | undefined {
  try {
    const text = readFileSync("/proc/meminfo", "latin1");
    const [total, free] = ["MemTotal", "MemAvailable"].map(
      (name) => Number(text.match(`${name}:\\s+(\\d+)`)?.[1]) * 1024,
    );
    return total && free ? { free, total } : undefined;
  } catch {
    return undefined;
  }
}

let knownPageBytes: number | undefined;

/** Node does not tell the size of a page: its own memory in bytes and in pages does. */
function pageBytes(): number {
  if (knownPageBytes === undefined) {
    const [, pages] = readFileSync("/proc/self/statm", "latin1").split(" ").map(Number);
    knownPageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / (pages ?? 1)));
  }
  return knownPageBytes;
}
