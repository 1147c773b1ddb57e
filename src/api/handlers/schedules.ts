import type { Handlers } from "../../contracts/contract.ts";
import { type Identity, requireScope } from "../../contracts/identity.ts";
import type { ScheduleChangeRequest, ScheduleInfo, schedules as contract } from "../../contracts/schedules.ts";
import type { CallAuthority } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { Schedule } from "../../core/schedule.ts";
import type { AuditFact } from "../../gate/audit-log.ts";
import { nextTime } from "../../jobs/schedule-times.ts";
import type { Schedules } from "../../jobs/schedules.ts";
import { requireMode } from "./call-runner.ts";

const MAX_UPCOMING = 5;
const DEFAULT_LIMIT = 50;

export interface SchedulesApiOptions {
  schedules: Schedules;
  clock: Clock;
  /** Records what people do, before it takes effect: if it rejects, nothing is done. */
  record(fact: AuditFact): Promise<void>;
}

export function createSchedulesApi({ schedules, clock, record }: SchedulesApiOptions): Handlers<typeof contract> {
  const recordAction = (action: string, { name: by }: Identity, data: Record<string, unknown>): Promise<void> =>
    record({ kind: "config_changed", caller: { user: by }, data: { action, by, ...data } });

  /** Schedules of others need the scope `admin`. */
  const findOwn = async (id: string, identity: Identity): Promise<Schedule> => {
    const schedule = await schedules.get(id);
    if (schedule.authority.caller.user !== identity.name) {
      requireScope(identity, "admin", "To control a schedule of another user");
    }
    return schedule;
  };

  const describe = async ({ revision: _revision, ...schedule }: Schedule): Promise<ScheduleInfo> => {
    const [lastRun] = await schedules.runs(schedule.id, { limit: 1 }).catch(() => []);
    // The schema's types are not readonly.
    return { ...(schedule as Omit<ScheduleInfo, "upcoming">), upcoming: upcomingTimes(schedule, clock), lastRun };
  };

  return {
    async list() {
      const items = await Promise.all((await schedules.list()).map(describe));
      return { items, status: await schedules.status() };
    },
    async create({ body, identity }) {
      const { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...request } = body;
      const authority = authorityOf(body, identity);
      await schedules.check(request, authority);
      await recordAction("schedule_added", identity, { ...request });
      return describe(await schedules.add(request, authority));
    },
    get: async ({ params }) => describe(await schedules.get(params.id)),
    async update({ params, body, identity }) {
      const { session: _session, mode: _mode, policy: _policy, allowedPaths: _paths, ...changes } = body;
      const { id } = await findOwn(params.id, identity);
      const authority = authorityOf(body, identity);
      await recordAction("schedule_changed", identity, { id, ...changes });
      return describe(await schedules.update(id, changes, authority, undefined));
    },
    async remove({ params, identity }) {
      const { id, name } = await findOwn(params.id, identity);
      await recordAction("schedule_removed", identity, { id, name });
      return describe(await schedules.remove(id));
    },
    async pause({ params, body: { isPaused }, identity }) {
      const { id } = await findOwn(params.id, identity);
      await recordAction(isPaused ? "schedule_paused" : "schedule_resumed", identity, { id });
      return describe(await schedules.pause(id, isPaused));
    },
    async run({ params, identity }) {
      const { id } = await findOwn(params.id, identity);
      return schedules.run(id, { by: identity.name });
    },
    async runs({ params, query: { limit = DEFAULT_LIMIT, before } }) {
      return { items: await schedules.runs(params.id, { limit, before }) };
    },
  };
}

function upcomingTimes({ isPaused, nextAt, timing }: Omit<Schedule, "revision">, clock: Clock): number[] {
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
