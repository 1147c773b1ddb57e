import { parseCommand } from "../../io/shell/parse-command.ts";

/** A patch that was typed as a command, and the folder that the command changes to first. */
export interface TypedPatch {
  patch: string;
  folder?: string;
}

const WRAPPER = /^\s*(?:\/(?:usr\/)?bin\/)?(?:bash|sh)\s+-l?c\s/;
const FOLDER = /^\s*cd[ \t]+(?:'([^'\n]+)'|"([^"$`\\\n]+)"|([\w@%+=:,./][\w@%+=:,./-]*))[ \t]*&&[ \t]*/;
const PROGRAM = /^\s*(?:apply_patch|applypatch)[ \t]*/;
const HEREDOC = /^<<(-?)[ \t]*(?:'(\w+)'|"(\w+)"|(\w+))[ \t]*\n/;
const ARGUMENT = /^(?:'([^']*)'|"([^"$`\\]*)")\s*$/;
const NOT_A_COMMAND = /\b(?:apply_patch|applypatch): (?:command )?not found/;
/** What the shell would replace in a here-document whose end is not quoted. */
const EXPANDED = /[$`\\]/;

/**
 * The patch of `apply_patch <<'EOF' …` and of `apply_patch 'PATCH'`, also after `cd DIR &&` and in `bash -lc "…"`. Only
 * if the command consists of nothing else, and if the shell would pass the text on as it is.
 */
export function findTypedPatch(command: string): TypedPatch | undefined {
  const script = WRAPPER.test(command) ? wrappedScript(command) : command;
  const change = script === undefined ? null : FOLDER.exec(script);
  const rest = script?.slice(change?.[0].length ?? 0) ?? "";
  const program = PROGRAM.exec(rest);
  if (!program) return undefined;
  const given = rest.slice(program[0].length);
  const argument = ARGUMENT.exec(given);
  const patch = argument ? (argument[1] ?? argument[2]) : readHeredoc(given);
  return patch === undefined ? undefined : { patch, folder: change?.[1] ?? change?.[2] ?? change?.[3] };
}

export function isPatchProgram(name: string | undefined): boolean {
  return name === "apply_patch" || name === "applypatch";
}

/** Whether the shell looked for the program: the patch came with other commands, or not as plain text. */
export function triedPatchProgram(command: string, output: string): boolean {
  return /apply_?patch/.test(command) && NOT_A_COMMAND.test(output);
}

function wrappedScript(command: string): string | undefined {
  const { commands, problem } = parseCommand(command);
  const [only, ...others] = commands;
  if (problem || !only || others.length > 0 || only.assignments.length > 0 || only.redirections.length > 0) {
    return undefined;
  }
  const [, , script] = only.words;
  return only.words.length === 3 && script?.literal ? script.value : undefined;
}

function readHeredoc(text: string): string | undefined {
  const head = HEREDOC.exec(text);
  if (!head) return undefined;
  const [, dash, single, double, bare] = head;
  const end = single ?? double ?? bare;
  const lines = text.slice(head[0].length).split("\n");
  const at = lines.indexOf(end ?? "");
  if (at < 0 || lines.slice(at + 1).some((line) => line.trim() !== "")) return undefined;
  const body = lines.slice(0, at);
  // `<<-` removes tabs, also those of an end line.
  if (dash && body.some((line) => line.startsWith("\t"))) return undefined;
  const patch = body.map((line) => `${line}\n`).join("");
  return bare !== undefined && EXPANDED.test(patch) ? undefined : patch;
}
