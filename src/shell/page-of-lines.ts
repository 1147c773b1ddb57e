export interface NumberedLine {
  number: number;
  text: string;
}

export interface LinePage {
  lines: NumberedLine[];
  totalLines: number;
  /** Where the next page begins; absent at the end. */
  nextOffset?: number;
  /** Lines of this page that memory no longer has, first and last. */
  missing?: { from: number; to: number };
}

interface KeptText {
  head: string;
  tail: string;
  omittedBytes: number;
  totalLines: number;
}

const CUT = "[… cut …]";

/** A page of numbered lines out of the kept head and tail; a line that was cut in the middle is marked. */
export function pageOfLines(output: KeptText, page: { offset?: number; limit: number }): LinePage {
  const { totalLines } = output;
  const from = Math.max(1, page.offset ?? totalLines - page.limit + 1);
  const to = Math.min(totalLines, from + page.limit - 1);
  const kept = keptLines(output);
  const result: LinePage = { lines: kept.filter(({ number }) => number >= from && number <= to), totalLines };
  if (to < totalLines && to >= from) result.nextOffset = to + 1;
  // Numbers rise by one except at the gap; it may span millions of lines, so it is computed and not walked.
  const gapAt = kept.findIndex(({ number }, index) => number !== index + 1);
  const gap = gapAt < 0 ? undefined : { from: gapAt + 1, to: (kept[gapAt] as NumberedLine).number - 1 };
  if (gap && gap.from <= to && gap.to >= from) {
    result.missing = { from: Math.max(gap.from, from), to: Math.min(gap.to, to) };
  }
  return result;
}

function keptLines({ head, tail, omittedBytes, totalLines }: KeptText): NumberedLine[] {
  const headLines = splitLines(head);
  const numbered = headLines.map((text, index) => ({ number: index + 1, text }));
  if (omittedBytes === 0) return numbered;
  const tailLines = splitLines(tail);
  const firstInTail = totalLines - tailLines.length + 1;
  const last = numbered[numbered.length - 1];
  if (last && !head.endsWith("\n")) last.text += CUT;
  tailLines.forEach((text, index) => {
    const number = firstInTail + index;
    // One line so long that its middle is gone: its beginning is in the head, its end in the tail.
    if (last && number <= last.number) last.text = last.text.endsWith(CUT) ? last.text + text : last.text + CUT + text;
    else numbered.push({ number, text: index === 0 ? CUT + text : text });
  });
  return numbered;
}

function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}
