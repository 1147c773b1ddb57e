import type { AnyTool } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { flagOf, ForeignInput, integerOf } from "../../core/adopt/foreign-input.ts";

/** Other names of the parameters of one edit, also of one in a list. */
export const EDIT_ALIASES = {
  oldString: "old_string",
  newString: "new_string",
  oldText: "old_string",
  newText: "new_string",
  old_text: "old_string",
  new_text: "new_string",
  old_str: "old_string",
  new_str: "new_string",
  replaceAll: "replace_all",
  allow_multiple: "replace_all",
  explanation: "reason",
  instruction: "reason",
} as const;

/** Anthropic's editor: one tool for what are several tools here. */
export const EDITOR_NAMES = ["str_replace_based_edit_tool", "str_replace_editor", "editor"];

export function convertEdit(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  convertCommand(foreign);
  convertBlocks(foreign, calledAs);
  if (flagOf(input["dryRun"]) === false) foreign.drop("dryRun", "it is the default");
  foreign.refuse("dryRun", "An edit is made, and can be undone. A person who approves it sees the difference first.");
  foreign.drop("task_progress", "the to-do list has its own tool");
  if (calledAs === "editor") convertEditor(foreign);
  if (foreign.has("expected_replacements")) {
    const expected = integerOf(foreign.take("expected_replacements"));
    const advice = "Set replace_all to change every occurrence, or quote one that is unique.";
    if (expected !== 1) foreign.problems.push(`expected_replacements: only 1 can be expected. ${advice}`);
    else foreign.repairs.push("expected_replacements: not used; one occurrence is always required");
  }
  if (!Array.isArray(input["edits"])) return foreign;
  for (const [index, edit] of input["edits"].entries()) {
    if (!isObject(edit)) continue;
    renameEdit(edit, `edits[${index}]`, foreign);
    for (const name of ["filePath", "file_path"]) {
      if (edit[name] !== undefined && edit[name] === input["path"]) delete edit[name];
    }
  }
  if (calledAs === "MultiEdit") refuseDependentEdits(input["edits"], foreign);
  return foreign;
}

/** Edits as blocks of text: Roo Code, and Cline. */
export const BLOCK_NAMES = ["apply_diff", "replace_in_file", "search_and_replace"];

/** What is found is the same with and without the line that Roo Code names: it must be unique here. */
function convertBlocks(foreign: ForeignInput, calledAs: string): void {
  if (!BLOCK_NAMES.includes(calledAs)) return;
  if (foreign.has("diff")) {
    const edits = readBlocks(String(foreign.take("diff")));
    if (edits) foreign.set("edits", edits, "diff");
    else foreign.problems.push("diff: is not a list of SEARCH and REPLACE blocks; send old_string and new_string");
  }
  foreign.move("search", "old_string");
  foreign.move("replace", "new_string");
  for (const name of ["use_regex", "ignore_case"]) {
    if (flagOf(foreign.input[name]) === false) foreign.drop(name, "it is the default");
  }
  const operations: unknown = foreign.input["operations"];
  if (!Array.isArray(operations)) return;
  foreign.take("operations");
  const edits = operations.map((operation: unknown) => {
    if (!isObject(operation)) return operation;
    const { search, replace, ...others } = operation;
    return { old_string: search, new_string: replace, ...others };
  });
  foreign.set("edits", edits, "operations");
}

const BLOCK_START = /^(?:<{7}|-{7}) SEARCH>?\s*$/;
const BLOCK_MIDDLE = /^={7}\s*$/;
const BLOCK_END = /^(?:>{7}|\+{7}) REPLACE\s*$/;

/** Undefined if anything is outside a block, or a block is not complete. */
function readBlocks(diff: string): { old_string: string; new_string: string }[] | undefined {
  const edits: { old_string: string; new_string: string }[] = [];
  const lines = diff.split(/\r?\n/);
  while (lines.some((line) => line.trim() !== "")) {
    const before = lines.splice(0, lines.findIndex((line) => BLOCK_START.test(line)) + 1);
    if (before.length === 0 || before.slice(0, -1).some((line) => line.trim() !== "")) return undefined;
    const middle = lines.findIndex((line) => BLOCK_MIDDLE.test(line));
    const end = lines.findIndex((line) => BLOCK_END.test(line));
    const block = lines.splice(0, end + 1);
    // A second middle may be text of the file.
    if (middle < 0 || end < middle || block.filter((line) => BLOCK_MIDDLE.test(line)).length > 1) return undefined;
    edits.push({
      old_string: textOf(withoutHeader(block.slice(0, middle))),
      new_string: textOf(block.slice(middle + 1, end)),
    });
  }
  return edits.length > 0 ? edits : undefined;
}

