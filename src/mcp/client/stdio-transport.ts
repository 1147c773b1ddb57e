import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { endGroupOnExit, killProcessTree, treeRoot, type TreeRoot } from "../../io/shell/process-tree.ts";
import { type Child, spawnOnPipes } from "../../io/shell/spawn-process.ts";
import type { PreparedProgram } from "../../io/sandbox/program-sandbox.ts";
import { stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import { isObject } from "../../schema/json-schema.ts";

interface StdioLaunch {
  /** With its complete environment: nothing is inherited. */
  program: PreparedProgram;
  cwd: string;
  maxMessageBytes: number;
}

export interface StdioTransport extends Transport {
  /** The SDK recognises a stdio transport by `pid` and `stderr`. */
  readonly pid: number | null;
  readonly stderr: null;
  stderrLines(): string[];
  /** How the process ended, if it has. */
  readonly ending: string | undefined;
  /** If the sandbox refused something to the process: what, and the line of configuration that allows it. */
  explainRefusal(output?: string): string | undefined;
  readonly isConfined: boolean;
}

/** Messages that a server does not read stay in memory, up to this limit. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** How long the server has after its input was closed, and after SIGTERM. */
const CLOSE_MS = 1000;
const GRACE_MS = 1000;
/** How long to wait for the last output after the process has ended. */
const DRAIN_MS = 250;
/** The variable that marks the processes of a server. */
const MARK_NAME = "HAFT_PROCESS";

/** Runs a server as a child in its own process group (docs/decisions/0011). Invalid output is skipped and reported. */
export function createStdioTransport(launch: StdioLaunch): StdioTransport {
  const stderr = new StderrTail();
  const markValue = randomUUID();
  let child: Child | undefined;
  let root: TreeRoot | undefined;
  let keepOnExit: (() => void) | undefined;
  let ending: string | undefined;
  let closing: Promise<void> | undefined;
  let hasClosed = false;
  let hasAnswered = false;
  let exited!: () => void;
  const exit = new Promise<void>((resolve) => (exited = resolve));

  const report = (message: string): void => transport.onerror?.(new Error(message));
  const deliver = (message: JSONRPCMessage): void => transport.onmessage?.(message);
  const read = createLineReader(launch.maxMessageBytes, {
    line(text) {
      if (text.trim() === "") return;
      const message = parseFrame(text);
      hasAnswered ||= message !== undefined;
      if (message) deliver(message);
      else report(`The server wrote a line that is not a message: ${text.slice(0, 200)}`);
    },
    tooLong(line) {
      report(`The server sent a message of ${line.bytes} bytes; the maximum is ${launch.maxMessageBytes}.`);
      const error = errorForLongLine(line, launch.maxMessageBytes);
      if (error) deliver(error);
    },
  });

  function closed(): void {
    if (hasClosed) return;
    hasClosed = true;
    transport.onclose?.();
  }

  async function end(): Promise<void> {
    if (!child || !root) return closed();
    child.endInput();
    // One that never answered has nothing to finish: a command that waited for it does not wait again.
    if (hasAnswered) await Promise.race([exit, delay(CLOSE_MS)]);
    // Also after a normal exit, because launchers leave child processes behind.
    const graceMs = ending === undefined ? GRACE_MS : 0;
    await killProcessTree(root, { graceMs, sendHangup: false, isSupervised: launch.program.isConfined });
    child.detach();
    keepOnExit?.();
    closed();
  }

  const transport: StdioTransport = {
    stderr: null,
    get pid() {
      return child?.pid ?? null;
    },
    get ending() {
      return ending;
    },
    stderrLines: () => stderr.lines(),
    isConfined: launch.program.isConfined,
    explainRefusal: (output = stderr.text()) => launch.program.explain(output),
    async start() {
      if (child) throw new Error("This transport was already started.");
      const { program, cwd } = launch;
      const [file = "", ...args] = program.command;
      child = await spawnOnPipes(
        { file, args, cwd, env: { ...program.env, [MARK_NAME]: markValue }, stdin: "pipe" },
        {
          data: (chunk, stream) => (stream === "stdout" ? read(chunk) : stderr.push(chunk)),
          exit(code, signal) {
            ending = signal ? `it was killed by ${signal}` : `it exited with code ${code}`;
            exited();
            // A child process that it left behind may keep its output open forever.
            void delay(DRAIN_MS).then(() => transport.close());
          },
          closed: () => void transport.close(),
        },
      );
      root = treeRoot(child.pid, `${MARK_NAME}=${markValue}`);
      // After SIGKILL of this process, a server only sees that its input is closed.
      keepOnExit = endGroupOnExit(child.pid);
    },
    async send(message) {
      const unread = child?.pendingInput() ?? 0;
      if (unread > MAX_UNREAD_BYTES) {
        throw toolError("unavailable", `The server has not read ${unread} bytes`, { next: "Reconnect it." });
      }
      if (!child?.write(`${JSON.stringify(message)}\n`)) {
        throw toolError("unavailable", "The server accepts no more input", { next: "Reconnect it." });
      }
    },
    close: () => (closing ??= end()),
  };
  return transport;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** A line that was too long. Head and tail usually contain the id of the call. */
export interface LongLine {
  bytes: number;
  head: string;
  tail: string;
}

interface LineHandlers {
  line(text: string): void;
  tooLong(line: LongLine): void;
}

const EDGE_BYTES = 256;

/** Splits bytes into lines. A line over `maxBytes` is skipped without buffering. Each byte is examined once. */
export function createLineReader(maxBytes: number, { line, tooLong }: LineHandlers): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let skipped: { bytes: number; head: string; tail: Buffer } | undefined;

  function add(part: Buffer): void {
    if (skipped) {
      skipped.bytes += part.length;
      skipped.tail = Buffer.from(Buffer.concat([skipped.tail, part.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES));
      return;
    }
    parts.push(part);
    length += part.length;
    if (length <= maxBytes) return;
    const all = Buffer.concat(parts);
    skipped = {
      bytes: length,
      head: all.toString("utf8", 0, EDGE_BYTES),
      tail: Buffer.from(all.subarray(-EDGE_BYTES)),
    };
    parts = [];
    length = 0;
  }

  function end(): void {
    if (skipped) {
      const { bytes, head, tail } = skipped;
      skipped = undefined;
      return tooLong({ bytes, head, tail: tail.toString("utf8") });
    }
    const [only] = parts;
    const text = (parts.length === 1 && only ? only : Buffer.concat(parts)).toString("utf8");
    parts = [];
    length = 0;
    line(text);
  }

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  };
}

/** Parses a message. Returns undefined for anything else. The SDK validates the message further. */
export function parseFrame(line: string): JSONRPCMessage | undefined {
  const frame = parse(line);
  if (frame) return frame;
  // An incomplete frame without a line break may precede a complete one. Inside a string its quotes would be escaped.
  for (const start of FRAME_STARTS) {
    const at = line.lastIndexOf(start);
    const second = at > 0 ? parse(line.slice(at)) : undefined;
    if (second) return second;
  }
  return undefined;
}

const FRAME_STARTS = ['{"jsonrpc":"2.0"', '{"result":'];

function parse(text: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFrame(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFrame(value: unknown): value is JSONRPCMessage {
  return isObject(value) && value["jsonrpc"] === "2.0";
}

/** An error response for a call whose answer was too long, so it fails before its time limit. */
export function errorForLongLine({ head, tail, bytes }: LongLine, maxBytes: number): JSONRPCMessage | undefined {
  const id = ID_FIRST.exec(head)?.[1] ?? ID_LAST.exec(tail)?.[1];
  if (id === undefined) return undefined;
  const message = `The server's answer has ${bytes} bytes; the maximum is ${maxBytes}.`;
  return { jsonrpc: "2.0", id: JSON.parse(id), error: { code: TOO_LONG, message } };
}

/** In the range that JSON-RPC reserves for implementations. */
export const TOO_LONG = -32_090;

const ID_FIRST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*,\s*"(?:result|error)/;
const ID_LAST = /,\s*"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*\}\s*$/;

const STDERR_TAIL_BYTES = 16 * 1024;
const MAX_STDERR_LINES = 20;
const MAX_LINE_LENGTH = 500;

/** The end of the standard error. It is always read, because a full pipe would block the server. */
class StderrTail {
  #tail: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    const tail = Buffer.concat([this.#tail, chunk.subarray(-STDERR_TAIL_BYTES)]).subarray(-STDERR_TAIL_BYTES);
    // Copied, because a slice would keep the whole chunk in memory.
    this.#tail = Buffer.from(tail);
  }

  text(): string {
    return stripTerminalCodes(this.#tail.toString("utf8"));
  }

  lines(): string[] {
    return this.text()
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-MAX_STDERR_LINES)
      .map((line) => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line));
  }
}
