import type { InferOutput } from "../../schema/infer.ts";

export const PROCESS_PARAMETERS = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: ["list", "poll", "log", "write", "send-keys", "send_keys", "submit", "paste", "kill", "clear", "remove"],
      description:
        "list: all of yours. poll: what is new. log: lines of the output. write: text as it is. send-keys: named keys. " +
        "submit: text, then Enter. paste: text in one piece. kill: end it and all it started. clear: forget finished " +
        "ones. remove: end it if need be and forget it.",
    },
    id: { type: "string", description: "The process id that `exec` answered with. Needed by all but list and clear." },
    data: { type: "string", description: "The text for write, submit and paste; for send-keys: text before the keys." },
    keys: {
      type: "array",
      items: { type: "string" },
      description: "The keys for send-keys, such as Enter, C-c, Up, Tab, Escape, or plain text.",
    },
    eof: { type: "boolean", description: "write: close the input afterwards." },
    bracketed: { type: "boolean", description: "paste: mark it as pasted, on a terminal. Default: true." },
    offset: {
      type: "integer",
      minimum: 0,
      description: "log: the first line, counted from 1. Absent: the last lines.",
    },
    limit: { type: "integer", minimum: 1, maximum: 2000, description: "log: how many lines. Default: 200." },
    wait_ms: {
      type: "number",
      minimum: 0,
      maximum: 600_000,
      description:
        "poll, and whatever sends input: how long to wait for the end before answering. A poll without it answers when " +
        "there is new output, after 5000 at the latest; 500 after input.",
    },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

export type ProcessInput = InferOutput<typeof PROCESS_PARAMETERS>;

/** Names that models of other families use. */
export const PROCESS_PARAMETER_ALIASES = {
  process_id: "id",
  processId: "id",
  session_id: "id",
  sessionId: "id",
  session: "id",
  text: "data",
  input: "data",
  chars: "data",
  literal: "data",
  timeout: "wait_ms",
  timeout_ms: "wait_ms",
  waitMs: "wait_ms",
  yield_ms: "wait_ms",
  yieldMs: "wait_ms",
} as const;

/** What is missing for the action, if something is. */
export function refuseProcessInput({ action, id, data, keys, eof }: ProcessInput): string | undefined {
  if (!id && action !== "list" && action !== "clear") return `id: needed for "${action}"; "list" shows the known ones`;
  if (action === "write" && data === undefined && !eof) return 'data: needed for "write", unless eof is true';
  if (action === "paste" && data === undefined) return 'data: needed for "paste"';
  if ((action === "send-keys" || action === "send_keys") && data === undefined && !keys?.length) {
    return `keys: needed for "${action}"`;
  }
  return undefined;
}

/** Whether the action puts something into a process that its start, which was permitted, did not say. */
export function typesSomething({ action, data = "", keys = [] }: ProcessInput): boolean {
  if (action === "submit" || action === "paste") return true;
  if (action !== "write" && action !== "send-keys" && action !== "send_keys") return false;
  return !ENDINGS.test(data) || keys.some((key) => !/^(?:c|ctrl)[-+][cd]$/i.test(key));
}

/** Ctrl-C and Ctrl-D only end things, as `kill` does. */
const ENDINGS = /^[\u0003\u0004]*$/;
