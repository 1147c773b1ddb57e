import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** A text file that grows by whole lines; for a host's own files, not for a model's paths. */
export interface LineFile {
  /** In one write, so that what a killed process leaves is whole lines and at most a torn last one. */
  append(line: string): void;
  close(): void;
}

/** A file that is there already is not written over unless that is said. */
export function createLineFile(path: string, { overwrite = false } = {}): LineFile {
  // For nobody else's eyes: it may hold what tools read.
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

/** Whole lines; what stands after the last line end was being written when its process died. */
export function readLineFile(path: string): { lines: string[]; isTorn: boolean } {
  const lines = readFileSync(path, "utf8").split("\n");
  const rest = lines.pop();
  return { lines, isTorn: rest !== "" };
}
