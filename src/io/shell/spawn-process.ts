import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { toolError, type ToolError } from "../../core/error.ts";
import type { StreamName } from "./output-buffer.ts";

export async function spawnOnPipes(launch: Launch, events: ChildEvents): Promise<Child> {
  const child = await spawned(launch);
  const { stdin, stdout, stderr } = child;
  // After the start only a failed kill reports here, and whoever kills looks at the process itself.
  child.on("error", () => undefined);
  child.once("exit", (code, signal) => events.exit(code, signal));
  child.once("close", () => events.closed());
  stdout?.on("data", (chunk: Buffer) => events.data(chunk, "stdout"));
  stderr?.on("data", (chunk: Buffer) => events.data(chunk, "stderr"));
  // A pipe that breaks has ended: `close` follows. A child that stopped reading is no failure of the writer.
  for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => undefined);

  return {
    pid: child.pid as number,
    terminal: false,
    write(data) {
      if (!stdin?.writable) return false;
      stdin.write(data);
      return true;
    },
    pendingInput: () => stdin?.writableLength ?? 0,
    endInput: () => stdin?.end(),
    resize: () => undefined,
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

async function spawned(launch: Launch): Promise<ChildProcess> {
  const { file, args, cwd, env, stdin } = launch;
  let child: ChildProcess;
  try {
    child = withTerminalsCovered((covers) =>
      spawn(file, args, {
        cwd,
        env,
        // Its own session and group, so that all of it can be ended at once. On Windows it would open a console window.
        detached: process.platform !== "win32",
        stdio: [stdin === "pipe" ? "pipe" : "ignore", "pipe", "pipe", ...covers],
        windowsHide: true,
        windowsVerbatimArguments: launch.verbatimArguments ?? false,
      }),
    );
  } catch (cause) {
    throw explainSpawnFailure(cause, launch);
  }
  if (child.pid !== undefined) return child;
  const [cause] = (await once(child, "error").catch((error: unknown) => [error])) as [unknown];
  throw explainSpawnFailure(cause, launch);
}

/** What is to be started; the program is already chosen. */
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
  /** The other end of every output is closed: nothing more will come. */
  closed(): void;
}

/** What a child on pipes and one on a pseudo-terminal have in common. */
export interface Child {
  readonly pid: number;
  readonly terminal: boolean;
  /** False when it does not take input (any more). */
  write(data: string): boolean;
  /** Bytes written and not yet taken by the child. */
  pendingInput(): number;
  endInput(): void;
  resize(size: { cols: number; rows: number }): void;
  pause(): void;
  resume(): void;
  /** Closes our ends and lets the host exit; the child is not touched. */
  detach(): void;
}

/** Why a process could not be started, and what to do: ENOENT alone may mean the folder or the program. */
export function explainSpawnFailure(cause: unknown, { file, cwd }: { file: string; cwd: string }): ToolError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const folder = checkWorkingFolder(cwd);
  if (folder) return folder;
  switch (code) {
    case "ENOENT":
      return toolError("path_not_found", `The program "${file}" was not found.`, {
        next: "Check its name, or install it; where it is a script, its interpreter may be missing.",
        data: { file },
        cause,
      });
    case "EACCES":
    case "EPERM":
      return toolError("failed", `The program "${file}" may not be executed (${code}).`, {
        next: "Make it executable, or start it through its interpreter.",
        data: { file },
        cause,
      });
    case "E2BIG":
      return toolError("input_too_large", "The command and its environment are longer than the system takes.", {
        next: "Write the script or the data to a file and run that.",
        cause,
      });
    case "EMFILE":
    case "ENFILE":
    case "EAGAIN":
    case "ENOMEM":
      return toolError("busy", `The system has no room for another process (${code}).`, {
        next: "End processes that are no longer needed, then try again.",
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

/** The error of a working folder that cannot be used, if it cannot. */
export function checkWorkingFolder(cwd: string): ToolError | undefined {
  const data = { cwd };
  try {
    if (!statSync(cwd).isDirectory()) {
      return toolError("not_directory", `The working directory "${cwd}" is not a directory.`, {
        next: "Name a directory.",
        data,
      });
    }
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "EACCES") {
      return toolError("failed", `The working directory "${cwd}" may not be entered.`, {
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

/**
 * The pseudo-terminal library leaves its descriptors inheritable, and Node cannot change that: without care every later
 * child could read and type on the terminals of others. So what starts a child covers or closes them there. The set is
 * per host process because descriptors are.
 */
const open = new Set<number>();

export function addTerminal(descriptor: number): { remove(): void } {
  open.add(descriptor);
  return { remove: () => void open.delete(descriptor) };
}

/** Runs `start` with stdio entries, to stand after the first three, that put /dev/null over every open terminal. */
function withTerminalsCovered<Result>(start: (entries: Exclude<StdioOptions, string>) => Result): Result {
  if (open.size === 0) return start([]);
  const nothing = openSync("/dev/null", "r");
  try {
    const entries = Array.from({ length: Math.max(...open) - 2 }, (_, index) =>
      open.has(index + 3) ? nothing : "ignore",
    );
    return start(entries as Exclude<StdioOptions, string>);
  } finally {
    closeSync(nothing);
  }
}

/** The same for a child that another library starts: arguments for bash that close them and then become the program. */
export function closeTerminalsThenRun(file: string, args: readonly string[]): string[] | undefined {
  if (open.size === 0) return undefined;
  const closing = [...open].map((descriptor) => `${descriptor}>&-`).join(" ");
  return ["--noprofile", "--norc", "-c", `exec ${closing}; exec "$0" "$@"`, file, ...args];
}
