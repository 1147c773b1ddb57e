import type { AnyTool } from "../../core/tool.ts";
import { isObject } from "../../schema/json-schema.ts";
import { ForeignInput, integerOf } from "../../core/adopt/foreign-input.ts";

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
export const EDITOR_NAMES = ["str_replace_based_edit_tool", "str_replace_editor"];

export function convertEdit(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  convertCommand(foreign);
  if (foreign.has("expected_replacements")) {
    const expected = integerOf(foreign.take("expected_replacements"));
    const advice = "Set replace_all to change every occurrence, or quote one that is unique.";
    if (expected !== 1) foreign.problems.push(`expected_replacements: only 1 can be expected. ${advice}`);
    else foreign.repairs.push("expected_replacements: not used; one occurrence is always required");
  }
  if (!Array.isArray(input["edits"])) return foreign;
  for (const [index, edit] of input["edits"].entries()) {
    if (isObject(edit)) renameEdit(edit, `edits[${index}]`, foreign);
  }
  if (calledAs === "MultiEdit") refuseDependentEdits(input["edits"], foreign);
  return foreign;
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
  const textOf = (edit: Record<string, unknown>, name: string): string => String(edit[name] ?? "");
  for (const [index, edit] of all.entries()) {
    const old = textOf(edit, "old_string");
    const earlier = all.slice(0, index).findIndex((other) => old !== "" && textOf(other, "new_string").includes(old));
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
