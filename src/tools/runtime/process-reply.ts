import { text } from "../../core/content.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { LinePage } from "../../shell/page-of-lines.ts";
import type { PollResult, ProcessInfo } from "../../shell/process-table.ts";
import type { RunningProcess } from "../../shell/run-process.ts";
import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";
import { closedSpill, describeSpill } from "./closed-spill.ts";
import { commandLine, describeDuration, describeExit, meaningOf, type RunStatus, statusOf } from "./run-status.ts";
import { type ReplyLimits, shortenOutput } from "./shorten-output.ts";

/** What a program learns of a process, whatever was done with it. */
export interface ProcessState {
  id: string;
  status: RunStatus;
  /** Null while it runs. */
  exitCode: number | null;
  reason: string;
  signal?: string;
  command: string;
}

interface Known {
  info: ProcessInfo;
  process: RunningProcess;
}

export function describeList(known: readonly Known[], now: number): ToolOutput {
  const rows = known.map(({ info, process }) => ({
    ...stateOf(info, process),
    pid: info.pid,
    workingDirectory: info.cwd,
    startedAt: info.startedAt,
    durationMs: durationOf(info, now),
    terminal: info.terminal,
    outputBytes: info.totalBytes,
  }));
  const lines = rows.map((row, at) => {
    const { info, process } = known[at] as Known;
    return `${row.id}  ${describeProcess(info, process, now)}  ${commandLine(row.command)}`;
  });
  const running = rows.filter(({ status }) => status === "running").length;
  return {
    content: lines.join("\n") || "No process was left running in the background.",
    details: { processes: rows },
    display: `${running} running, ${rows.length - running} finished`,
  };
}

/** What came since somebody last looked, and how the process is now. */
export function describeNewOutput(
  news: PollResult,
  process: RunningProcess,
  { limits, now }: { limits: ReplyLimits; now: number },
): ToolOutput {
  const { id, label, missedBytes } = news;
  const bytes = Buffer.byteLength(news.text);
  const shown = shortenOutput({ head: news.text, tail: "", omittedBytes: 0, totalBytes: bytes }, limits);
  const output = shown.text(`Read it with process ${JSON.stringify({ action: "log", id, offset: 1 })}.`);
  const state = describeProcess(news, process, now);
  const body = output.trimEnd() === "" ? "(no new output)" : output.replace(/\n+$/, "");
  const note = meaningOf(label, process)?.note;
  return {
    content: `${body}\n\n[process "${id}": ${state}${note ? `: ${note}` : ""}]${hintOf(process)}`,
    details: {
      ...stateOf(news, process),
      running: news.running,
      output,
      truncated: shown.truncated || missedBytes > 0,
      missedBytes,
      durationMs: durationOf(news, now),
    },
    display: `${id}: ${state}, ${bytes} bytes new`,
  };
}

export function describeLog(page: LinePage, { info, process, limits }: Known & { limits: ReplyLimits }): ToolOutput {
  const { lines, totalLines, nextOffset, missing } = page;
  const whole = lines.map((line) => stripTerminalCodes(line.text)).join("\n");
  const bytes = Buffer.byteLength(whole);
  const shown = shortenOutput({ head: whole, tail: "", omittedBytes: 0, totalBytes: bytes }, limits);
  const output = shown.text("Ask for fewer lines at once.");
  const spill = missing && closedSpill(process.output.snapshot().spill);
  const from = lines[0]?.number ?? missing?.from;
  const to = nextOffset === undefined ? totalLines : nextOffset - 1;
  const notes = [
    from === undefined ? `no lines here; there are ${totalLines} in all` : `lines ${from} to ${to} of ${totalLines}`,
    ...(nextOffset === undefined ? [] : [`go on with offset ${nextOffset}`]),
    ...(missing ? [`lines ${missing.from} to ${missing.to} are no longer in memory`] : []),
    ...(spill ? [describeSpill(spill)] : []),
  ];
  return {
    content: `${output ? `${output}\n\n` : ""}[${notes.join("; ")}]`,
    details: {
      ...stateOf(info, process),
      output,
      totalLines,
      ...(nextOffset === undefined ? {} : { nextOffset }),
      ...(missing ? { missing } : {}),
      ...(spill ? { spillRef: spill.ref } : {}),
      truncated: shown.truncated || missing !== undefined,
    },
    display: `${info.id}: ${notes[0]}`,
  };
}

/** The process after something was done to it. */
export function describeState(info: ProcessInfo, process: RunningProcess, what: string): ToolOutput {
  const survivors = process.exit?.survivors ?? [];
  const left = survivors.length > 0 ? ` These could not be ended: ${survivors.join(", ")}.` : "";
  return {
    content: [text(`Process "${info.id}" (${commandLine(info.label)}) ${what}.${left}`)],
    details: { ...stateOf(info, process), survivors },
    display: `${info.id} ${what}`,
  };
}

function stateOf({ id, label }: ProcessInfo, process: RunningProcess): ProcessState {
  const { exit } = process;
  return {
    id,
    status: statusOf(label, process),
    exitCode: exit?.exitCode ?? null,
    reason: exit?.reason ?? "running",
    ...(exit?.signal && { signal: exit.signal }),
    command: label,
  };
}

function describeProcess(info: ProcessInfo, process: RunningProcess, now: number): string {
  const duration = describeDuration(durationOf(info, now));
  return process.exit
    ? `${statusOf(info.label, process)}, ${describeExit(process.exit)} after ${duration}`
    : `running for ${duration}`;
}

function durationOf({ startedAt, endedAt, exit }: ProcessInfo, now: number): number {
  return Math.max(0, Math.round(exit?.durationMs ?? (endedAt ?? now) - startedAt));
}

function hintOf({ exit }: RunningProcess): string {
  return exit?.hint ? `\n[${exit.hint}]` : "";
}
