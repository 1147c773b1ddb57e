import { readdirSync, readFileSync } from "node:fs";

/** A started process and everything that came out of it. */
export interface TreeRoot {
  pid: number;
  /** The kernel's start time of `pid`, which tells it from a later process with the same number. */
  startTime?: string;
  /** A `NAME=value` in the environment that descendants inherit. */
  mark: string;
}

export interface TreeMember {
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
