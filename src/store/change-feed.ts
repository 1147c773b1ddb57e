import { type FSWatcher, watch } from "node:fs";

/** A change that no event reported is noticed after this time, while somebody waits. */
const FLOOR_MS = 100;

/** Wakes those who wait for commits of others. Sources (WAL file, NOTIFY) may miss some, so it also looks by itself. */
export class ChangeFeed {
  readonly #listeners = new Set<() => void>();
  readonly #options: ChangeFeedOptions;
  #stop: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#stop ??= this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    clearInterval(this.#timer);
  }

  #start(): () => void {
    const look = (): void => {
      if (this.#options.hasChanged()) for (const listener of [...this.#listeners]) listener();
    };
    this.#options.hasChanged();
    this.#timer = setInterval(look, FLOOR_MS);
    this.#timer.unref();
    return this.#options.listen(look);
  }
}

interface ChangeFeedOptions {
  /** Calls `look` if there may be a change. Returns the end of it. */
  listen(look: () => void): () => void;
  /** Whether something has changed since the last call. */
  hasChanged(): boolean;
}

/** Events of a file. If it cannot be watched, the feed looks by itself. */
export function watchFile(file: string, onChange: () => void): () => void {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(file, { persistent: false }, onChange);
    watcher.on("error", () => watcher?.close());
  } catch {
    // There are no more watches, or the file system has none.
  }
  return () => watcher?.close();
}
