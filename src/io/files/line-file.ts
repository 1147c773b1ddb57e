import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

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
