import type { CallOptions } from "../core/call.ts";
import { type Actor, nextStep, type PlanStep, type TaskContext } from "./plan.ts";
import type { Reflection, Reflector } from "./reflection.ts";

export interface TaskDependencies {
  actor: Actor;
  reflector: Reflector;
  /** Another plan for the task, in view of what has happened; none: the task ends as it is. */
  replan?(task: TaskContext, reflection: Reflection): Promise<readonly PlanStep[]> | readonly PlanStep[];
}

/** Acts and reflects in turn until the task is complete, or waits for an answer. The last reflection is the outcome. */
export async function runTask(
  task: TaskContext,
  parts: TaskDependencies,
  options: CallOptions = {},
): Promise<Reflection> {
  for (;;) {
    const hasNext = nextStep(task) !== undefined;
    if (hasNext) await parts.actor.runStep(task, options);
    const { signal } = options;
    const reflection = await parts.reflector.reflect(task, signal ? { signal } : {});
    task.reflections.push(reflection);
    if (reflection.verdict === "complete") return reflection;
    // Nothing is left to do but to wait for what is pending.
    if (reflection.verdict === "continue" && nextStep(task) === undefined) return reflection;
    if (reflection.verdict !== "replan") continue;
    const plan = (await parts.replan?.(task, reflection)) ?? [];
    if (plan.length === 0) return reflection;
    task.plan = [...plan];
    task.round += 1;
  }
}
