import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { errorCode, toolError, type ToolError } from "../../core/error.ts";
import type { SkippedOutput, StreamName } from "./output-buffer.ts";

export async function spawnOnPipes(launch: Launch, events: ChildEvents): Promise<Child> {
  const child = await spawnChild(launch);
  const { stdin, stdout, stderr } = child;
  // After the start only a failed kill is reported here, and the killer checks the process itself.
  child.on("error", () => undefined);
  child.once("exit", (code, signal) => events.exit(code, signal));
  child.once("close", () => events.closed());
  stdout?.on("data", (chunk: Buffer) => events.data(chunk, "stdout"));
  stderr?.on("data", (chunk: Buffer) => events.data(chunk, "stderr"));
  // A broken pipe has ended, and `close` follows. It is not an error if the child stopped reading.
  for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => undefined);

  return {
    pid: child.pid,
    terminal: false,
    get takesInput() {
      return stdin?.writable ?? false;
    },
    write(data) {
      if (!stdin?.writable) return false;
      stdin.write(data);
      return true;
    },
    pendingInput: () => stdin?.writableLength ?? 0,
    endInput: () => stdin?.end(),
    resize: () => undefined,
    stopThrottling: () => undefined,
    hasUnreadOutput: () => false,
    pause() {
      stdout?.pause();
      stderr?.pause();
    },
    resume() {
      stdout?.resume();
      stderr?.resume();
    },
    detach() {
      stdin?.destroy();
      stdout?.destroy();
      stderr?.destroy();
      child.unref();
    },
  };
}

/** Above the descriptors that scripts commonly use. */
const LIFELINE_DESCRIPTOR = 20;

/** On pipes or the given files. With files, the last entry of `stdio` is a socket that closes with the last descendant. */
export async function spawnChild(
  launch: Launch,
  files?: Record<StreamName, { descriptor: number }>,
): Promise<ChildProcess & { pid: number }> {
  const { file, args, cwd, env } = launch;
  const stdin = launch.stdin === "pipe" ? "pipe" : "ignore";
  let child: ChildProcess;
  try {
    child = withTerminalsCovered((covers) => {
      const unused = Array.from(
        { length: Math.max(0, LIFELINE_DESCRIPTOR - 3 - covers.length) },
        () => "ignore" as const,
      );
      return spawn(file, args, {
        cwd,
        env,
        // Its own session and group, so the whole tree can be killed. On Windows it would open a console window.
        detached: process.platform !== "win32",
        stdio: files
          ? [stdin, files.stdout.descriptor, files.stderr.descriptor, ...covers, ...unused, "pipe"]
          : [stdin, "pipe", "pipe", ...covers],
        windowsHide: true,
        windowsVerbatimArguments: launch.verbatimArguments ?? false,
      });
    });
  } catch (cause) {
    throw explainSpawnFailure(cause, launch);
  }
  const { pid } = child;
  if (pid !== undefined) return Object.assign(child, { pid });
  const cause = await once(child, "error").catch((error: unknown) => error);
  throw explainSpawnFailure(Array.isArray(cause) ? cause[0] : cause, launch);
}

/** What to start; the program is already chosen. */
export interface Launch {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: "closed" | "pipe";
  verbatimArguments?: boolean;
}

export interface ChildEvents {
  data(chunk: Buffer, stream: StreamName): void;
  exit(code: number | null, signal: NodeJS.Signals | null): void;
  /** Every output is closed: no more data will come. */
  closed(): void;
}

/** A child process on pipes or on a pseudo-terminal. */
export interface Child {
  readonly pid: number;
  readonly terminal: boolean;
  readonly takesInput: boolean;
  /** Returns false if it takes no more input. */
  write(data: string): boolean;
  /** Bytes written that the child has not read. */
  pendingInput(): number;
  endInput(): void;
  resize(size: { cols: number; rows: number }): void;
  pause(): void;
  resume(): void;
  /** Whether it keeps the host running. Default: it does. */
  setRef?(isRef: boolean): void;
  /** From now on a child that writes too fast is not stopped: a stopped process does not react to SIGTERM. */
  stopThrottling(): void;
  /** Whether output that was written before the exit was not yet reported. */
  hasUnreadOutput(): boolean;
  /** Reports what was not read yet as skipped, except the end. From now on nothing waits for the spill. */
  skipOutput?(skipped: (part: SkippedOutput, stream: StreamName) => void): void;
  /** Whether a program has emptied its output by opening it by path. Output may be missing then. */
  readonly outputEmptied?: boolean;
  /** Closes our ends and lets the host exit. The child keeps running. */
  detach(): void;
}