/** Roo Code writes a line number and a separator first. */
function withoutHeader(lines: readonly string[]): readonly string[] {
  const separator = lines.findIndex((line) => /^-{7}\s*$/.test(line));
  const isHeader =
    separator > 0 && lines.slice(0, separator).every((line) => /^:(?:start|end)_line:\s*\d+\s*$/.test(line));
  return isHeader ? lines.slice(separator + 1) : lines;
}

/** Markers that are text of the file have a backslash before them. */
function textOf(lines: readonly string[]): string {
  return lines.map((line) => line.replace(/^\\(?=(?:<{7}|={7}|>{7}|-{7}|\+{7}|:(?:start|end)_line:))/, "")).join("\n");
}

function renameEdit(edit: Record<string, unknown>, at: string, foreign: ForeignInput): void {
  for (const [alias, name] of Object.entries(EDIT_ALIASES)) {
    if (!Object.hasOwn(edit, alias)) continue;
    if (!Object.hasOwn(edit, name)) edit[name] = edit[alias];
    else if (edit[name] !== edit[alias]) {
      foreign.problems.push(`${at}.${alias}: the same as "${name}", which was given too; send one of them`);
    }
    delete edit[alias];
    foreign.repairs.push(`${at}.${alias}: read as "${name}"`);
  }
}

/** MultiEdit makes one edit after the other. Here all refer to the original text, which is not always the same. */
function refuseDependentEdits(edits: readonly unknown[], foreign: ForeignInput): void {
  const all = edits.filter(isObject);
  const partOf = (edit: Record<string, unknown>, name: string): string => String(edit[name] ?? "");
  for (const [index, edit] of all.entries()) {
    const old = partOf(edit, "old_string");
    const earlier = all.slice(0, index).findIndex((other) => old !== "" && partOf(other, "new_string").includes(old));
    if (earlier < 0 || edit["replace_all"] !== true) continue;
    foreign.problems.push(
      `edits[${index}]: would also change the new text of edits[${earlier}], but all edits refer to the original text. Make them in two calls.`,
    );
  }
}

const OTHER_COMMANDS: Readonly<Record<string, string>> = {
  view: 'Call "read" with path, offset and limit.',
  create: 'Call "write" with path and content.',
  insert: "Send old_string, the line before the new lines, and new_string, that line and the new ones.",
  undo_edit: "A change is undone with another edit; the user can undo it with `haft undo`.",
};

/** Cline: without a text to replace it makes a file, or inserts lines. */
function convertEditor(foreign: ForeignInput): void {
  if ((foreign.input["insert_line"] ?? null) === null) foreign.take("insert_line");
  foreign.refuse("insert_line", OTHER_COMMANDS["insert"] ?? "");
  foreign.input["old_string"] ??= "";
}

/** What `redirectEditor` sends to another tool comes here only if the caller does not have that tool. */
function convertCommand(foreign: ForeignInput): void {
  if (!foreign.has("command")) return;
  const command = String(foreign.take("command"));
  if (command === "str_replace") foreign.repairs.push("command: not used; edit replaces text");
  else
    foreign.problems.push(
      `command: ${JSON.stringify(command)} is not what edit does. ${OTHER_COMMANDS[command] ?? ""}`,
    );
}

/** The command of the editor decides which tool is meant, so its permission is that tool's. */
export const redirectEditor: NonNullable<AnyTool["redirect"]> = (input, calledAs) => {
  if (!EDITOR_NAMES.includes(calledAs)) return undefined;
  const { command, ...rest } = input;
  if (command === "view") return { name: "read", input: rest };
  return command === "create" ? { name: "write", input: rest } : undefined;
};
