import type { CallAuthority } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import type { Clock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { Schedule, ScheduleRequest, ScheduleRun, ScheduleStatus, ScheduleTarget } from "../../core/schedule.ts";
import { type Preview, type ToolContext, ToolKind } from "../../core/tool.ts";
import type { InferOutput } from "../../schema/infer.ts";
import { readTiming, showMoment, showRun, showSchedule, showTarget, showTiming } from "./schedule-text.ts";

/** The schedules, as this tool needs them; every question is asked with the authority of the call. */
export interface CronSchedules {
  status(as: CallAuthority): Promise<ScheduleStatus>;
  list(as: CallAuthority): Promise<Schedule[]>;
  get(id: string, as: CallAuthority): Promise<Schedule>;
  /** Throws where it could not be made. */
  check(request: ScheduleRequest, authority: CallAuthority, options?: { isTimed?: boolean }): Promise<void>;
  add(request: ScheduleRequest, authority: CallAuthority): Promise<Schedule>;
  update(id: string, changes: Partial<ScheduleRequest>, authority: CallAuthority): Promise<Schedule>;
  remove(id: string, as: CallAuthority): Promise<Schedule>;
  run(id: string, options: { by?: string; as: CallAuthority }): Promise<ScheduleRun>;
  runs(id: string, query: { limit: number }, as: CallAuthority): Promise<ScheduleRun[]>;
  wake(session: string, text: string, authority: CallAuthority): Promise<void>;
}

export interface CronDependencies {
  schedules: CronSchedules;
  clock: Clock;
}

const NOBODY_RUNS = "Nothing runs schedules at the moment: `haft serve` or `haft worker` has to be running.";

/** Calls tools later, again and again. What it leaves to be done has the rights of the call that made it, and no more. */
export function createCronTool(dependencies: CronDependencies) {
  return createTool({
    name: "cron",
    title: "Schedules",
    description: {
      short: "Runs tool calls later or again and again: lists, adds, changes, removes and runs schedules.",
      usageNotes: [
        "A schedule outlives this conversation; remove it when it is no longer wanted.",
        "Each run is checked as a call of yours would be at that moment: what would ask a person asks, and waits.",
        "runs tells what came of a schedule, and which times passed while nothing was running.",
      ],
      examples: [
        {
          input: {
            action: "add",
            name: "Morning log",
            cron: "30 8 * * 1-5",
            tool: "exec",
            input: { command: "git log" },
          },
          description: "Every working day at half past eight",
        },
        { input: { action: "runs", id: "sch_1a2b3c" }, description: "What came of it" },
      ],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.AUTOMATION,
    tags: ["schedule", "timer", "later", "reminder", "recurring"],
    parameterAliases: CRON_PARAMETER_ALIASES,
    parameters: CRON_PARAMETERS,
    origin: { type: "builtin" },
    permission: (input) => (changesSomething(input) || (input.action === "wake" && input.session) ? "confirm" : "auto"),
    signature: ({ action, id, tool, at, every, cron }) =>
      [action, id, tool, at ?? every ?? cron].filter(Boolean).join(" "),
    // What runs later is seen by a person each time it is set up.
    rule: () => "",
    preview: (input, context) => preview(input, context, dependencies),
    validate: refuseCronInput,
    run: (input, context) => run(input, context, dependencies),
  });
}

async function run(
  input: CronInput,
  { authority }: ToolContext,
  { schedules, clock }: CronDependencies,
): Promise<ToolOutput> {
  const { action, id = "" } = input;
  switch (action) {
    case "status": {
      const status = await schedules.status(authority);
      const next = status.nextAt === undefined ? "" : ` The next run is at ${showMoment(status.nextAt)}.`;
      const running = status.isRunning ? "Schedules are being run." : NOBODY_RUNS;
      return answer(`${counted(status.schedules)}, ${status.paused} paused. ${running}${next}`, status);
    }
    case "list": {
      const list = await schedules.list(authority);
      return answer(list.length === 0 ? "There are no schedules." : list.map(showSchedule).join("\n"), {
        schedules: list.map(detailsOf),
      });
    }
    case "add": {
      const added = await schedules.add(requestOf(input, clock.now()) as ScheduleRequest, authority);
      const { isRunning } = await schedules.status(authority);
      return answer(`Added. ${showSchedule(added)}${isRunning ? "" : `\n${NOBODY_RUNS}`}`, detailsOf(added));
    }
    case "update": {
      const changed = await schedules.update(id, await changesOf(input, authority, { schedules, clock }), authority);
      return answer(`Changed. ${showSchedule(changed)}`, detailsOf(changed));
    }
    case "remove":
      return answer(`Removed. ${showSchedule(await schedules.remove(id, authority))}`, { id, removed: true });
    case "run": {
      const by = authority.caller.user ?? authority.caller.agent;
      const begun = await schedules.run(id, { as: authority, by });
      return answer(`Run ${begun.number} of ${id} has begun; runs tells what came of it.`, begun);
    }
    case "runs": {
      const runs = await schedules.runs(id, { limit: input.limit ?? 20 }, authority);
      return answer(runs.length === 0 ? "It has not run yet." : runs.map(showRun).join("\n"), { runs });
    }
    case "wake": {
      const session = input.session ?? authority.caller.session;
      if (session === undefined) {
        throw toolError("invalid_input", "This call is in no session", { next: "Say which session to wake." });
      }
      await schedules.wake(session, input.text ?? "", authority);
      return answer(`Woke ${session}.`, { session });
    }
  }
}

/** What a person is asked about: when, what, and with which rights. Throws what the call itself would throw. */
async function preview(
  input: CronInput,
  { authority }: ToolContext,
  { schedules, clock }: CronDependencies,
): Promise<Preview> {
  const { action, id = "" } = input;
  const problem = refuseCronInput(input);
  if (problem !== undefined) throw toolError("invalid_input", `Parameter validation failed: ${problem}`);
  if (action === "wake") return { title: "Wake a session", content: [text(`${input.session}: ${input.text}`)] };
  if (action !== "add" && action !== "update") {
    return { title: `Schedule ${id}: ${action}`, content: [text(showSchedule(await schedules.get(id, authority)))] };
  }
  const before = action === "update" ? await schedules.get(id, authority) : undefined;
  const changes = before ? await changesOf(input, authority, { schedules, clock }) : requestOf(input, clock.now());
  const request = { ...before, ...changes } as ScheduleRequest;
  await schedules.check(request, authority, { isTimed: changes.timing === undefined });
  const { caller, ...rights } = authority;
  return {
    title: before ? `Change the schedule ${id}` : "Add a schedule",
    content: [
      text(
        [
          `when: ${showTiming(request.timing)}`,
          `what: ${showTarget(request.target)}`,
          `as:   ${JSON.stringify(caller)}`,
          ...(Object.keys(rights).length > 0 ? [`only: ${JSON.stringify(rights)}`] : []),
          ...(before ? ["before:", showSchedule(before)] : []),
        ].join("\n"),
      ),
    ],
  };
}

/** What the words of a call say about a schedule. */
function requestOf(input: CronInput, now: number): Partial<ScheduleRequest> {
  const { name, at, every, cron, time_zone: timeZone, missed, paused } = input;
  const timing = readTiming({ at, every, cron, timeZone }, now);
  const target = targetOf(input);
  return {
    name,
    timing,
    target,
    missed,
    isPaused: paused,
  };
}

function targetOf({ tool, input = {}, session, text: message }: CronInput): ScheduleTarget | undefined {
  if (tool !== undefined) return { type: "call", toolName: tool, input };
  return session !== undefined && message !== undefined ? { type: "wake", session, text: message } : undefined;
}

/** A part of the target or of the timing may be said alone; the rest stays as it was. */
async function changesOf(
  input: CronInput,
  authority: CallAuthority,
  { schedules, clock }: CronDependencies,
): Promise<Partial<ScheduleRequest>> {
  const { timing, target } = await schedules.get(input.id ?? "", authority);
  const message = { ...input };
  if (target.type === "call" && input.tool === undefined && input.input !== undefined) message.tool = target.toolName;
  if (target.type === "call" && input.tool !== undefined && input.input === undefined) {
    if (input.tool === target.toolName) message.input = target.input as Record<string, unknown>;
  }
  if (target.type === "wake" && (input.session ?? input.text) !== undefined) {
    message.session ??= target.session;
    message.text ??= target.text;
  }
  if (timing.type === "cron") {
    if (message.time_zone !== undefined && !message.at && !message.every) message.cron ??= timing.expression;
    if (message.cron !== undefined) message.time_zone ??= timing.timeZone;
  }
  return requestOf(message, clock.now());
}

function detailsOf({ revision: _revision, ...schedule }: Schedule): Omit<Schedule, "revision"> {
  return schedule;
}

function answer(content: string, details: unknown): ToolOutput {
  const [display = ""] = content.split("\n");
  return { content, display, details };
}

function counted(count: number): string {
  return count === 1 ? "1 schedule" : `${count} schedules`;
}

const CRON_PARAMETERS = {
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

type CronInput = InferOutput<typeof CRON_PARAMETERS>;

/** Names that models of other families use. */
const CRON_PARAMETER_ALIASES = {
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
function refuseCronInput({ action, id, at, every, cron, tool, session, text }: CronInput): string | undefined {
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
function changesSomething({ action }: Pick<CronInput, "action">): boolean {
  return action === "add" || action === "update" || action === "remove";
}
