// A schedule as an entrance: one that is due, run by a scheduler over the gate of a runtime that a test has made.
import { onTestFinished } from "vitest";
import type { CallOptions, Haft, ToolResult } from "haft";
import { Scheduler } from "../../src/jobs/scheduler.ts";
import { openInMemory } from "../../src/store/memory-store.fixture.ts";
import { schedulesModule } from "../../src/store/schedules.ts";

interface Called {
  haft: Haft;
  name: string;
  input: unknown;
  options: CallOptions;
}

/** The result of the one call that the schedule makes, as the scheduler is given it. */
export async function callBySchedule({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { clock } = haft.settings;
  const { mode, policy = [], allowedPaths, caller, id = "sch_entrance" } = options;
  const now = clock.now();
  const store = await openInMemory(schedulesModule);
  await store.add(
    {
      id,
      name: "entrance",
      timing: { type: "at", at: now },
      target: { type: "call", toolName: name, input: structuredClone(input) },
      missed: "run_once",
      isPaused: false,
      authority: {
        caller: { depth: 0, ...caller },
        policy: [policy].flat(),
        ...(mode ? { mode } : {}),
        ...(allowedPaths ? { allowedPaths } : {}),
      },
      createdAt: now,
      updatedAt: now,
      nextAt: now,
      runCount: 0,
      revision: 1,
    },
    1,
  );
  return new Promise((resolve, reject) => {
    const scheduler = new Scheduler({
      store,
      clock,
      async execute(toolName, given, made) {
        const result = await haft.execute(toolName, given, made);
        resolve(result);
        return result;
      },
      onProblem: reject,
    });
    onTestFinished(() => scheduler.stop());
    scheduler.start();
  });
}
