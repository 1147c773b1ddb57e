import { systemClock } from "../core/clock.ts";
import { editLine } from "./edit-line.ts";
import type { Terminal } from "./terminal.ts";
import { TerminalKeys } from "./terminal-keys.ts";

/** Yes must be typed; everything else, Enter included, is no. */
export async function confirm(
  question: string,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<boolean> {
  const { stdin, stderr } = terminal;
  const keys = new TerminalKeys(stdin, systemClock, typeof stdin.setRawMode === "function");
  try {
    const answer = await editLine(keys, stderr, { prompt: `${question} (y/N) `, text: "", signal });
    return /^y(es)?$/i.test(answer?.trim() ?? "");
  } finally {
    keys.close();
  }
}
