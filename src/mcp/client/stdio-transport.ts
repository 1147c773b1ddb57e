import { randomUUID } from "node:crypto";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import type { Child } from "../../shell/child.ts";
import { readProcess, type TreeRoot } from "../../shell/find-process-tree.ts";
import { killProcessTree, signalGroup } from "../../shell/kill-process-tree.ts";
import { spawnOnPipes } from "../../shell/spawn-on-pipes.ts";
import { parseFrame, refuseLongLine } from "./parse-frame.ts";
import { createLineReader } from "./read-lines.ts";
import { createStderrTail } from "./stderr-tail.ts";

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
