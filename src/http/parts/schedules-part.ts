import type { CallAuthority } from "../../core/call.ts";
import type { Clock } from "../../core/clock.ts";
import type { Schedule } from "../../core/schedule.ts";
import { nextTime } from "../../jobs/schedule-times.ts";
import type { Schedules } from "../../jobs/schedules.ts";
import type { OnAuditFact, SchedulesCapability } from "../host-parts.ts";
import type { ScheduleInfo } from "../wire.ts";

const MAX_UPCOMING = 5;

/** The schedules of a host in the words of the wire. What a person changes is told before it counts. */
export function schedulesCapability(schedules: Schedules, clock: Clock, onAuditFact: OnAuditFact): SchedulesCapability {
  return {
    async list() {
      const items = await Promise.all((await schedules.list()).map(infoOf));
      return { items, status: await schedules.status() };
    },
    find: async (id) => infoOf(await schedules.get(id)),
    async add(request, authority, by) {
      await schedules.check(request, authority);
      await recordAction("schedule_added", by, { ...request });
      return infoOf(await schedules.add(request, authority));
    },
    async update(id, changes, authority, by) {
      await schedules.get(id);
      await recordAction("schedule_changed", by, { id, ...changes });
      return infoOf(await schedules.update(id, changes, authority, undefined));
    },
    async remove(id, by) {
      const { name } = await schedules.get(id);
      await recordAction("schedule_removed", by, { id, name });
      return infoOf(await schedules.remove(id));
    },
    async pause(id, isPaused, by) {
      await schedules.get(id);
      await recordAction(isPaused ? "schedule_paused" : "schedule_resumed", by, { id });
      return infoOf(await schedules.pause(id, isPaused));
    },
    run: (id, by) => schedules.run(id, { by }),
    runs: (id, query) => schedules.runs(id, query),
  };

  async function infoOf({ revision: _revision, ...schedule }: Schedule): Promise<ScheduleInfo> {
    const [lastRun] = await schedules.runs(schedule.id, { limit: 1 }).catch(() => []);
    return { ...schedule, upcoming: upcomingOf(schedule), ...(lastRun ? { lastRun } : {}) };
  }

  function upcomingOf({ isPaused, nextAt, timing }: Omit<Schedule, "revision">): number[] {
    const times: number[] = [];
    for (let at = isPaused ? undefined : nextAt; at !== undefined && times.length < MAX_UPCOMING;) {
      times.push(at);
      // From the next time on, whatever the interval was counted from before.
      at = nextTime(
        timing.type === "every" ? { ...timing, from: at + timing.everyMs } : timing,
        Math.max(at, clock.now()),
      );
    }
    return times;
  }

  function recordAction(action: string, by: string, data: Record<string, unknown>): Promise<void> {
    return onAuditFact({ kind: "config_changed", caller: { user: by }, data: { action, by, ...data } });
  }
}

/** What a request may say about the rights of what it leaves to be done. */
export function authorityOf(
  user: string,
  {
    session,
    mode,
    policy,
    allowedPaths,
  }: { session?: string } & Pick<CallAuthority, "mode" | "allowedPaths"> & {
      policy?: NonNullable<CallAuthority["policy"]>[number];
    },
): CallAuthority {
  return {
    caller: { depth: 0, user, session },
    mode,
    policy: policy === undefined ? undefined : [policy],
    allowedPaths,
  };
}
