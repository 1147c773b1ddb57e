import { GLOBAL_OPTIONS, showOperand } from "./arguments.ts";
import { COMMANDS, type CommandEntry } from "./command-table.ts";
import type { Command, OptionSpecs } from "./command.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { showColumns } from "./layout.ts";
import { type Paint } from "./output.ts";

/** Examples come first: most readers look for a line to change. */
export function showCommandHelp({ path, summary }: CommandEntry, command: Command, paint: Paint): string[] {
  const { examples, operands = [], options = {}, takesRest, notes = [] } = command;
  const usage = ["haft", path, ...operands.map(showOperand), ...(Object.keys(options).length > 0 ? ["[options]"] : [])];
  return [
    `${summary}.`,
    "",
    ...examples.flatMap(([line, does]) => [`  ${paint("dim", `# ${does}`)}`, `  ${paint("cyan", line)}`]),
    "",
    paint("bold", "Usage"),
    `  ${usage.join(" ")}${takesRest ? " [-- COMMAND…]" : ""}`,
    ...(notes.length > 0 ? ["", ...notes.map((note) => `  ${note}`)] : []),
    ...showOptions("Options", options, paint),
    ...showOptions("Global options", GLOBAL_OPTIONS, paint),
  ];
}

export function showGroupHelp(entries: readonly CommandEntry[], paint: Paint): string[] {
  return [
    ...showEntries(entries, paint),
    "",
    paint("dim", `\`haft ${entries[0]?.path ?? ""} --help\` shows how to use one.`),
  ];
}

export function showHelp(version: string, paint: Paint): string[] {
  return [
    `Haft ${version}: define a tool once, and every call of it passes one gate.`,
    "",
    `  ${paint("dim", "# start the server and the console for this folder")}`,
    `  ${paint("cyan", "haft")}`,
    `  ${paint("dim", "# call a tool; a change asks first, and can be undone")}`,
    `  ${paint("cyan", "haft tools call write path=note.txt content='Hello'")}`,
    `  ${paint("cyan", "haft undo --last")}`,
    "",
    paint("bold", "Commands"),
    ...showEntries(COMMANDS, paint),
    ...showOptions("Global options", GLOBAL_OPTIONS, paint),
    "",
    paint("bold", "Exit codes"),
    "  0 done, 1 failed, 2 wrong usage, 3 not authorized, 4 not reachable, 5 the tool failed,",
    "  6 denied, 7 waits for an answer, 8 the answer was not used, 130 interrupted",
    paint("dim", "  `haft help exit-codes` explains them."),
  ];
}

export function showExitCodes(paint: Paint): string[] {
  return showColumns(
    EXIT_CODES.map(([code, meaning]) => [`  ${code}`, meaning]),
    { styles: ["cyan"], paint },
  );
}

function showEntries(entries: readonly CommandEntry[], paint: Paint): string[] {
  return showColumns(
    entries.map(({ path, summary }) => [`  ${path}`, summary]),
    { styles: ["cyan"], paint },
  );
}

function showOptions(title: string, options: OptionSpecs, paint: Paint): string[] {
  const rows = Object.entries(options).map(([name, { short, value, about, oneOf }]) => [
    `  ${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`,
    oneOf ? `${about}: ${oneOf.join(", ")}` : about,
  ]);
  return rows.length === 0 ? [] : ["", paint("bold", title), ...showColumns(rows, { styles: ["cyan"], paint })];
}
