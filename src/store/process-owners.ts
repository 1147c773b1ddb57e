import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import type { Clock, Timer } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { SqlDatabase } from "./database.ts";
import type { Migrations } from "./migrations.ts";
import { after } from "./table.ts";

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

export const OWNER_MIGRATIONS: Migrations = {
  name: "owners",
  versions: [
    [
      "CREATE TABLE owners (id TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, started TEXT NOT NULL, " +
        "seen_at BIGINT NOT NULL)",
    ],
  ],
};

const HEARTBEAT_MS = 15_000;
/** For processes on other hosts, of which nothing is known but when they were last seen. */
const DEAD_AFTER_MS = 60_000;

interface OwnerRow extends ProcessIdentity {
  id: string;
  seen_at: number;
}

/**
 * Everybody who has the store open, so that what a dead one left half done can be told from what a live one is doing. Who is
 * not in the table is gone.
 */
export class Owners {
  readonly id = randomUUID();
  readonly #database: SqlDatabase;
  readonly #clock: Clock;
  readonly #identity: ProcessIdentity;
  #timer: Timer | undefined;

  private constructor(database: SqlDatabase, clock: Clock, identity: ProcessIdentity) {
    this.#database = database;
    this.#clock = clock;
    this.#identity = identity;
  }

  static async enter(database: SqlDatabase, clock: Clock, identity = thisProcess()): Promise<Owners> {
    const owners = new Owners(database, clock, identity);
    await owners.#write();
    for (const id of await owners.#dead()) await database.run("DELETE FROM owners WHERE id = ?", [id]);
    owners.#scheduleHeartbeat();
    return owners;
  }

  isAlive(id: string): MaybePromise<boolean> {
    if (id === this.id) return true;
    const rows = this.#database.all<OwnerRow>("SELECT id, host, pid, started, seen_at FROM owners WHERE id = ?", [id]);
    return after(rows, ([row]) => row !== undefined && this.#isOwnerAlive(row));
  }

  /** Nothing of this owner is running any more. */
  async leave(): Promise<void> {
    this.#timer?.cancel();
    await this.#database.run("DELETE FROM owners WHERE id = ?", [this.id]);
  }

  async #dead(): Promise<string[]> {
    const rows = await this.#database.all<OwnerRow>("SELECT id, host, pid, started, seen_at FROM owners");
    return rows.filter((row) => row.id !== this.id && !this.#isOwnerAlive(row)).map(({ id }) => id);
  }

  #isOwnerAlive(row: OwnerRow): boolean {
    return isRunning(row) ?? this.#clock.now() - row.seen_at < DEAD_AFTER_MS;
  }

  #scheduleHeartbeat(): void {
    this.#timer = this.#clock.after(HEARTBEAT_MS, () => {
      // A beat that cannot be written is made up for by the next.
      void this.#write().then(
        () => this.#scheduleHeartbeat(),
        () => this.#scheduleHeartbeat(),
      );
    });
    this.#timer.setRef(false);
  }

  async #write(): Promise<void> {
    const { host, pid, started } = this.#identity;
    await this.#database.run(
      "INSERT INTO owners (id, host, pid, started, seen_at) VALUES (?, ?, ?, ?, ?) " +
        "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
      [this.id, host, pid, started, this.#clock.now()],
    );
  }
}
