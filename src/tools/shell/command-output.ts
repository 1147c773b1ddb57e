import type { Caller } from "../../core/call.ts";
import { type Exit, exitMeaning, type ExitMeaning } from "../../io/shell/exit-status.ts";
import {
  countNewlines,
  orphanedPrefix,
  type OutputText,
  type SpillState,
  unfinishedSuffix,
} from "../../io/shell/output-buffer.ts";
import type { RunningProcess } from "../../io/shell/run-process.ts";
import { stripTerminalCodes } from "../../io/shell/terminal-text.ts";

/** Limits for the output in one result. */
export interface ReplyLimits {
  maxBytes: number;
  maxLines: number;
}

/** Below the 50 KiB at which the gate would cut the result again, with room for notes. */
export const REPLY_LIMITS: ReplyLimits = { maxBytes: 47 * 1024, maxLines: 2000 };

export interface ShortOutput {
  truncated: boolean;
  /** The first omitted or cut line, from 1. */
  gapAt: number;
  /** The text with a note about omitted lines; `where` says where to find them. */
  text(where?: string): string;
}

const NEWLINE = 10;
/** How far to search for a line end before cutting inside a line. */
const BOUNDARY_BYTES = 2048;

/** Output for a model: without terminal codes, and with only the beginning and the end if it is too long. */
export function shortenOutput(output: OutputText & { totalLines?: number }, limits: ReplyLimits): ShortOutput {
  const head = Buffer.from(stripTerminalCodes(output.head));
  const isWhole = output.omittedBytes === 0;
  const tail = isWhole ? head : Buffer.from(stripTerminalCodes(output.tail));
  const lines = isWhole ? countLines(head) : (output.totalLines ?? countLines(head) + countLines(tail));
  if (isWhole && head.length <= limits.maxBytes && lines <= limits.maxLines) {
    return { truncated: false, gapAt: lines + 1, text: () => head.toString() };
  }
  const half: ReplyLimits = { maxBytes: limits.maxBytes >> 1, maxLines: limits.maxLines >> 1 };
  const front = head.subarray(0, frontEnd(head, half));
  const back = tail.subarray(backStart(tail, half));
  const bytes = output.omittedBytes + (isWhole ? head.length : head.length + tail.length) - front.length - back.length;
  const gapAt = countNewlines(front) + 1;
  const gapEnd = lines - countLines(back);
  const what =
    gapEnd >= gapAt ? `lines ${gapAt} to ${gapEnd} of ${lines} (${bytes} bytes)` : `${bytes} bytes of line ${gapAt}`;
  return {
    truncated: true,
    gapAt,
    text: (where = "") => {
      const newline = front.length === 0 || front[front.length - 1] === NEWLINE ? "" : "\n";
      return `${front.toString()}${newline}[… ${what} omitted here.${where && ` ${where}`}]\n${back.toString()}`;
    },
  };
}

function frontEnd(bytes: Buffer, { maxBytes, maxLines }: ReplyLimits): number {
  let end = 0;
  for (let line = 0; line < maxLines && end < bytes.length; line++) {
    const at = bytes.indexOf(NEWLINE, end);
    end = at < 0 ? bytes.length : at + 1;
  }
  if (end <= maxBytes) return end;
  const newline = maxBytes > 0 ? bytes.lastIndexOf(NEWLINE, maxBytes - 1) : -1;
  if (newline >= 0 && maxBytes - newline <= BOUNDARY_BYTES) return newline + 1;
  return maxBytes - unfinishedSuffix(bytes.subarray(0, maxBytes));
}

function backStart(bytes: Buffer, { maxBytes, maxLines }: ReplyLimits): number {
  // The final newline ends the last line; it does not begin another.
  let start = bytes.length > 0 && bytes[bytes.length - 1] === NEWLINE ? bytes.length - 1 : bytes.length;
  for (let line = 0; line < maxLines && start > 0; line++) {
    start = start > 1 ? bytes.lastIndexOf(NEWLINE, start - 1) : -1;
    if (start < 0) start = 0;
  }
  if (start > 0) start++;
  const min = bytes.length - maxBytes;
  if (start >= min) return start;
  const newline = bytes.indexOf(NEWLINE, min);
  if (newline >= 0 && newline - min <= BOUNDARY_BYTES && newline + 1 < bytes.length) return newline + 1;
  return min + orphanedPrefix(bytes.subarray(min));
}

function countLines(bytes: Buffer): number {
  return countNewlines(bytes) + (bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE ? 1 : 0);
}

/** Shown if `process.outputEmptied`. */
export const EMPTIED_NOTE =
  "a program opened /dev/stdout or /dev/stderr by its path, which empties it: earlier output may be missing; use >&1, >&2 or >> instead";

export type RunStatus = "running" | "completed" | "failed";

/** The meaning of the exit code; undefined while the command runs. */
export function meaningOf(command: string, process: RunningProcess): ExitMeaning | undefined {
  const { exit, output, terminal } = process;
  if (!exit) return undefined;
  if (exit.reason !== "exited") return { completed: false };
  // A terminal has only one stream.
  return exitMeaning(command, exit.exitCode, output.bytesOf(terminal ? "stdout" : "stderr"));
}

export function statusOf(command: string, process: RunningProcess): RunStatus {
  const meaning = meaningOf(command, process);
  if (!meaning) return "running";
  return meaning.completed ? "completed" : "failed";
}

/** How it ended, in a few words. */
export function describeExit({ reason, exitCode, signal }: Exit): string {
  switch (reason) {
    case "exited":
      return `exit ${exitCode}`;
    case "signalled":
      return `killed by ${signal}`;
    case "timeout":
      return "timed out";
    case "aborted":
      return "cancelled";
    case "killed":
      return "killed";
  }
}

export function describeDuration(ms: number): string {
  if (ms < 950) return `${(ms / 1000).toFixed(ms < 95 ? 2 : 1)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const MAX_COMMAND_LENGTH = 80;

/** A command in one line of a list. */
export function commandLine(command: string): string {
  const line = command.replace(/\s+/gu, " ").trim();
  const visible = line.replace(/[\u0000-\u001f\u007f-\u009f]/g, "�");
  const characters = [...visible];
  return characters.length <= MAX_COMMAND_LENGTH ? visible : `${characters.slice(0, MAX_COMMAND_LENGTH - 1).join("")}…`;
}

export type ClosedSpill = Extract<SpillState, { status: "closed" }>;

/** The spill if it is complete and readable. */
export function closedSpill(state: SpillState | undefined): ClosedSpill | undefined {
  return state?.status === "closed" ? state : undefined;
}

export function describeSpill({ ref, bytes, complete }: ClosedSpill): string {
  return complete ? `The whole output is in ${ref}` : `The first ${bytes} bytes of the output are in ${ref}`;
}

/** The owner of a caller's processes: its session, else its agent, else a shared default. */
export function processOwner({ session, agent }: Caller): string {
  // The prefixes distinguish a session and an agent of the same name.
  if (session !== undefined) return `session:${session}`;
  return agent === undefined ? "default" : `agent:${agent}`;
}
