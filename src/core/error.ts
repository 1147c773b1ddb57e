import { ERROR_CODES, type ErrorCode } from "./results/error-codes.ts";
import { toPlainData } from "./json.ts";

export { ERROR_CODES, type ErrorCode };

/** The state of a call that failed, as lists show it: nothing ran, nobody knows, or it failed. */
export type FailedState = "denied" | "unknown" | "failed";
export function failedState(code: unknown): FailedState {
  if (code === "unknown_outcome") return "unknown";
  return isErrorCode(code) && ERROR_CODES[code].actor === "policy" ? "denied" : "failed";
}

export type ErrorActor = (typeof ERROR_CODES)[ErrorCode]["actor"];

/** A failure as data, in results and queues; programs switch on `code`. */
export interface ToolFailure {
  /** From the closed table. */
  code: ErrorCode;
  /** What happened. */
  message: string;
  /** What to do about it. `failureText` joins both for a model. */
  next?: string;
  /** Who must act. */
  actor: ErrorActor;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** The error's class name, for logs. */
  name: string;
  /** Facts for a program: schema issues, near names, the exit code, line numbers. */
  data?: unknown;
}

export interface ToolErrorOptions {
  code?: ErrorCode;
  /** What the reader should do next. */
  next?: string;
  data?: unknown;
  /** The tool has done nothing: the same call id can be used again, and an approval stays usable. */
  nothingDone?: boolean;
}

/** Marks errors of every copy of Haft in this process. */
const MARK = Symbol.for("haft/error/1");

/** Haft's error class; `code` says what happened and who must act. `message` is whole, because loggers show nothing else. */
export class ToolError extends Error {
  /** `instanceof ToolError` is also true for the errors of another copy of Haft. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ToolError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === "object" && value !== null && MARK in value && value instanceof Error;
  }

  protected get [MARK](): true {
    return true;
  }

  /** From the closed table. */
  readonly code: ErrorCode;
  /** What happened: `message` without `next`. */
  readonly summary: string;
  /** What to do about it. */
  readonly next?: string;
  /** Further facts for programs. */
  readonly data?: unknown;
  /** Whether the tool says that it has done nothing. */
  readonly nothingDone?: boolean;

  constructor(
    /** The tool that failed. */
    public toolName: string,
    message: string,
    cause?: unknown,
    options: ToolErrorOptions = {},
  ) {
    super(failureText({ message, next: options.next }), cause === undefined ? undefined : { cause });
    this.name = "ToolError";
    this.code = options.code ?? "failed";
    this.summary = message;
    if (options.next) this.next = options.next;
    if (options.data !== undefined) this.data = options.data;
    if (options.nothingDone) this.nothingDone = true;
  }
}

/** The error that tools and primitives throw; the gate adds the tool's name. */
export function toolError(
  code: ErrorCode,
  message: string,
  { cause, ...options }: Omit<ToolErrorOptions, "code"> & { cause?: unknown } = {},
): ToolError {
  const { next, ...facts } = options;
  const { actor } = isErrorCode(code) ? ERROR_CODES[code] : ERROR_CODES.failed;
  if (actor === "policy") return new ToolPermissionError("", message, next, code, { ...facts, cause });
  return new ToolError("", message, cause, { ...options, code });
}

/** No tool has this name. */
export class ToolNotFoundError extends ToolError {
  constructor(toolName: string, next?: string, data?: unknown) {
    super(toolName, `Tool "${toolName}" not found`, undefined, { code: "tool_not_found", next, data });
    this.name = "ToolNotFoundError";
  }
}

/** The input does not fit the schema. */
export class ToolValidationError extends ToolError {
  /** `problems` is the list of `validationErrors` as text. */
  constructor(toolName: string, validationErrors: unknown, problems?: string, next?: string) {
    const message = failureText({ message: "Parameter validation failed", next: problems });
    super(toolName, message, validationErrors, {
      code: "invalid_input",
      next,
      data: validationErrors,
    });
    this.name = "ToolValidationError";
  }
}

