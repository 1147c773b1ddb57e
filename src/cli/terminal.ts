import process from "node:process";
import type { KeyInput } from "./terminal-keys.ts";

export interface TerminalOutput {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** Everything that a command sees of the process it runs in, so that a test can give it another one. */
export interface Terminal {
  readonly stdin: KeyInput & AsyncIterable<Buffer | string>;
  readonly stdout: TerminalOutput;
  readonly stderr: TerminalOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Told of Ctrl-C and of being asked to end; answers how to stop listening. */
  onInterrupt(listener: () => void): () => void;
}

/** Whether somebody sits there who can be asked: what is asked goes to stderr, and the keys come from stdin. */
export function isInteractive({ stdin, stderr, env }: Pick<Terminal, "stdin" | "stderr" | "env">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && env["TERM"] !== "dumb";
}

/** By the conventions of no-color.org and force-color.org: the user's word counts, then what the stream is. */
export function usesColour(output: TerminalOutput, env: Terminal["env"]): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return output.isTTY === true && env["TERM"] !== "dumb";
}

/** Who asks three times is not kept waiting, whatever is under way. */
const MAX_SIGNALS = 3;

export function processTerminal(): Terminal {
  const listeners = new Set<() => void>();
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals >= MAX_SIGNALS) process.exit(130);
    for (const listener of [...listeners]) listener();
  };
  return {
    stdin: process.stdin as Terminal["stdin"],
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    onInterrupt(listener) {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, onSignal).on(signal, onSignal);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
