import { open, readFile, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const STALE_MS = 30_000;
const GIVE_UP_MS = 20_000;

/**
 * Runs one at a time over all processes that use the same path. The lock of a process that died is taken over: at once
 * where it ran on this machine, otherwise when it is old.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const mine = `${process.pid}@${hostname()}`;
  const until = performance.now() + GIVE_UP_MS;
  while (!(await take(lock, mine))) {
    if (await isAbandoned(lock)) await breakLock(lock, mine);
    else if (performance.now() > until) throw new Error(`${lock} is held by another process. Remove it if none runs.`);
    else await sleep(5 + Math.random() * 20);
  }
  try {
    return await work();
  } finally {
    await unlink(lock).catch(() => {});
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
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
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

/** Behind a second lock, so that of two who find the first abandoned none removes the other's new one. */
async function breakLock(lock: string, mine: string): Promise<void> {
  const second = `${lock}.break`;
  if (!(await take(second, mine))) {
    const info = await stat(second).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > STALE_MS) await unlink(second).catch(() => {});
    await sleep(5);
    return;
  }
  try {
    if (await isAbandoned(lock)) await unlink(lock).catch(() => {});
  } finally {
    await unlink(second).catch(() => {});
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
