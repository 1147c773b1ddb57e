import { hideSecrets, isSecretName, type SecretNames } from "./mask-secret.ts";
import { toPlainData } from "./plain-data.ts";

export interface RedactLimits {
  /** Characters of one text. */
  maxTextLength?: number;
  /** Characters of all texts and names together, roughly. */
  maxTotalLength?: number;
  /** Further names of secrets. */
  names?: SecretNames | undefined;
}

const MAX_ENTRIES = 200;
const MAX_DEPTH = 12;

/** A bounded copy as plain data that may be kept and shown: secrets are hidden by name and by shape, and cuts are said. */
export function redactSecrets(
  value: unknown,
  { maxTextLength = 2000, maxTotalLength = 16_000, names }: RedactLimits = {},
): unknown {
  let left = maxTotalLength;
  return redact(toPlainData(value).value, 0, false);

  function redact(data: unknown, depth: number, isSecret: boolean): unknown {
    if (typeof data === "string") return isSecret ? hidden(data) : redactText(data);
    if (isSecret && typeof data === "number") return "[hidden]";
    if (typeof data !== "object" || data === null) return data;
    if (depth >= MAX_DEPTH || left <= 0) return Array.isArray(data) ? "[list left out]" : "[object left out]";
    const entries = Object.entries(data);
    const kept = entries.slice(0, MAX_ENTRIES).map(([key, item]): [string, unknown] => {
      left -= key.length + 4;
      // A list has no names of its own.
      const isHidden = isSecret || (!Array.isArray(data) && (isSecretName(key) || names?.has(key) === true));
      return [key, redact(item, depth + 1, isHidden)];
    });
    const more = entries.length - kept.length;
    if (Array.isArray(data)) {
      const items = kept.map(([, item]) => item);
      return more > 0 ? [...items, `[${more} more]`] : items;
    }
    return Object.fromEntries(more > 0 ? [...kept, ["[left out]", `${more} more`]] : kept);
  }

  function redactText(text: string): string {
    const room = Math.max(0, Math.min(maxTextLength, left));
    // Looked at a little beyond the cut, so that half a secret is not left standing before it.
    const seen = hideSecrets(text.slice(0, room + 500));
    const shown = (names?.hideIn(seen) ?? seen).slice(0, room);
    left -= shown.length;
    return text.length > room ? `${shown}… [${text.length - room} more characters]` : shown;
  }
}

function hidden(text: string): string {
  return text === "" ? text : `[hidden, ${text.length} characters]`;
}
