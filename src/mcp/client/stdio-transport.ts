import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { killProcessTree, readProcess, signalGroup, type TreeRoot } from "../../io/shell/process-tree.ts";
import { type Child, spawnOnPipes } from "../../io/shell/spawn-process.ts";
import { stripTerminalCodes } from "../../io/shell/terminal-text.ts";

export interface StdioLaunch {
  command: string;
  args: readonly string[];
  cwd: string;
  /** All of it: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  maxMessageBytes: number;
}

export interface StdioTransport extends Transport {
  /** The SDK knows a transport on pipes by these two names. */
  readonly pid: number | null;
  readonly stderr: null;
  stderrLines(): string[];
  /** How the process ended, once it has. */
  readonly ending: string | undefined;
}

/** A server that does not read: what it was sent waits in our memory. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Between closing its input, asking it to end and ending it. */
const CLOSE_MS = 1000;
const GRACE_MS = 1000;
/** After its end: how long a last answer may still be on its way. */
const DRAIN_MS = 250;

/**
 * A server as a child process, in a group of its own (docs/decisions/0011). Nothing that it writes closes the connection:
 * what is no message is passed over and reported.
 */
export function createStdioTransport(launch: StdioLaunch): StdioTransport {
  const stderr = createStderrTail();
  const mark = `HAFT_PROCESS=${randomUUID()}`;
  let child: Child | undefined;
  let root: TreeRoot | undefined;
  let ending: string | undefined;
  let closing: Promise<void> | undefined;
  let hasClosed = false;
  let exited!: () => void;
  const exit = new Promise<void>((resolve) => (exited = resolve));

  const report = (message: string): void => transport.onerror?.(new Error(message));
  const deliver = (message: JSONRPCMessage): void => transport.onmessage?.(message);
  const read = createLineReader(launch.maxMessageBytes, {
    line(text) {
      if (text.trim() === "") return;
      const message = parseFrame(text);
      if (message) deliver(message);
      else report(`The server wrote what is no message: ${text.slice(0, 200)}`);
    },
    tooLong(line) {
      report(`The server sent a message of ${line.bytes} bytes; at most ${launch.maxMessageBytes} are taken.`);
      const refusal = refuseLongLine(line, launch.maxMessageBytes);
      if (refusal) deliver(refusal);
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
    await Promise.race([exit, delay(CLOSE_MS)]);
    // Also after a good end: a launcher leaves children behind.
    await killProcessTree(root, { graceMs: ending === undefined ? GRACE_MS : 0, sendHangup: false });
    child.detach();
    running.delete(root.pid);
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
    async start() {
      if (child) throw new Error("This transport was started already.");
      const { command, args, cwd, env } = launch;
      const [markName, markValue] = mark.split("=") as [string, string];
      child = await spawnOnPipes(
        { file: command, args, cwd, env: { ...env, [markName]: markValue }, stdin: "pipe" },
        {
          data: (chunk, stream) => (stream === "stdout" ? read(chunk) : stderr.push(chunk)),
          exit(code, signal) {
            ending = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
            exited();
            // A child that it left behind may hold its output for ever.
            void delay(DRAIN_MS).then(() => transport.close());
          },
          closed: () => void transport.close(),
        },
      );
      root = treeOf(child.pid, mark);
      killOnExit(child.pid);
    },
    async send(message) {
      const unread = child?.pendingInput() ?? 0;
      if (unread > MAX_UNREAD_BYTES) {
        throw toolError("unavailable", `The server has left ${unread} bytes unread`, { next: "Reconnect it." });
      }
      if (!child?.write(`${JSON.stringify(message)}\n`)) {
        throw toolError("unavailable", "The server takes no more input", { next: "Reconnect it." });
      }
    },
    close: () => (closing ??= end()),
  };
  return transport;
}

function treeOf(pid: number, mark: string): TreeRoot {
  try {
    const startTime = readProcess(pid)?.startTime;
    return startTime === undefined ? { pid, mark } : { pid, startTime, mark };
  } catch {
    return { pid, mark };
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

const running = new Set<number>();
let isWatching = false;

/** Who forgets to close, or dies of an error, leaves no servers behind. After SIGKILL only their closed input tells them. */
function killOnExit(pid: number): void {
  running.add(pid);
  if (isWatching) return;
  isWatching = true;
  process.once("exit", () => running.forEach((each) => signalGroup(each, "SIGTERM")));
}

/** What is kept of a line that was too long: enough to see which call it would have answered. */
export interface LongLine {
  bytes: number;
  head: string;
  tail: string;
}

export interface LineHandlers {
  line(text: string): void;
  tooLong(line: LongLine): void;
}

const KEPT_BYTES = 256;

/**
 * Splits a stream of bytes into lines. A line that is longer than `mostBytes` is passed over, never gathered; what follows
 * it is read as usual. Each byte is looked at once, in chunks of any size.
 */
export function createLineReader(maxBytes: number, { line, tooLong }: LineHandlers): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let skipped: { bytes: number; head: string; tail: Buffer } | undefined;

  function keep(part: Buffer): void {
    if (skipped) {
      skipped.bytes += part.length;
      skipped.tail = Buffer.from(Buffer.concat([skipped.tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES));
      return;
    }
    parts.push(part);
    length += part.length;
    if (length <= maxBytes) return;
    const all = Buffer.concat(parts);
    skipped = {
      bytes: length,
      head: all.toString("utf8", 0, KEPT_BYTES),
      tail: Buffer.from(all.subarray(-KEPT_BYTES)),
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
      keep(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  };
}

/** A message, or undefined for what is none. The SDK looks closer at what it is given. */
export function parseFrame(line: string): JSONRPCMessage | undefined {
  const whole = parse(line);
  if (whole) return whole;
  // Half a frame without a line end stands before a whole one: inside a text its quotes would be escaped.
  for (const start of FRAME_STARTS) {
    const at = line.lastIndexOf(start);
    const glued = at > 0 ? parse(line.slice(at)) : undefined;
    if (glued) return glued;
  }
  return undefined;
}

const FRAME_STARTS = ['{"jsonrpc":"2.0"', '{"result":'];

function parse(text: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isFrame =
      typeof value === "object" && value !== null && (value as Record<string, unknown>)["jsonrpc"] === "2.0";
    return isFrame ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}

/** The answer that a call gets whose real one was too long: it fails at once and does not wait for its time limit. */
export function refuseLongLine({ head, tail, bytes }: LongLine, maxBytes: number): JSONRPCMessage | undefined {
  const id = ID_FIRST.exec(head)?.[1] ?? ID_LAST.exec(tail)?.[1];
  if (id === undefined) return undefined;
  const message = `The server's answer has ${bytes} bytes; at most ${maxBytes} are taken.`;
  return { jsonrpc: "2.0", id: JSON.parse(id) as string | number, error: { code: TOO_LONG, message } };
}

/** Of the range that JSON-RPC leaves to implementations. */
export const TOO_LONG = -32_090;

const ID_FIRST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*,\s*"(?:result|error)/;
const ID_LAST = /,\s*"id"\s*:\s*(\d{1,15}|"[\w:.-]{1,100}")\s*\}\s*$/;

/** The last of what a server wrote to its standard error. It is always read: a full pipe would stop the server. */
export interface StderrTail {
  push(chunk: Buffer): void;
  readonly totalBytes: number;
  /** As a person may be shown them. */
  lines(max?: number): string[];
}

const STDERR_KEPT_BYTES = 16 * 1024;
const MAX_LINE_LENGTH = 500;

function createStderrTail(): StderrTail {
  let kept: Buffer = Buffer.alloc(0);
  let totalBytes = 0;
  return {
    push(chunk) {
      totalBytes += chunk.length;
      // Copied: a slice would hold on to the whole chunk.
      kept = Buffer.from(Buffer.concat([kept, chunk.subarray(-STDERR_KEPT_BYTES)]).subarray(-STDERR_KEPT_BYTES));
    },
    get totalBytes() {
      return totalBytes;
    },
    lines: (max = 20) =>
      stripTerminalCodes(kept.toString("utf8"))
        .split("\n")
        .filter((line) => line.trim() !== "")
        .slice(-max)
        .map((line) => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line)),
  };
}
