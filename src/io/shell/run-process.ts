import { randomUUID } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { toolError } from "../../core/error.ts";
import { spawnOnFiles } from "./spawn-on-files.ts";
import type { Child, ChildEvents, Launch } from "./spawn-process.ts";
import { freezeTree, type FrozenTree, killProcessTree, signalGroup } from "./process-tree.ts";
import { type TreeLimits, treeRoot, type TreeRoot, watchTree } from "./process-tree.ts";
import { findShell } from "./find-program.ts";
import { createOutputBuffer, type OutputBuffer, type OutputOptions } from "./output-buffer.ts";
import { describeEnd, type Exit, type KillReason, type ProcessEnd } from "./exit-status.ts";
import { spawnOnTerminal, type TerminalSize } from "./pseudo-terminal.ts";

export type StartOptions = ({ argv: readonly string[] } | { shellCommand: string }) & {
  cwd: string;
  /** The complete environment: nothing is inherited from the host. */
  env: Readonly<Record<string, string>>;
  /** Default: closed, so a program that reads gets an end of file instead of waiting forever. */
  stdin?: "closed" | "pipe";
  pty?: TerminalSize;
  timeoutMs?: number;
  /** Kills the process while it is in the foreground; see `sendToBackground`. */
  signal?: AbortSignal;
  /** Time between SIGTERM and SIGKILL. Default: 2 s; after a time limit at most 250 ms. */
  graceMs?: number;
  /** How long output is still read after the end if a background child keeps it open. Default: 100 ms. */
  drainMs?: number;
  /** What happens to background children when the process ends by itself. Default: leave. */
  leftBehind?: "leave" | "kill";
  /** It is killed if it and everything it started use more. Default: no limit. */
  limits?: TreeLimits;
  /** The program is the launcher of the sandbox; see `KillOptions`. */
  isSupervised?: boolean;
  /** It goes on after this process. Default: it and its group end with it, also if it is killed. */
  outlivesHost?: boolean;
  output?: OutputOptions;
};

/** Max time between the last SIGKILL and the system's report of the end. */
const REPORT_MS = 1000;
/** A call returns within a second of its time limit: so long a command may clean up, and its last output is read. */
const TIMEOUT_GRACE_MS = 250;
const LAST_OUTPUT_MS = 150;
const PAUSED_LOOK_MS = 10_000;
const MARK_NAME = "HAFT_PROCESS";

/** Starts a program in its own process group. Rejects if it cannot be started; `wait` reports how it ends. */
export async function startProcess(options: StartOptions): Promise<RunningProcess> {
  if (options.signal?.aborted) throw cancelled(options.signal);
  const output = createOutputBuffer(options.output);
  const state: ChildState = { ended: deferred(), closed: deferred(), hasEnded: false, pausedBy: 0 };
  const events: ChildEvents = {
    data(chunk, stream) {
      const pressure = output.append(chunk, stream);
      if (!pressure) return;
      state.pausedBy++;
      child.pause();
      void pressure.finally(() => --state.pausedBy === 0 && child.resume());
    },
    exit(code, signal) {
      state.hasEnded = true;
      state.ended.resolve({ code, signal });
    },
    closed() {
      state.closed.resolve();
      release?.();
    },
  };
  const watchHost = options.outlivesHost ? undefined : endWithHost(options);
  const startedAt = performance.now();
  const launch = launchOf(options);
  const child: Child = await (options.pty
    ? spawnOnTerminal(launch, options.pty, events)
    : spawnOnFiles(launch, events));
  const release = watchHost?.(child.pid);
  return new RunningProcess({ options, child, output, state, startedAt, root: treeRoot(child.pid, launch.mark) });
}

/** What the events of the child have reported so far. */
interface ChildState {
  readonly ended: Deferred<ProcessEnd>;
  readonly closed: Deferred<void>;
  hasEnded: boolean;
  /** How many writes to the spill must finish before output is read again. */
  pausedBy: number;
}

interface RunningOptions {
  options: StartOptions;
  child: Child;
  output: OutputBuffer;
  state: ChildState;
  startedAt: number;
  root: TreeRoot;
}

class RunningProcess {
  readonly pid: number;
  readonly output: OutputBuffer;
  /** Whether it runs on a pseudo-terminal. */
  readonly terminal: boolean;
  readonly #options: StartOptions;
  readonly #child: Child;
  readonly #state: ChildState;
  readonly #startedAt: number;
  readonly #root: TreeRoot;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #limits: TreeLimits | undefined;
  readonly #stopLimits: (() => void) | undefined;
  readonly #frozen: FrozenTree[] = [];
  readonly #killed = deferred<number[]>();
  readonly #finished: Promise<Exit>;
  #killing = false;
  #killReason: KillReason | undefined;
  #exceeded: string | undefined;
  #exit: Exit | undefined;

