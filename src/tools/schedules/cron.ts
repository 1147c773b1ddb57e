import { withDefaults } from "../../core/options.ts";
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
import { isObject } from "../../schema/json-schema.ts";
import {
  readTiming,
  showMoment,
  showRun,
  showSchedule,
  showTarget,
  showTiming,
  showWholeSchedule,
} from "./schedule-text.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** The schedules. Every method checks the authority of the call. */
export interface CronSchedules {
  status(as: CallAuthority): Promise<ScheduleStatus>;
  list(as: CallAuthority): Promise<Schedule[]>;
  get(id: string, as: CallAuthority): Promise<Schedule>;
  /** Throws if it could not be added. */
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

const NOT_RUNNING = "No process runs schedules now: `haft serve` or `haft worker` must be running.";

/** Schedules tool calls. A scheduled call has at most the rights of the call that added it. */
export function createCronTool(dependencies: CronDependencies) {
  return createTool({
    name: "cron",
    title: "Schedules",
    description: {
      short: "Runs tool calls later or repeatedly: lists, adds, changes, removes and runs schedules.",
      usageNotes: [
        "A schedule outlives this conversation; remove it when it is no longer needed.",
        "Each run is checked like a call of yours at that moment: if it needs approval, it waits for it.",
        "runs shows the results of a schedule, and which times were missed while nothing was running.",
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
        { input: { action: "runs", id: "sch_1a2b3c" }, description: "Its results" },
      ],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.AUTOMATION,
    tags: ["schedule", "timer", "later", "reminder", "recurring"],
    parameterAliases: CRON_PARAMETER_ALIASES,
    parameters: CRON_PARAMETERS,
    builtIn: {
      zh: { title: "定时", short: "稍后或重复执行工具调用：列出、添加、修改、删除和运行定时任务。" },
      usesOtherTools: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: CRON_OUTPUT,
    permission: (input) => (changesSomething(input) || (input.action === "wake" && input.session) ? "confirm" : "auto"),
    signature: ({ action, id, tool, at, every, cron }) =>
      [action, id, tool, at ?? every ?? cron].filter(Boolean).join(" "),
    // No "always" rule: a person approves every schedule.
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
      const running = status.isRunning ? "Schedules are running." : NOT_RUNNING;
      return output(`${counted(status.schedules)}, ${status.paused} paused. ${running}${next}`, status);
    }
    case "list": {
      const list = await schedules.list(authority);
      return output(list.length === 0 ? "There are no schedules." : list.map(showSchedule).join("\n"), {
        schedules: list.map(detailsOf),
      });
    }
    case "add": {
      const added = await schedules.add(requestOf(input, clock.now()) as ScheduleRequest, authority);
      const { isRunning } = await schedules.status(authority);
      return output(`Added. ${showSchedule(added)}${isRunning ? "" : `\n${NOT_RUNNING}`}`, detailsOf(added));
    }
    case "update": {
      const changed = await schedules.update(id, await changesOf(input, authority, { schedules, clock }), authority);
      return output(`Changed. ${showSchedule(changed)}`, detailsOf(changed));
    }
    case "remove":
      return output(`Removed. ${showSchedule(await schedules.remove(id, authority))}`, { id, removed: true });
    case "run": {
      const by = authority.caller.user ?? authority.caller.agent;
      const begun = await schedules.run(id, { as: authority, by });
      return output(`Run ${begun.number} of ${id} has started; use runs to see its result.`, begun);
    }
    case "runs": {
      const runs = await schedules.runs(id, { limit: input.limit ?? 20 }, authority);
      return output(runs.length === 0 ? "It has not run yet." : runs.map(showRun).join("\n"), { runs });
    }
    case "wake": {
      const session = input.session ?? authority.caller.session;
      if (session === undefined) {
        throw toolError("invalid_input", "This call has no session", { next: "Name the session to wake." });
      }
      await schedules.wake(session, input.text ?? "", authority);
      return output(`Woke ${session}.`, { session });
    }
  }
}

/** Which fields there are depends on the action: a schedule, a run, lists of them, or the status. */
const CRON_OUTPUT = describeOutput({
  "schedules?": { type: ["array", "integer"], items: { type: "object" }, description: "Of list; of status: how many" },
  "runs?": field.list(field.object({ number: field.integer(), state: field.text() }), "Newest first"),
  "paused?": field.integer("How many schedules are paused"),
  "isRunning?": field.flag("A process runs schedules"),
  "nextAt?": field.number("Unix milliseconds"),
  "id?": field.text("The schedule"),
  "name?": field.text(),
  "timing?": field.object({ type: field.text("at, every or cron") }),
  "target?": field.object({ type: field.text("call or wake") }),
  "isPaused?": field.flag(),
  "runCount?": field.integer(),
  "removed?": field.flag(),
  "scheduleId?": field.text("Of the run"),
  "number?": field.integer("Of the run"),
  "state?": field.text("running, waiting, completed, failed, missed or skipped"),
  "session?": field.text("That was woken"),
});

/** For the approver: when, what and with which rights. Throws if the call would fail. */
async function preview(
  input: CronInput,
  { authority }: ToolContext,
  { schedules, clock }: CronDependencies,
): Promise<Preview> {
  const { action, id = "" } = input;
  if (action === "wake") return { title: "Wake a session", content: [text(`${input.session}: ${input.text}`)] };
  if (action !== "add" && action !== "update") {
    return {
      title: `Schedule ${id}: ${action}`,
      content: [text(showWholeSchedule(await schedules.get(id, authority)))],
    };
  }
  const before = action === "update" ? await schedules.get(id, authority) : undefined;
  const changes = before ? await changesOf(input, authority, { schedules, clock }) : requestOf(input, clock.now());
  const request = (before ? withDefaults(before, changes) : changes) as ScheduleRequest;
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
          ...(before ? ["before:", showWholeSchedule(before)] : []),
        ].join("\n"),
      ),
    ],
  };
}

