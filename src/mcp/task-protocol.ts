import type { ClientCapabilities, InputRequests, Result } from "@modelcontextprotocol/server";

/** The extension by which a server answers a call with a handle, and the client asks for the result later. */
export const TASKS = "io.modelcontextprotocol/tasks";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** As it stands on the wire; the SDK has no types of this revision of it. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  /** ISO 8601. */
  createdAt: string;
  lastUpdatedAt: string;
  /** How long after its creation it may be asked for; null: for ever. */
  ttlMs: number | null;
  pollIntervalMs?: number;
}

/** What `tasks/get` answers: of `completed` the result, of `failed` the protocol's error, of `input_required` what is asked. */
export interface DetailedTask extends Task {
  result?: Result;
  error?: { code: number; message: string; data?: unknown };
  inputRequests?: InputRequests;
}

export function supportsTasks({ extensions }: ClientCapabilities): boolean {
  return extensions?.[TASKS] !== undefined;
}