  constructor({ options, child, output, state, startedAt, root }: RunningOptions) {
    this.pid = child.pid;
    this.output = output;
    this.terminal = child.terminal;
    this.#options = options;
    this.#child = child;
    this.#state = state;
    this.#startedAt = startedAt;
    this.#root = root;
    const { timeoutMs, signal, limits } = options;
    // Node fires a timer longer than 24 days immediately, so such a limit means none.
    const isLimited = timeoutMs !== undefined && timeoutMs < 2 ** 31;
    this.#timer = isLimited ? setTimeout(() => void this.kill("timeout"), timeoutMs) : undefined;
    this.#limits = limits && { ...limits };
    this.#stopLimits =
      this.#limits &&
      watchTree(root, this.#limits, (what) => {
        this.#exceeded ??= what;
        void this.kill("limit");
      });
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#finished = this.#finish();
    // It may have been aborted during the start.
    if (signal?.aborted) this.#onAbort();
  }

  /** Set once `wait` has resolved. */
  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** Whether a program has emptied its output by opening /dev/stdout or /dev/stderr. Output may be missing then. */
  get outputEmptied(): boolean {
    return this.#child.outputEmptied ?? false;
  }

  /** Resolves when the process has ended and its output is complete, or if it cannot be killed. */
  wait(): Promise<Exit> {
    return this.#finished;
  }

  get takesInput(): boolean {
    return this.#child.takesInput;
  }

  /** Returns false if the process takes no more input. */
  write(data: string): boolean {
    return this.#child.write(data);
  }

  /** Bytes written that the process has not read. */
  pendingInput(): number {
    return this.#child.pendingInput();
  }

  endInput(): void {
    this.#child.endInput();
  }

  resize(size: TerminalSize): void {
    this.#child.resize(size);
  }

  /** Sends SIGINT to the group, like Ctrl-C on a terminal. */
  interrupt(): void {
    if (!this.#state.hasEnded) signalGroup(this.pid, "SIGINT");
  }

  /** Stops what it has started, except a launcher; can be repeated. False if something may still run, or it has ended. */
  async pause(): Promise<boolean> {
    if (this.#limits) this.#limits.pauseMs = PAUSED_LOOK_MS;
    this.#child.setRef?.(false);
    const frozen = await freezeTree(this.#root, this.#options.isSupervised);
    this.#frozen.push(frozen);
    return frozen.complete && !this.#state.hasEnded && !this.#killing;
  }

  resume(): void {
    if (this.#limits) this.#limits.pauseMs = this.#options.limits?.pauseMs;
    this.#child.setRef?.(true);
    for (const { thaw } of this.#frozen.splice(0)) thaw();
  }

  /** Kills the whole tree, or after the end of the process what it left behind. The first reason is reported. */
  async kill(reason: KillReason = "killed"): Promise<Exit> {
    if (this.#exit) {
      await this.#killTree();
    } else if (!this.#killing) {
      this.#killing = true;
      if (!this.#state.hasEnded) this.#killReason = reason;
      this.#killed.resolve(this.#killTree());
    }
    return this.#finished;
  }

  /** From now on the `signal` of the start no longer kills it. Its time limit still does. */
  sendToBackground(): void {
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Stops reading and lets the host exit. The process keeps running; writing to its closed output may end it. */
  detach(): void {
    this.#stopWatching();
    this.#child.detach();
  }

  readonly #onAbort = (): void => void this.kill("aborted");

  #killTree(): Promise<number[]> {
    const { isSupervised } = this.#options;
    const graceMs = Math.min(this.#options.graceMs ?? 2000, maxGraceOf(this.#killReason));
    this.#child.stopThrottling();
    return killProcessTree(this.#root, { graceMs, sendHangup: this.terminal, isSupervised });
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    this.#stopLimits?.();
    this.sendToBackground();
  }

  async #finish(): Promise<Exit> {
    const { ended } = this.#state;
    const unkillable = this.#killed.promise.then(() => settlesWithin(REPORT_MS, ended.promise)).then(() => undefined);
    const end = await Promise.race([ended.promise, unkillable]);
    this.#stopWatching();
    if (this.#options.leftBehind === "kill") void this.kill();
    // What a tree prints while it is being killed belongs to the output.
    if (this.#killing) await this.#killed.promise;
    const allRead = end !== undefined && (await this.#drain());
    const survivors = this.#killing ? await this.#killed.promise : [];
    this.#child.detach();
    await this.output.close();
    const durationMs = performance.now() - this.#startedAt;
    const leftBehind = !allRead && !this.#killing;
    const how = describeEnd(end, this.#killReason);
    if (this.#exceeded !== undefined) how.hint = `It used ${this.#exceeded}.`;
    this.#exit = { ...how, durationMs, leftBehind, survivors };
    return this.#exit;
  }

  /** Reads until the output is closed, or until `drainMs` have passed and reading is not paused. True if all was read. */
  async #drain(): Promise<boolean> {
    const { drainMs = 100 } = this.#options;
    // What a command that was stopped has printed may take long to read: the rest is omitted, and its size is known.
    const skipping = this.#killReason
      ? setTimeout(
          () => this.#child.skipOutput?.((skipped, stream) => this.output.skip(skipped, stream)),
          LAST_OUTPUT_MS,
        )
      : undefined;
    try {
      return await this.#readAll(drainMs);
    } finally {
      clearTimeout(skipping);
    }
  }

  async #readAll(drainMs: number): Promise<boolean> {
    for (;;) {
      if (await settlesWithin(drainMs, this.#state.closed.promise)) return true;
      // A busy event loop fires the timer before it reads the output: let it read once.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#state.pausedBy === 0 && !this.#child.hasUnreadOutput()) return false;
    }
  }
}

export type { RunningProcess };

function maxGraceOf(reason: KillReason | undefined): number {
  if (reason === "limit") return 0;
  return reason === "timeout" ? TIMEOUT_GRACE_MS : Number.POSITIVE_INFINITY;
}

function launchOf(options: StartOptions): Launch & { mark: string } {
  const { cwd, stdin = "closed" } = options;
  const id = randomUUID();
  const env = { ...options.env, [MARK_NAME]: id };
  const mark = `${MARK_NAME}=${id}`;
  if ("argv" in options) {
    const [file, ...args] = options.argv;
    if (file) return { file, args, cwd, env, stdin, mark };
    throw toolError("invalid_input", "The command is empty.", { next: "Give a program and its arguments." });
  }
  const shell = findShell(options.env);
  const { verbatimArguments } = shell;
  return { file: shell.path, args: shell.args(options.shellCommand), cwd, env, stdin, verbatimArguments, mark };
}

function cancelled(signal: AbortSignal): Error {
  return toolError("cancelled", "The call was cancelled before the command started.", {
    next: "Nothing ran. Call again if it is still needed.",
    cause: signal.reason,
  });
}

async function settlesWithin(ms: number, event: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  const happened = await Promise.race([event.then(() => true), timedOut]);
  clearTimeout(timer);
  return happened;
}

interface Deferred<Value> {
  promise: Promise<Value>;
  resolve(value: Value | Promise<Value>): void;
}

function deferred<Value>(): Deferred<Value> {
  let resolve!: (value: Value | Promise<Value>) => void;
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Reads "+ GROUP SIGNAL" and "- GROUP" until the host has ended. A launcher gets SIGQUIT: it kills what it confines. */
const WATCHER = `all=" "
while read -r sign group signal; do
  case "$sign$all" in
    +*) all="$all$group:$signal " ;;
    -*" $group:"*) rest="\${all#* $group:}"; all="\${all%% $group:*} \${rest#* }" ;;
  esac
done
for each in $all; do
  group="\${each%:*}"
  if [ "\${each#*:}" = QUIT ]; then kill -QUIT "$group"; left="$left $group"; else kill -KILL "-$group"; fi
done
if [ -n "$left" ]; then sleep 1; for group in $left; do kill -KILL "-$group"; done; fi
`;

/** One for the host process: it reads an end of file when the host has ended, whatever ended it. */
let watcher: ChildProcess | undefined;
const groups = new Map<number, string>();

/** Call it before a start: the result takes its group, which ends with this process, and returns how to release it. */
function endWithHost({ isSupervised = false } = {}): (group: number) => () => void {
  if (process.platform === "win32") return () => () => undefined;
  watcher ??= startWatcher();
  return (group) => {
    const line = `+ ${group} ${isSupervised ? "QUIT" : "KILL"}\n`;
    groups.set(group, line);
    watcher?.stdin?.write(line);
    return () => {
      if (groups.delete(group)) watcher?.stdin?.write(`- ${group}\n`);
    };
  };
}

function startWatcher(): ChildProcess | undefined {
  // In a session of its own: what a terminal sends to the host does not reach it.
  const child = spawn("/bin/sh", ["-c", WATCHER, "haft-watch"], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  });
  // Without it commands still run. The next one tries again.
  const forget = (): void => void (watcher = undefined);
  child.once("error", forget).once("exit", forget);
  child.stdin.on("error", forget);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  for (const line of groups.values()) child.stdin.write(line);
  return child;
}
