import { randomInt, randomUUID } from "node:crypto";
import { kill, platform } from "node:process";
import { toolError, type ToolError } from "../../core/error.ts";
import type { Exit } from "./exit-status.ts";
import type { LinePage } from "./output-buffer.ts";
import { findProcessTree } from "./process-tree.ts";
import { keyBytes } from "./pseudo-terminal.ts";
import { type RunningProcess, type StartOptions, startProcess } from "./run-process.ts";

export interface ProcessTableOptions {
  /** Running and finished ones together. */
  maxProcesses?: number;
  /** How long a finished one can still be asked about. */
  finishedTtlMs?: number;
  clock?: () => number;
}

export type TableStartOptions = StartOptions & {
  /** What a list shows; by default the command. */
  label?: string;
  /** On purpose outliving `shutdown`. Its output is closed then, so it should write to a file. */
  detached?: boolean;
};

export interface ProcessInfo {
  id: string;
  pid: number;
  label: string;
  cwd: string;
  running: boolean;
  exit?: Exit;
  startedAt: number;
  endedAt?: number;
  terminal: boolean;
  detached: boolean;
  totalBytes: number;
}

export interface PollOptions {
  /** How long to wait for something to happen; 0 answers at once. */
  waitMs?: number;
  /** `output` returns at the first new output, `exit` waits for the end. */
  until?: "output" | "exit";
  /** Where to read from; by default where this process was last polled. */
  since?: number;
  signal?: AbortSignal;
}

export interface PollResult extends ProcessInfo {
  /** New output since the last poll. */
  text: string;
  cursor: number;
  missedBytes: number;
}

/** The processes that outlive a call. An owner sees its own only: for everyone else an id is unknown. */
export interface ProcessTable {
  start(owner: string, options: TableStartOptions): Promise<{ id: string; process: RunningProcess }>;
  list(owner: string): ProcessInfo[];
  get(owner: string, id: string): { info: ProcessInfo; process: RunningProcess };
  poll(owner: string, id: string, options?: PollOptions): Promise<PollResult>;
  log(owner: string, id: string, page?: { offset?: number; limit?: number }): LinePage;
  /** On pipes, Ctrl-C alone interrupts and Ctrl-D alone ends the input, as they would on a terminal. */
  write(owner: string, id: string, data: string, options?: { eof?: boolean }): void;
  sendKeys(owner: string, id: string, keys: readonly string[]): void;
  /** Text, then Enter. */
  submit(owner: string, id: string, text?: string): void;
  /** On a terminal in one bracketed piece, so that line breaks in it do not submit it. */
  paste(owner: string, id: string, text: string, options?: { bracketed?: boolean }): void;
  kill(owner: string, id: string): Promise<Exit>;
  /** Forgets a finished process, or all finished ones of the owner; returns how many. */
  clear(owner: string, id?: string): number;
  /** Ends it if need be, then forgets it. */
  remove(owner: string, id: string): Promise<void>;
  /** Ends everything that was not detached on purpose, and starts nothing more. */
  shutdown(): Promise<void>;
}

interface Entry {
  id: string;
  owner: string;
  label: string;
  cwd: string;
  detached: boolean;
  process: RunningProcess;
  startedAt: number;
  endedAt?: number;
  usedAt: number;
  cursor: number;
}

const MAX_PENDING_INPUT = 1024 * 1024;
const DEFAULT_LOG_LINES = 200;
/** Longer timers would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** In the environment of everything that a table starts, and of all that comes out of it. */
const FAMILY_NAME = "HAFT_RUNTIME";

