import type { CallAuthority } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Schedule, ScheduleRun, ScheduleTarget } from "../core/schedule.ts";
import { journalKey } from "../gate/idempotency.ts";
import { hasEnded } from "../calls/job.ts";
import { Scheduler, type WakeSession } from "../jobs/scheduler.ts";
import { Schedules } from "../jobs/schedules.ts";
import { findRefusal } from "../gate/permit/tool-policy.ts";
import type { Haft } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import { createCronTool } from "../tools/schedules/cron.ts";

export interface ScheduleHost {
  haft: Haft;
  store: Pick<Store, "schedules" | "journal">;
  clock: Clock;
  /** Absent where there are no sessions. */
  wake?: WakeSession;
  warn(warning: string): void;
}

/** Schedules over the gate of a runtime, and the tool that makes them. They run once somebody calls `start`. */
export function openSchedules({ haft, store, clock, wake, warn }: ScheduleHost): Schedules {
  let problem: string | undefined;
  const scheduler = new Scheduler({
    store: store.schedules,
    clock,
    wake,
    execute: (name, input, options) => haft.execute(name, input, options),
    resultOf: (run, schedule) => resultOf(run, schedule, { haft, journal: store.journal }),
    onProblem(error) {
      const message = error instanceof Error ? error.message : String(error);
      // Said once, not at every look.
      if (message !== problem) warn(`Schedules are not run at the moment: ${message}`);
      problem = message;
    },
  });
  const schedules = new Schedules({
    store: store.schedules,
    scheduler,
    clock,
    wake,
    check: (target, authority) => check(target, authority, haft),
  });
  haft.register(createCronTool({ schedules, clock }));
  return schedules;
}

/** What the gate would refuse whoever asks for the schedule is refused now; the gate decides again at each run. */
function check(
  { toolName, input }: Extract<ScheduleTarget, { type: "call" }>,
  authority: CallAuthority,
  haft: Haft,
): void {
  const { caller, mode, policy = [] } = authority;
  const { tool: name, verdict } = haft.policy.explain(toolName, input, { caller, mode });
  const tool = haft.registry.get(name);
  if (tool?.name === "cron") {
    throw toolError("denied", "A schedule cannot make or change schedules", { next: "Schedule the call itself." });
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
  { haft, journal }: Pick<ScheduleHost, "haft"> & Pick<Store, "journal">,
): Promise<ToolResult | "open" | undefined> {
  if (pending?.kind === "job") {
    const job = await haft.jobs.get(pending.id);
    return job && !hasEnded(job) ? "open" : job?.result;
  }
  const approval = pending && (await haft.approvals.get(pending.id));
  if (approval?.state === "pending" || approval?.state === "approved") return "open";
  const entry = await journal.find(journalKey({ ...caller, task: caller.task ?? scheduleId }, callId));
  if (entry?.state === "running") return "open";
  return entry?.state === "done" ? entry.result : undefined;
}
