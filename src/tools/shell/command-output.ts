import type { Caller } from "../../core/call.ts";
import { countOf } from "../../core/results/count-of.ts";
import { withDefaults } from "../../core/options.ts";
import { resultTokensOf } from "../../core/results/next-call.ts";
import type { ToolContext } from "../../core/tool.ts";
import { countNewlines } from "../../io/shell/error-lines.ts";
import { type Exit, exitMeaning, type ExitMeaning } from "../../io/shell/exit-status.ts";
import { DEFAULT_RESULT_TOKENS, estimatedTokens } from "../../core/results/estimated-tokens.ts";
import {
  type NumberedLine,
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
  /** As estimated. */
  maxTokens: number;
}

/** Below what the gate would cut again, with room for notes. */
const REPLY_LIMITS: ReplyLimits = { maxBytes: 47 * 1024, maxLines: 2000, maxTokens: DEFAULT_RESULT_TOKENS - 500 };

/** The limits of one call. */
export function replyLimits(context: ToolContext, reply: Partial<ReplyLimits> = {}): ReplyLimits {
  return withDefaults({ ...REPLY_LIMITS, maxTokens: Math.max(500, resultTokensOf(context) - 500) }, reply);
}

/** The gate must not cut what is already bounded. It may count other tokens than the estimate; none is shorter than a byte. */
export const REPLY_RESULT_LIMITS = { maxResultBytes: 96 * 1024, maxResultTokens: 96 * 1024 };

export interface ShortOutput {
  truncated: boolean;
  /** The first omitted or cut line, from 1. */
  gapAt: number;
  /** The first omitted character of that line, from 1. */
  gapColumn: number;
  /** The text with a note about omitted lines; `where` says where to find them. */
  text(where?: string): string;
}

interface LongOutput extends OutputText {
  totalLines?: number;
  /** Lines to show although they are in the middle. */
  errorLines?: readonly NumberedLine[];
}

const NEWLINE = 10;
/** How far to search for a line end before cutting inside a line. */
const BOUNDARY_BYTES = 2048;
const MAX_ERROR_LINES = 40;
const MAX_ERROR_LENGTH = 300;
/** Of the tokens of the result. */
const ERROR_SHARE = 0.25;
const MAX_ROUNDS = 6;

/**
 * Output for a model: without terminal codes. If it is too long, its beginning and its end, and between them lines that look
 * like errors.
 */
export function shortenOutput(output: LongOutput, limits: ReplyLimits): ShortOutput {
  const head = Buffer.from(stripTerminalCodes(output.head));
  const isWhole = output.omittedBytes === 0;
  const tail = isWhole ? head : Buffer.from(stripTerminalCodes(output.tail));
  const lines = isWhole ? countLines(head) : (output.totalLines ?? countLines(head) + countLines(tail));
  if (isWhole && head.length <= limits.maxBytes && lines <= limits.maxLines && isWithinTokens(head, limits)) {
    return { truncated: false, gapAt: lines + 1, gapColumn: 1, text: () => head.toString() };
  }
  const errors = chooseErrors(output.errorLines ?? [], limits);
  const { front, back } = cutEnds(head, tail, { ...limits, maxTokens: limits.maxTokens - costOf(errors) });
  const bytes = output.omittedBytes + (isWhole ? head.length : head.length + tail.length) - front.length - back.length;
  const gapAt = countNewlines(front) + 1;
  const gapColumn = front.length === 0 ? 1 : front.subarray(front.lastIndexOf(NEWLINE) + 1).toString().length + 1;
  const gapEnd = lines - countLines(back);
  const shownErrors = errors.filter(({ number }) => number >= gapAt && number <= gapEnd);
  const what =
    gapEnd >= gapAt
      ? `lines ${gapAt} to ${gapEnd} of ${lines} (${countOf(bytes, "byte")})`
      : `${countOf(bytes, "byte")} of line ${gapAt}`;
  const except = shownErrors.length === 0 ? "" : ", except lines that look like errors";
  return {
    truncated: true,
    gapAt,
    gapColumn,
    text: (where = "") => {
      const newline = front.length === 0 || front[front.length - 1] === NEWLINE ? "" : "\n";
      const note = `[… ${what} omitted here${except}.${where && ` ${where}`}]\n`;
      return `${front.toString()}${newline}${note}${showErrors(shownErrors, gapAt, gapEnd)}${back.toString()}`;
    },
  };
}

