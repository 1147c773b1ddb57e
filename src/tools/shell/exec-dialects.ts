import { basename } from "node:path";
import { isObject } from "../../schema/json-schema.ts";
import type { AnyTool, ToolDialect } from "../../core/tool.ts";
import { quoteWord } from "../../io/shell/rebuilt-word.ts";
import { ForeignInput, flagOf, integerOf } from "../../core/adopt/foreign-input.ts";
import { findTypedPatch, isPatchProgram, type TypedPatch } from "./typed-patch.ts";

/** `exec` as Codex shows it. */
export const CODEX_EXEC: ToolDialect = {
  name: "exec_command",
  description: {
    short: "Runs a shell command and returns its output and exit code, or the id of a session that is still running.",
    usageNotes: [
      "Each call is a new shell: directory and variables do not carry over. Join steps with &&.",
      "A command that is still running after yield_time_ms continues; write_stdin reads it and types into it.",
    ],
    examples: [{ input: { cmd: "git --version" } }],
  },
  schema: {
    type: "object",
    properties: {
      cmd: { type: "string", minLength: 1, description: "The command, as typed into bash." },
      workdir: { type: "string", minLength: 1, description: "The directory to run in. Default: the workspace." },
      tty: { type: "boolean", description: "Run on a pseudo-terminal, for programs that need one. Default: false." },
      yield_time_ms: {
        type: "number",
        minimum: 0,
        maximum: 600_000,
        description: "Milliseconds to wait. Default: 10000.",
      },
      sandbox_permissions: {
        type: "string",
        enum: ["use_default", "require_escalated"],
        description: "require_escalated: run it without the sandbox; a person must approve that.",
      },
      justification: { type: "string", description: "What the command does, for the person who approves it." },
    },
    required: ["cmd"],
    additionalProperties: false,
  },
};

const SHELLS = new Set(["bash", "sh"]);

/** Parameters of other shells' tools: an argument vector, times in seconds, Codex's requests for rights. */
export function convertExec(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  convertTimeout(foreign, calledAs);
  if (calledAs === "run_commands") convertCommands(foreign);
  if (Array.isArray(input["command"])) {
    const words: unknown[] = input["command"];
    const command = words.every((word) => typeof word === "string") ? commandOf(words) : undefined;
    if (command === undefined) foreign.problems.push("command: send a text, or a list of texts");
    else {
      input["command"] = command;
      foreign.repairs.push("command: the list of arguments was read as a command line");
    }
  }
  for (const name of ["timeout_seconds", "timeout_secs", "timeout_sec", "timeoutSeconds"]) {
    foreign.move(name, "timeout", millisecondsOf);
  }
  for (const name of ["timeout_ms", "timeoutMs"]) foreign.move(name, "timeout");
  for (const name of ["with_escalated_permissions", "dangerouslyDisableSandbox"]) {
    foreign.move(name, "outside_sandbox", flagOf);
  }
  if (input["sandbox_permissions"] === "use_default") foreign.drop("sandbox_permissions", "it is the default");
  foreign.move("sandbox_permissions", "outside_sandbox", (value) => (value === "require_escalated" ? true : undefined));
  if (foreign.has("justification")) {
    const justification = foreign.take("justification");
    if (!foreign.has("description")) foreign.set("description", justification, "justification");
  }
  if (foreign.has("shell")) {
    const shell = String(foreign.take("shell"));
    if (!SHELLS.has(basename(shell))) {
      foreign.problems.push(`shell: commands run in bash; start ${JSON.stringify(shell)} in the command`);
    } else foreign.repairs.push("shell: not used; commands run in bash");
  }
  foreign.drop("login", "commands run with the environment of the session, without login files");
  foreign.drop("max_output_tokens", "results have their own limit and say where the rest is");
  foreign.drop("prefix_rule", "rules are made by the person who approves");
  // A model may ask for a question, and never for none.
  if (flagOf(input["requires_approval"]) !== true) foreign.drop("requires_approval", "rules and the user decide that");
  else if (foreign.take("requires_approval") !== undefined) foreign.input["requires_approval"] = true;
  foreign.drop("task_progress", "the to-do list has its own tool");
  return foreign;
}

