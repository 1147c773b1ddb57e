import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import { attempt, errorCode } from "../core/error.ts";
import { type Clock, correctClock, systemClock, type Timer } from "../core/clock.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { SqlDatabase } from "./database.ts";
import type { Migrations } from "./migrations.ts";
import { CREATE_HOLD } from "./store-hold.ts";
import { addedIn, integer, optional, table, text } from "./table.ts";

/** What another process needs to check whether this one still runs. */
export interface ProcessIdentity {
  /** Machine, boot and PID namespace: the pid means nothing elsewhere. */
  host: string;
  pid: number;
  /** Start time, in the unit of the system; "" if unknown. */
  started: string;
}

export function thisProcess(): ProcessIdentity {
  return { host: thisHost(), pid: process.pid, started: startOf(process.pid)?.started ?? "" };
}

/** Undefined if the process is on another host. */
export function isRunning({ host, pid, started }: ProcessIdentity): boolean | undefined {
  if (host !== thisHost()) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    if (errorCode(error) !== "EPERM") return false;
  }
  if (started === "") return true;
  const now = startOf(pid);
  // A zombie, or another process with the same number, does not count as running.
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
  // The name in parentheses may contain blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, started] = [fields[0], fields[19]];
  return state && started ? { state, started } : undefined;
}

function read(source: () => string): string {
  return attempt(() => source(), "");
}

const owners = table("owners", {
  id: text("PRIMARY KEY"),
  host: text(),
  pid: integer(),
  started: text(),
  seenAt: integer(),
  /** The digest of its rules and limits. Unknown of processes that only run one command. */
  rules: addedIn(2, optional(text())),
});

export const OWNER_MIGRATIONS: Migrations = {
  name: "owners",
  versions: [[owners.create], [...owners.addColumns(2), ...CREATE_HOLD]],
};

const HEARTBEAT_MS = 15_000;
/** For processes on other hosts, which can only be judged by their last heartbeat. */
const DEAD_AFTER_MS = 60_000;

/** Which process this is, and whether another one lives. */
export interface LiveOwners {
  readonly id: string;
  isAlive(id: string): MaybePromise<boolean>;
}

/** The processes that have a store open, also one of another version. */
export async function findLiveOwners(database: SqlDatabase, now: number): Promise<ProcessIdentity[]> {
  if (!(await database.hasTable("owners"))) return [];
  // The table of another version may have other columns.
  const rows = await owners.select(database, ["host", "pid", "started", "seenAt"]);
  return rows.filter((row) => isOwnerAlive(row, now));
}

function isOwnerAlive(row: ProcessIdentity & { seenAt: number }, now: number): boolean {
  return isRunning(row) ?? now - row.seenAt < DEAD_AFTER_MS;
}

/** The processes that have the store open. Tells work of a live process from work that a dead one left unfinished. */
export class Owners implements LiveOwners {
  readonly id = randomUUID();
  readonly #database: SqlDatabase;
  readonly #clock: Clock;
  readonly #identity: ProcessIdentity;
  #timer: Timer | undefined;
  #rules: (() => string) | undefined;

  private constructor(database: SqlDatabase, clock: Clock, identity: ProcessIdentity) {
    this.#database = database;
    this.#clock = clock;
    this.#identity = identity;
  }

  /** By how much the clock of this process was wrong when it entered. */
  aheadMs = 0;

  static async enter(database: SqlDatabase, clock: Clock, identity = thisProcess()): Promise<Owners> {
    const entered = new Owners(database, clock, identity);
    entered.aheadMs = await entered.#correctClock();
    await entered.#write();
    for (const id of await entered.#dead()) await database.run("DELETE FROM owners WHERE id = ?", [id]);
    entered.#scheduleHeartbeat();
    return entered;
  }

  /** What it judges by, now and at each heartbeat. */
  async setRules(digest: () => string): Promise<void> {
    this.#rules = digest;
    await this.#write();
  }

  /** Other processes that run and judge by other rules than these. */
  async withOtherRules(digest: string): Promise<string[]> {
    const rows = await owners.select(this.#database, owners.keys, "WHERE rules <> ? AND id <> ?", [digest, this.id]);
    const alive = rows.filter((row) => isOwnerAlive(row, this.#clock.now()));
    return alive.map(({ pid, host: on }) => `${pid} on ${on.split(" ")[0]}`);
  }

  /** A process that is not in the table is gone. */
  async isAlive(id: string): Promise<boolean> {
    if (id === this.id) return true;
    const [row] = await owners.select(this.#database, owners.keys, "WHERE id = ?", [id]);
    return row !== undefined && isOwnerAlive(row, this.#clock.now());
  }

  /** Call when nothing of this process runs any more. */
  async leave(): Promise<void> {
    this.#timer?.cancel();
    await this.#database.run("DELETE FROM owners WHERE id = ?", [this.id]);
  }

  async #dead(): Promise<string[]> {
    const rows = await owners.select(this.#database, owners.keys);
    return rows.filter((row) => row.id !== this.id && !isOwnerAlive(row, this.#clock.now())).map(({ id }) => id);
  }

  #scheduleHeartbeat(): void {
    this.#timer = this.#clock.after(HEARTBEAT_MS, () => {
      // If a heartbeat cannot be written, the next one will do.
      const beat = this.#correctClock().then(() => this.#write());
      void beat.catch(() => undefined).then(() => this.#scheduleHeartbeat());
    });
    this.#timer.setRef(false);
  }

  async #correctClock(): Promise<number> {
    const now = this.#clock === systemClock ? await this.#database.now() : undefined;
    return now === undefined ? 0 : correctClock(now);
  }

  async #write(): Promise<void> {
    await owners.upsert(
      this.#database,
      { id: this.id, ...this.#identity, seenAt: this.#clock.now(), rules: this.#rules?.() },
      ["id"],
    );
  }
}
