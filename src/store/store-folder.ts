import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toolError } from "../core/error.ts";

/** Makes `<folder>/.haft` where it is missing, for this user alone and out of version control; returns the file's path. */
export function prepareStoreFolder(folder: string): string {
  const home = join(folder, ".haft");
  const file = join(home, "haft.db");
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // A repository may bring a link of this name, to have its owner's files written elsewhere.
    if (!lstatSync(home).isDirectory()) throw linked(home);
    narrow(home, 0o700);
    ignoreInGit(home);
    closeSync(openSync(file, "a", 0o600));
    if (!lstatSync(file).isFile()) throw linked(file);
    narrow(file, 0o600);
    return file;
  } catch (error) {
    throw explain(error, home);
  }
}

function narrow(path: string, mode: number): void {
  if (process.platform === "win32" || (lstatSync(path).mode & 0o777 & ~mode) === 0) return;
  chmodSync(path, mode);
}

function ignoreInGit(home: string): void {
  try {
    writeFileSync(join(home, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const ADVICE: Record<string, [what: string, next: string]> = {
  EACCES: ["may not be written", "Give this user the right to write there, or name another folder for the store."],
  EPERM: ["may not be written", "Give this user the right to write there, or name another folder for the store."],
  EROFS: ["is on a read-only file system", "Name another folder for the store."],
  ENOSPC: ["cannot be written: the disk is full", "Free some space, then try again."],
  EDQUOT: ["cannot be written: the disk quota is used up", "Free some space, then try again."],
  EEXIST: ["is not a folder", "Remove or rename what has that name."],
  ENOTDIR: ["is not in a folder", "Name an existing folder for the store."],
};

function explain(error: unknown, home: string): unknown {
  const known = ADVICE[String((error as NodeJS.ErrnoException).code)];
  if (!known) return error;
  const [what, next] = known;
  return toolError("io_error", `The store's folder ${home} ${what}`, { next, cause: error });
}

function linked(path: string): Error {
  return toolError("path_denied", `${path} is a link or not what it should be, and the store is not put there`, {
    next: "Remove it, or name another folder for the store.",
  });
}
