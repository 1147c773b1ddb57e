import { readFileSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { MAX_PAUSE_MS } from "../../core/gate.ts";
import type { RunningProcess } from "../shell/run-process.ts";
import { refusedNetwork } from "./refusals.ts";

const MAX_PAUSED = 8;
/** With a smaller share of free memory none is paused, and paused ones are ended. */
const MIN_FREE_SHARE = 0.1;
/** The question follows the pause at once. */
const UNASKED_MS = 30_000;
const CHECK_MS = 1000;

/** A command in a view that reached its time limit and stands still. */
export class PausedRun {
  readonly #controller = new AbortController();
  /** Aborted when it cannot go on any more. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #process: RunningProcess;
  readonly #finish: () => Promise<unknown>;
  /** Its processes may continue each other, and so does the host while it reads much output. */
  readonly #check = setInterval(() => void this.#keepStill(), CHECK_MS).unref();
  #timer = this.#endAfter(UNASKED_MS);
  #goingOn: Promise<unknown> | undefined;

  /** `finish`: waits for its end, judges it and removes its view. */
  constructor(process: RunningProcess, finish: () => Promise<unknown>) {
    this.#process = process;
    this.#finish = finish;
  }

  /** A person is asked about it. */
  keep(): void {
    clearTimeout(this.#timer);
    if (!this.#goingOn) this.#timer = this.#endAfter(MAX_PAUSE_MS);
  }

  /** After a yes. Resolves when it has ended and was judged; undefined if it was ended before. */
  async goOn(): Promise<unknown> {
    if (this.signal.aborted) return undefined;
    this.#stopTimers();
    if (!this.#goingOn) this.#process.resume();
    return (this.#goingOn ??= this.#finish().finally(() => this.#controller.abort()));
  }

  /** Kills it, also if it goes on. Nothing was changed. */
  async end(): Promise<void> {
    if (this.signal.aborted) return;
    this.#controller.abort();
    this.#stopTimers();
    await this.#process.kill("limit");
    await (this.#goingOn ?? this.#finish()).catch(() => undefined);
  }

  #endAfter(ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.end(), ms).unref();
  }

  #stopTimers(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#check);
  }

  async #keepStill(): Promise<void> {
    const isStill = await this.#process.pause();
    if (this.#goingOn) this.#process.resume();
    else if (!isStill || isShortOfMemory()) await this.end();
  }
}

/** The paused commands of this process, each by the key of its call. */
export class PausedRuns {
  readonly #runs = new Map<string, PausedRun>();

  get(key: string): PausedRun | undefined {
    return this.#runs.get(key);
  }

  /** Undefined if it cannot be paused, or goes on in vain: it never ends, or needs what it only gets after approval. */
  async pause(key: string, process: RunningProcess, finish: () => Promise<unknown>): Promise<PausedRun | undefined> {
    await this.#runs.get(key)?.end();
    const isPaused = !isShortOfMemory() && (await process.pause());
    if (!isPaused || this.#runs.size >= MAX_PAUSED || usesNetwork(process.pid)) {
      process.resume();
      return undefined;
    }
    const run = new PausedRun(process, finish);
    this.#runs.set(key, run);
    run.signal.addEventListener("abort", () => this.#runs.delete(key));
    return run;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.end()));
  }
}

function isShortOfMemory(): boolean {
  return freemem() < totalmem() * MIN_FREE_SHARE;
}

const LISTENS = /^ *\d+: \S+ \S+ 0A /m;

/** Whether it waits for connections, as servers do, or was refused the network. The launcher is in the same namespace. */
function usesNetwork(pid: number): boolean {
  const read = (name: string): string => readFileSync(`/proc/${pid}/net/${name}`, "latin1");
  try {
    const refused = refusedNetwork({ used: undefined, notes: [], counters: read("snmp") + read("snmp6") });
    return refused.length > 0 || LISTENS.test(read("tcp") + read("tcp6"));
  } catch {
    return true;
  }
}