/** A list of one command, a text or a program with its arguments, as Cline sends it. */
function convertCommands(foreign: ForeignInput): void {
  if (!foreign.has("commands")) return;
  const [command, ...others] = [foreign.take("commands")].flat();
  if (others.length > 0)
    foreign.problems.push("commands: one call runs one command; join them with &&, or make more calls");
  else if (!isObject(command)) foreign.set("command", command, "commands");
  else foreign.set("command", [command["command"], command["args"] ?? []].flat(), "commands");
}

function millisecondsOf(seconds: unknown): number | undefined {
  const number = typeof seconds === "number" ? seconds : integerOf(seconds);
  return number === undefined ? undefined : number * 1000;
}

/** Roo Code and Cline count in seconds. Under the name `bash`, pi counts in seconds, and others in milliseconds. */
function convertTimeout(foreign: ForeignInput, calledAs: string): void {
  const given = foreign.input["timeout"];
  if (given === undefined || given === null) return;
  if (calledAs === "execute_command") {
    foreign.take("timeout");
    const timeout = millisecondsOf(given);
    if (timeout === undefined) foreign.problems.push(`timeout: ${JSON.stringify(given)} is not a number of seconds`);
    else foreign.set("timeout", timeout, "timeout in seconds");
  } else if (calledAs === "bash" && Number(given) < 1000) {
    foreign.problems.push(
      `timeout: ${JSON.stringify(given)} may be seconds or milliseconds; send timeout_seconds, or at least 1000 milliseconds`,
    );
  }
}

/** `["bash", "-lc", "ls"]` is the script itself; any other list is quoted word by word. */
function commandOf(words: readonly string[]): string | undefined {
  const [shell = "", option = "", script] = words;
  if (words.length === 3 && script !== undefined && SHELLS.has(basename(shell)) && /^-l?c$/.test(option)) return script;
  return words.length === 0 ? undefined : words.map(quoteWord).join(" ");
}

const FOLDER_NAMES = ["working_directory", "workingDirectory", "workdir", "cwd", "dir_path", "directory"];

/** A patch that is typed into the shell is a call of `apply_patch`. */
export const redirectPatch: NonNullable<AnyTool["redirect"]> = (input) => {
  const command = input["command"] ?? input["cmd"];
  const folder = FOLDER_NAMES.map((name) => input[name]).find((given) => given !== undefined);
  if (folder !== undefined && typeof folder !== "string") return undefined;
  const typed = findPatch(command);
  if (!typed) return undefined;
  // Anything else that was asked for belongs to a command.
  if (OTHER_REQUESTS.some((name) => input[name] !== undefined && input[name] !== false)) return undefined;
  const place = [folder, typed.folder].filter((part) => part !== undefined);
  return { name: "apply_patch", input: { patch: typed.patch, working_directory: joinFolders(place) } };
};

function findPatch(command: unknown): TypedPatch | undefined {
  if (typeof command === "string") return findTypedPatch(command);
  if (!Array.isArray(command) || !command.every((word) => typeof word === "string")) return undefined;
  const [program, patch, ...others] = command;
  // No shell reads the words of a list, so nothing in the patch needs quotes.
  if (isPatchProgram(program) && patch !== undefined && others.length === 0) return { patch };
  const text = commandOf(command);
  return text === undefined ? undefined : findTypedPatch(text);
}

const OTHER_REQUESTS = ["stdin", "input", "env", "run_in_background", "background", "is_background"];

function joinFolders([first, second]: readonly string[]): string | undefined {
  if (first === undefined || second === undefined) return first;
  return second.startsWith("/") ? second : `${first}/${second}`;
}
