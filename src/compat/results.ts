import { type Content, textOf } from "../core/content.ts";
import { failureText, type ToolFailure } from "../core/error.ts";
import type { PendingResult, ResultMetadata, ToolResult as Result } from "../core/result.ts";
import type { ToolContext as CoreContext } from "../core/tool.ts";

/** A result as the documents write and read it. Each of them has some of the fields. */
export interface ToolResult {
  /** Whether the tool did its work. */
  success: boolean;
  /** Of the tool. */
  toolName?: string;
  /** For a program. */
  result?: unknown;
  /** For a program. */
  data?: unknown;
  /** For a model. */
  llmContent?: string;
  /** For a person. */
  displayContent?: string;
  /** Why it failed. */
  error?: string;
  /** Further facts. */
  metadata?: Record<string, unknown>;
  /** Unix milliseconds. */
  startedAt?: number;
  /** Unix milliseconds. */
  completedAt?: number;
  /** From start to end. */
  durationMs?: number;
}

/** A result of the gate with the documents' fields beside its own. Plain JSON. */
export interface ResultView extends ToolResult {
  /** Of the call. */
  callId: string;
  /** The canonical name of the tool. */
  toolName: string;
  /** Whether it succeeded, failed, or comes later. */
  status: Result["status"];
  /** The text of `content`. */
  llmContent: string;
  /** As `display`. */
  displayContent: string;
  /** For the model. */
  content: Content[];
  /** For a person. */
  display: string;
  /** For a program. `result` and `data` are the same. */
  details?: unknown;
  /** What `error` is the message of. */
  failure?: ToolFailure;
  /** What a pending call waits for. */
  pending?: PendingResult["pending"];
  /** Repairs, warnings and further facts. */
  metadata: ResultMetadata;
  /** Unix milliseconds. */
  startedAt: number;
}

/**
 * A result with the documents' fields: `result`, `data`, `llmContent`, `displayContent`, and `error` as text.
 *
 * @example
 * const { llmContent, error } = viewResult(await haft.execute("read", { path: "README.md" }));
 */
export function viewResult(result: Result): ResultView {
  const { content, display, details } = result;
  const view: ResultView = {
    ...result,
    success: result.status === "completed",
    error: undefined,
    llmContent: textOf(content),
    displayContent: display,
  };
  if (details !== undefined) view.result = view.data = details;
  if (result.status === "failed") {
    view.error = failureText(result.error);
    view.failure = result.error;
  }
  return view;
}

/** The context of a tool as the documents write it, with the fields of ours. */
export interface ToolContext extends Partial<Omit<CoreContext, "allowedPaths">> {
  /** Of the task; "" if the call has none. */
  taskId: string;
  /** Of the person. */
  userId?: string;
  /** The paths that the call may use. */
  allowedPaths?: string[];
}

/** Its fields are its own, so a copy by `{ ...context }` has them; each is read only when it is used. */
export function viewContext(context: CoreContext): CoreContext {
  const { caller, allowedPaths, callId, workspace, waitForEnd } = context;
  const view: ToolContext = {
    taskId: caller.task ?? "",
    userId: caller.user,
    allowedPaths: allowedPaths && [...allowedPaths],
    callId,
    caller,
    workspace,
    waitForEnd,
    get signal() {
      return context.signal;
    },
    get authority() {
      return context.authority;
    },
    get update() {
      return context.update;
    },
    get pauseTimeLimit() {
      return context.pauseTimeLimit;
    },
    get call() {
      return context.call;
    },
  };
  return view as CoreContext;
}

/** A result that a tool as a class returns. */
class ReturnedResult implements ToolResult {
  /** Whether the tool did its work. */
  readonly success: boolean;
  /** For a program. */
  readonly data?: unknown;
  /** Why it failed. */
  readonly error?: string;
  /** Further facts. */
  readonly metadata: Record<string, unknown>;

  constructor({ success, data, error, metadata = {} }: ReturnedFields) {
    this.success = success;
    this.data = data;
    this.error = error;
    this.metadata = metadata;
  }

  /** As plain data. What is missing is null. */
  toDict(): { success: boolean; data: unknown; error: string | null; metadata: Record<string, unknown> } {
    const { success, data = null, error = null, metadata } = this;
    return { success, data, error, metadata };
  }

  /** As `toDict`. */
  to_dict(): ReturnType<ReturnedResult["toDict"]> {
    return this.toDict();
  }
}

type ReturnedFields = Pick<ToolResult, "success" | "data" | "error" | "metadata">;

/**
 * Makes a result with `to_dict()`.
 *
 * @example
 * return new ToolResult({ success: true, data: results });
 */
export const ToolResult: new (fields: ReturnedFields) => ReturnedResult = ReturnedResult;
