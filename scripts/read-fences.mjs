// Finds the TypeScript examples of a Markdown text: ```ts fences, with the words that follow on the opening line.

/**
 * `ts` is type-checked, `ts run` is also executed, `ts no-check: reason` is left alone. `line` is the line of the first
 * line of code, counted from 1.
 */
export function readFences(markdown) {
  const fences = [];
  let open;
  for (const [index, text] of markdown.split(/\r?\n/).entries()) {
    if (open === undefined) {
      const start = /^(\s*)(`{3,}|~{3,})\s*([^`]*)$/.exec(text);
      if (start === null) continue;
      const [, indent = "", ticks = "", info = ""] = start;
      open = { indent, ticks, info: info.trim(), line: index + 2, code: [] };
    } else if (isClosing(text, open.ticks)) {
      const example = toExample(open);
      if (example !== undefined) fences.push(example);
      open = undefined;
    } else {
      open.code.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    }
  }
  return fences;
}

function isClosing(text, ticks) {
  const line = text.trim();
  return line.length >= ticks.length && line === ticks[0].repeat(line.length);
}

function toExample({ info, line, code, indent }) {
  const [language, ...words] = info.split(/\s+/);
  if (language !== "ts" && language !== "typescript") return undefined;
  const mark = words.join(" ");
  const example = { line, column: indent.length, code: code.join("\n") };
  if (mark === "") return { ...example, mode: "check" };
  if (mark === "run") return { ...example, mode: "run" };
  const exempt = /^no-check\b:?\s*(.*)$/.exec(mark);
  if (exempt !== null) {
    return exempt[1] === ""
      ? { ...example, mode: "error", problem: "no-check needs a reason: `ts no-check: why`" }
      : undefined;
  }
  return { ...example, mode: "error", problem: `unknown mark "${mark}": use \`run\` or \`no-check: why\`` };
}
