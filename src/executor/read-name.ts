/** Longer than any name and version together. */
const LONGEST_NAME = 200;

/** The name that was asked for. It comes from a model: it may be of any length, or no text at all. */
export function readName(asked: unknown): string {
  const name = typeof asked === "string" ? asked : textFrom(asked);
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME).toWellFormed()}…`;
}

function textFrom(asked: unknown): string {
  try {
    return String(asked);
  } catch {
    // `{ "toString": 1 }` is JSON too.
    return `(${typeof asked})`;
  }
}
