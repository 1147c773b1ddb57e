import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import { resolveInstalled } from "../schema/load-package.ts";
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

/** Threads that programs run in. A few are kept for a while after their program has ended. */
export class CodeThreads {
  readonly #clock: Clock;
  readonly #idle: { thread: ThreadChannel; timer: Timer }[] = [];
  readonly #all = new Set<ThreadChannel>();
  #engine: Promise<{ library: string; wasm: object }> | undefined;
  #isClosed = false;

  constructor({ clock = systemClock }: CodeThreadsOptions = {}) {
    this.#clock = clock;
  }

  async take(): Promise<CodeThread> {
    const kept = this.#idle.pop();
    kept?.timer.cancel();
    const thread = kept?.thread ?? (await this.#start());
    thread.setRef(true);
    return this.#threadOf(thread);
  }

  /** Ends the threads, also those whose program still runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#idle.splice(0)) timer.cancel();
    await Promise.all([...this.#all].map((thread) => thread.terminate()));
  }

  async #start(): Promise<ThreadChannel> {
    const engine = await (this.#engine ??= loadEngine());
    if (this.#isClosed) throw toolError("shutdown", "The runtime is shutting down");
    const thread = new ThreadChannel(engine, () => this.#all.delete(thread));
    this.#all.add(thread);
    return thread;
  }

  #threadOf(thread: ThreadChannel): CodeThread {
    return {
      send: (message) => thread.send(message),
      interrupt: () => thread.interrupt(),
      release: () => {
        thread.send(CLOSE).then(
          () => this.#keep(thread),
          () => thread.terminate(),
        );
      },
    };
  }

  #keep(thread: ThreadChannel): void {
    // After `close` it must not be unref'ed: a process that awaits only its end would exit before.
    if (this.#isClosed || this.#idle.length >= MAX_IDLE) return void thread.terminate();
    thread.setRef(false);
    const timer = this.#clock.after(IDLE_MS, () => {
      const at = this.#idle.findIndex((one) => one.thread === thread);
      if (at >= 0) this.#idle.splice(at, 1);
      void thread.terminate();
    });
    timer.setRef(false);
    this.#idle.push({ thread, timer });
  }
}

/** The words of the memory that both threads share; the worker's source has the same. */
const STOP = 0;
const REQUEST = 1;
const ANSWER = 2;
const REQUEST_LENGTH = 3;
const ANSWER_LENGTH = 4;
const WORDS = 5;
/** States of REQUEST and ANSWER. */
const NONE = 0;
const IN_MEMORY = 1;
const IN_PORT = 2;
const HOST_SLEEPS = 3;

/** For each direction. A character has at most three bytes. */
const MAX_TEXT_LENGTH = 32 * 1024;
const TEXT_BYTES = 3 * MAX_TEXT_LENGTH;

/** Most programs only continue to their next call: waiting for that costs less than a turn of the event loop. */
const MAX_BLOCK_MS = 0.2;
/** After that, other work of the process has its turn. */
const MAX_BLOCK_PER_TURN_MS = 2;
let turnStartedAt = -1;

/** Whether the event loop may wait for a moment. All programs of the process share the time. */
function mayBlock(): boolean {
  const now = performance.now();
  if (turnStartedAt < 0) {
    turnStartedAt = now;
    setImmediate(() => (turnStartedAt = -1));
  }
  return now - turnStartedAt < MAX_BLOCK_PER_TURN_MS;
}

/** Messages to a worker, one by one: short ones as JSON in shared memory, much faster than by `postMessage`. */
class ThreadChannel {
  readonly #worker: Worker;
  readonly #words: Int32Array;
  readonly #request: Buffer;
  readonly #answer: Buffer;
  readonly #port: MessagePort;
  #last: Promise<unknown> = Promise.resolve();
  #open: { resolve(answer: ThreadAnswer): void; reject(why: unknown): void } | undefined;
  #end: Error | undefined;
  /** The last answer took longer than a moment, so the next one is not waited for. */
  #isSlow = false;

  constructor(engine: object, onExit: () => void) {
    const shared = new SharedArrayBuffer(4 * WORDS + 2 * TEXT_BYTES);
    this.#words = new Int32Array(shared, 0, WORDS);
    this.#request = Buffer.from(shared, 4 * WORDS, TEXT_BYTES);
    this.#answer = Buffer.from(shared, 4 * WORDS + TEXT_BYTES, TEXT_BYTES);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData = {
      ...engine,
      shared,
      port: port2,
      words: WORDS,
      textBytes: TEXT_BYTES,
      maxTextLength: MAX_TEXT_LENGTH,
      maxLineLength: MAX_LINE_LENGTH,
    };
    const worker = new Worker(CODE_WORKER_SOURCE, {
      eval: true,
      workerData,
      transferList: [port2],
      execArgv: [],
      env: {},
    });
    this.#worker = worker;
    worker.on("message", () => this.#settle());
    worker.on("error", (why) => this.#fail(why));
    worker.once("exit", () => {
      this.#fail(new Error("The thread of the program ended."));
      port1.close();
      onExit();
    });
  }

  send(message: ThreadMessage | typeof CLOSE): Promise<ThreadAnswer> {
    if (!this.#open && !this.#end) return this.#track(this.#sendNow(message));
    return this.#track(this.#last.then(() => this.#sendNow(message)));
  }

  interrupt(): void {
    Atomics.store(this.#words, STOP, 1);
  }

  setRef(isRef: boolean): void {
    Atomics.store(this.#words, STOP, 0);
    if (isRef) this.#worker.ref();
    else this.#worker.unref();
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #track(answered: Promise<ThreadAnswer>): Promise<ThreadAnswer> {
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  #sendNow(message: ThreadMessage | typeof CLOSE): Promise<ThreadAnswer> {
    if (this.#end) return Promise.reject(this.#end);
    const words = this.#words;
    Atomics.store(words, ANSWER, NONE);
    Atomics.store(words, REQUEST, this.#write(message));
    Atomics.notify(words, REQUEST);
    // Making a machine, or an image of one, takes longer.
    const isShort = message.type === "settle" && !message.wantsSnapshot;
    if (isShort && !this.#isSlow && mayBlock()) {
      this.#isSlow = Atomics.wait(words, ANSWER, NONE, MAX_BLOCK_MS) === "timed-out";
    } else if (isShort) this.#isSlow = false;
    if (Atomics.compareExchange(words, ANSWER, NONE, HOST_SLEEPS) !== NONE) return Promise.resolve(this.#read());
    return new Promise((resolve, reject) => (this.#open = { resolve, reject }));
  }

  #write(message: ThreadMessage | typeof CLOSE): number {
    const text = message.type === "restore" ? undefined : JSON.stringify(message);
    if (text === undefined || text.length > MAX_TEXT_LENGTH) {
      this.#port.postMessage(message);
      return IN_PORT;
    }
    this.#words[REQUEST_LENGTH] = this.#request.write(text);
    return IN_MEMORY;
  }

  #read(): ThreadAnswer {
    if (Atomics.load(this.#words, ANSWER) === IN_PORT) {
      return (receiveMessageOnPort(this.#port) as { message: ThreadAnswer }).message;
    }
    return JSON.parse(this.#answer.toString("utf8", 0, this.#words[ANSWER_LENGTH])) as ThreadAnswer;
  }

  #settle(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.resolve(this.#read());
  }

  #fail(why: unknown): void {
    this.#end ??= why instanceof Error ? why : new Error(String(why));
    const open = this.#open;
    this.#open = undefined;
    open?.reject(this.#end);
  }
}

/** Compiled once for all threads. */
async function loadEngine(): Promise<{ library: string; wasm: object }> {
  const wasm = await WebAssembly.compile(await readFile(resolveInstalled("quickjs-wasi/quickjs.wasm")));
  return { library: pathToFileURL(resolveInstalled("quickjs-wasi")).href, wasm };
}
