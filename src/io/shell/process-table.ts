import { randomInt, randomUUID } from "node:crypto";
import { kill, platform } from "node:process";
import { toolError, type ToolError } from "../../core/error.ts";
import type { Exit } from "./exit-status.ts";
import type { LinePage } from "./output-buffer.ts";
import { findProcessTree } from "./process-tree.ts";
import { keyBytes } from "./pseudo-terminal.ts";
import { type RunningProcess, type StartOptions, startProcess } from "./run-process.ts";

export interface ProcessTableOptions {
  /** Max running and finished processes together. Default: 64. */
  maxProcesses?: number;
  /** How long a finished process stays known. Default: 30 min. */
  finishedTtlMs?: number;
  clock?: () => number;
}

export type TableStartOptions = StartOptions & {
  /** Shown in lists. Default: the command. */
  label?: string;
  /** Survives `shutdown`. Its output is closed then, so it should write to a file. */
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
  /** How long to wait for something to happen. Default: 0, which returns immediately. */
  waitMs?: number;
  /** `output` returns at the first new output, `exit` waits for the end. */
  until?: "output" | "exit";
  /** Where to read from. Default: where the last poll ended. */
  since?: number;
  signal?: AbortSignal;
}

export interface PollResult extends ProcessInfo {
  /** New output since the last poll. */
  text: string;
  cursor: number;
  missedBytes: number;
}

interface Entry extends Pick<ProcessInfo, "id" | "label" | "cwd" | "detached" | "startedAt" | "endedAt"> {
  owner: string;
  process: RunningProcess;
  usedAt: number;
  cursor: number;
}

const MAX_PENDING_INPUT = 1024 * 1024;
const DEFAULT_LOG_LINES = 200;
/** A longer timer would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** An environment variable of everything that a table starts; descendants inherit it. */
const MARK_NAME = "HAFT_RUNTIME";

/** The processes that outlive a call. An owner sees only its own; the ids of others are unknown to it. */
export class ProcessTable {
  readonly #maxProcesses: number;
  readonly #finishedTtlMs: number;
  readonly #clock: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #starting = new Set<Promise<unknown>>();
  /** Marks everything that this table starts; see `killMarked`. */
  readonly #mark = randomUUID();
  #hasMarked = false;
  #closed = false;

  constructor({ maxProcesses = 64, finishedTtlMs = 30 * 60 * 1000, clock = Date.now }: ProcessTableOptions = {}) {
    this.#maxProcesses = maxProcesses;
    this.#finishedTtlMs = finishedTtlMs;
    this.#clock = clock;
  }

