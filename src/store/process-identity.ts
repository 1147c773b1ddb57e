import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";

/** A process as others can tell whether it still runs. */
export interface ProcessIdentity {
  /** Machine, its boot and the space of process ids: the pid means nothing elsewhere. */
  host: string;
  pid: number;
  /** When it started, in the system's own count; "" where that cannot be known. */
  started: string;
}

export function thisProcess(): ProcessIdentity {
  return { host: thisHost(), pid: process.pid, started: startOf(process.pid)?.started ?? "" };
}

/** Undefined where it cannot be known from here: the process is on another host. */
export function isRunning({ host, pid, started }: ProcessIdentity): boolean | undefined {
  if (host !== thisHost()) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  if (started === "") return true;
  const now = startOf(pid);
  // Dead and not yet collected by its parent; or another process with the same number.
  return now === undefined || (now.state !== "Z" && now.state !== "X" && now.started === started);
}

let host: string | undefined;

function thisHost(): string {
  return (host ??= [hostname(), read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()), namespace()]
    .filter(Boolean)
    .join(" "));
}

function namespace(): string {
  return read(() => readlinkSync("/proc/self/ns/pid"));
}

function startOf(pid: number): { state: string; started: string } | undefined {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name in parentheses may hold blanks and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, started] = [fields[0], fields[19]];
  return state && started ? { state, started } : undefined;
}

function read(source: () => string): string {
  try {
    return source();
  } catch {
    return "";
  }
}
