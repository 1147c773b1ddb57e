// Tables of documents that come from the program: `<!-- generated: commands -->` … `<!-- end -->`.

const TABLES = {
  commands: ({ commands }) => [
    ["command", "does"],
    ...commands.map(({ path, summary }) => [`\`haft ${path}\``, summary]),
  ],
  options: ({ globalOptions }) => [
    ["option", "does"],
    ...Object.entries(globalOptions).map(([name, { short, value, about }]) => [
      `${short ? `\`-${short}\`, ` : ""}\`--${name}${value ? ` ${value}` : ""}\``,
      about,
    ]),
  ],
  environment: ({ environment }) => [
    ["variable", "does"],
    ...environment.map(([name, about]) => [`\`${name}\``, about]),
  ],
  groups: ({ groups }) => [
    ["group", "tools"],
    ...Object.entries(groups).map(([group, names]) => [`\`${group}\``, names.join(", ")]),
    ["`group:plugins`, `group:plugin:<id>`", "tools of plugins"],
    ["`group:mcp`, `group:mcp:<server>`", "tools of MCP servers"],
  ],
  "exit-codes": ({ exitCodes }) => [["code", "means"], ...exitCodes.map(([code, meaning]) => [String(code), meaning])],
};

const PART = /(<!-- generated: ([\w-]+) -->\n)([^]*?)(<!-- end -->)/g;

/** The text with its tables as the program has them. */
export function updateTables(text, program) {
  return text.replaceAll(PART, (_whole, start, name, _table, end) => {
    const table = TABLES[name];
    if (table === undefined) throw new Error(`There is no table "${name}": use ${Object.keys(TABLES).join(", ")}.`);
    const [head, ...rows] = table(program);
    return [start.trimEnd(), row(head), row(head.map(() => "---")), ...rows.map(row), end].join("\n");
  });
}

function row(cells) {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

export function checkTables(documents, program) {
  return documents.flatMap(({ file, text }) => {
    const wanted = updateTables(text, program).split("\n");
    const at = text.split("\n").findIndex((line, index) => line !== wanted[index]);
    const message = "This table is not what the program has: run `npm run docs:update`";
    return at === -1 && wanted.join("\n") === text ? [] : [{ file, line: at + 1, message }];
  });
}
