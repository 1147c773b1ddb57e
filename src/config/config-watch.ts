import { AsyncLocalStorage } from "node:async_hooks";
import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock, Timer } from "../core/clock.ts";
import { errorCode } from "../core/error.ts";

/** Every path that was looked for, with its state before it was read. */
export type Looks = Map<string, string>;

const recording = new AsyncLocalStorage<Looks>();

/** Records in `looks` which files `work` reads or misses. A change of any of them may change its result. */
export function recordLooks<T>(looks: Looks, work: () => Promise<T>): Promise<T> {
  return recording.run(looks, work);
}

/** Call it before a file or folder of the configuration is read. */
export function noteLook(path: string): void {
  const looks = recording.getStore();
  if (!looks || looks.has(path)) return;
  try {
    looks.set(path, stampOf(statSync(path, { bigint: true })));
  } catch (error) {
    looks.set(path, absentAs(error));
  }
}

/** Another file at the path, by a rename or a changed link, has another number. */
function stampOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mode, mtimeNs, ctimeNs].join(" ");
}

function absentAs(error: unknown): string {
  return errorCode(error) ?? "unreadable";
}

/** Polled: it also works for files that do not exist yet, links, renames, and file systems without events. */
const CHECK_MS = 400;
/** An editor may empty, remove and write a file. The change counts when nothing has changed for this time. */
const SETTLE_MS = 150;
/** A file that is written all the time is read anyway. */
const MAX_UNSETTLED = 4;

export interface ConfigWatchOptions {
  clock: Clock;
  /** Called after a change. The next check begins when it has ended. Returns what it has looked at. */
  onChange(): Promise<Looks>;
  /** Whether something else than a file has changed. Must not take long. */
  hasChanged?(): boolean;
}

/** Calls `onChange` within a second after a file that was looked at has changed, appeared or gone. */
export class ConfigWatch {
  readonly #options: ConfigWatchOptions;
  #looks: Looks;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(looks: Looks, options: ConfigWatchOptions) {
    this.#options = options;
    this.#looks = looks;
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Resolves when every change up to now is in effect. */
  look(): Promise<void> {
    // A check that runs may have read the files before the change.
    this.#running = Promise.resolve(this.#running)
      .catch(() => undefined)
      .then(() => this.#check())
      .finally(() => this.#schedule());
    return this.#running;
  }

  #schedule(): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.after(CHECK_MS, () => void this.look().catch(() => undefined));
    this.#timer.setRef(false);
  }

  async #check(): Promise<void> {
    if (this.#isClosed) return;
    let now = await readStamps(this.#looks.keys());
    if (isSame(now, this.#looks) && !this.#options.hasChanged?.()) return;
    for (let round = 0; round < MAX_UNSETTLED && !this.#isClosed; round++) {
      await this.#pause();
      const next = await readStamps(this.#looks.keys());
      if (isSame(next, now)) break;
      now = next;
    }
    if (!this.#isClosed) this.#looks = await this.#options.onChange();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(SETTLE_MS, resolve).setRef(false));
  }
}

async function readStamps(paths: Iterable<string>): Promise<Looks> {
  const read = [...paths].map(async (path) => {
    const stamp = await stat(path, { bigint: true }).then(stampOf, absentAs);
    return [path, stamp] as const;
  });
  return new Map(await Promise.all(read));
}

function isSame(some: Looks, others: Looks): boolean {
  return [...some].every(([path, stamp]) => others.get(path) === stamp);
}
