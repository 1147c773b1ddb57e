import type { ApiError } from "../contracts/errors.ts";
import { ERROR_CODES, type ErrorCode, isErrorCode, issuesOf, ToolError, type ToolFailure } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import { UsageError } from "./arguments.ts";

/** For scripts. The numbers never change. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unauthorized: 3,
  unreachable: 4,
  toolFailed: 5,
  denied: 6,
  pending: 7,
  notCounted: 8,
  interrupted: 130,
} as const;

/** The table of `haft help exit-codes` and of the guide. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, "done; an approved call has completed"],
  [EXIT.failed, "failed"],
  [EXIT.usage, "the command line is wrong"],
  [EXIT.unauthorized, "the server does not accept the token, or the token may not do this"],
  [EXIT.unreachable, "the server does not answer"],
  [EXIT.toolFailed, "the tool failed, or its outcome is unknown"],
  [EXIT.denied, "denied by the policy or a person"],
  [EXIT.pending, "waits for an approval, a job or an answer, or still runs"],
  [EXIT.notCounted, "the answer was not used: already answered, expired, or what was shown has changed"],
  [EXIT.interrupted, "interrupted"],
];

export function exitCodeOf(result: ToolResult): number {
  if (result.status === "completed") return EXIT.done;
  if (result.status === "pending") return EXIT.pending;
  return result.error.actor === "policy" ? EXIT.denied : EXIT.toolFailed;
}

/** By its name: importing the class loads the schemas of the API, and most commands fail without them. */
export function isApiError(thrown: unknown, code?: ApiError["code"]): thrown is ApiError {
  if (!(thrown instanceof Error) || thrown.name !== "ApiError") return false;
  return code === undefined || (thrown as ApiError).code === code;
}

export interface Failure {
  exitCode: number;
  code: string;
  message: string;
  /** What to do about it. */
  next?: string;
}

/** Ends a command with an exit code of its own. */
export class CommandError extends Error {
  override readonly name = "CommandError";

  constructor(
    message: string,
    readonly failure: Omit<Failure, "message">,
  ) {
    super(message);
  }
}

/** The exit code and the words for anything that a command threw. */
export function explainFailure(thrown: unknown): Failure {
  if (thrown instanceof UsageError) {
    return { exitCode: EXIT.usage, code: "usage", message: thrown.message, next: thrown.next };
  }
  if (thrown instanceof CommandError) return { ...thrown.failure, message: thrown.message };
  if (isApiError(thrown)) return explainApiError(thrown);
  if (thrown instanceof ToolError)
    return { exitCode: EXIT.failed, code: thrown.code, message: thrown.summary, next: thrown.next };
  if (!(thrown instanceof Error)) return { exitCode: EXIT.failed, code: "failed", message: String(thrown) };
  const isPortTaken = (thrown.cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
  return {
    exitCode: EXIT.failed,
    code: thrown.name,
    message: thrown.message,
    next: isPortTaken ? `\`${anyPort()}\` uses any free port.` : undefined,
  };
}

/** Who typed `npm start` has no `haft`. */
function anyPort(): string {
  return process.env["npm_lifecycle_event"] === "start" ? "npm start -- --port 0" : "haft serve --port 0";
}

/** What to do at a terminal, for failures whose own advice is for a model. */
const AT_TERMINAL: Partial<Record<ErrorCode, (failure: ToolFailure, tool: string) => string | undefined>> = {
  invalid_input: (_failure, tool) => `\`haft tools describe ${tool}\` shows its parameters, with examples.`,
  not_read: () =>
    "Tools change only files that were read in the same session: with `haft serve` running, call read and this tool with the same --session NAME.",
  stale: () => "Read the file again in the same --session, then repeat the command.",
  plan_mode: () => "Use another --mode to change something.",
  denied: ({ data, next }, tool) => {
    const { decidedBy } = Object(data) as { decidedBy?: string };
    if (decidedBy === undefined) return next;
    return decidedBy === "policy" ? `\`haft policy explain ${tool}\` shows which rule decides.` : undefined;
  },
  path_denied: ({ data, next }) => (Object(data).reason === "protected" ? undefined : next),
  approval_denied: () => undefined,
  approval_expired: () => undefined,
  exit_code: () => undefined,
};

/** A failed call for a person: what happened, and what to do at a terminal. */
export function explainFailedCall(failure: ToolFailure, tool: string): { message: string; next?: string } {
  const { code, message, next } = failure;
  const issues = code === "invalid_input" ? issuesOf(failure) : [];
  const explain = AT_TERMINAL[code];
  return {
    message: issues.length > 0 ? issues.map(withoutTypeNames).join("\n") : message,
    next: explain ? explain(failure, tool) : next,
  };
}

/** Zod reports a missing value by its type. */
function withoutTypeNames(issue: string): string {
  return issue.replace(/^(\S+): Invalid input: expected (\w+), received undefined$/, "$1 is missing ($2)");
}

function explainApiError({ status, code, message, next, data }: ApiError): Failure {
  return {
    exitCode: exitCodeOfApiError(status, code),
    code,
    message,
    next:
      status === 401
        ? "Set HAFT_TOKEN to a token of that server: `haft token create NAME` makes one."
        : listingCommand(data, next),
  };
}

/** The command that lists the same as a request. */
const COMMAND_OF: Readonly<Record<string, string>> = {
  approvals: "haft approvals list --state all",
  audit: "haft audit query",
  calls: "haft audit query",
  changes: "haft undo",
  jobs: "haft jobs list",
  mcp: "haft mcp list",
  schedules: "haft schedules list",
  server: "haft doctor",
  sessions: "haft sessions list",
  tokens: "haft token list",
  tools: "haft tools list",
};

/** A hint that names a request is for programs. */
function listingCommand(data: unknown, next: string | undefined): string | undefined {
  const { list } = Object(data) as { list?: string };
  if (list === undefined) return next;
  const command = COMMAND_OF[list];
  return command === undefined ? undefined : `Look at \`${command}\`.`;
}

function exitCodeOfApiError(status: number, code: string): number {
  if (code === "unreachable") return EXIT.unreachable;
  if (isErrorCode(code)) return ERROR_CODES[code].actor === "policy" ? EXIT.denied : EXIT.failed;
  return status === 401 || status === 403 ? EXIT.unauthorized : EXIT.failed;
}
