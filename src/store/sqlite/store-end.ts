import { closeSync, constants, openSync, readSync, rmSync, writeSync } from "node:fs";

/** Two numbers of 16 digits. */
const LENGTH = 34;
const DIGITS = 16;
const SAVE_MS = 100;

/** The number of the last entry of the audit log: that was committed, and that the disk had. */
interface KnownEnd {
  written: number;
  synced: number;
}

function endFileOf(file: string): string {
  return `${file}-end`;
}

/**
 * Where the audit log of a store ended, in a file beside it. A WAL that was cut off, or an older copy of the store, looks sound
 * to SQLite: only from outside can be said that its end is missing. Written after each commit and not synced: after a power
 * cut `synced` is never more than what the disk had.
 */
export class StoreEnd {
  readonly #file: string;
  readonly #buffer = Buffer.alloc(LENGTH, " ");
  #fd: number | undefined;
  #isFailed = false;
  #savedAt = Number.NEGATIVE_INFINITY;
  #written = 0;
  #synced = 0;

  constructor(file: string) {
    this.#file = file;
  }

  get written(): number {
    return this.#written;
  }

  /** Saved at once only if the last time was a while ago: it takes 8 µs. */
  write(seq: number): void {
    this.#written = Math.max(this.#written, seq);
    if (performance.now() - this.#savedAt > SAVE_MS) this.#save();
  }

  synced(seq: number): void {
    this.#synced = Math.max(this.#synced, seq);
    this.#save();
  }

  close(): void {
    if (this.#written > 0) this.#save();
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
    this.#isFailed = true;
  }

  /** A failure is ignored: the file protects, it is not needed. */
  #save(): void {
    if (this.#isFailed) return;
    this.#savedAt = performance.now();
    try {
      this.#fd ??= openSync(endFileOf(this.#file), constants.O_CREAT | constants.O_RDWR, 0o600);
      // Other processes write to the same log, and may be ahead.
      const known = read(this.#fd);
      this.#written = Math.max(this.#written, known?.written ?? 0);
      this.#synced = Math.max(this.#synced, known?.synced ?? 0);
      const digits = (seq: number): string => String(seq).padStart(DIGITS, "0");
      this.#buffer.write(`${digits(this.#written)} ${digits(this.#synced)}\n`);
      writeSync(this.#fd, this.#buffer, 0, LENGTH, 0);
    } catch {
      this.#isFailed = true;
    }
  }
}

function read(fd: number): KnownEnd | undefined {
  const buffer = Buffer.alloc(LENGTH);
  if (readSync(fd, buffer, 0, LENGTH, 0) < LENGTH) return undefined;
  const [written, synced] = buffer.toString("latin1").split(" ").map(Number);
  return Number.isSafeInteger(written) && Number.isSafeInteger(synced)
    ? { written: written!, synced: synced! }
    : undefined;
}

/** What is missing of the audit log at its end. */
export interface LostEnd {
  all: number;
  /** Of those, how many the disk had: no power cut explains that. */
  onDisk: number;
}

/** `last`: the number of its last entry. */
export function findLostEnd(file: string, last: number): LostEnd | undefined {
  const known = readEnd(file);
  if (!known || last >= known.written) return undefined;
  return { all: known.written - last, onDisk: Math.max(0, known.synced - last) };
}

export function describeLostEnd({ onDisk }: LostEnd): string {
  const what = onDisk === 1 ? "the last entry of its audit log is" : `the last ${onDisk} entries of its audit log are`;
  return `${what} missing: it was cut off, or an older copy is in its place`;
}

function readEnd(file: string): KnownEnd | undefined {
  try {
    const fd = openSync(endFileOf(file), "r");
    try {
      return read(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** The loss was reported. */
export function forgetLostEnd(file: string): void {
  rmSync(endFileOf(file), { force: true });
}
