import { type FileInfo, type OpenFile, readAll } from "./open-file.ts";

/** Clocks of file systems are coarse: a file that was just changed may change again without a new time. */
const SETTLED_MS = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Keeps the content of files that were read lately. Every read opens the file; a file that has changed is read again. */
export class ContentCache {
  readonly #known = new Map<string, { state: string; bytes: Buffer }>();
  #size = 0;

  /** All bytes of the file, which the caller must not change. Undefined if the file has more than `maxBytes`. */
  async read(file: OpenFile, maxBytes: number): Promise<Buffer | undefined> {
    const { real, size, state, changedMs } = file.info;
    if (size > maxBytes) return undefined;
    const known = this.#known.get(real);
    if (known?.state === state) {
      this.#known.delete(real);
      this.#known.set(real, known);
      return known.bytes;
    }
    const startedAt = Date.now();
    const bytes = (await readAll(file, { maxBytes })) ?? undefined;
    this.#forget(real);
    if (bytes?.length === size && changedMs < startedAt - SETTLED_MS) this.#keep(real, { state, bytes });
    return bytes;
  }

  #keep(real: string, content: { state: FileInfo["state"]; bytes: Buffer }): void {
    this.#known.set(real, content);
    this.#size += content.bytes.length;
    for (const oldest of this.#known.keys()) {
      if (this.#size <= MAX_BYTES) break;
      this.#forget(oldest);
    }
  }

  #forget(real: string): void {
    this.#size -= this.#known.get(real)?.bytes.length ?? 0;
    this.#known.delete(real);
  }
}
