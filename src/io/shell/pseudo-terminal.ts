import { closeSync, constants as openFlags, openSync } from "node:fs";
import { constants } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { toolError } from "../../core/error.ts";
import { findProgram, isExecutableFile } from "./find-program.ts";
import {
  addTerminal,
  checkWorkingFolder,
  type Child,
  type ChildEvents,
  closeTerminalsThenRun,
  explainSpawnFailure,
  type Launch,
} from "./spawn-process.ts";

export interface TerminalSize {
  cols: number;
  rows: number;
}

/** Runs the program on a pseudo-terminal: one output, line editing and echo by the kernel, Ctrl-C as a signal. */
export async function spawnOnTerminal(launch: Launch, size: TerminalSize, events: ChildEvents): Promise<Child> {
  const { spawn } = await loadPty();
  const program = checkLaunch(launch);
  const bash = findProgram("bash", launch.env, { first: ["/bin", "/usr/bin"] });
  const closing = bash && closeTerminalsThenRun(program, launch.args);
  let terminal: ReturnType<typeof spawn>;
  try {
    terminal = spawn(closing ? bash : program, closing ?? [...launch.args], {
      cwd: launch.cwd,
      env: { ...launch.env },
      name: launch.env.TERM ?? "xterm-256color",
      cols: clampSize(size.cols),
      rows: clampSize(size.rows),
      encoding: null,
    });
  } catch (cause) {
    throw explainSpawnFailure(cause, launch);
  }
  let ended = false;
  let lastDataAt = performance.now();
  const descriptor = "fd" in terminal && typeof terminal.fd === "number" ? addTerminal(terminal.fd) : undefined;
  const hold = holdOpen(terminal, () => performance.now() - lastDataAt);
  // Without an encoding the chunks are buffers, although the type says strings.
  const reading = terminal.onData((chunk: string | Buffer) => {
    lastDataAt = performance.now();
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    events.data(Buffer.from(bytes), "stdout");
  });
  const watching = terminal.onExit(({ exitCode, signal }) => {
    ended = true;
    hold.release();
    descriptor?.remove();
    const name = signal ? signalName(signal) : null;
    events.exit(name ? null : exitCode, name);
    // The library reports the exit only after it has stopped reading the terminal.
    events.closed();
  });

  return {
    pid: terminal.pid,
    terminal: true,
    get takesInput() {
      return !ended;
    },
    write(data) {
      if (ended) return false;
      terminal.write(data);
      return true;
    },
    pendingInput: () => 0,
    endInput() {
      if (!ended) terminal.write("\x04");
    },
    resize(next) {
      if (!ended) terminal.resize(clampSize(next.cols), clampSize(next.rows));
    },
    stopThrottling: () => undefined,
    hasUnreadOutput: () => false,
    pause: () => terminal.pause(),
    resume: () => terminal.resume(),
    detach() {
      reading.dispose();
      if (ended) watching.dispose();
    },
  };
}

const HOLD_POLL_MS = 15;
const QUIET_MS = 10;

/**
 * On Linux the last kilobytes are lost if the program closes its terminal before they are read: the event loop takes a
 * hang-up after a short read for the end, and a terminal gives only short reads. So the program's side is held open
 * until the program has ended and no output arrives. No event reports the end early enough, so it is polled.
 */
function holdOpen(terminal: { pid: number }, quietFor: () => number): { release(): void } {
  const path = "ptsName" in terminal ? String(terminal.ptsName) : "";
  if (process.platform !== "linux" || !path.startsWith("/dev/")) return { release: () => undefined };
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, openFlags.O_RDWR | openFlags.O_NOCTTY);
  } catch {
    return { release: () => undefined };
  }
  const timer = setInterval(() => {
    if (!isGone(terminal.pid) || quietFor() < QUIET_MS) return;
    release();
  }, HOLD_POLL_MS);
  function release(): void {
    clearInterval(timer);
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  }
  return { release };
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

type Pty = typeof import("@lydell/node-pty");

