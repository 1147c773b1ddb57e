import { createHash, randomBytes } from "node:crypto";
import { closeSync, constants, openSync, readdirSync, readlinkSync, unlinkSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { errorCode } from "../../core/error.ts";
import { isMissing } from "./file-errors.ts";
import { type Anchor, type FileAccess, isSameFile, lstatIfExists } from "./path-anchor.ts";

/** The pid of the writer, then `hostMark()` and random digits. */
const TEMPORARY_NAME = /^\.haft-tmp-(\d+)-([0-9a-f]{4})[0-9a-f]{12}$/;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

export interface TemporaryFile {
  name: string;
  fd: number;
  /** Closes and removes the file. */
  discard(): void;
  /** Closes; the file stays. */
  close(): void;
}

/** In the folder of its target, so a rename is atomic. Never follows a link or opens an existing file. */
export function createTemporaryFile(directory: Anchor, mode: number, name = temporaryName()): TemporaryFile {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(directory.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(fd);
    isOpen = false;
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
  return `.haft-tmp-${process.pid}-${hostMark()}${randomBytes(6).toString("hex")}`;
}

let mark: string | undefined;

/** Where a pid has its meaning: the machine and the PID namespace. */
function hostMark(): string {
  if (mark !== undefined) return mark;
  let namespace = "";
  try {
    namespace = readlinkSync("/proc/self/ns/pid");
  } catch {
    // Only Linux has it.
  }
  mark = createHash("sha256").update(`${hostname()} ${namespace}`).digest("hex").slice(0, 4);
  return mark;
}

/** A name that a running or killed write uses. Listings and searches omit such names. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/**
 * Removes the files of killed writers from a directory: at once if the process was on this machine and is gone, after an
 * hour if it was elsewhere, after a day in any case, because process ids are reused. Returns the names that are left.
 */
function removeStaleTempFiles(directory: Anchor, now: number): string[] {
  return readdirSync(directory.at(".")).filter((name) => {
    const [, pid, host] = TEMPORARY_NAME.exec(name) ?? [];
    if (pid === undefined) return false;
    const stat = lstatIfExists(directory.at(name));
    if (!stat?.isFile()) return false;
    const age = now - Number(stat.mtimeMs);
    const isDead = !isAlive(Number(pid)) && (host === hostMark() || age >= HOUR_MS);
    if (!isDead && age < DAY_MS) return true;
    removeIfExists(directory.at(name));
    return false;
  });
}

/** As `Files.removeTemporaryFiles`. */
export function removeTemporaryFiles(
  folders: readonly string[],
  { anchoring, clock }: Pick<FileAccess, "anchoring" | "clock">,
): boolean {
  let isLeft = false;
  for (const folder of folders) {
    try {
      const anchor = anchoring(folder, { directory: true });
      try {
        // Do not clean a directory that was swapped in.
        if (anchor.real === folder) isLeft = removeStaleTempFiles(anchor, clock()).length > 0 || isLeft;
      } finally {
        anchor.close();
      }
    } catch {
      // The folder is gone or cannot be read. Cleaning must never fail a write or a start.
    }
  }
  return isLeft;
}

/** Removes the second name of a file whose writer was killed after linking: it would look shared forever. */
export function removeTwin(directory: Anchor, base: string): boolean {
  const stat = lstatIfExists(directory.at(base));
  if (stat === null) return false;
  return readdirSync(directory.at(".")).some((name) => {
    const pid = TEMPORARY_NAME.exec(name)?.[1];
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
    return errorCode(error) !== "ESRCH";
  }
}

const MAX_REMEMBERED_FOLDERS = 1_000;

/** Cleans the folder of a write, at most once an hour per folder. */
export function createTempFileCleaner() {
  const visited = new Map<string, number>();
  return {
    visit(real: string, { anchoring, clock }: Pick<FileAccess, "anchoring" | "clock">): void {
      const directory = dirname(real);
      const now = clock();
      const last = visited.get(directory);
      if (last !== undefined && now - last < HOUR_MS) return;
      if (visited.size >= MAX_REMEMBERED_FOLDERS) visited.clear();
      visited.set(directory, now);
      removeTemporaryFiles([directory], { anchoring, clock });
    },
  };
}
