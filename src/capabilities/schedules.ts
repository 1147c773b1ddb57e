import type { CallAuthority } from "../core/call.ts";
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
import { defineCapability } from "./capability.ts";

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
      resultOf: (run, schedule) => resultOf(run, schedule, { haft: runtime, journal: store.journal }),
      onProblem(error) {
        const message = error instanceof Error ? error.message : String(error);
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
function check(
  { toolName, input }: Extract<ScheduleTarget, { type: "call" }>,
  authority: CallAuthority,
  haft: Haft,
): void {
  const { caller, mode, policy = [] } = authority;
  const { tool: name, verdict } = haft.policy.explain(toolName, input, { caller, mode });
  const tool = haft.registry.get(name);
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
  { haft, journal }: { haft: Haft } & Pick<Store, "journal">,
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
