import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  type FSWatcher,
  openSync,
  readSync,
  statfsSync,
  unlinkSync,
  watch,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { countNewlines } from "./error-lines.ts";
import type { SkippedOutput, StreamName } from "./output-buffer.ts";
import { outputFolder } from "./output-folder.ts";
import { freezeTree, groupIsAlive, treeRoot } from "./process-tree.ts";
import { type Child, type ChildEvents, type Launch, spawnChild, spawnOnPipes } from "./spawn-process.ts";

/** With its output in two files: what Node programs print right before they exit is lost if a pipe is full, a file never is. */
export async function spawnOnFiles(launch: Launch & { mark: string }, events: ChildEvents): Promise<Child> {
  // On Windows the output of Node programs is blocking, and an open file cannot be deleted.
  const files = process.platform === "win32" ? undefined : openOutputFiles();
  if (!files) return spawnOnPipes(launch, events);
  try {
    return new ChildOnFiles(await spawnChild(launch, files), files, { mark: launch.mark, events });
  } catch (error) {
    closeFiles(files);
    throw error;
  }
}

type OutputFiles = Record<StreamName, OutputFile>;
type StartedChild = Awaited<ReturnType<typeof spawnChild>>;

const STREAMS = ["stdout", "stderr"] as const;
/** With less free space, pipes are used: a full disk would lose output. */
const MIN_FREE_BYTES = 64 * 1024 * 1024;
/** A larger file is emptied after it was read. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_READ_BYTES = 256 * 1024;
const SKIP_BYTES = 4 * 1024 * 1024;
/** Numbers of lines behind a gap of several hundred megabytes are too low. */
const MAX_COUNTING_MS = 80;
/** Reads in a row before other work of the host gets its turn. */
const READS_PER_TURN = 4;
/** Only a fallback: the system reports changes earlier. */
const POLL_MS = 100;
const GROUP_POLL_MS = 10;

function openOutputFiles(): OutputFiles | undefined {
  const opened: OutputFile[] = [];
  try {
    const folder = outputFolder() ?? tmpdir();
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < MIN_FREE_BYTES) return undefined;
    for (const _ of STREAMS) opened.push(new OutputFile(folder));
    const [stdout, stderr] = opened;
    return stdout && stderr && { stdout, stderr };
  } catch {
    for (const file of opened) file.close();
    return undefined;
  }
}

function closeFiles(files: OutputFiles): void {
  for (const stream of STREAMS) files[stream].close();
}

/** A file without a name that a process appends to and that is read from its beginning. */
class OutputFile {
  readonly descriptor: number;
  /** The first bytes. They disappear if a program opens /dev/stdout or /dev/stderr by path and empties the file. */
  readonly #header = randomBytes(16);
  readonly #watcher: FSWatcher | undefined;
  #position = this.#header.length;
  #markedEnd = 0;
  #closed = false;
  /** Whether another program has emptied the file, so output may be missing. */
  emptied = false;
  onChange: () => void = () => undefined;

  constructor(folder: string) {
    const path = join(folder, `haft-output-${randomBytes(16).toString("hex")}`);
    const { O_RDWR, O_CREAT, O_EXCL, O_APPEND } = constants;
    this.descriptor = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0o600);
    try {
      writeSync(this.descriptor, this.#header);
      this.#watcher = watchIfPossible(path, () => this.onChange());
    } finally {
      unlinkSync(path);
    }
  }

  get size(): number {
    return this.#closed ? 0 : fstatSync(this.descriptor).size;
  }

  /** Remembers the current end of the file. */
  markEnd(): void {
    this.#markedEnd = this.size;
  }

  /** Whether output from before the marked end was not read yet. */
  get hasUnreadBeforeMark(): boolean {
    return this.#position < this.#markedEnd;
  }