/** The schedule that the parameters describe. */
function requestOf(input: CronInput, now: number): Partial<ScheduleRequest> {
  const { name, at, every, cron, time_zone: timeZone, missed, paused } = input;
  const timing = readTiming({ at, every, cron, timeZone }, now);
  const target = targetOf(input);
  return { name, timing, target, missed, isPaused: paused };
}

function targetOf({ tool, input = {}, session, text: message }: CronInput): ScheduleTarget | undefined {
  if (tool !== undefined) return { type: "call", toolName: tool, input };
  return session !== undefined && message !== undefined ? { type: "wake", session, text: message } : undefined;
}

/** A part of the target or the timing may be changed alone; the rest stays the same. */
async function changesOf(
  input: CronInput,
  authority: CallAuthority,
  { schedules, clock }: CronDependencies,
): Promise<Partial<ScheduleRequest>> {
  const { timing, target } = await schedules.get(input.id ?? "", authority);
  const message = { ...input };
  if (target.type === "call" && input.tool === undefined && input.input !== undefined) message.tool = target.toolName;
  if (target.type === "call" && input.tool !== undefined && input.input === undefined) {
    if (input.tool === target.toolName && isObject(target.input)) message.input = target.input;
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

function output(content: string, details: unknown): ToolOutput {
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
        "status: whether schedules are running. list: all your schedules. add: add one. update: change one. remove: delete " +
        "one. run: run one now. runs: the results of its runs. wake: send a message to a session now.",
    },
    id: { type: "string", description: "The id of the schedule. Required for update, remove, run and runs." },
    name: { type: "string", minLength: 1, maxLength: 200, description: "add, update: a name for people." },
    at: {
      type: "string",
      description: "add, update: once, at a time with its zone (2026-11-16T08:30:00Z) or after a time span (20m).",
    },
    every: { type: "string", description: "add, update: repeatedly, such as 30s, 5m, 2h, 1d." },
    cron: {
      type: "string",
      description: 'add, update: a cron expression: minute hour day month weekday, such as "30 8 * * 1-5".',
    },
    time_zone: {
      type: "string",
      description: "Time zone of the cron expression, such as Europe/Berlin. Default: this machine's.",
    },
    tool: { type: "string", description: "add, update: the tool to call." },
    input: { type: "object", additionalProperties: true, description: "add, update: the tool's input." },
    session: { type: "string", description: "add, update, wake: the session to wake. Default for wake: yours." },
    text: { type: "string", description: "add, update, wake: the message for the session." },
    missed: {
      type: "string",
      enum: ["run_once", "skip"],
      description: "add, update: what to do about times missed while nothing was running. Default: run_once.",
    },
    paused: { type: "boolean", description: "add, update: whether the schedule is paused." },
    limit: { type: "integer", minimum: 1, maximum: 100, description: "runs: how many. Default: 20." },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

type CronInput = InferOutput<typeof CRON_PARAMETERS>;

/** Other parameter names that models use. */
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

/** The parameter that is missing for the action, if any. */
function refuseCronInput({ action, id, at, every, cron, tool, session, text }: CronInput): string | undefined {
  const needsId = action === "update" || action === "remove" || action === "run" || action === "runs";
  if (needsId && !id) return `id: required for "${action}"; "list" shows the known ones`;
  if (action === "wake" && !text) return 'text: required for "wake"';
  if (tool !== undefined && text !== undefined)
    return "tool: a schedule calls a tool or wakes a session with a text, not both";
  if (action !== "add") return undefined;
  if (!at && !every && !cron) return "at, every or cron: one of them is required to add a schedule";
  if (!tool && !(session && text)) return "tool: required to add a schedule; or session and text, to wake a session";
  return undefined;
}

/** Whether the action changes schedules. */
function changesSomething({ action }: Pick<CronInput, "action">): boolean {
  return action === "add" || action === "update" || action === "remove";
}
