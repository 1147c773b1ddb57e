import { HaftClientError } from "../client/client-error.ts";
import { ERROR_CODES, isErrorCode, ToolError } from "../core/error.ts";
import { EXIT } from "./exit-code.ts";
import { UsageError } from "./usage-error.ts";

export interface Explained {
  exitCode: number;
  code: string;
  message: string;
  next?: string;
}

/** Whatever a command threw, as what a person can do about it and a script can tell apart. */
export function explainFailure(thrown: unknown): Explained {
  if (thrown instanceof UsageError) {
    const { message, next } = thrown;
    return { exitCode: EXIT.usage, code: "usage", message, next };
  }
  if (thrown instanceof HaftClientError) return explainAnswer(thrown);
  if (thrown instanceof ToolError) return { exitCode: EXIT.failed, code: thrown.code, message: thrown.message };
  if (!(thrown instanceof Error)) return { exitCode: EXIT.failed, code: "failed", message: String(thrown) };
  const isBusy = (thrown.cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
  const next = isBusy ? { next: "`haft serve --port 0` takes any free one." } : {};
  // Errors with a message for people: of the configuration, of listening, of the store.
  return { exitCode: EXIT.failed, code: thrown.name, message: thrown.message, ...next };
}

function explainAnswer({ status, code, message, next }: HaftClientError): Explained {
  const exitCode = exitCodeOfAnswer(status, code);
  // The client joins them for those who read the message alone.
  const what = next !== undefined && message.endsWith(next) ? message.slice(0, -next.length).trimEnd() : message;
  const todo =
    status === 401 ? "Set HAFT_TOKEN to a token of that server: `haft token create NAME` makes one." : inWords(next);
  return {
    exitCode,
    code,
    message: what.replace(/^(?:GET|POST|DELETE) \/api\S* needs/, "This needs"),
    next: todo,
  };
}

/** What lists the same at a command line. */
const COMMAND_OF: Readonly<Record<string, string>> = {
  approvals: "haft approvals list --state all",
  audit: "haft audit query",
  calls: "haft audit query",
  changes: "haft undo",
  mcp: "haft mcp list",
  server: "haft doctor",
  tokens: "haft token list",
  tools: "haft tools list",
};

/** A hint that names a request is for programs. */
function inWords(next: string | undefined): string | undefined {
  const named = /\b(?:GET|POST|DELETE) \/api\/(\w+)/.exec(next ?? "");
  if (!named) return next;
  const command = COMMAND_OF[named[1]!];
  return command === undefined ? undefined : `Look at \`${command}\`.`;
}

function exitCodeOfAnswer(status: number, code: string): number {
  if (code === "unreachable") return EXIT.unreachable;
  if (isErrorCode(code)) return ERROR_CODES[code].actor === "policy" ? EXIT.denied : EXIT.failed;
  return status === 401 || status === 403 ? EXIT.unauthorized : EXIT.failed;
}