function isWithinTokens(bytes: Buffer, { maxTokens }: ReplyLimits): boolean {
  // No token is shorter than a byte.
  return bytes.length <= maxTokens || estimatedTokens.count(bytes.toString()) <= maxTokens;
}

/** The first and the last of them, each cut to a length that still tells what went wrong. */
function chooseErrors(all: readonly NumberedLine[], { maxTokens }: ReplyLimits): NumberedLine[] {
  const half = MAX_ERROR_LINES / 2;
  const few = all.length <= MAX_ERROR_LINES ? all : [...all.slice(0, half), ...all.slice(-half)];
  const short = few.map(({ number, text }) => ({ number, text: cutText(stripTerminalCodes(text).trimEnd()) }));
  while (costOf(short) > maxTokens * ERROR_SHARE) short.splice(short.length >> 1, 1);
  return short;
}

function cutText(line: string): string {
  return line.length <= MAX_ERROR_LENGTH ? line : `${line.slice(0, MAX_ERROR_LENGTH).toWellFormed()}…`;
}

function costOf(lines: readonly NumberedLine[]): number {
  // The note about the gap before each line.
  return lines.reduce((sum, { text }) => sum + estimatedTokens.count(text) + 8, 0);
}

function showErrors(errors: readonly NumberedLine[], gapAt: number, gapEnd: number): string {
  let text = "";
  let next = gapAt;
  const gap = (until: number): string => (until > next ? `[… ${countOf(until - next, "line")} …]\n` : "");
  for (const error of errors) {
    text += `${gap(error.number)}${error.text}\n`;
    next = error.number + 1;
  }
  return errors.length === 0 ? "" : text + gap(gapEnd + 1);
}

/** Beginning and end within all limits. */
function cutEnds(head: Buffer, tail: Buffer, limits: ReplyLimits): { front: Buffer; back: Buffer } {
  let { maxBytes } = limits;
  for (let round = 0; ; round++) {
    const half = { maxBytes: maxBytes >> 1, maxLines: limits.maxLines >> 1 };
    const front = head.subarray(0, frontEnd(head, half));
    const back = tail.subarray(backStart(tail, half));
    const tokens = estimatedTokens.count(front.toString()) + estimatedTokens.count(back.toString());
    if (tokens <= limits.maxTokens || round === MAX_ROUNDS) return { front, back };
    maxBytes = Math.floor((maxBytes * limits.maxTokens * 0.97) / tokens);
  }
}

function frontEnd(bytes: Buffer, { maxBytes, maxLines }: Omit<ReplyLimits, "maxTokens">): number {
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

function backStart(bytes: Buffer, { maxBytes, maxLines }: Omit<ReplyLimits, "maxTokens">): number {
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
    case "limit":
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

/** The end of a question that a program asked: without a line end, and with what such texts end with. */
const QUESTION = /(?:[?:>]|\[[^\]\n]{1,20}\]|\([^)\n]{1,40}\))[ \t]*$/;
/** What programs say that found no terminal or no input. */
const NEEDS_INPUT =
  /not a (?:tty|terminal)|inappropriate ioctl for device|no (?:tty|terminal) present|must be (?:run (?:in|from|on)|connected to) (?:a|an interactive) (?:tty|terminal)|EOFError|EOF when reading a line|end of file (?:on|while reading) (?:standard )?input|stdin (?:is|was) closed|non-interactive (?:terminal|mode)/i;

/** The shell shows the prompt of `read` only on a terminal, and goes on without an answer. */
const READS_ANSWER = /(?:^|[;&|(\n]|\b(?:then|do|else)\b)\s*read\s+(?:-[a-zA-Z]+\s+(?:\d+\s+)?)*-[a-zA-Z]*p\b/;

/** Whether a command that had no input seems to have waited for some. A program that could go on without it succeeds. */
export function asksForInput(command: string, output: string, exitCode: number | null): boolean {
  if (READS_ANSWER.test(command)) return true;
  const end = output.slice(-4000);
  const unfinished = end.slice(end.lastIndexOf("\n") + 1);
  if (unfinished.length < 300 && unfinished.trim() !== "" && QUESTION.test(unfinished)) return true;
  const lastLine = end.trimEnd().split("\n").at(-1) ?? "";
  return exitCode !== 0 && NEEDS_INPUT.test(lastLine);
}

/** The owner of a caller's processes: its session, else its agent, else a shared default. */
export function processOwner({ session, agent }: Caller): string {
  // The prefixes distinguish a session and an agent of the same name.
  if (session !== undefined) return `session:${session}`;
  return agent === undefined ? "default" : `agent:${agent}`;
}
