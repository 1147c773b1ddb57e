import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { findProcessTree, readProcess } from "./find-process-tree.ts";
import type { TreeMember, TreeRoot } from "./find-process-tree.ts";

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
