import type { ClientCapabilities, InputRequests, Result } from "@modelcontextprotocol/server";

/** The extension with which a server answers a call with a task, whose result the client requests later. */
export const TASKS = "io.modelcontextprotocol/tasks";

type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The wire format. The SDK has no types for this revision of the extension. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  /** ISO 8601. */
  createdAt: string;
  lastUpdatedAt: string;
  /** How long after its creation it can be requested; null: forever. */
  ttlMs: number | null;
  pollIntervalMs?: number;
}

/** The result of `tasks/get`, with the result, the error or the input requests, depending on the status. */
export interface DetailedTask extends Task {
  result?: Result;
  error?: { code: number; message: string; data?: unknown };
  inputRequests?: InputRequests;
}

export function supportsTasks({ extensions }: ClientCapabilities): boolean {
  return extensions?.[TASKS] !== undefined;
}
