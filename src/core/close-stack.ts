import { toolError } from "./error.ts";

/** Longer than any healthy part needs: an MCP server gets a few seconds before it is killed. */
export const MAX_CLOSE_STEP_MS = 30_000;
/** Somebody waits for the end of a short command. */
export const SHORT_CLOSE_STEP_MS = 15_000;

interface CloseStep {
  name: string;
  close: () => unknown;
}

export interface CloseStackOptions {
  /** A step that takes longer is reported and abandoned. Default: no limit. */
  maxStepMs?: number;
}

/** Closes in reverse order, and tries every step. `close` rejects with the first failure; again, the same promise. */
export class CloseStack {
  readonly #steps: CloseStep[] = [];
  readonly #maxStepMs: number | undefined;
  #closing: Promise<void> | undefined;

  constructor({ maxStepMs }: CloseStackOptions = {}) {
    this.#maxStepMs = maxStepMs;
  }

  /** `name` is used in the message of a step that took too long. */
  push(name: string, close: () => unknown): void {
    this.#steps.push({ name, close });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#closeAll());
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await this.#run(step);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #run({ name, close }: CloseStep): Promise<void> {
    const maxMs = this.#maxStepMs;
    if (maxMs === undefined) return void (await close());
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The timer also keeps the process alive: the awaited handle may be unref'ed.
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(toolError("timeout", `Closing ${name} took longer than ${maxMs} ms`)), maxMs);
    });
    try {
      await Promise.race([close(), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
