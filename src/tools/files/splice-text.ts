/** One replaced range of a text; everything outside the ranges stays as it is, byte for byte. */
export interface Splice {
  start: number;
  end: number;
  newText: string;
}

/** Applies splices that are in ascending order and do not overlap. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, newText } of splices) {
    parts.push(text.slice(at, start), newText);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}
