import type { InferOutput } from "../../schema/infer.ts";
import { DEFAULT_TIMEOUT_MS, DEFAULT_YIELD_MS, MAX_BACKGROUND_MS, MAX_FOREGROUND_MS } from "./run-times.ts";

export const EXEC_PARAMETERS = {
  type: "object",
  properties: {
    command: { type: "string", minLength: 1, description: "The command, as one would type it into bash." },
    description: {
      type: "string",
      description: "What the command does, in five to ten words, for whoever reads along.",
    },
    timeout: {
      type: "number",
      minimum: 1,
      maximum: MAX_BACKGROUND_MS,
      description:
        `Milliseconds after which the command and all it started is ended. Given: the call waits that long, at most ` +
        `${MAX_FOREGROUND_MS} unless it goes to the background. Default: ${DEFAULT_TIMEOUT_MS} in the foreground.`,
    },
    working_directory: {
      type: "string",
      minLength: 1,
      description: "Where to run it: a path relative to the workspace, or absolute. It counts for this call only.",
    },
    run_in_background: {
      type: "boolean",
      description: "Answer at once with a process id; go on with the `process` tool. For servers and watchers.",
    },
    yield_ms: {
      type: "number",
      minimum: 0,
      maximum: MAX_FOREGROUND_MS,
      description:
        "Milliseconds to wait; a command that still runs then goes on in the background, and the answer names its " +
        `process id. Default: ${DEFAULT_YIELD_MS}, or no yield where \`timeout\` is given.`,
    },
    pty: { type: "boolean", description: "Run on a pseudo-terminal, for programs that need one." },
    stdin: {
      type: "string",
      description: "Text for standard input, which is then closed (on a terminal: text that is typed).",
    },
    keep_stdin_open: {
      type: "boolean",
      description: "Leave standard input open, to write to it with the `process` tool. It is closed otherwise.",
    },
    outside_sandbox: {
      type: "boolean",
      description:
        "Run it without the sandbox, which a person has to permit. Only where a result said that the sandbox refused something that is needed.",
    },
    env: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Environment variables for this command only.",
    },
  },
  required: ["command"],
  additionalProperties: false,
} as const;

export type ExecInput = InferOutput<typeof EXEC_PARAMETERS>;

/** Names that models of other families use. */
export const EXEC_PARAMETER_ALIASES = {
  cmd: "command",
  cwd: "working_directory",
  workdir: "working_directory",
  background: "run_in_background",
  is_background: "run_in_background",
  yieldMs: "yield_ms",
  yield_time_ms: "yield_ms",
  timeout_ms: "timeout",
  timeoutMs: "timeout",
  tty: "pty",
  input: "stdin",
} as const;
