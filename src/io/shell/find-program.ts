import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { toolError } from "../../core/error.ts";

export interface Shell {
  name: "bash" | "sh" | "cmd";
  /** Absolute. */
  path: string;
  /** The arguments that make it run this command text. */
  args(command: string): string[];
  /** Windows: the arguments are one ready command line and must not be quoted again. */
  verbatimArguments?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * bash where there is one, else sh. On Windows: the bash of Git for Windows, else cmd.exe.
 * The usual places come before PATH, and relative PATH entries are never looked at: the working folder does not
 * decide which shell runs.
 */
export function findShell(env: Environment, platform: NodeJS.Platform = process.platform): Shell {
  if (platform === "win32") return findWindowsShell(env);
  const bash = findProgram("bash", env, ["/bin", "/usr/bin"]);
  if (bash) return { name: "bash", path: bash, args: bashArgs };
  const sh = findProgram("sh", env, ["/bin", "/usr/bin"]);
  if (sh) return { name: "sh", path: sh, args: (command) => ["-c", "--", command] };
  throw toolError("unavailable", "No shell was found: neither bash nor sh is in /bin, /usr/bin or PATH.", {
    next: "Install one, or run the program itself with its arguments and no shell.",
  });
}

/** The absolute path of an executable file, first in `first`, then along PATH; undefined when there is none. */
export function findProgram(name: string, env: Environment, first: readonly string[] = []): string | undefined {
  const folders = [...first, ...(env.PATH ?? "").split(delimiter).filter(isAbsolute)];
  return folders.map((folder) => join(folder, name)).find(isExecutableFile);
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

// --norc is not idle: bash reads ~/.bashrc even under -c when it takes its standard input for a network connection,
// and the pipes of Node are sockets. `--` keeps a command that begins with a dash from being read as an option.
function bashArgs(command: string): string[] {
  return ["--noprofile", "--norc", "-c", "--", command];
}

function findWindowsShell(env: Environment): Shell {
  const folders = [env.ProgramFiles, env["ProgramFiles(x86)"]].filter((folder) => folder !== undefined);
  const bash = folders.map((folder) => `${folder}\\Git\\bin\\bash.exe`).find(isExecutableFile);
  if (bash) return { name: "bash", path: bash, args: bashArgs };
  return {
    name: "cmd",
    path: env.ComSpec ?? "C:\\Windows\\System32\\cmd.exe",
    args: (command) => ["/d", "/s", "/c", `"${command}"`],
    verbatimArguments: true,
  };
}

/** Chromium or a browser made of it, or what to do so that there is one. */
export type FoundBrowser = { path: string } | { missing: string };

export interface FindBrowserOptions {
  /** The one that the user has named. */
  named?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  platform?: NodeJS.Platform;
}

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"];
const MAC_PROGRAMS = ["Google Chrome", "Chromium", "Microsoft Edge"].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
);
const WINDOWS_PROGRAMS = ["Google\\Chrome\\Application\\chrome.exe", "Microsoft\\Edge\\Application\\msedge.exe"];
const HOW =
  "Install Chromium or Chrome, or run `npx playwright-core install chromium`; or name one by browser.executable of the " +
  "configuration or by HAFT_BROWSER.";

export function findBrowser({ named, env, platform = process.platform }: FindBrowserOptions): FoundBrowser {
  const wanted = named ?? env["HAFT_BROWSER"];
  if (wanted) {
    if (isAbsolute(wanted) && isExecutableFile(wanted)) return { path: wanted };
    return { missing: `${wanted} is no program (its whole path is needed). ${HOW}` };
  }
  const path = candidatesOf(env, platform).find(isExecutableFile) ?? findByName(env, platform);
  return path === undefined ? { missing: `There is no Chromium on this machine. ${HOW}` } : { path };
}

function candidatesOf(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string[] {
  if (platform === "darwin") return MAC_PROGRAMS;
  if (platform !== "win32") return [];
  const folders = [env["PROGRAMFILES"], env["PROGRAMFILES(X86)"], env["LOCALAPPDATA"]].filter((folder) => folder);
  return folders.flatMap((folder) => WINDOWS_PROGRAMS.map((program) => join(folder!, program)));
}

/** The usual folders come before PATH. */
function findByName(env: FindBrowserOptions["env"], platform: NodeJS.Platform): string | undefined {
  const usual = platform === "win32" ? [] : ["/usr/bin", "/usr/local/bin", "/snap/bin"];
  for (const name of NAMES) {
    const found = findProgram(name, env, usual);
    if (found !== undefined) return found;
  }
  return undefined;
}
