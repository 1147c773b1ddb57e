import { exitMeaning, type ExitMeaning } from "../../shell/exit-meaning.ts";
import type { Exit } from "../../shell/process-exit.ts";
import type { RunningProcess } from "../../shell/run-process.ts";

export type RunStatus = "running" | "completed" | "failed";

/** What the end of a command means; undefined while it runs. */
export function meaningOf(command: string, process: RunningProcess): ExitMeaning | undefined {
  const { exit, output, terminal } = process;
  if (!exit) return undefined;
  if (exit.reason !== "exited") return { completed: false };
  // On a terminal both streams are one.
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
      return `ended by ${signal}`;
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
