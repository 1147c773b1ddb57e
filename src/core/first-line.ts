/** One line for a person, cut where a terminal would wrap. */
export function firstLine(text: string): string {
  if (text.length <= 120 && !text.includes("\n")) return text;
  const head = text.slice(0, 121);
  const end = head.indexOf("\n");
  const line = (end >= 0 ? head.slice(0, end) : head).slice(0, 119).trimEnd();
  // Half of a surrogate pair is no text.
  return `${line.isWellFormed() ? line : line.slice(0, -1)}…`;
}
