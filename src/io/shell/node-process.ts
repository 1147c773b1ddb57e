import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { withTerminalsCovered } from "./spawn-process.ts";

/** Above what the heap of V8 may take: code, stacks, buffers and the runtime itself. */
const OUTSIDE_HEAP_MB = 256;
/** How long messages of a process that has ended are read. */
const MAX_READ_MS = 500;

/** A module that runs in a Node process of its own. */
export interface NodeLaunch {
  /** The `file:` URL of the module. */
  module: string;
  /** The exported function to call. */
  call: string;
  /** If the module is not JavaScript: the path of the jiti package, which loads it. */
  loader?: string;
  /** Max size of the heap. The process is killed if it uses 256 MB more than that in all. */
  memoryMb: number;
}

export interface NodeProcessEvents {
  message(message: unknown): void;
  /** Called once. `reason` completes the sentence "It …". */
  ended(reason: string): void;
}

/**
 * A Node process with a message channel. What it prints goes to our stderr, because stdout may carry a protocol. It has a
 * process group of its own, so Ctrl-C at a terminal does not reach it, and it ends with this process, also after kill -9.
 */
export class NodeProcess {
  readonly #child: ChildProcess;
  #reason: string | undefined = undefined;

  constructor(launch: NodeLaunch, events: NodeProcessEvents) {
    this.#child = withTerminalsCovered((covers) =>
      spawn(process.execPath, argumentsFor(launch, 3 + covers.length + 1), {
        stdio: ["ignore", 2, 2, ...covers, "ipc", "pipe"],
        serialization: "advanced",
        detached: process.platform !== "win32",
        windowsHide: true,
      }),
    );
    const lifeline = this.#child.stdio.at(-1) as Socket | undefined;
    lifeline?.on("data", (said: Buffer) => (this.#reason ??= said.toString()));
    lifeline?.on("error", () => undefined);
    this.#child.on("message", (message) => events.message(message));
    let isOver = false;
    const end = (reason: string): void => {
      if (isOver) return;
      isOver = true;
      events.ended(this.#reason ?? reason);
    };
    this.#child.on("error", (error) => {
      // Later, only a failed kill or message is reported here.
      if (this.#child.pid === undefined) end(`could not be started: ${error.message}`);
    });
    // Not `close`, which a descendant could delay for ever; but what was sent before the end is read first.
    this.#child.once("exit", (code, signal) => {
      const last: Promise<unknown>[] = [];
      if (this.#child.connected) last.push(once(this.#child, "disconnect"));
      if (lifeline && !lifeline.destroyed) last.push(once(lifeline, "close"));
      const late = sleep(MAX_READ_MS, undefined, { ref: false });
      void Promise.race([Promise.allSettled(last), late]).then(() => end(describeEnd(code, signal)));
    });
    lifeline?.unref();
    this.hold(false);
  }

  /** Throws if the message has a function or another value that cannot be copied. */
  send(message: object): void {
    // A channel that is closed has a process that ended, which is reported.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Whether this process alone keeps ours running. */
  hold(isHeld: boolean): void {
    const { channel } = this.#child;
    if (isHeld) {
      this.#child.ref();
      channel?.ref();
    } else {
      this.#child.unref();
      channel?.unref();
    }
  }

  /** With all processes that it started and that are still in its group. */
  kill(reason: string): void {
    this.#reason ??= reason;
    const { pid } = this.#child;
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
  }

  /** Resolves when the process has ended; kills it after `ms`. */
  async close(ms: number): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.hold(true);
    const timer = setTimeout(() => this.kill("was ended"), ms);
    if (this.#child.connected) this.#child.disconnect();
    await ended.catch(() => undefined);
    clearTimeout(timer);
  }
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGABRT" || code === 134) return "ran out of memory or was aborted (SIGABRT)";
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

/** Flags that are about the script of this process, or that only one process can use. */
const OWN_FLAGS =
  /^(-e|-p|-pe|-i|-c|--eval|--print|--check|--interactive|--input-type|--test|--watch|--inspect|--debug|--cpu-prof|--heap|--max-old-space-size|--max_old_space_size)/;
const TAKES_SCRIPT = /^(-e|-p|-pe|--eval|--print)$/;

function argumentsFor({ module, call, loader, memoryMb }: NodeLaunch, lifeline: number): string[] {
  const flags = process.execArgv.filter(
    (flag, index, all) => !OWN_FLAGS.test(flag) && !TAKES_SCRIPT.test(all[index - 1] ?? ""),
  );
  const loaded =
    loader === undefined
      ? `import(${JSON.stringify(module)})`
      : `require(${JSON.stringify(loader)}).createJiti(${JSON.stringify(module)}).import(${JSON.stringify(module)})`;
  const maxBytes = (memoryMb + OUTSIDE_HEAP_MB) * 1024 * 1024;
  const program = `${watchParent(lifeline, maxBytes)}\n${loaded}.then((module) => module[${JSON.stringify(call)}]());`;
  return [...flags, `--max-old-space-size=${memoryMb}`, "-e", program];
}

/**
 * The code that ends the process with its parent, and if it uses too much memory: on a thread, because a tool may block
 * the event loop. On Windows only the message channel ends it.
 */
function watchParent(descriptor: number, maxBytes: number): string {
  if (process.platform === "win32") return "";
  const thread = `
    const end = () => { try { process.kill(-process.pid, "SIGKILL"); } catch { process.kill(process.pid, "SIGKILL"); } };
    const line = new (require("node:net").Socket)({ fd: ${descriptor} });
    line.on("error", end).on("close", end).resume();
    setInterval(() => {
      const used = process.memoryUsage.rss();
      if (used > ${maxBytes}) line.write("exceeded its memory limit (" + Math.round(used / 1048576) + " MB)", end);
    }, 250);`;
  const limits = "{ maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }";
  return `new (require("node:worker_threads").Worker)(${JSON.stringify(thread)}, { eval: true, resourceLimits: ${limits}, execArgv: [], env: {} }).unref();`;
}
