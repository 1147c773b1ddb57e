import { hasEnded } from "../calls/job.ts";
import type { Handlers } from "../contracts/contract.ts";
import { type Identity, requireMode, requireScope } from "../contracts/identity.ts";
import type { Contracts } from "../contracts/index.ts";
import type { ScheduleChangeRequest, ScheduleInfo } from "../contracts/schedules.ts";
import type { CallAuthority } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { errorMessage, toolError } from "../core/error.ts";
import { isForPerson, type ToolResult } from "../core/result.ts";
import type { Schedule, ScheduleRun, ScheduleTarget } from "../core/schedule.ts";
import { findRefusal } from "../gate/permit/tool-policy.ts";
import { summarizeCall } from "../gate/summarize-call.ts";
import { checkTiming, nextTime } from "../jobs/schedule-times.ts";
import { Scheduler, type WakeSession } from "../jobs/scheduler.ts";
import { Schedules } from "../jobs/schedules.ts";
import type { Haft } from "../runtime.ts";
import { createCronTool } from "../tools/schedules/cron.ts";
import { type ApiServices, defineCapability } from "./capability.ts";

/** Calls at given times, and the tool that creates them. They run in a process that calls `start`. */
export const schedules = defineCapability({
  name: "schedules",
  config: [],
  needs: ["store", "runtime", "sessions"],
  open({ clock, warn, store, runtime, sessions }) {
    const stopping = new AbortController();
    const wake: WakeSession = (key, text, { caller }, id) => sessions.sessionService.wake(caller, key, text, id);
    let lastProblem: string | undefined;
    const scheduler = new Scheduler({
      store: store.schedules,
      clock,
      wake,
      execute: (name, input, options) => runtime.execute(name, input, { ...options, signal: stopping.signal }),
      resultOf: (run, schedule) => resultOf(run, schedule, runtime),
      onProblem(error) {
        const message = errorMessage(error);
        // Once, not at every attempt.
        if (message !== lastProblem) warn(`Schedules are not run at the moment: ${message}`);
        lastProblem = message;
      },
    });
    const value = new Schedules({
      store: store.schedules,
      scheduler,
      clock,
      wake,
      check: (target, authority) => check(target, authority, runtime),
    });
    return {
      value,
      tools: [createCronTool({ schedules: value, clock })],
      api: ({ record }) => ({ schedules: createSchedulesApi({ schedules: value, clock, record, haft: runtime }) }),
      async close() {
        const stopped = value.stop();
        // Handed back: the process that takes the run next makes the same call.
        stopping.abort(toolError("shutdown", "The runtime is shutting down"));
        await stopped;
      },
    };
  },
});

/** Refuses what the gate would refuse to the creator of the schedule now. The gate decides again at each run. */
async function check(
  { toolName, input }: Extract<ScheduleTarget, { type: "call" }>,
  authority: CallAuthority,
  haft: Haft,
): Promise<void> {
  const { caller, mode, policy = [] } = authority;
  const { tool: name, verdict } = await haft.policy.explain(toolName, input, { caller, mode });
  const tool = haft.tools.registry.get(name);
  if (tool?.name === "cron") {
    throw toolError("denied", "A schedule cannot create or change schedules", { next: "Schedule the call itself." });
  }
  const narrowed =
    tool && policy.map((layer) => findRefusal(tool, layer)?.reason).find((reason) => reason !== undefined);
  const reason = verdict.decision === "deny" ? verdict.reason : narrowed && `the policy of this call ${narrowed}`;
  if (reason === undefined) return;
  throw toolError(
    "denied",
    `Permission denied: "${toolName}" cannot be scheduled, because it may not be called: ${reason}`,
    {
      next: "Schedule what you may call now.",
    },
  );
}

async function resultOf(
  { pending, callId = "", scheduleId }: ScheduleRun,
  { authority: { caller } }: Schedule,
  haft: Haft,
): Promise<ToolResult | "open" | undefined> {
  if (pending?.kind === "job") {
    const job = await haft.jobs.get(pending.id);
    return job && !hasEnded(job) ? "open" : job?.result;
  }
  const known = await haft.calls.find(callId, { ...caller, task: caller.task ?? scheduleId });
  if (known) return known.status === "pending" ? "open" : known;
  const approval = pending && isForPerson(pending) ? await haft.approvals.get(pending.id) : undefined;
  if (!approval) return undefined;
  return approval.call.state === "ended" ? haft.approvals.follow(approval.id) : "open";
}

const MAX_UPCOMING = 5;
const DEFAULT_LIMIT = 50;

export interface SchedulesApiOptions extends Pick<ApiServices, "record" | "haft"> {
  schedules: Schedules;
  clock: Clock;
}

