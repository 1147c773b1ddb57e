import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, readdirSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { isMissing } from "./file-errors.ts";
import { type Anchor, type FileAccess, isSameFile, lstatIfExists } from "./path-anchor.ts";

const NAME = /^\.haft-tmp-(\d+)-[0-9a-f]{16}$/;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

export interface TemporaryFile {
  name: string;
  fd: number;
  /** Closes before it removes, so that the space is given back. */
  discard(): void;
  /** Closes; the file stays. */
  close(): void;
}

/** Beside its later place, so that a rename is one step. Never followed, never an existing file. */
export function createTemporaryFile(directory: Anchor, mode: number, name = temporaryName()): TemporaryFile {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(directory.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  let open = true;
  const close = () => {
    if (open) closeSync(fd);
    open = false;
  };
  return {
    name,
    fd,
    close,
    discard: () => {
      close();
      removeIfExists(directory.at(name));
    },
  };
}

export function temporaryName(): string {
  return `.haft-tmp-${process.pid}-${randomBytes(8).toString("hex")}`;
}

/** Left by a write that is under way, or was killed: listings and searches leave such names out. */
export function isTemporaryName(name: string): boolean {
  return NAME.test(name);
}

/**
 * Removes what killed writers left in a directory: older than an hour and its process gone, or older than a day
 * (process ids are used again). Answers the names removed.
 */
function removeStaleTempFiles(directory: Anchor, now: number): string[] {
  return readdirSync(directory.at(".")).filter((name) => {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined) return false;
    const stat = lstatIfExists(directory.at(name));
    if (!stat?.isFile()) return false;
    const age = now - Number(stat.mtimeMs);
    if (age < HOUR_MS || (age < DAY_MS && isAlive(Number(pid)))) return false;
    return removeIfExists(directory.at(name));
  });
}

/**
 * A writer killed between linking a new file to its name and removing the temporary name leaves a second name, which
 * would make the file look shared for ever. Answers whether such a twin was removed.
 */
export function removeTwin(directory: Anchor, base: string): boolean {
  const stat = lstatIfExists(directory.at(base));
  if (stat === null) return false;
  return readdirSync(directory.at(".")).some((name) => {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) return false;
    const other = lstatIfExists(directory.at(name));
    return other !== null && isSameFile(other, stat) && removeIfExists(directory.at(name));
  });
}

function removeIfExists(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

const EVERY_MS = 60 * 60 * 1000;
const MAX_REMEMBERED = 1_000;

/** Looks for strays in the folder of a write, at most once an hour for each folder. */
export function createTempFileCleaner() {
  const visited = new Map<string, number>();
  return {
    visit(real: string, { anchoring, clock }: Pick<FileAccess, "anchoring" | "clock">): void {
      const directory = dirname(real);
      const now = clock();
      const last = visited.get(directory);
      if (last !== undefined && now - last < EVERY_MS) return;
      if (visited.size >= MAX_REMEMBERED) visited.clear();
      visited.set(directory, now);
      try {
        const anchor = anchoring(directory, { directory: true });
        try {
          // A directory swapped in since is left alone.
          if (anchor.real === directory) removeStaleTempFiles(anchor, now);
        } finally {
          anchor.close();
        }
      } catch {
        // Cleaning is a courtesy: it never makes a write fail.
      }
    },
  };
}