/** The tool took longer than its limit. */
export class ToolTimeoutError extends ToolError {
  constructor(toolName: string, timeout: number, next?: string) {
    super(toolName, `Tool execution timed out after ${timeout}ms`, undefined, { code: "timeout", next });
    this.name = "ToolTimeoutError";
  }
}

const REFUSED = "Permission denied: ";

/** Policy refused the call. With one argument, that is the message. */
export class ToolPermissionError extends ToolError {
  constructor(
    toolName: string,
    message?: string,
    next?: string,
    code: ErrorCode = "denied",
    { data, cause, nothingDone }: Pick<ToolErrorOptions, "data" | "nothingDone"> & { cause?: unknown } = {},
  ) {
    const text = message ?? toolName;
    super(message === undefined ? "" : toolName, text.startsWith(REFUSED) ? text : REFUSED + text, cause, {
      code,
      next,
      data,
      nothingDone,
    });
    this.name = "ToolPermissionError";
  }
}

/** Converts a thrown value to data: the only place. Never throws. */
export function toFailure(thrown: unknown): ToolFailure {
  try {
    if (thrown instanceof ToolError) {
      const code = isErrorCode(thrown.code) ? thrown.code : "failed";
      // The error of an older copy of Haft has no summary.
      const failure = failureOf(code, String(thrown.summary ?? thrown.message), { name: String(thrown.name) });
      if (thrown.next !== undefined) failure.next = String(thrown.next);
      if (thrown.data !== undefined) failure.data = toPlainData(thrown.data).value;
      return failure;
    }
    if (thrown instanceof Error)
      return failureOf("failed", String(thrown.message) || String(thrown.name), { name: String(thrown.name) });
    const message = typeof thrown === "string" ? thrown : `The tool threw ${describe(thrown)}.`;
    return failureOf("failed", message, { name: "Error" });
  } catch {
    return failureOf("failed", "The tool threw something that cannot be read.", { name: "Error" });
  }
}

/** For codes from outside: excludes inherited names such as `toString`. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}

export function failureOf(
  code: ErrorCode,
  message: string,
  { name = "ToolError", next, data }: { name?: string; next?: string; data?: unknown } = {},
): ToolFailure {
  const { actor, retryable } = ERROR_CODES[code];
  const failure: ToolFailure = { code, message, actor, retryable, name };
  if (next !== undefined) failure.next = next;
  if (data !== undefined) failure.data = data;
  return failure;
}

/** What happened and what to do, as one text for a model. */
export function failureText({ message, next }: { message: string; next?: string | undefined }): string {
  if (!next) return message;
  if (message.endsWith("\n")) return `${message}${next}`;
  return /[.!?…:]$/.test(message) ? `${message} ${next}` : `${message}. ${next}`;
}

/** What is wrong with an input, one line each. Empty if the failure has no such list. */
export function issuesOf({ data }: Pick<ToolFailure, "data">): string[] {
  const { issues } = Object(data) as { issues?: unknown };
  return Array.isArray(issues) ? issues.map(String) : [];
}

/** The message of an error, or the thrown value as text. */
export function errorMessage(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    // An object without a prototype, or one that throws when it is read.
    return "a value that cannot be shown";
  }
}

/** The `code` of a system error (`ENOENT`) or a tool error; undefined if the value has none. */
export function errorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "object" || typeof value === "function") return `a value that is not an Error (${typeof value})`;
  return String(value);
}

/** What the function returns, or `otherwise` if it throws. */
export function attempt<T>(run: () => T): T | undefined;
export function attempt<T, Otherwise>(run: () => T, otherwise: Otherwise): T | Otherwise;
export function attempt<T, Otherwise>(run: () => T, otherwise?: Otherwise): T | Otherwise | undefined {
  try {
    return run();
  } catch {
    return otherwise;
  }
}
