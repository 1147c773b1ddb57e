import { StringDecoder } from "node:string_decoder";
import { type Clock, systemClock, type Timer } from "../core/clock.ts";
import { showInline } from "../gate/permit/approval-parts.ts";
import { quoteWord } from "../io/shell/rebuilt-word.ts";
import { widthOf } from "./layout.ts";
import { safeLine } from "./output.ts";
import { DEFAULT_COLUMNS, type KeyInput, type Terminal, type TerminalOutput } from "./terminal.ts";

/** Typed at once: a key, a pasted text, or the rest of an escape sequence. */
export type KeySequence = string;

export interface KeysOptions {
  clock?: Clock;
  /** Key by key. Default: if the terminal can. */
  raw?: boolean;
  /** Called at once for Ctrl-C, whatever is being typed. Otherwise Ctrl-C is a key like others. */
  onInterrupt?: () => void;
}

/** Reads a terminal while a question is open, by keys in raw mode, else by lines. `close` restores its mode. */
export class TerminalKeys {
  readonly isRaw: boolean;
  readonly #input: KeyInput;
  readonly #onInterrupt: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #wasRaw: boolean;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #typed: KeySequence[] = [];
  #notify: () => void = () => undefined;

  constructor(input: KeyInput, { clock = systemClock, raw, onInterrupt }: KeysOptions = {}) {
    this.#input = input;
    this.#clock = clock;
    this.#onInterrupt = onInterrupt;
    this.isRaw = raw ?? typeof input.setRawMode === "function";
    this.#wasRaw = input.isRaw ?? false;
    if (this.isRaw) input.setRawMode?.(true);
    input.on("data", this.#take);
    input.resume();
  }

  /** Discards what is typed, until nothing was typed for this time. */
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

  /** Undefined if the signal aborts. */
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
      if (text.includes("\x03")) this.#onInterrupt?.();
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

/** Splits what was typed at once: escape sequences stay whole. */
const KEYS = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[^]/gu;
const ENTER = /^[\r\n]$/;
const ERASE = /^[\b\x7f]$/;
const CLEAR = "\x15";
/** Escape alone, Ctrl-C and Ctrl-D. */
const CANCEL = /^[\x1b\x03\x04]$/;

/** An answer key, alone or with the Enter that arrived in the same chunk. Longer text stays as it is: it was pasted. */
export function keyOf(typed: KeySequence): string {
  return typed.replace(/^([a-z])(?:\r\n?|\n)$/i, "$1").toLowerCase();
}

/** Enter alone, arrow keys and reports of the terminal itself: a person typed no text that needs a note. */
export function isSilent(typed: KeySequence): boolean {
  return typed.startsWith("\x1b") || typed.trim() === "";
}

/** Lets a person edit one line that starts with `text`. Undefined if cancelled. */
export async function editLine(
  keys: TerminalKeys,
  output: Pick<TerminalOutput, "write" | "columns">,
  { prompt, text, signal }: { prompt: string; text: string; signal: AbortSignal },
): Promise<string | undefined> {
  let line = text;
  // Only one row can be drawn again: of a longer line its end is shown.
  const draw = (): void => {
    const room = (output.columns || DEFAULT_COLUMNS) - widthOf(prompt) - 1;
    output.write(`\r\x1b[2K${prompt}${endOf(showInline(line), room)}`);
  };
  if (!keys.isRaw) {
    output.write(text === "" ? prompt : `${prompt}(empty: ${showInline(text)}) `);
    const typed = await keys.next(signal);
    return typed === "" ? text : typed;
  }
  for (draw(); ; draw()) {
    for (const key of (await keys.next(signal))?.match(KEYS) ?? ["\x03"]) {
      if (CANCEL.test(key) || ENTER.test(key)) {
        draw();
        output.write("\n");
        return ENTER.test(key) ? line : undefined;
      }
      if (ERASE.test(key)) line = Array.from(line).slice(0, -1).join("");
      else if (key === CLEAR) line = "";
      // Arrow keys and reports of the terminal itself are ignored.
      else if (!key.startsWith("\x1b")) line += key;
    }
  }
}

function endOf(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const characters = Array.from(text);
  let width = 1;
  let start = characters.length;
  while (start > 0 && width + widthOf(characters[start - 1] ?? "") <= columns)
    width += widthOf(characters[--start] ?? "");
  return `…${characters.slice(start).join("")}`;
}

/** The same command line, for a shell, with the answer to its question. */
export function withYes(argv: readonly string[]): string {
  const words = argv.toSpliced(argv.includes("--") ? argv.indexOf("--") : argv.length, 0, "--yes");
  return `haft ${words.map((word) => safeLine(quoteWord(word))).join(" ")}`;
}

/** Only a typed yes confirms; Enter alone is no. */
export async function confirm(
  question: string,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<boolean> {
  const keys = new TerminalKeys(terminal.stdin);
  try {
    const answer = await editLine(keys, terminal.stderr, { prompt: `${question} (y/N) `, text: "", signal });
    return /^y(es)?$/i.test(answer?.trim() ?? "");
  } finally {
    keys.close();
  }
}
