// The folders of Haft itself. The launcher of the command line imports this file, so it imports nothing of Haft.
import { readFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import path, { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** The folder of this package: from the source, from the build and from wherever it was installed. */
export async function findPackage(from: string = fileURLToPath(import.meta.url)): Promise<string | undefined> {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined && (JSON.parse(text) as { name?: string }).name === "haft") return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** "unknown" if the package is not found. */
export async function readVersion(): Promise<string> {
  const folder = await findPackage();
  if (folder === undefined) return "unknown";
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
  return version;
}

export interface StateFolderOptions {
  /** Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Default: the home folder of the user's account. `HOME` is not read: editors, cron and terminals may differ in it. */
  home?: string;
  /** Default: this one. */
  platform?: NodeJS.Platform;
}

/**
 * The folder that holds the state folders of all workspaces: `HAFT_STATE_DIR`, else `$XDG_STATE_HOME/haft`, else the
 * platform's own place below the home folder. Undefined if `HAFT_STATE_DIR` is not an absolute path.
 */
export function findStateRoot({ env = process.env, home, platform = process.platform }: StateFolderOptions = {}):
  | string
  | undefined {
  const { isAbsolute, join, resolve } = platform === "win32" ? path.win32 : path.posix;
  const chosen = env["HAFT_STATE_DIR"];
  if (chosen) return isAbsolute(chosen) ? resolve(chosen) : undefined;
  const base = env["XDG_STATE_HOME"];
  // The standard says to ignore a relative one.
  if (base && isAbsolute(base)) return join(base, "haft");
  const own = home ?? accountHome();
  if (platform === "darwin") return join(own, "Library", "Application Support", "haft");
  if (platform === "win32") return join(env["LOCALAPPDATA"] || join(own, "AppData", "Local"), "haft");
  return join(own, ".local", "state", "haft");
}

/** An account without an entry, as containers have it, leaves only `HOME`. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return homedir();
  }
}

/** An append-only text file of lines. For the host's own files, not for paths from a model. */
export interface LineFile {
  /** In one write, so a killed process leaves at most one incomplete line at the end. */
  append(line: string): void;
  close(): void;
}

/** Throws if the file exists, unless `overwrite` is set. */
export function createLineFile(path: string, { overwrite = false } = {}): LineFile {
  // Readable by the owner only: it may contain what tools read.
  const fd = openSync(path, overwrite ? "w" : "wx", 0o600);
  let isOpen = true;
  return {
    append(line) {
      const bytes = Buffer.from(`${line}\n`);
      for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
    },
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/** Returns the complete lines. `isTorn`: an incomplete line follows, because its writer was killed. */
export function readLineFile(path: string): { lines: string[]; isTorn: boolean } {
  const lines = readFileSync(path, "utf8").split("\n");
  const rest = lines.pop();
  return { lines, isTorn: rest !== "" };
}