/** Explains why a process could not be started. ENOENT may mean the folder or the program. */
export function explainSpawnFailure(cause: unknown, { file, cwd }: { file: string; cwd: string }): ToolError {
  const code = errorCode(cause) ?? "";
  const folder = checkWorkingFolder(cwd);
  if (folder) return folder;
  switch (code) {
    case "ENOENT":
      return toolError("path_not_found", `The program "${file}" was not found.`, {
        next: "Check its name, or install it. If it is a script, its interpreter may be missing.",
        data: { file },
        cause,
      });
    case "EACCES":
    case "EPERM":
      return toolError("failed", `The program "${file}" is not executable (${code}).`, {
        next: "Make it executable, or start it through its interpreter.",
        data: { file },
        cause,
      });
    case "E2BIG":
      return toolError("input_too_large", "The command and its environment are longer than the system allows.", {
        next: "Write the script or the data to a file and run that.",
        cause,
      });
    case "EMFILE":
    case "ENFILE":
    case "EAGAIN":
    case "ENOMEM":
      return toolError("busy", `The system cannot start another process (${code}).`, {
        next: "Kill processes that are no longer needed, then try again.",
        data: { code },
        cause,
      });
    case "ERR_INVALID_ARG_VALUE":
    case "ERR_INVALID_ARG_TYPE":
      return toolError("invalid_input", "The command cannot be passed to the system.", {
        next: "Remove NUL characters from the command, its arguments and its environment.",
        cause,
      });
    default:
      return toolError("failed", `The program "${file}" could not be started${code && ` (${code})`}.`, {
        next: "Check the command and try again.",
        cause,
      });
  }
}

/** Why the working folder cannot be used; undefined if it can. */
export function checkWorkingFolder(cwd: string): ToolError | undefined {
  const data = { cwd };
  try {
    if (!statSync(cwd).isDirectory()) {
      return toolError("not_directory", `The working directory "${cwd}" is not a directory.`, {
        next: "Give the path of a directory.",
        data,
      });
    }
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (cause) {
    if (errorCode(cause) === "EACCES") {
      return toolError("failed", `The working directory "${cwd}" is not accessible.`, {
        next: "Choose another directory.",
        data,
        cause,
      });
    }
    return toolError("path_not_found", `The working directory "${cwd}" does not exist.`, {
      next: "Create it first or choose another one.",
      data,
      cause,
    });
  }
}

/** The terminal library leaves its descriptors open to every later child: each start covers or closes those of the host. */
const openTerminals = new Set<number>();

export function addTerminal(descriptor: number): { remove(): void } {
  openTerminals.add(descriptor);
  return { remove: () => void openTerminals.delete(descriptor) };
}

/** Calls `start` with stdio entries that follow the first three and put /dev/null over every open terminal. */
export function withTerminalsCovered<Result>(start: (entries: (number | "ignore")[]) => Result): Result {
  if (openTerminals.size === 0) return start([]);
  const devNull = openSync("/dev/null", "r");
  try {
    const length = Math.max(...openTerminals) - 2;
    return start(Array.from({ length }, (_, index) => (openTerminals.has(index + 3) ? devNull : "ignore")));
  } finally {
    closeSync(devNull);
  }
}

/** The same for a child that another library starts: bash arguments that close the terminals, then exec the program. */
export function closeTerminalsThenRun(file: string, args: readonly string[]): string[] | undefined {
  if (openTerminals.size === 0) return undefined;
  const closing = [...openTerminals].map((descriptor) => `${descriptor}>&-`).join(" ");
  return ["--noprofile", "--norc", "-c", `exec ${closing}; exec "$0" "$@"`, file, ...args];
}
