import { randomUUID } from "node:crypto";
import { toolError } from "../../core/error.ts";
import { type Child, type ChildEvents, type Launch, spawnOnPipes } from "./spawn-process.ts";
import { killProcessTree, readProcess, signalGroup, type TreeRoot } from "./process-tree.ts";
import { findShell } from "./find-program.ts";
import { createOutputBuffer, type OutputBuffer, type OutputOptions } from "./output-buffer.ts";
import { describeEnd, type Exit, type KillReason, type ProcessEnd } from "./exit-status.ts";
import { spawnOnTerminal, type TerminalSize } from "./pseudo-terminal.ts";

export type StartOptions = ({ argv: readonly string[] } | { shellCommand: string }) & {
  cwd: string;
  /** All of it: nothing is inherited from the host. */
  env: Readonly<Record<string, string>>;
  /** Closed unless asked: a program that reads then gets an end of file instead of waiting for ever. */
  stdin?: "closed" | "pipe";
  pty?: TerminalSize;
  timeoutMs?: number;
  /** Ends the process while it is in the foreground; see `sendToBackground`. */
  signal?: AbortSignal;
  /** Time between asking a tree to end and ending it. */
  graceMs?: number;
  /** How long output is still read after the end while a background child holds it open. */
  drainMs?: number;
  /** What becomes of background children when the process ends by itself. */
  leftBehind?: "leave" | "kill";
  output?: OutputOptions;
};

export interface RunningProcess {
  readonly pid: number;
  readonly output: OutputBuffer;
  /** On a pseudo-terminal. */
  readonly terminal: boolean;
  /** Set once `wait` has resolved. */
  readonly exit: Exit | undefined;
  /** Resolves when the process has ended and its output is complete, or nothing more can be done to end it. */
  wait(): Promise<Exit>;
  /** False when the process takes no input (any more). */
  write(data: string): boolean;
  /** Bytes written that the process has not taken. */
  pendingInput(): number;
  endInput(): void;
  resize(size: TerminalSize): void;
  /** SIGINT to the group, as Ctrl-C on a terminal. */
  interrupt(): void;
  /** Ends the whole tree; after the process ended, what it left behind. The first reason given is the one said. */
  kill(reason?: KillReason): Promise<Exit>;
  /** From here on the `signal` of the start no longer ends it; its time limit still does. */
  sendToBackground(): void;
  /** Stops reading and lets the host exit. The process lives on; writing to its closed output may end it. */
  detach(): void;
}

const MARK_NAME = "HAFT_PROCESS";
/** After the last SIGKILL: how long the system may take to report the end. */
const REPORT_MS = 1000;