/** Bundlers must not see the name: the package has native parts. */
async function loadPty(name = "@lydell/node-pty"): Promise<Pty> {
  try {
    const loaded = (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)) as Pty;
    // A CommonJS module: some loaders only provide its default export.
    return "default" in loaded ? (loaded.default as typeof loaded) : loaded;
  } catch (cause) {
    throw toolError("missing_package", "A pseudo-terminal needs the package @lydell/node-pty.", {
      next: "Run `npm install @lydell/node-pty`, or run the command without a terminal.",
      cause,
    });
  }
}

/** The library fails only after the fork, so everything that can be checked is checked before. */
function checkLaunch(launch: Launch): string {
  const folder = checkWorkingFolder(launch.cwd);
  if (folder) throw folder;
  if ([launch.file, ...launch.args].some((word) => word.includes("\0"))) {
    throw explainSpawnFailure(Object.assign(new Error("NUL"), { code: "ERR_INVALID_ARG_VALUE" }), launch);
  }
  if (!launch.file.includes("/")) {
    const found = findProgram(launch.file, launch.env);
    if (found) return found;
  } else {
    const path = isAbsolute(launch.file) ? launch.file : resolve(launch.cwd, launch.file);
    if (isExecutableFile(path)) return path;
  }
  throw explainSpawnFailure(Object.assign(new Error("not found"), { code: "ENOENT" }), launch);
}

function signalName(number: number): NodeJS.Signals | null {
  return SIGNALS.find((name) => constants.signals[name] === number) ?? null;
}

// Object.keys loses the key type.
const SIGNALS = Object.keys(constants.signals) as NodeJS.Signals[];

function clampSize(requested: number): number {
  return Math.max(1, Math.min(1000, Math.trunc(requested) || 80));
}

/** The bytes a terminal sends for keys, named as in tmux: `Enter`, `C-c`, `M-x`, `S-Tab`, `Up`, `F5`, or plain text. */
export function keyBytes(keys: readonly string[]): string {
  return keys.map(bytesOf).join("");
}

// oxfmt-ignore
const NAMED_KEYS = new Map<string, string>([
  ["enter", "\r"], ["return", "\r"], ["tab", "\t"], ["s-tab", "\x1b[Z"], ["btab", "\x1b[Z"], ["escape", "\x1b"],
  ["esc", "\x1b"], ["space", " "], ["backspace", "\x7f"], ["bspace", "\x7f"], ["delete", "\x1b[3~"], ["dc", "\x1b[3~"],
  ["insert", "\x1b[2~"], ["ic", "\x1b[2~"], ["up", "\x1b[A"], ["down", "\x1b[B"], ["right", "\x1b[C"],
  ["left", "\x1b[D"], ["home", "\x1b[H"], ["end", "\x1b[F"], ["pageup", "\x1b[5~"], ["pgup", "\x1b[5~"],
  ["ppage", "\x1b[5~"], ["pagedown", "\x1b[6~"], ["pgdn", "\x1b[6~"], ["npage", "\x1b[6~"], ["f1", "\x1bOP"],
  ["f2", "\x1bOQ"], ["f3", "\x1bOR"], ["f4", "\x1bOS"], ["f5", "\x1b[15~"], ["f6", "\x1b[17~"], ["f7", "\x1b[18~"],
  ["f8", "\x1b[19~"], ["f9", "\x1b[20~"], ["f10", "\x1b[21~"], ["f11", "\x1b[23~"], ["f12", "\x1b[24~"],
]);

function bytesOf(key: string): string {
  const named = NAMED_KEYS.get(key.toLowerCase());
  if (named !== undefined) return named;
  const modified = /^(c|ctrl|m|alt)[-+](.+)$/is.exec(key) ?? /^(\^)(.)$/s.exec(key);
  if (!modified) return key;
  const [, modifier = "", rest = ""] = modified;
  if (/^(m|alt)$/i.test(modifier)) return `\x1b${bytesOf(rest)}`;
  return controlOf(rest, key);
}

function controlOf(rest: string, key: string): string {
  if (rest.toLowerCase() === "space") return "\0";
  if (rest === "?") return "\x7f";
  if (/^[@a-z[\\\]^_]$/i.test(rest)) return String.fromCharCode(rest.toUpperCase().charCodeAt(0) & 0x1f);
  throw toolError("invalid_input", `There is no control key "${key}".`, {
    next: "Use C- with a letter or one of @ [ \\ ] ^ _ ?, such as C-c, C-d or C-z.",
  });
}
