/** Longer than any name and version together. */
const MAX_NAME_LENGTH = 200;

/** The name that was asked for. It comes from a model: it may be of any length, or no text at all. */
export function readName(requested: unknown): string {
  const name = typeof requested === "string" ? requested : textFrom(requested);
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…`;
}

function textFrom(requested: unknown): string {
  try {
    return String(requested);
  } catch {
    // `{ "toString": 1 }` is JSON too.
    return `(${typeof requested})`;
  }
}