  async start(owner: string, options: TableStartOptions): Promise<{ id: string; process: RunningProcess }> {
    if (this.#closed) {
      throw toolError("shutdown", "The runtime is shutting down.", { next: "Start it after the restart." });
    }
    if (options.detached && options.pty) {
      throw toolError("invalid_input", "A process on a terminal cannot be detached: it ends with its terminal.", {
        next: "Start it without a terminal.",
      });
    }
    this.#evictOldest(owner);
    const adding = this.#add(owner, options);
    this.#starting.add(adding);
    return adding.finally(() => this.#starting.delete(adding));
  }

  list(owner: string): ProcessInfo[] {
    this.#forgetOld();
    return this.#entriesOf(owner).map(infoOf);
  }

  get(owner: string, id: string): { info: ProcessInfo; process: RunningProcess } {
    const entry = this.#find(owner, id);
    return { info: infoOf(entry), process: entry.process };
  }

  async poll(owner: string, id: string, options: PollOptions = {}): Promise<PollResult> {
    const { waitMs = 0, until = "output", since, signal } = options;
    const entry = this.#find(owner, id);
    const from = since ?? entry.cursor;
    await waitForOutput(entry.process, { from, waitMs, until, signal });
    const news = entry.process.output.since(from);
    entry.cursor = news.cursor;
    return { ...infoOf(entry), ...news };
  }

  log(owner: string, id: string, page: { offset?: number; limit?: number } = {}): LinePage {
    const { offset, limit = DEFAULT_LOG_LINES } = page;
    return this.#find(owner, id).process.output.lines({ offset, limit });
  }

  /** Throws what sending input would throw now. */
  checkInput(owner: string, id: string, { data = "", keys = [] }: { data?: string; keys?: readonly string[] }): void {
    const entry = this.#find(owner, id);
    requireInput(entry, data + keyBytes(keys));
  }

  /** On pipes, a lone Ctrl-C interrupts and a lone Ctrl-D ends the input, as on a terminal. */
  write(owner: string, id: string, data: string, { eof = false }: { eof?: boolean } = {}): void {
    const entry = this.#find(owner, id);
    send(entry, data);
    if (eof) entry.process.endInput();
  }

  sendKeys(owner: string, id: string, keys: readonly string[]): void {
    const entry = this.#find(owner, id);
    if (entry.process.terminal) return send(entry, keyBytes(keys));
    // A pipe has no terminal driver: programs expect a line feed for Enter, and signals are sent one by one.
    for (const key of keys) send(entry, keyBytes([key]).replaceAll("\r", "\n"));
  }

  /** Sends the text, then Enter. */
  submit(owner: string, id: string, text = ""): void {
    const entry = this.#find(owner, id);
    send(entry, text + (entry.process.terminal ? "\r" : "\n"));
  }

  /** On a terminal the text is sent as one bracketed paste, so its line breaks do not submit it. */
  paste(owner: string, id: string, text: string, { bracketed = true }: { bracketed?: boolean } = {}): void {
    const entry = this.#find(owner, id);
    if (!entry.process.terminal || !bracketed) return send(entry, text);
    // A closing mark inside the text would end the paste early, and the rest would be typed.
    send(entry, `\x1b[200~${text.replaceAll("\x1b[201~", "")}\x1b[201~`);
  }

  kill(owner: string, id: string): Promise<Exit> {
    return this.#find(owner, id).process.kill();
  }

  /** Forgets one finished process, or all finished processes of the owner. Returns how many. */
  clear(owner: string, id?: string): number {
    const chosen = id === undefined ? this.#entriesOf(owner) : [this.#find(owner, id)];
    const finished = chosen.filter((entry) => entry.endedAt !== undefined);
    if (id !== undefined && finished.length === 0) {
      throw toolError("conflict", `The process "${id}" is still running.`, { next: "Kill it first, or remove it." });
    }
    for (const entry of finished) this.#entries.delete(entry.id);
    return finished.length;
  }

  /** Kills the process if it is running, then forgets it. */
  async remove(owner: string, id: string): Promise<void> {
    const { process } = this.#find(owner, id);
    if (!process.exit) await process.kill();
    this.#entries.delete(id);
  }

  /** Kills everything that was not detached on purpose, and starts nothing more. */
  async shutdown(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#starting);
    const all = [...this.#entries.values()];
    for (const { process } of all.filter((entry) => entry.detached)) process.detach();
    const toKill = all.filter(({ detached, process: { exit } }) => !detached && (!exit || exit.leftBehind));
    await Promise.all(toKill.map(({ process }) => process.kill()));
    // Skipped if nothing was marked: it reads every process of the machine, which takes time.
    if (this.#hasMarked) killMarked(`${MARK_NAME}=${this.#mark}`);
  }

  async #add(owner: string, options: TableStartOptions): Promise<{ id: string; process: RunningProcess }> {
    const { label, detached = false, ...start } = options;
    this.#hasMarked ||= !detached;
    const env = detached ? start.env : { ...start.env, [MARK_NAME]: this.#mark };
    const process = await startProcess({ ...start, env, outlivesHost: detached });
    const id = createProcessId((taken) => this.#entries.has(taken));
    const command = "argv" in start ? start.argv.join(" ") : start.shellCommand;
    const now = this.#clock();
    const times = { startedAt: now, usedAt: now, cursor: 0 };
    const entry: Entry = { id, owner, label: label ?? command, cwd: start.cwd, detached, process, ...times };
    this.#entries.set(id, entry);
    void process.wait().then(() => (entry.endedAt = this.#clock()));
    return { id, process };
  }

  #find(owner: string, id: string): Entry {
    this.#forgetOld();
    const entry = this.#entries.get(id);
    if (entry?.owner === owner) {
      entry.usedAt = this.#clock();
      return entry;
    }
    const known = this.#idsOf(owner);
    throw toolError("unknown_process", `There is no process "${id}".`, {
      next: known.length > 0 ? `Known processes: ${known.join(", ")}.` : "No process is known; start one first.",
      data: { id, known },
    });
  }

  #entriesOf(owner: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.owner === owner);
  }

  #idsOf(owner: string): string[] {
    return this.#entriesOf(owner).map((entry) => entry.id);
  }

  #forgetOld(): void {
    for (const { id, endedAt } of this.#entries.values()) {
      if (endedAt !== undefined && this.#clock() - endedAt >= this.#finishedTtlMs) this.#entries.delete(id);
    }
  }

  #evictOldest(owner: string): void {
    this.#forgetOld();
    while (this.#entries.size + this.#starting.size >= this.#maxProcesses) {
      const finished = [...this.#entries.values()].filter((entry) => entry.endedAt !== undefined);
      const oldest = finished.sort((a, b) => a.usedAt - b.usedAt)[0];
      if (!oldest) throw this.#tooMany(owner);
      this.#entries.delete(oldest.id);
    }
  }

  #tooMany(owner: string): ToolError {
    const own = this.#idsOf(owner);
    return toolError("busy", `${this.#maxProcesses} processes are running, and no more are allowed.`, {
      next: own.length > 0 ? `Kill one that is no longer needed: ${own.join(", ")}.` : "Wait until one has ended.",
      data: { maxProcesses: this.#maxProcesses, running: own },
    });
  }
}

function send(entry: Entry, data: string): void {
  const { process } = entry;
  requireInput(entry, data);
  if (!process.terminal && data === "\x03") return process.interrupt();
  if (!process.terminal && data === "\x04") return process.endInput();
  if (data === "") return;
  if (process.pendingInput() > MAX_PENDING_INPUT) {
    throw toolError("busy", `The process "${entry.id}" does not read its input; 1 MiB is waiting.`, {
      next: "Poll it to see what it is doing, or interrupt it with C-c.",
    });
  }
  if (!process.write(data)) throw takesNoInput(entry);
}

/** The input must be possible: signals of a pipe always are while the process runs. */
function requireInput(entry: Entry, data: string): void {
  const { process } = entry;
  if (process.exit) throw ended(entry, process.exit);
  const isSignal = !process.terminal && ["", "\x03", "\x04"].includes(data);
  if (!isSignal && !process.takesInput) throw takesNoInput(entry);
}

function takesNoInput(entry: Entry): ToolError {
  return toolError("invalid_input", `The process "${entry.id}" takes no input: its standard input is closed.`, {
    next: "Start it with an open standard input or on a terminal to write to it.",
  });
}

/** Kills what finished commands left in the background with redirected output: the table has no entry for it. */
function killMarked(mark: string): void {
  if (platform !== "linux") return;
  try {
    // No process has the number -1, so only the mark and descent select.
    for (const { pid } of findProcessTree({ pid: -1, mark })) kill(pid, "SIGKILL");
  } catch {
    // It has ended, or /proc cannot be read.
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
  const { totalBytes } = output;
  return { id, pid, label, cwd, running: !exit, exit, startedAt, endedAt, terminal, detached, totalBytes };
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
  // The output closes a moment before the exit is known. Callers expect both.
  if (output.closed) await process.wait();
}

const ADJECTIVES = words(`
  amber bold brisk calm clear cool coral crisp dawn deep eager early fair fleet fresh gentle glad golden grand green
  keen kind light lively lucky mellow mild neat noble plain proud quick quiet rapid ready rosy round sharp silver
  smooth snug solid spry steady still sunny swift tidy vivid warm
`);
const ANIMALS = words(`
  badger bear beaver bison crane crow deer dove duck eagle elk falcon finch fox gecko goose hare hawk heron ibis
  koala lark lemur lion llama lynx mole moose moth newt otter owl panda pike plover puffin quail rabbit raven robin
  seal shrew snail stork swan tapir teal tern tiger toad trout viper walrus weasel whale wolf wren yak zebra
`);

/** Easy to repeat. Random, so an id from before a restart does not name another process. */
export function createProcessId(isTaken: (id: string) => boolean): string {
  for (let attempt = 0; ; attempt++) {
    const id = `${pick(ADJECTIVES)}-${pick(ANIMALS)}${attempt < 20 ? "" : `-${randomInt(1000)}`}`;
    if (!isTaken(id)) return id;
  }
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] ?? "";
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