export function createSchedulesApi({
  schedules: all,
  clock,
  record,
  haft,
}: SchedulesApiOptions): Handlers<Contracts["schedules"]> {
  const recordAction = (action: string, { name: by }: Identity, data: Record<string, unknown>): Promise<void> =>
    record({ kind: "config_changed", caller: { user: by }, data: { action, by, ...data } });

  /** Schedules of others need the scope `admin`. */
  const findOwn = async (id: string, identity: Identity): Promise<Schedule> => {
    const schedule = await all.get(id);
    if (schedule.authority.caller.user !== identity.name) {
      requireScope(identity, "admin", "To control a schedule of another user");
    }
    return schedule;
  };

  /** The call of a run that is stored as running may wait for a person. */
  const withWaiting = async (read: Promise<ScheduleRun[]>): Promise<ScheduleRun[]> => {
    const runs = await read;
    if (!runs.some(({ state }) => state === "running")) return runs;
    const open = new Map((await haft.approvals.list("pending")).map(({ id, callId }) => [callId, id]));
    return runs.map((run) => {
      const id = run.state === "running" ? open.get(run.callId ?? "") : undefined;
      return id === undefined ? run : { ...run, state: "waiting", pending: { kind: "approval", id } };
    });
  };

  const describe = async ({ revision: _revision, ...schedule }: Schedule): Promise<ScheduleInfo> => {
    const [lastRun] = await withWaiting(all.runs(schedule.id, { limit: 1 }).catch(() => []));
    const { target } = schedule;
    const call =
      target.type === "call" ? summarizeCall(haft.tools.registry.get(target.toolName), target.input) : undefined;
    return {
      // The schema's types are not readonly.
      ...(schedule as Omit<ScheduleInfo, "upcoming">),
      subject: call?.subject,
      risk: call?.risk.level,
      upcoming: upcomingTimes(schedule, clock),
      lastRun,
    };
  };

  return {
    async list() {
      const items = await Promise.all((await all.list()).map(describe));
      return { items, status: await all.status() };
    },
    async create({ body, identity }) {
      const { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...request } = body;
      const authority = authorityOf(body, identity);
      await all.check(request, authority);
      await recordAction("schedule_added", identity, { ...request });
      return describe(await all.add(request, authority));
    },
    times({ query: { expression, timeZone } }) {
      const timing = { type: "cron", expression, timeZone } as const;
      checkTiming(timing, clock.now());
      const nextAt = nextTime(timing, clock.now());
      return { upcoming: upcomingTimes({ isPaused: false, nextAt, timing }, clock) };
    },
    get: async ({ params }) => describe(await all.get(params.id)),
    async update({ params, body, identity }) {
      const { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...changes } = body;
      const { id } = await findOwn(params.id, identity);
      const authority = authorityOf(body, identity);
      await recordAction("schedule_changed", identity, { id, ...changes });
      return describe(await all.update(id, changes, authority, undefined));
    },
    async remove({ params, identity }) {
      const { id, name } = await findOwn(params.id, identity);
      await recordAction("schedule_removed", identity, { id, name });
      return describe(await all.remove(id));
    },
    async pause({ params, body: { isPaused }, identity }) {
      const { id } = await findOwn(params.id, identity);
      await recordAction(isPaused ? "schedule_paused" : "schedule_resumed", identity, { id });
      return describe(await all.pause(id, isPaused));
    },
    async run({ params, identity }) {
      const { id } = await findOwn(params.id, identity);
      return all.run(id, { by: identity.name });
    },
    async runs({ params, query: { limit = DEFAULT_LIMIT, before } }) {
      return { items: await withWaiting(all.runs(params.id, { limit, before })) };
    },
  };
}

function upcomingTimes(
  { isPaused, nextAt, timing }: Pick<Schedule, "isPaused" | "nextAt" | "timing">,
  clock: Clock,
): number[] {
  const times: number[] = [];
  for (let at = isPaused ? undefined : nextAt; at !== undefined && times.length < MAX_UPCOMING;) {
    times.push(at);
    // Periods are counted from the next time, whatever they were counted from before.
    const from = timing.type === "every" ? { ...timing, from: at + timing.everyMs } : timing;
    at = nextTime(from, Math.max(at, clock.now()));
  }
  return times;
}

/** The rights of the user, restricted by the request. */
function authorityOf(
  { session, mode, policy, allowedPaths }: ScheduleChangeRequest,
  identity: Identity,
): CallAuthority {
  requireMode(mode, identity);
  return { caller: { depth: 0, user: identity.name, session }, mode, policy: policy && [policy], allowedPaths };
}
