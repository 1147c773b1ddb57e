import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  endGroupOnExit,
  killProcessTree,
  treeRoot,
  type TreeLimits,
  type TreeRoot,
  watchTree,
} from "../shell/process-tree.ts";
import { type Child, spawnOnPipes } from "../shell/spawn-process.ts";

/** A confined program that is ready to start. */
export interface FramedLaunch {
  command: readonly string[];
  cwd: string;
  /** The complete environment: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** What it and everything it starts may use together. */
  limits?: TreeLimits;
  /** After it and all that it started has ended. */
  finish(): Promise<unknown>;
}

export interface FramedEvents {
  message(message: Record<string, unknown>): void;
  /** A message was too large to be read. */
  skipped(): void;
  /** Once, with the reason. No message follows. */
  ended(why: string): void;
}

const MAX_HEADER_BYTES = 8 * 1024;
/** Larger ones are skipped: to parse them would take long, and nothing else runs meanwhile. */
const MAX_MESSAGE_BYTES = 512 * 1024;
/** What it may write between two uses. */
const MAX_READ_BYTES = 32 * 1024 * 1024;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const CLOSE_MS = 500;
const MARK_NAME = "HAFT_PROCESS";

/** A program that writes JSON messages with `Content-Length` headers, as language servers do. Garbage ends it. */
export class FramedProcess {
  readonly #child: Child;
  readonly #root: TreeRoot;
  readonly #launch: FramedLaunch;
  readonly #events: FramedEvents;
  readonly #exit: Promise<void>;
  readonly #keepOnExit: () => void;
  readonly #stopLimits: () => void;
  readonly #readBytes: { count: number };
  #ending: Promise<void> | undefined;

  private constructor(child: Child, { launch, events, mark, exit, readBytes }: FramedParts) {
    this.#readBytes = readBytes;
    this.#child = child;
    this.#launch = launch;
    this.#events = events;
    this.#exit = exit;
    this.#root = treeRoot(child.pid, mark);
    // After SIGKILL of this process, the launcher of the sandbox ends the program.
    this.#keepOnExit = endGroupOnExit(child.pid);
    const { limits } = launch;
    this.#stopLimits = limits ? watchTree(this.#root, limits, (what) => void this.#end(`it used ${what}`)) : () => {};
  }

  static async start(launch: FramedLaunch, events: FramedEvents): Promise<FramedProcess> {
    const [file = "", ...args] = launch.command;
    const value = randomUUID();
    let exited!: () => void;
    const exit = new Promise<void>((resolve) => (exited = resolve));
    const readBytes = { count: 0 };
    const state: { started?: FramedProcess; early?: string } = {};
    const end = (why: string): void => {
      if (state.started) void state.started.#end(why);
      else state.early ??= why;
    };
    const read = createFrameReader({
      message: (message) => state.started?.isRunning && events.message(message),
      skipped: () => state.started?.isRunning && events.skipped(),
      garbage: (why) => end(why),
    });
    const child = await spawnOnPipes(
      { file, args, cwd: launch.cwd, env: { ...launch.env, [MARK_NAME]: value }, stdin: "pipe" },
      {
        data(chunk, stream) {
          if (stream !== "stdout") return;
          readBytes.count += chunk.length;
          if (readBytes.count > MAX_READ_BYTES) end("it wrote too much");
          else read(chunk);
        },
        exit(code, signal) {
          exited();
          end(signal ? `it was killed by ${signal}` : `it exited with code ${code}`);
        },
        closed: () => end("it closed its output"),
      },
    );
    const started = new FramedProcess(child, { launch, events, mark: `${MARK_NAME}=${value}`, exit, readBytes });
    state.started = started;
    if (state.early !== undefined) void started.#end(state.early);
    return started;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#ending === undefined;
  }

  /** It may write as much as before again. */
  use(): void {
    this.#readBytes.count = 0;
  }

  /** `line`: without a header, as `tsserver` reads. */
  send(message: object, framing: "header" | "line" = "header"): void {
    if (!this.isRunning) return;
    if (this.#child.pendingInput() > MAX_UNREAD_BYTES) return void this.#end("it does not read its input");
    const text = JSON.stringify(message);
    this.#child.write(framing === "line" ? `${text}\n` : `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  /** Ends it and everything that it started. */
  close(): Promise<void> {
    return this.#end("it was closed");
  }

  #end(why: string): Promise<void> {
    if (this.#ending) return this.#ending;
    this.#ending = this.#stop();
    this.#events.ended(why);
    return this.#ending;
  }

  async #stop(): Promise<void> {
    this.#stopLimits();
    this.#child.endInput();
    await Promise.race([this.#exit, delay(CLOSE_MS, undefined, { ref: false })]);
    await killProcessTree(this.#root, { graceMs: CLOSE_MS, sendHangup: false, isSupervised: true });
    this.#child.detach();
    this.#keepOnExit();
    await this.#launch.finish();
  }
}

interface FramedParts {
  launch: FramedLaunch;
  events: FramedEvents;
  mark: string;
  exit: Promise<void>;
  /** Since the last use. */
  readBytes: { count: number };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface FrameHandlers {
  message(message: Record<string, unknown>): void;
  skipped(): void;
  /** The stream cannot be followed any more. */
  garbage(why: string): void;
}

/** Splits a stream into messages. Memory is bounded by the largest message. */
export function createFrameReader({ message, skipped, garbage }: FrameHandlers): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  /** The length of the message that is being read; undefined in a header. */
  let wanted: number | undefined;
  let toSkip = 0;
  let isBroken = false;

  const fail = (why: string): void => {
    isBroken = true;
    parts = [];
    garbage(why);
  };

  /** True if there may be more. */
  function step(): boolean {
    if (toSkip > 0) {
      const all = Buffer.concat(parts);
      const cut = Math.min(toSkip, bytes);
      parts = [all.subarray(cut)];
      bytes -= cut;
      toSkip -= cut;
      return bytes > 0;
    }
    if (wanted === undefined) {
      if (parts.length > 1) parts = [Buffer.concat(parts)];
      const [all = Buffer.alloc(0)] = parts;
      const end = all.indexOf("\r\n\r\n");
      if (end === -1 || end > MAX_HEADER_BYTES) {
        if (bytes > MAX_HEADER_BYTES) fail("it wrote text without a header");
        return false;
      }
      const length = Number(/^Content-Length: *(\d{1,9}) *\r?$/im.exec(all.toString("latin1", 0, end))?.[1] ?? NaN);
      if (Number.isNaN(length)) fail("it wrote a header without a length");
      else if (length > MAX_READ_BYTES) fail(`it announced a message of ${length} bytes`);
      if (isBroken) return false;
      parts = [all.subarray(end + 4)];
      bytes = parts[0]?.length ?? 0;
      if (length > MAX_MESSAGE_BYTES) {
        toSkip = length;
        skipped();
        return bytes > 0;
      }
      wanted = length;
    }
    if (bytes < wanted) return false;
    const all = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    const text = all.toString("utf8", 0, wanted);
    parts = [all.subarray(wanted)];
    bytes -= wanted;
    wanted = undefined;
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      fail("it wrote a message that is not JSON");
      return false;
    }
    if (isRecord(parsed)) message(parsed);
    return bytes > 0;
  }

  return (chunk) => {
    if (isBroken) return;
    parts.push(chunk);
    bytes += chunk.length;
    while (!isBroken && step());
  };
}
