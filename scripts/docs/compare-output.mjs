// Compares what a block printed with what its document shows.

/** Undefined if they agree; otherwise both as a diff. In `expected`, `…` stands for any text, or for any lines. */
export function compareOutput(expected, actual) {
  const wanted = linesOf(expected);
  const printed = linesOf(actual);
  return toPattern(wanted).test(`${printed.join("\n")}\n`) ? undefined : showDiff(wanted, printed);
}

/** Whether the output begins as expected: for a program that still runs. */
export function beginsWith(expected, actual) {
  return toPattern(linesOf(expected), "").test(`${linesOf(actual).join("\n")}\n`);
}

function linesOf(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  while (lines[0] === "") lines.shift();
  return lines;
}

function toPattern(lines, end = "$") {
  const source = lines.map((line) => (line.trim() === "…" ? "(?:.*\\n)*?" : `${toLinePattern(line)}\\n`)).join("");
  return new RegExp(`^${source}${lines.length === 0 ? "\\n?" : ""}${end}`);
}

function toLinePattern(line) {
  return line
    .split("…")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
}

/** `-` is expected and missing, `+` is printed and not expected. */
function showDiff(wanted, printed) {
  const isAny = (row) => wanted[row]?.trim() === "…";
  const patterns = wanted.map((line) => new RegExp(`^${toLinePattern(line)}$`));
  const matches = (row, column) => !isAny(row) && patterns[row]?.test(printed[column]) === true;
  // The length of the longest common part from each pair of lines on.
  const width = printed.length + 1;
  const lengths = new Uint32Array((wanted.length + 1) * width);
  const lengthAt = (row, column) => lengths[row * width + column] ?? 0;
  for (let row = wanted.length - 1; row >= 0; row -= 1) {
    for (let column = printed.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] = matches(row, column)
        ? lengthAt(row + 1, column + 1) + 1
        : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  const shown = [];
  let [row, column] = [0, 0];
  while (row < wanted.length || column < printed.length) {
    if (row < wanted.length && column < printed.length && matches(row, column)) {
      shown.push(`  ${printed[column]}`);
      [row, column] = [row + 1, column + 1];
    } else if (
      column === printed.length ||
      (row < wanted.length && lengthAt(row + 1, column) >= lengthAt(row, column + 1))
    ) {
      shown.push(`${isAny(row) ? " " : "-"} ${wanted[row]}`);
      row += 1;
    } else {
      shown.push(`+ ${printed[column]}`);
      column += 1;
    }
  }
  return shown.join("\n");
}