export function createProcessTable(options: ProcessTableOptions = {}): ProcessTable {
  const { maxProcesses = 64, finishedTtlMs = 30 * 60 * 1000, clock = Date.now } = options;
  const entries = new Map<string, Entry>();
  const starting = new Set<Promise<unknown>>();
  const family = randomUUID();
  let hasFamily = false;
  let closed = false;

  function forgetOld(): void {
    for (const entry of entries.values()) {
      if (entry.endedAt !== undefined && clock() - entry.endedAt >= finishedTtlMs) entries.delete(entry.id);
    }
  }

  function evictOldest(owner: string): void {
    forgetOld();
    while (entries.size + starting.size >= maxProcesses) {
      const finished = [...entries.values()].filter((entry) => entry.endedAt !== undefined);
      const oldest = finished.sort((a, b) => a.usedAt - b.usedAt)[0];
      if (!oldest) throw full(owner);
      entries.delete(oldest.id);
    }
  }

  function full(owner: string): ToolError {
    const own = idsOf(owner);
    return toolError("busy", `${maxProcesses} processes are running, and no more are allowed.`, {
      next: own.length > 0 ? `Kill one that is no longer needed: ${own.join(", ")}.` : "Wait until one has ended.",
      data: { maxProcesses, running: own },
    });
  }

  const idsOf = (owner: string): string[] =>
    [...entries.values()].filter((entry) => entry.owner === owner).map((entry) => entry.id);

  function find(owner: string, id: string): Entry {
    forgetOld();
    const entry = entries.get(id);
    if (entry?.owner === owner) {
      entry.usedAt = clock();
      return entry;
    }
    const known = idsOf(owner);
    throw toolError("unknown_process", `There is no process "${id}".`, {
      next: known.length > 0 ? `Known processes: ${known.join(", ")}.` : "No process is known; start one first.",
      data: { id, known },
    });
  }

  function send(entry: Entry, data: string): void {
    const { process } = entry;
    if (process.exit) throw ended(entry, process.exit);
    if (!process.terminal && data === "\x03") return process.interrupt();
    if (!process.terminal && data === "\x04") return process.endInput();
    if (data === "") return;
    if (process.pendingInput() > MAX_PENDING_INPUT) {
      throw toolError("busy", `The process "${entry.id}" does not read its input; 1 MiB is waiting.`, {
        next: "Poll it to see what it is doing, or interrupt it with C-c.",
      });
    }
    if (process.write(data)) return;
    throw toolError("invalid_input", `The process "${entry.id}" takes no input: its standard input is closed.`, {
      next: "Start it with an open standard input or on a terminal to write to it.",
    });
  }

  async function add(owner: string, options: TableStartOptions): Promise<{ id: string; process: RunningProcess }> {
    const { label, detached = false, ...start } = options;
    hasFamily ||= !detached;
    const env = detached ? start.env : { ...start.env, [FAMILY_NAME]: family };
    const process = await startProcess({ ...start, env });
    const id = createProcessId((taken) => entries.has(taken));
    const command = "argv" in start ? start.argv.join(" ") : start.shellCommand;
    const times = { startedAt: clock(), usedAt: clock(), cursor: 0 };
    const entry: Entry = { id, owner, label: label ?? command, cwd: start.cwd, detached, process, ...times };
    entries.set(id, entry);
    void process.wait().then(() => (entry.endedAt = clock()));
    return { id, process };
  }

  return {
    async start(owner, options) {
      if (closed) throw toolError("shutdown", "The runtime is shutting down.", { next: "Start it after the restart." });
      if (options.detached && options.pty) {
        throw toolError("invalid_input", "A process on a terminal cannot be detached: it ends with its terminal.", {
          next: "Start it without a terminal.",
        });
      }
      evictOldest(owner);
      const adding = add(owner, options);
      starting.add(adding);
      return adding.finally(() => starting.delete(adding));
    },
    list(owner) {
      forgetOld();
      return [...entries.values()].filter((entry) => entry.owner === owner).map(infoOf);
    },
    get(owner, id) {
      const entry = find(owner, id);
      return { info: infoOf(entry), process: entry.process };
    },
    async poll(owner, id, { waitMs = 0, until = "output", since, signal } = {}) {
      const entry = find(owner, id);
      const from = since ?? entry.cursor;
      await waitForOutput(entry.process, { from, waitMs, until, signal });
      const news = entry.process.output.since(from);
      entry.cursor = news.cursor;
      return { ...infoOf(entry), ...news };
    },
    log: (owner, id, { offset, limit = DEFAULT_LOG_LINES } = {}) =>
      find(owner, id).process.output.lines({ offset, limit }),
    write(owner, id, data, { eof = false } = {}) {
      const entry = find(owner, id);
      send(entry, data);
      if (eof) entry.process.endInput();
    },
    sendKeys(owner, id, keys) {
      const entry = find(owner, id);
      if (entry.process.terminal) return send(entry, keyBytes(keys));
      // Nobody translates keys on a pipe: Enter is the line feed that programs expect, and signals go one by one.
      for (const key of keys) send(entry, keyBytes([key]).replaceAll("\r", "\n"));
    },
    submit(owner, id, text = "") {
      const entry = find(owner, id);
      send(entry, text + (entry.process.terminal ? "\r" : "\n"));
    },
    paste(owner, id, text, { bracketed = true } = {}) {
      const entry = find(owner, id);
      if (!entry.process.terminal || !bracketed) return send(entry, text);
      // Text that contains the closing mark would break out of the brackets and be typed.
      send(entry, `\x1b[200~${text.replaceAll("\x1b[201~", "")}\x1b[201~`);
    },
    kill: (owner, id) => find(owner, id).process.kill(),
    clear(owner, id) {
      const chosen = id === undefined ? idsOf(owner).map((own) => find(owner, own)) : [find(owner, id)];
      const finished = chosen.filter((entry) => entry.endedAt !== undefined);
      if (id !== undefined && finished.length === 0) {
        throw toolError("conflict", `The process "${id}" is still running.`, { next: "Kill it first, or remove it." });
      }
      for (const entry of finished) entries.delete(entry.id);
      return finished.length;
    },
    async remove(owner, id) {
      const { process } = find(owner, id);
      if (!process.exit) await process.kill();
      entries.delete(id);
    },
    async shutdown() {
      closed = true;
      await Promise.allSettled(starting);
      const all = [...entries.values()];
      for (const { process } of all.filter((entry) => entry.detached)) process.detach();
      const ending = all.filter(({ detached, process: { exit } }) => !detached && (!exit || exit.leftBehind));
      await Promise.all(ending.map(({ process }) => process.kill()));
      // To look at every process of the machine takes its time.
      if (hasFamily) endFamily(`${FAMILY_NAME}=${family}`);
    },
  };
}

