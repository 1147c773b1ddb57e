/** What `read` and its kin put before a line: `12<tab>`, `12: `, `12 | `, `12→`. A blank line may have lost its last blank. */
const FORMATS = [/^ *(\d+)\t/, /^ *(\d+):(?: |$)/, /^ *(\d+) ?\|(?: |$)/, /^ *(\d+)→/];

export interface LineNumbers {
  /** The lines without their numbers. */
  lines: string[];
  /** Takes numbers of the same run from other lines; a line without one stays as it is. */
  strip(lines: readonly string[]): string[];
}

/** Finds numbers that stand in one format before every line and count up by one; undefined where they do not. */
export function findLineNumbers(lines: readonly string[]): LineNumbers | undefined {
  for (const format of FORMATS) {
    const numbers = lines.map((line) => numberOf(line, format));
    const first = numbers[0];
    if (first === undefined || numbers.some((number, index) => number !== first + index)) continue;
    const bare = (line: string): string => line.replace(format, "");
    return {
      lines: lines.map(bare),
      strip: (others) => {
        const last = first + lines.length + others.length;
        return others.map((line) => {
          const number = numberOf(line, format);
          return number !== undefined && number >= first && number < last ? bare(line) : line;
        });
      },
    };
  }
  return undefined;
}

function numberOf(line: string, format: RegExp): number | undefined {
  const digits = format.exec(line)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
