import { StringDecoder } from "node:string_decoder";
import type { Clock, Timer } from "../core/clock.ts";

/** What of a terminal's input is needed; `process.stdin` is one. */
export interface KeyInput {
  isTTY?: boolean;
  isRaw?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: "data", listener: (chunk: Buffer | string) => void): unknown;
  off(event: "data", listener: (chunk: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** What was typed at once: a key, a pasted text, or the rest of an escape sequence. */
export type KeySequence = string;

/**
 * Reads a terminal while a question is open, one piece at a time: a key where it can be read raw, else a line. Gives the
 * terminal back as it was.
 */
export class TerminalKeys {
  readonly isRaw: boolean;
  readonly #input: KeyInput;
  readonly #clock: Clock;
  readonly #wasRaw: boolean;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #typed: KeySequence[] = [];
  #notify: () => void = () => undefined;

  constructor(input: KeyInput, clock: Clock, raw: boolean) {
    this.#input = input;
    this.#clock = clock;
    this.isRaw = raw;
    this.#wasRaw = input.isRaw ?? false;
    if (raw) input.setRawMode?.(true);
    input.on("data", this.#take);
    input.resume();
  }

  /** Forgets what was typed, until nothing has been for so long. */
  async untilQuiet(ms: number, signal: AbortSignal): Promise<void> {
    let lastInputAt = this.#clock.monotonic();
    while (!signal.aborted) {
      const left = lastInputAt + ms - this.#clock.monotonic();
      if (left <= 0) break;
      await this.#wait(signal, left);
      if (this.#typed.length > 0 || this.#line !== "") lastInputAt = this.#clock.monotonic();
      this.#typed = [];
      this.#line = "";
    }
  }

  /** Undefined when the signal says stop. */
  async next(signal: AbortSignal): Promise<KeySequence | undefined> {
    while (this.#typed.length === 0 && !signal.aborted) await this.#wait(signal);
    return signal.aborted ? undefined : this.#typed.shift();
  }

  close(): void {
    this.#input.off("data", this.#take);
    if (this.isRaw) this.#input.setRawMode?.(this.#wasRaw);
    this.#input.pause();
  }

  readonly #take = (chunk: Buffer | string): void => {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    if (this.isRaw) {
      if (text !== "") this.#typed.push(text);
    } else {
      const lines = (this.#line + text).split("\n");
      this.#line = lines.pop() ?? "";
      this.#typed.push(...lines.map((line) => line.replace(/\r$/, "")));
    }
    this.#notify();
  };

  #wait(signal: AbortSignal, maxMs?: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        signal.removeEventListener("abort", done);
        this.#notify = () => undefined;
        resolve();
      };
      this.#notify = done;
      signal.addEventListener("abort", done, { once: true });
      if (maxMs !== undefined) timer = this.#clock.after(maxMs, done);
    });
  }
}
