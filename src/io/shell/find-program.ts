import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { toolError } from "../../core/error.ts";

export interface Shell {
  name: "bash" | "sh" | "cmd";
  /** Absolute path. */
  path: string;
  /** The arguments to run a command text. */
  args(command: string): string[];
  /** Windows: the arguments are a complete command line and must not be quoted again. */
  verbatimArguments?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds bash, else sh. On Windows: the bash of Git for Windows, else cmd.exe. The usual folders come before PATH, and
 * relative PATH entries are ignored: the working folder must not decide which shell runs.
 */
export function findShell(env: Environment, platform: NodeJS.Platform = process.platform): Shell {
  if (platform === "win32") return findWindowsShell(env);
  const bash = findProgram("bash", env, { first: ["/bin", "/usr/bin"] });
  if (bash) return { name: "bash", path: bash, args: bashArgs };
  const sh = findProgram("sh", env, { first: ["/bin", "/usr/bin"] });
  if (sh) return { name: "sh", path: sh, args: (command) => ["-c", "--", command] };
  throw toolError("unavailable", "No shell was found: neither bash nor sh is in /bin, /usr/bin or PATH.", {
    next: "Install one, or run the program directly without a shell.",
  });
}

/**
 * The absolute path of an executable file: searches `first`, then PATH. Undefined if there is none. On Windows also with the
 * endings of PATHEXT.
 */
export function findProgram(
  name: string,
  env: Environment,
  { first = [], platform = process.platform }: { first?: readonly string[]; platform?: NodeJS.Platform } = {},
): string | undefined {
  const folders = [...first, ...(readVariable(env, "PATH", platform) ?? "").split(delimiter).filter(isAbsolute)];
  const endings = platform === "win32" ? ["", ...endingsOf(env)] : [""];
  return folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending))).find(isExecutableFile);
}

function endingsOf(env: Environment): string[] {
  return (readVariable(env, "PATHEXT", "win32") ?? ".COM;.EXE;.BAT;.CMD")
    .split(";")
    .map((ending) => ending.toLowerCase());
}

/** Names of variables have no case on Windows, but a copy of `process.env` has: there PATH is usually `Path`. */
function readVariable(env: Environment, name: string, platform: NodeJS.Platform): string | undefined {
  if (platform !== "win32" || env[name] !== undefined) return env[name];
  const found = Object.keys(env).find((key) => key.toUpperCase() === name.toUpperCase());
  return found === undefined ? undefined : env[found];
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

// Even with -c, bash reads ~/.bashrc if it takes its standard input for a network connection, and Node's pipes are
// sockets: hence --norc. `--` is for commands that begin with a dash.
function bashArgs(command: string): string[] {
  return ["--noprofile", "--norc", "-c", "--", command];
}

function findWindowsShell(env: Environment): Shell {
  const folders = ["ProgramFiles", "ProgramFiles(x86)"].flatMap((name) => readVariable(env, name, "win32") ?? []);
  const bash = folders.map((folder) => `${folder}\\Git\\bin\\bash.exe`).find(isExecutableFile);
  if (bash) return { name: "bash", path: bash, args: bashArgs };
  return {
    name: "cmd",
    path: readVariable(env, "ComSpec", "win32") ?? "C:\\Windows\\System32\\cmd.exe",
    args: (command) => ["/d", "/s", "/c", `"${command}"`],
    verbatimArguments: true,
  };
}

/** Chromium or a browser based on it, or a message about how to install one. */
export type FoundBrowser = { path: string } | { missing: string };

export interface FindBrowserOptions {
  /** The path from the user's configuration. */
  named?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
}

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];
const MAC_PROGRAMS = ["Google Chrome", "Chromium", "Microsoft Edge"].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
);
const WINDOWS_PROGRAMS = ["Google\\Chrome\\Application\\chrome.exe", "Microsoft\\Edge\\Application\\msedge.exe"];
const HOW_TO_INSTALL =
  "Install Chromium or Chrome, run `npx playwright-core install chromium`, or set browser.executable in the " +
  "configuration or the variable HAFT_BROWSER.";

export function findBrowser({ named, env, platform = process.platform }: FindBrowserOptions): FoundBrowser {
  const configured = named ?? env["HAFT_BROWSER"];
  if (configured) {
    if (isAbsolute(configured) && isExecutableFile(configured)) return { path: configured };
    return { missing: `${configured} is not the absolute path of a program. ${HOW_TO_INSTALL}` };
  }
  const path = candidatesOf(env, platform).find(isExecutableFile) ?? findByName(env, platform);
  return path === undefined ? { missing: `There is no Chromium on this machine. ${HOW_TO_INSTALL}` } : { path };
}

function candidatesOf(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string[] {
  if (platform === "darwin") return MAC_PROGRAMS;
  if (platform !== "win32") return [];
  const folders = ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"].map((name) =>
    readVariable(env, name, platform),
  );
  return folders.flatMap((folder) => (folder ? WINDOWS_PROGRAMS.map((program) => join(folder, program)) : []));
}

/** The usual folders come before PATH. */
function findByName(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string | undefined {
  const usual = platform === "win32" ? [] : ["/usr/bin", "/usr/local/bin", "/snap/bin"];
  for (const name of NAMES) {
    const found = findProgram(name, env, { first: usual, platform });
    if (found !== undefined) return found;
  }
  return undefined;
}
