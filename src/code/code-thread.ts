import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import { CODE_WORKER_SOURCE } from "./code-worker-source.ts";

/** Node has it; its types do not. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** What a program requested: `name` and `input` as it wrote them, `input` as JSON. */
export interface ProgramRequest {
  step: number;
  kind: "call" | "search" | "describe";
  name: string;
  input: string;
}

export interface Settled {
  step: number;
  ok: boolean;
  /** As JSON. */
  value: string;
}

/** What happened inside since the last message. */
export interface ThreadAnswer {
  requests: ProgramRequest[];
  lines: string[];
  ended?: { ok: boolean; value: string };
  /** What failed outside of any promise of the program: a syntax error, out of memory, out of time. */
  problem?: { name: string; message: string; stack: string };
  interrupted: boolean;
  cpuMs: number;
  /** Size of the machine. */
  memoryBytes: number;
  snapshot?: Uint8Array;
}

/** For one message. */
export interface ThreadLimits {
  cpuMs: number;
  memoryBytes: number;
  /** After that, the printed lines are dropped. */
  printBytes: number;
  /** More requests than this fail in the program. */
  maxRequests: number;
}

export type ThreadMessage = (
  | { type: "start"; source: string }
  | { type: "restore"; snapshot: Uint8Array }
  | { type: "settle"; results: Settled[] }
  | { type: "snapshot" }
) &
  ThreadLimits & { wantsSnapshot?: boolean };

/** One virtual machine for one program; messages are answered in order. */
export interface CodeThread {
  send(message: ThreadMessage): Promise<ThreadAnswer>;
  /** Interrupts the running computation. */
  interrupt(): void;
  /** Gives the thread back for the next program. */
  release(): void;
}

export interface CodeThreadsOptions {
  clock?: Clock;
}

const MAX_LINE_LENGTH = 10_000;
/** Starting a thread takes longer than running most programs. */
const MAX_IDLE = 2;
const IDLE_MS = 60_000;

const CLOSE = { type: "close", cpuMs: 1000 } as const;

interface WorkerThread {
  worker: Worker;
  /** Set to 1, it interrupts the program. */
  stop: Int32Array;
}

/** Threads that programs run in. A few are kept for a while after their program has ended. */
export class CodeThreads {
  readonly #clock: Clock;
  readonly #idle: (WorkerThread & { timer: Timer })[] = [];
  readonly #all = new Set<Worker>();
  #engine: Promise<{ library: string; wasm: object }> | undefined;
  #isClosed = false;

  constructor({ clock = systemClock }: CodeThreadsOptions = {}) {
    this.#clock = clock;
  }

  async take(): Promise<CodeThread> {
    const kept = this.#idle.pop();
    kept?.timer.cancel();
    const { worker, stop } = kept ?? (await this.#start());
    worker.ref();
    return this.#threadOf({ worker, stop });
  }

  /** Ends the threads, also those whose program still runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#idle.splice(0)) timer.cancel();
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #start(): Promise<WorkerThread> {
    const engine = await (this.#engine ??= loadEngine());
    if (this.#isClosed) throw toolError("shutdown", "The runtime is shutting down");
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const workerData = { ...engine, maxLineLength: MAX_LINE_LENGTH, stop };
    const worker = new Worker(CODE_WORKER_SOURCE, { eval: true, workerData, execArgv: [], env: {} });
    this.#all.add(worker);
    worker.once("exit", () => this.#all.delete(worker));
    // The program that runs in it gets the error from `send`.
    worker.on("error", () => undefined);
    return { worker, stop };
  }

  #threadOf({ worker, stop }: WorkerThread): CodeThread {
    let last: Promise<unknown> = Promise.resolve();
    const send = (message: ThreadMessage | typeof CLOSE): Promise<ThreadAnswer> => {
      const answered = last.then(() => sendNow(worker, message));
      last = answered.catch(() => undefined);
      return answered;
    };
    return {
      send,
      interrupt: () => void Atomics.store(stop, 0, 1),
      release: () => {
        send(CLOSE).then(
          () => this.#keep({ worker, stop }),
          () => worker.terminate(),
        );
      },
    };
  }

  #keep(thread: WorkerThread): void {
    const { worker, stop } = thread;
    // After `close` it must not be unref'ed: a process that awaits only its end would exit before.
    if (this.#isClosed || this.#idle.length >= MAX_IDLE) return void worker.terminate();
    Atomics.store(stop, 0, 0);
    worker.unref();
    const timer = this.#clock.after(IDLE_MS, () => {
      const at = this.#idle.findIndex((one) => one.worker === worker);
      if (at >= 0) this.#idle.splice(at, 1);
      void worker.terminate();
    });
    timer.setRef(false);
    this.#idle.push({ ...thread, timer });
  }
}

function sendNow(worker: Worker, message: ThreadMessage | typeof CLOSE): Promise<ThreadAnswer> {
  return new Promise((resolve, reject) => {
    const leave = (): void => void worker.off("message", onAnswer).off("error", onEnd).off("exit", onEnd);
    const onAnswer = (answer: ThreadAnswer): void => {
      leave();
      resolve(answer);
    };
    const onEnd = (why: unknown): void => {
      leave();
      reject(why instanceof Error ? why : new Error("The thread of the program ended."));
    };
    worker.on("message", onAnswer).on("error", onEnd).on("exit", onEnd);
    // An ended thread answers nothing, not even with an event.
    if (worker.threadId === -1) return onEnd(undefined);
    worker.postMessage(message);
  });
}

/** Compiled once for all threads. */
async function loadEngine(): Promise<{ library: string; wasm: object }> {
  const { resolve } = createRequire(import.meta.url);
  const wasm = await WebAssembly.compile(await readFile(resolve("quickjs-wasi/quickjs.wasm")));
  return { library: pathToFileURL(resolve("quickjs-wasi")).href, wasm };
}
