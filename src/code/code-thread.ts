import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import { CODE_WORKER_SOURCE } from "./code-worker-source.ts";

/** Not among the types of Node, which has it all the same. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** What a program asked for: `name` and `input` as it wrote them, `input` as JSON. */
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
  /** What went wrong outside of any promise of the program: a syntax error, no memory, no time. */
  problem?: { name: string; message: string; stack: string };
  interrupted: boolean;
  cpuMs: number;
  snapshot?: Uint8Array;
}

export type ThreadMessage = (
  | { type: "start"; source: string }
  | { type: "restore"; snapshot: Uint8Array }
  | { type: "settle"; results: Settled[] }
  | { type: "snapshot" }
) & { cpuMs: number; wantsSnapshot?: boolean };

/** One machine for one program; messages are answered in their order. */
export interface CodeThread {
  send(message: ThreadMessage): Promise<ThreadAnswer>;
  /** Ends what it computes. */
  interrupt(): void;
  /** Given back for the next program. */
  release(): void;
}

export interface CodeThreads {
  take(): Promise<CodeThread>;
  close(): Promise<void>;
}

export interface CodeThreadsOptions {
  clock?: Clock;
  memoryBytes: number;
}

const MAX_LINE_LENGTH = 10_000;
/** Starting a thread takes longer than running most programs. */
const MAX_IDLE = 2;
const IDLE_MS = 60_000;

/** Threads that programs run in. Some are kept for a while after their program. */
export function createCodeThreads({ clock = systemClock, memoryBytes }: CodeThreadsOptions): CodeThreads {
  const idle: { worker: Worker; stop: Int32Array; timer: Timer }[] = [];
  const all = new Set<Worker>();
  let engine: Promise<{ library: string; wasm: object }> | undefined;

  return {
    async take() {
      const kept = idle.pop();
      kept?.timer.cancel();
      const { worker, stop } = kept ?? (await start());
      worker.ref();
      return threadOf(worker, stop);
    },
    async close() {
      for (const { timer } of idle.splice(0)) timer.cancel();
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };

  async function start(): Promise<{ worker: Worker; stop: Int32Array }> {
    engine ??= loadEngine();
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const workerData = { ...(await engine), memoryBytes, maxLineLength: MAX_LINE_LENGTH, stop };
    const worker = new Worker(CODE_WORKER_SOURCE, { eval: true, workerData, execArgv: [], env: {} });
    all.add(worker);
    worker.once("exit", () => all.delete(worker));
    // Told to the program that it ran; nobody else need know.
    worker.on("error", () => undefined);
    return { worker, stop };
  }

  function threadOf(worker: Worker, stop: Int32Array): CodeThread {
    let last: Promise<unknown> = Promise.resolve();
    let isBroken = false;
    const sendNow = (message: ThreadMessage | { type: "close"; cpuMs: number }): Promise<ThreadAnswer> =>
      new Promise((resolve, reject) => {
        const leave = (): void => void worker.off("message", onAnswer).off("error", onEnd).off("exit", onEnd);
        const onAnswer = (answer: ThreadAnswer): void => {
          leave();
          resolve(answer);
        };
        const onEnd = (why: unknown): void => {
          leave();
          isBroken = true;
          reject(why instanceof Error ? why : new Error("the thread of the program ended"));
        };
        worker.on("message", onAnswer).on("error", onEnd).on("exit", onEnd);
        worker.postMessage(message);
      });
    const send = (message: Parameters<typeof sendNow>[0]): Promise<ThreadAnswer> => {
      const answered = last.then(() => sendNow(message));
      last = answered.catch(() => undefined);
      return answered;
    };
    return {
      send,
      interrupt: () => void Atomics.store(stop, 0, 1),
      release() {
        void send({ type: "close", cpuMs: 1000 }).then(
          () => keep(worker, stop),
          () => worker.terminate(),
        );
      },
    };

    function keep(kept: Worker, flag: Int32Array): void {
      if (isBroken || idle.length >= MAX_IDLE) return void kept.terminate();
      Atomics.store(flag, 0, 0);
      kept.unref();
      const timer = clock.after(IDLE_MS, () => {
        const at = idle.findIndex(({ worker: one }) => one === kept);
        if (at >= 0) idle.splice(at, 1);
        void kept.terminate();
      });
      timer.setRef(false);
      idle.push({ worker: kept, stop: flag, timer });
    }
  }
}

/** Compiled once for all threads. */
async function loadEngine(): Promise<{ library: string; wasm: object }> {
  const { resolve } = createRequire(import.meta.url);
  const wasm = await WebAssembly.compile(await readFile(resolve("quickjs-wasi/quickjs.wasm")));
  return { library: pathToFileURL(resolve("quickjs-wasi")).href, wasm };
}
