import { userInfo } from "node:os";
import process from "node:process";
import { attempt } from "../core/error.ts";

export interface TerminalOutput {
  isTTY?: boolean;
  columns?: number;
  /** How much was written that nobody has read yet. */
  readonly writableLength?: number;
  write(text: string): unknown;
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
}

/** The part of a terminal's input that is used; `process.stdin` has it. */
export interface KeyInput {
  isTTY?: boolean;
  isRaw?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: "data", listener: (chunk: Buffer | string) => void): unknown;
  off(event: "data", listener: (chunk: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** All that a command sees of its process. Tests replace it. */
export interface Terminal {
  readonly stdin: KeyInput & AsyncIterable<Buffer | string>;
  readonly stdout: TerminalOutput;
  readonly stderr: TerminalOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Calls the listener on SIGINT, SIGTERM and SIGHUP. Returns the function that removes it. */
  onInterrupt(listener: () => void): () => void;
  /** From now on the process continues if nobody reads stdout any more. */
  ignoreClosedOutput?(): void;
}

/** How another program starts this one, with absolute paths: it may have another PATH and working folder. */
export function haftCommand(): string[] {
  return [process.execPath, process.argv[1] ?? "haft"];
}

/** Whether a person can be asked: questions go to stderr, keys come from stdin. */
export function isInteractive({ stdin, stderr, env }: Pick<Terminal, "stdin" | "stderr" | "env">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && env["TERM"] !== "dumb";
}

/** As no-color.org and force-color.org say: first the environment, then whether the stream is a terminal. */
export function usesColour(output: TerminalOutput, env: Terminal["env"]): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return output.isTTY === true && env["TERM"] !== "dumb";
}

export const DEFAULT_COLUMNS = 80;

/** The width to lay text out for, now. Infinity for pipes and files: nothing is wrapped or cut there. */
export function columnsOf({ isTTY, columns }: TerminalOutput, env: Terminal["env"]): number {
  const given = Number(env["COLUMNS"]);
  if (Number.isSafeInteger(given) && given > 0) return given;
  return isTTY ? columns || DEFAULT_COLUMNS : Infinity;
}

/** npm passes a signal on that the terminal has sent to this process already. */
const REPEATED_MS = 300;

export function processTerminal(): Terminal {
  const listeners = new Set<() => void>();
  const isUnderNpm = process.env["npm_lifecycle_event"] !== undefined;
  let lastAt: number | undefined;
  let repeated = 0;
  /** The second signal ends the process at once, whatever still runs. */
  const onSignal = (): void => {
    const now = performance.now();
    // One repetition only: if the process was busy, signals that were sent later arrive together.
    if (lastAt !== undefined && isUnderNpm && now - lastAt < REPEATED_MS && repeated++ === 0) return;
    if (lastAt !== undefined) process.exit(130);
    lastAt = now;
    for (const listener of [...listeners]) listener();
  };
  let endsWithOutput = true;
  // A reader of stdout may stop early (`| head`): that is not a failure, and there is nothing left to do.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (!endsWithOutput) return;
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  // Messages for a person: the work continues if nobody reads them.
  process.stderr.on("error", () => undefined);
  return {
    // Opened when first used: most commands read no input.
    get stdin() {
      return process.stdin as Terminal["stdin"];
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    onInterrupt(listener) {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, onSignal).on(signal, onSignal);
      // Something new runs that can be interrupted, such as the next turn of a chat.
      lastAt = undefined;
      repeated = 0;
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ignoreClosedOutput: () => void (endsWithOutput = false),
  };
}

/** Recorded as the caller. */
export function userName(): string {
  return attempt(() => userInfo().username, "owner");
}

/** Whether a browser window would open on the screen of the person who started this. */
export function hasDesktop(
  { stdout, env }: Pick<Terminal, "stdout" | "env">,
  system: NodeJS.Platform = process.platform,
): boolean {
  if (!stdout.isTTY || env["CI"] || env["SSH_CONNECTION"] || env["SSH_CLIENT"] || env["SSH_TTY"]) return false;
  if (system === "darwin" || system === "win32") return true;
  return Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
}

/** Uses no shell. Failures are ignored: the address was printed. */
export async function openInBrowser(url: string, system: NodeJS.Platform = process.platform): Promise<void> {
  const [program, words] =
    system === "darwin"
      ? ["open", [url]]
      : system === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", url]]
        : ["xdg-open", [url]];
  const { spawn } = await import("node:child_process");
  const child = spawn(program as string, words as string[], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
