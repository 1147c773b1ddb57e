import type { Clock, Timer } from "../../core/clock.ts";
import type { OutputBuffer } from "../../shell/output-buffer.ts";
import { stripTerminalCodes } from "../../shell/strip-terminal-codes.ts";

const INTERVAL_MS = 100;
const MAX_CHARACTERS = 16 * 1024;
/** A terminal sequence whose end has not come yet. */
const UNFINISHED_CODE = /\u001b(?:\[[0-?]{0,64}[ -/]{0,2}|[\]PX^_][^\u0007\u001b]{0,256})?$/;

/**
 * Passes on what is new in an output, at most ten times a second. A command that ends before the first time is up gives
 * no update: its result says it all. Returns how to stop, which passes on the rest.
 */
export function streamOutput(output: OutputBuffer, update: (text: string) => void, clock: Clock): () => void {
  let cursor = 0;
  let heldBack = "";
  let timer: Timer | undefined;
  let hasSent = false;

  function send(): void {
    timer = undefined;
    const news = output.since(cursor);
    cursor = news.cursor;
    const text = heldBack + news.text;
    heldBack = UNFINISHED_CODE.exec(text)?.[0] ?? "";
    const shown = stripTerminalCodes(text.slice(0, text.length - heldBack.length));
    if (shown === "") return;
    hasSent = true;
    update(shown.length > MAX_CHARACTERS ? endOf(shown) : shown);
  }

  const unsubscribe = output.subscribe(() => (timer ??= clock.after(INTERVAL_MS, send)));
  return () => {
    unsubscribe();
    timer?.cancel();
    if (hasSent) send();
  };
}

function endOf(text: string): string {
  const end = text.slice(-MAX_CHARACTERS);
  return `[… ${text.length - end.length} characters …]${end.isWellFormed() ? end : end.slice(1)}`;
}
