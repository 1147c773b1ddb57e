import { open, readFile, stat, unlink, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../core/error.ts";

const STALE_MS = 30_000;
const HEARTBEAT_MS = 5_000;
const DEFAULT_WAIT_MS = 20_000;

export interface FileLockOptions {
  /** How long to wait for another holder. Default: 20 s. */
  waitMs?: number;
  signal?: AbortSignal;
}

/** Runs `work` with the lock of the path. A dead process loses its lock: at once here, elsewhere after 30 s. */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  { waitMs = DEFAULT_WAIT_MS, signal }: FileLockOptions = {},
): Promise<T> {
  const lock = `${path}.lock`;
  const mine = `${process.pid}@${hostname()}`;
  const until = performance.now() + waitMs;
  while (!(await take(lock, mine))) {
    signal?.throwIfAborted();
    if (await isAbandoned(lock)) await breakLock(lock, mine);
    else if (performance.now() > until) throw new Error(`${lock} is held by another process. Remove it if none runs.`);
    else await sleep(5 + Math.random() * 20, undefined, { signal });
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    void utimes(lock, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await unlink(lock).catch(() => undefined);
  }
}

async function take(lock: string, mine: string): Promise<boolean> {
  try {
    const handle = await open(lock, "wx", 0o600);
    try {
      await handle.writeFile(mine);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

async function isAbandoned(lock: string): Promise<boolean> {
  const [holder, info] = await Promise.all([
    readFile(lock, "utf8").catch(() => undefined),
    stat(lock).catch(() => undefined),
  ]);
  if (holder === undefined || !info) return false;
  const [pid, host] = holder.split("@");
  if (host === hostname() && pid && !isRunning(Number(pid))) return true;
  return Date.now() - info.mtimeMs > STALE_MS;
}

/** Behind a second lock: if two processes find the first abandoned, neither removes the new lock of the other. */
async function breakLock(lock: string, mine: string): Promise<void> {
  const second = `${lock}.break`;
  if (!(await take(second, mine))) {
    const info = await stat(second).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > STALE_MS) await unlink(second).catch(() => undefined);
    await sleep(5);
    return;
  }
  try {
    if (await isAbandoned(lock)) await unlink(lock).catch(() => undefined);
  } finally {
    await unlink(second).catch(() => undefined);
  }
}

/** Whether there is such a process, of any user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