  /** The next bytes; undefined at the end. */
  read(): Buffer | undefined {
    if (this.#closed) return undefined;
    const { size } = this;
    if (this.#wasEmptied(size)) this.#restartAt(0);
    if (size <= this.#position) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(size - this.#position, MAX_READ_BYTES));
    const length = readSync(this.descriptor, buffer, 0, buffer.length, this.#position);
    this.#position += length;
    return length > 0 ? buffer.subarray(0, length) : undefined;
  }

  /** Goes to the last `keep` bytes. Undefined if no more are left. */
  skip(keep: number): SkippedOutput | undefined {
    const bytes = this.size - this.#position - keep;
    if (bytes <= 0) return undefined;
    const buffer = Buffer.allocUnsafe(SKIP_BYTES);
    const until = performance.now() + MAX_COUNTING_MS;
    let newlines = 0;
    for (let at = 0; at < bytes && performance.now() < until; at += SKIP_BYTES) {
      const length = Math.min(bytes - at, SKIP_BYTES);
      newlines += countNewlines(buffer.subarray(0, readSync(this.descriptor, buffer, 0, length, this.#position + at)));
    }
    this.#position += bytes;
    return { bytes, newlines };
  }

  /** Frees the disk. What was not read is lost. */
  empty(): void {
    if (this.#closed) return;
    ftruncateSync(this.descriptor, 0);
    if (!this.emptied) writeSync(this.descriptor, this.#header);
    this.#restartAt(this.emptied ? 0 : this.#header.length);
  }

  /** Positions of the emptied file mean nothing in the new one. */
  #restartAt(position: number): void {
    this.#position = position;
    this.#markedEnd = 0;
  }

  stopWatching(): void {
    this.#watcher?.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#watcher?.close();
    closeSync(this.descriptor);
  }

  #wasEmptied(size: number): boolean {
    if (this.emptied) return size < this.#position;
    const found = Buffer.alloc(this.#header.length);
    readSync(this.descriptor, found, 0, found.length, 0);
    this.emptied = !found.equals(this.#header);
    return this.emptied;
  }
}

/** Fails if the system allows no more watches; polling still finds the changes. */
function watchIfPossible(path: string, listener: () => void): FSWatcher | undefined {
  try {
    const onEvent = (type: string): void => {
      // The other events report that the name was removed.
      if (type === "change") listener();
    };
    return watch(path, { persistent: false }, onEvent).on("error", () => undefined);
  } catch {
    return undefined;
  }
}

class ChildOnFiles implements Child {
  readonly pid: number;
  readonly terminal = false;
  readonly #child: StartedChild;
  readonly #files: OutputFiles;
  readonly #events: ChildEvents;
  readonly #mark: string;
  readonly #polling: NodeJS.Timeout;
  /** Inherited by all descendants. It closes when the last one has ended or has closed it. */
  readonly #lifeline: Promise<void>;
  #maxFileBytes = MAX_FILE_BYTES;
  #lifelineClosed = false;
  #paused = false;
  #scheduled = false;
  #detached = false;
  /** Called when both files were read to their end. */
  #onDrained: (() => void) | undefined;
  #emptying = false;
  #throttles = true;
  #thaw: (() => void) | undefined;

  constructor(child: StartedChild, files: OutputFiles, { mark, events }: { mark: string; events: ChildEvents }) {
    this.pid = child.pid;
    this.#child = child;
    this.#files = files;
    this.#events = events;
    this.#mark = mark;
    // After the start only a failed kill is reported here, and the killer checks the process itself.
    child.on("error", () => undefined);
    child.stdin?.on("error", () => undefined);
    child.once("exit", (code, signal) => this.#onExit(code, signal));
    this.#lifeline = this.#watchLifeline();
    for (const stream of STREAMS) files[stream].onChange = () => this.#readNow(stream);
    this.#polling = setInterval(() => this.#schedule(), POLL_MS).unref();
  }

  get outputEmptied(): boolean {
    return this.#files.stdout.emptied || this.#files.stderr.emptied;
  }

  get takesInput(): boolean {
    return this.#child.stdin?.writable ?? false;
  }

  write(data: string): boolean {
    const { stdin } = this.#child;
    if (!stdin?.writable) return false;
    stdin.write(data);
    return true;
  }

  pendingInput(): number {
    return this.#child.stdin?.writableLength ?? 0;
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  resize(): void {
    // There is no terminal.
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  setRef(isRef: boolean): void {
    if (isRef) this.#child.ref();
    else this.#child.unref();
  }

  hasUnreadOutput(): boolean {
    return STREAMS.some((stream) => this.#files[stream].hasUnreadBeforeMark);
  }

  skipOutput(skipped: (part: SkippedOutput, stream: StreamName) => void): void {
    for (const stream of STREAMS) {
      const part = this.#files[stream].skip(MAX_READ_BYTES);
      if (part) skipped(part, stream);
    }
    this.#paused = false;
    this.#schedule();
  }

  stopThrottling(): void {
    this.#throttles = false;
    this.#thaw?.();
  }

  detach(): void {
    if (this.#detached) return;
    this.#detached = true;
    this.stopThrottling();
    clearInterval(this.#polling);
    this.#child.stdin?.destroy();
    this.#child.unref();
    // Later: the caller is waiting for the result.
    if (this.#hasEnded()) {
      this.#events.closed();
      return void setImmediate(() => closeFiles(this.#files));
    }
    for (const stream of STREAMS) this.#files[stream].stopWatching();
    const discarding = setInterval(() => {
      for (const stream of STREAMS) if (this.#files[stream].size > MAX_FILE_BYTES) this.#files[stream].empty();
      if (!this.#hasEnded()) return;
      clearInterval(discarding);
      closeFiles(this.#files);
      this.#events.closed();
    }, POLL_MS).unref();
  }

  #watchLifeline(): Promise<void> {
    const lifeline = this.#child.stdio[this.#child.stdio.length - 1];
    if (!(lifeline instanceof Socket)) throw new Error("The child has no lifeline.");
    lifeline.unref().resume();
    lifeline.on("error", () => undefined);
    return new Promise((resolve) => {
      lifeline.once("close", () => {
        this.#lifelineClosed = true;
        resolve();
      });
    });
  }

  /** Whether no process is left that could write. A process may close the lifeline but not leave its group. */
  #hasEnded(): boolean {
    return this.#lifelineClosed && !groupIsAlive(this.pid);
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    for (const stream of STREAMS) this.#files[stream].markEnd();
    this.#events.exit(code, signal);
    void this.#finish();
  }

  async #finish(): Promise<void> {
    await this.#lifeline;
    while (!this.#hasEnded()) {
      if (this.#detached) return;
      await sleep(GROUP_POLL_MS);
    }
    await this.#drained();
    this.#events.closed();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const previous = this.#onDrained;
      this.#onDrained = () => {
        previous?.();
        resolve();
      };
      this.#schedule();
    });
  }

  #readNow(stream: StreamName): void {
    if (this.#paused || this.#detached) return;
    if (this.#readSome(stream)) this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#detached) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#paused || this.#detached) return;
      const isLeft = STREAMS.filter((stream) => this.#readSome(stream)).length > 0;
      if (isLeft) return this.#schedule();
      const onDrained = this.#onDrained;
      this.#onDrained = undefined;
      onDrained?.();
    });
  }

  /** Returns whether there may be more to read. */
  #readSome(stream: StreamName): boolean {
    const file = this.#files[stream];
    for (let read = 0; read < READS_PER_TURN && !this.#paused; read++) {
      const chunk = file.read();
      if (!chunk) return false;
      this.#events.data(chunk, stream);
    }
    if (file.size > this.#maxFileBytes) void this.#emptyFiles();
    return true;
  }

  /** Stops the writers for a moment, reads the rest and frees the disk. It also slows down writers that are too fast. */
  async #emptyFiles(): Promise<void> {
    if (this.#emptying || !this.#throttles) return;
    this.#emptying = true;
    const frozen = await freezeTree(treeRoot(this.pid, this.#mark));
    this.#thaw = frozen.thaw;
    if (this.#throttles) await this.#drained();
    // Without throttling the writers run again, and emptying would lose output.
    if (frozen.complete && this.#throttles) for (const stream of STREAMS) this.#files[stream].empty();
    else this.#maxFileBytes *= 2;
    frozen.thaw();
    this.#thaw = undefined;
    this.#emptying = false;
  }
}
