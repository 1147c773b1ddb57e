import { showInline } from "../gate/permit/describe-approval.ts";
import type { TerminalKeys } from "./terminal-keys.ts";

/** Keys that were typed in one go: escape sequences whole, everything else one by one. */
const KEYS = /\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[^]/gu;
const ENTER = /^[\r\n]$/;
const ERASE = /^[\b\x7f]$/;
const CLEAR = "\x15";
/** Escape alone, Ctrl-C and Ctrl-D. */
const CANCEL = /^[\x1b\x03\x04]$/;

/** Lets a person write one line, beginning with the text given. Undefined where it was cancelled. */
export async function editLine(
  keys: TerminalKeys,
  output: { write(text: string): unknown },
  { prompt, text, signal }: { prompt: string; text: string; signal: AbortSignal },
): Promise<string | undefined> {
  let line = text;
  const draw = (): void => void output.write(`\r\x1b[2K${prompt}${showInline(line)}`);
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
      // Arrow keys and answers of the terminal are nothing to write.
      else if (!key.startsWith("\x1b")) line += key;
    }
  }
}