/** What commands that ended long ago left in the background with its output sent elsewhere: nobody else knows of it. */
function endFamily(mark: string): void {
  if (platform !== "linux") return;
  try {
    // No process has this number: only the mark, and descent, count.
    for (const { pid } of findProcessTree({ pid: -1, mark })) kill(pid, "SIGKILL");
  } catch {
    // Gone meanwhile, or /proc cannot be read: there is nothing more to try.
  }
}

function ended({ id }: Entry, exit: Exit): ToolError {
  return toolError("conflict", `The process "${id}" has ended (${exit.reason}, exit code ${exit.exitCode}).`, {
    next: "Read its log, or start it again.",
    data: { exitCode: exit.exitCode, reason: exit.reason },
  });
}

function infoOf({ id, label, cwd, process, startedAt, endedAt, detached }: Entry): ProcessInfo {
  const { pid, exit, terminal, output } = process;
  const base = { id, pid, label, cwd, running: !exit, startedAt, terminal, detached, totalBytes: output.totalBytes };
  return { ...base, ...(exit && { exit }), ...(endedAt !== undefined && { endedAt }) };
}

async function waitForOutput(
  process: RunningProcess,
  options: { from: number; waitMs: number; until: "output" | "exit"; signal?: AbortSignal },
): Promise<void> {
  const { from, waitMs, until, signal } = options;
  const { output } = process;
  const hasNewOutput = (): boolean => output.closed || (until === "output" && output.totalBytes > from);
  if (waitMs > 0 && !hasNewOutput() && !signal?.aborted) {
    let stop = (): void => undefined;
    await new Promise<void>((resolve) => {
      const done = (): void => resolve();
      const timer = setTimeout(done, Math.min(waitMs, MAX_TIMER_MS));
      const unsubscribe = output.subscribe(() => hasNewOutput() && resolve());
      signal?.addEventListener("abort", done, { once: true });
      stop = () => {
        clearTimeout(timer);
        unsubscribe();
        signal?.removeEventListener("abort", done);
      };
    });
    stop();
  }
  // The output closes a moment before the exit is known; who sees the one may rely on the other.
  if (output.closed) await process.wait();
}

const QUALITIES = words(`
  amber bold brisk calm clear cool coral crisp dawn deep eager early fair fleet fresh gentle glad golden grand green
  keen kind light lively lucky mellow mild neat noble plain proud quick quiet rapid ready rosy round sharp silver
  smooth snug solid spry steady still sunny swift tidy vivid warm
`);
const ANIMALS = words(`
  badger bear beaver bison crane crow deer dove duck eagle elk falcon finch fox gecko goose hare hawk heron ibis
  koala lark lemur lion llama lynx mole moose moth newt otter owl panda pike plover puffin quail rabbit raven robin
  seal shrew snail stork swan tapir teal tern tiger toad trout viper walrus weasel whale wolf wren yak zebra
`);

/** Easy to repeat without mistakes; random, so that an id from before a restart does not name another process. */
export function createProcessId(isTaken: (id: string) => boolean): string {
  for (let attempt = 0; ; attempt++) {
    const id = `${pick(QUALITIES)}-${pick(ANIMALS)}${attempt < 20 ? "" : `-${randomInt(1000)}`}`;
    if (!isTaken(id)) return id;
  }
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] as string;
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
