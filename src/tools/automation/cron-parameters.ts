import type { InferOutput } from "../../schema/infer.ts";

export const CRON_PARAMETERS = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: ["status", "list", "add", "update", "remove", "run", "runs", "wake"],
      description:
        "status: whether schedules are being run. list: all of yours. add: make one. update: change one. remove: delete " +
        "one. run: run one now. runs: what came of its runs. wake: say something to a session now.",
    },
    id: { type: "string", description: "The schedule. Needed by update, remove, run and runs." },
    name: { type: "string", minLength: 1, maxLength: 200, description: "add, update: what people see." },
    at: {
      type: "string",
      description: "add, update: once, at a time with its zone (2026-11-16T08:30:00Z) or after a time span (20m).",
    },
    every: { type: "string", description: "add, update: again and again, such as 30s, 5m, 2h, 1d." },
    cron: {
      type: "string",
      description: 'add, update: a cron expression: minute hour day month weekday, such as "30 8 * * 1-5".',
    },
    time_zone: {
      type: "string",
      description: "Of the cron expression, such as Europe/Berlin. Default: this machine's.",
    },
    tool: { type: "string", description: "add, update: the tool to call." },
    input: { type: "object", additionalProperties: true, description: "add, update: the tool's input." },
    session: { type: "string", description: "add, update, wake: the session to wake. wake: yours where absent." },
    text: { type: "string", description: "add, update, wake: what the woken session is told." },
    missed: {
      type: "string",
      enum: ["run_once", "skip"],
      description: "add, update: what to do about times that passed while nothing was running. Default: run_once.",
    },
    paused: { type: "boolean", description: "add, update: whether it waits until it is resumed." },
    limit: { type: "integer", minimum: 1, maximum: 100, description: "runs: how many. Default: 20." },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

export type CronInput = InferOutput<typeof CRON_PARAMETERS>;

/** Names that models of other families use. */
export const CRON_PARAMETER_ALIASES = {
  job_id: "id",
  jobId: "id",
  schedule_id: "id",
  expr: "cron",
  expression: "cron",
  tz: "time_zone",
  timeZone: "time_zone",
  timezone: "time_zone",
  tool_name: "tool",
  toolName: "tool",
  arguments: "input",
  message: "text",
} as const;

/** What is missing for the action, if something is. */
export function refuseCronInput({ action, id, at, every, cron, tool, session, text }: CronInput): string | undefined {
  const needsId = action === "update" || action === "remove" || action === "run" || action === "runs";
  if (needsId && !id) return `id: needed for "${action}"; "list" shows the known ones`;
  if (action === "wake" && !text) return 'text: needed for "wake"';
  if (tool !== undefined && text !== undefined)
    return "tool: a schedule calls a tool or wakes a session with a text, not both";
  if (action !== "add") return undefined;
  if (!at && !every && !cron) return "at, every or cron: one of them is needed to add a schedule";
  if (!tool && !(session && text)) return "tool: needed to add a schedule; or session and text, to wake a session";
  return undefined;
}

/** Whether it changes what will be done. */
export function changesSomething({ action }: Pick<CronInput, "action">): boolean {
  return action === "add" || action === "update" || action === "remove";
}
