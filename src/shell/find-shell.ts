import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { toolError } from "../core/error.ts";

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
