import { toolError } from "../../core/error.ts";
import type { ToolError } from "../../core/error.ts";

type Alphabet = "base64" | "base64url";

const FOREIGN = { base64: /[^A-Za-z0-9+/=\s]/u, base64url: /[^A-Za-z0-9\-_=\s]/u };

/** Strict where leniency hides a loss: Node's own decoder drops what it does not know and never fails. */
export function readBase64(
  encoded: string,
  alphabet: Alphabet = /[-_]/.test(encoded) ? "base64url" : "base64",
): Buffer {
  const foreign = FOREIGN[alphabet].exec(encoded);
  if (foreign) throw foreignCharacter(encoded, foreign.index, foreign[0], alphabet);
  const compact = encoded.replace(/\s+/g, "");
  const padding = compact.indexOf("=");
  const body = padding === -1 ? compact : compact.slice(0, padding);
  const tail = body.slice(body.length - (body.length % 4));
  if (padding !== -1) checkPadding(compact.slice(padding), tail.length);
  if (tail.length === 1) throw notBase64("It has one character too many or too few.", "Send the whole text.");
  if (Buffer.from(tail, alphabet).toString(alphabet).replaceAll("=", "") !== tail) {
    throw notBase64(
      "Its last character says more than a last character can.",
      "It was cut off or changed: send the whole text.",
    );
  }
  return Buffer.from(body, alphabet);
}

function checkPadding(padding: string, tailLength: number): void {
  if (/[^=]/.test(padding)) {
    throw notBase64('Something follows the padding ("=").', "Several texts stand together: decode each alone.");
  }
  if (tailLength === 0 || padding.length !== 4 - tailLength) {
    throw notBase64(`It ends in ${padding.length} "=", which does not fit its length.`, "Send the whole text.");
  }
}

function foreignCharacter(encoded: string, index: number, character: string, alphabet: Alphabet): ToolError {
  const position = [...encoded.slice(0, index)].length + 1;
  const next = /^\s*data:/i.test(encoded)
    ? "This is a data URL: send only what follows its comma."
    : "Send the base64 text alone, in one alphabet.";
  const problem = `Character ${position}, ${JSON.stringify(character)}, does not belong to ${alphabet}.`;
  return notBase64(problem, next, { position, character });
}

function notBase64(problem: string, next: string, data?: unknown): ToolError {
  return toolError("invalid_input", `The text is not valid base64. ${problem}`, { next, data });
}
