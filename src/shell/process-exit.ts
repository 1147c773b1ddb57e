import { constants } from "node:os";

export type KillReason = "timeout" | "aborted" | "killed";

/** How a process ended, and who ended it. */
export interface Exit {
  reason: "exited" | "signalled" | KillReason;
  /** 128 + the signal's number after a signal, as shells say it; null only when the process could not be ended. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
  /** A background child still held the output when reading stopped. */
  leftBehind: boolean;
  /** Processes that outlived a kill. */
  survivors: readonly number[];
  /** What an ending that looks odd usually means. */
  hint?: string;
}

export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export function describeEnd(
  end: ProcessEnd | undefined,
  killReason: KillReason | undefined,
): Pick<Exit, "reason" | "exitCode" | "signal" | "hint"> {
  if (!end) return { reason: killReason ?? "killed", exitCode: null, signal: null };
  const { signal } = end;
  const exitCode = signal ? 128 + constants.signals[signal] : end.code;
  const reason = killReason ?? (signal ? "signalled" : "exited");
  const hint = killReason ? undefined : explainExitCode(exitCode);
  return { reason, exitCode, signal, ...(hint && { hint }) };
}

function explainExitCode(exitCode: number | null): string | undefined {
  switch (exitCode) {
    case 126:
      return "126: the command was found but may not be executed.";
    case 127:
      return "127: a command was not found.";
    case 137:
      return "137: ended by SIGKILL, which this runtime did not send; most often the system ran out of memory.";
    case 139:
      return "139: the program crashed (segmentation fault).";
    default:
      return undefined;
  }
}