/** Starts a program in a group of its own. Rejects when it cannot be started; how it ends is told by `wait`. */
export async function startProcess(options: StartOptions): Promise<RunningProcess> {
  const { signal, graceMs = 2000, drainMs = 100, timeoutMs } = options;
  if (signal?.aborted) throw cancelled(signal);
  const mark = `${MARK_NAME}=${randomUUID()}`;
  const output = createOutputBuffer(options.output);
  const startedAt = performance.now();
  const ended = deferred<ProcessEnd>();
  const closed = deferred<void>();
  const killed = deferred<number[]>();
  let hasEnded = false;
  let heldBack = 0;
  let killing = false;
  let killReason: KillReason | undefined;
  let exit: Exit | undefined;

  const events: ChildEvents = {
    data(chunk, stream) {
      const pressure = output.append(chunk, stream);
      if (!pressure) return;
      heldBack++;
      child.pause();
      void pressure.finally(() => --heldBack === 0 && child.resume());
    },
    exit(code, exitSignal) {
      hasEnded = true;
      ended.resolve({ code, signal: exitSignal });
    },
    closed: () => closed.resolve(),
  };
  const launch = launchOf(options, mark);
  const child: Child = await (options.pty
    ? spawnOnTerminal(launch, options.pty, events)
    : spawnOnPipes(launch, events));
  const root = treeOf(child.pid, mark);
  const killTree = (): Promise<number[]> => killProcessTree(root, { graceMs, sendHangup: child.terminal });

  async function kill(reason: KillReason = "killed"): Promise<Exit> {
    if (exit) {
      await killTree();
    } else if (!killing) {
      killing = true;
      if (!hasEnded) killReason = reason;
      killed.resolve(killTree());
    }
    return finished;
  }

  const abort = (): void => void kill("aborted");
  // A timer longer than 24 days would fire at once: then there is no limit.
  const limited = timeoutMs !== undefined && timeoutMs < 2 ** 31;
  const timer = limited ? setTimeout(() => void kill("timeout"), timeoutMs) : undefined;
  signal?.addEventListener("abort", abort, { once: true });

  function stopWatching(): void {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }

  /** Whether all output was read: until it is closed, or `drainMs` have passed and nothing is held back. */
  async function drain(): Promise<boolean> {
    for (;;) {
      if (await settlesWithin(drainMs, closed.promise)) return true;
      // A busy event loop fires the timer before it looks at the pipes: give it one look.
      await new Promise((resolve) => setImmediate(resolve));
      if (heldBack === 0) return false;
    }
  }

  async function finish(): Promise<Exit> {
    const discardedChanges = killed.promise.then(() => settlesWithin(REPORT_MS, ended.promise)).then(() => undefined);
    const end = await Promise.race([ended.promise, discardedChanges]);
    stopWatching();
    if (options.leftBehind === "kill") void kill();
    // What a tree that is being ended still says belongs to the output.
    if (killing) await killed.promise;
    const allRead = end !== undefined && (await drain());
    const survivors = killing ? await killed.promise : [];
    child.detach();
    await output.close();
    const durationMs = performance.now() - startedAt;
    exit = { ...describeEnd(end, killReason), durationMs, leftBehind: !allRead && !killing, survivors };
    return exit;
  }

  const finished = finish();
  // The start may have taken long enough for it.
  if (signal?.aborted) abort();
  return {
    pid: child.pid,
    output,
    terminal: child.terminal,
    get exit() {
      return exit;
    },
    wait: () => finished,
    write: (data) => child.write(data),
    pendingInput: () => child.pendingInput(),
    endInput: () => child.endInput(),
    resize: (size) => child.resize(size),
    interrupt() {
      if (!hasEnded) signalGroup(child.pid, "SIGINT");
    },
    kill,
    sendToBackground: () => signal?.removeEventListener("abort", abort),
    detach() {
      stopWatching();
      child.detach();
    },
  };
}

function launchOf(options: StartOptions, mark: string): Launch {
  const { cwd, stdin = "closed" } = options;
  const [name, value] = mark.split("=") as [string, string];
  const env = { ...options.env, [name]: value };
  if ("argv" in options) {
    const [file, ...args] = options.argv;
    if (file) return { file, args, cwd, env, stdin };
    throw toolError("invalid_input", "The command is empty.", { next: "Give a program and its arguments." });
  }
  const shell = findShell(options.env);
  const { verbatimArguments } = shell;
  return { file: shell.path, args: shell.args(options.shellCommand), cwd, env, stdin, verbatimArguments };
}

function treeOf(pid: number, mark: string): TreeRoot {
  try {
    return { pid, startTime: readProcess(pid)?.startTime, mark };
  } catch {
    return { pid, mark };
  }
}

function cancelled(signal: AbortSignal): Error {
  return toolError("cancelled", "The call was cancelled before the command started.", {
    next: "Nothing ran; call again if it is still wanted.",
    cause: signal.reason,
  });
}

async function settlesWithin(ms: number, event: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  const happened = await Promise.race([event.then(() => true), late]);
  clearTimeout(timer);
  return happened;
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value | Promise<Value>) => void } {
  let resolve!: (value: Value | Promise<Value>) => void;
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}
