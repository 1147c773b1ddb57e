import type { CallOptions, ExecuteByName } from "../../core/call.ts";
import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Reflection, Reflector } from "./reflection.ts";

/** One thing to do. */
export interface PlanStep {
  description: string;
  actionType: "tool_call";
  toolName: string;
  params?: unknown;
  /** The task can be done without it. */
  isOptional?: boolean;
}

/** A step that was done, or tried. */
export interface ActionResult {
  step: PlanStep;
  /** Its place in the plan, from 0. */
  index: number;
  /** Which plan it was of: 1, and one more with each replan. */
  round: number;
  result: ToolResult;
}

/** A task while it is worked on, as plain JSON. */
export interface TaskContext {
  taskId: string;
  goal: string;
  plan: PlanStep[];
  round: number;
  actionsDone: ActionResult[];
  reflections: Reflection[];
}

export function createTaskContext(taskId: string, goal: string, plan: readonly PlanStep[]): TaskContext {
  return { taskId, goal, plan: [...plan], round: 1, actionsDone: [], reflections: [] };
}

/** What is left of the plan: the place of the next step, or undefined after the last. */
export function nextStep({ plan, round, actionsDone }: TaskContext): number | undefined {
  const done = actionsDone.filter((action) => action.round === round).length;
  return done < plan.length ? done : undefined;
}

/** Carries out steps of plans. Every one passes the gate, and what came of it is in `actionsDone`. */
export interface Actor {
  runStep(task: TaskContext, options?: CallOptions): Promise<ActionResult>;
}

export function createActor({ execute }: { execute: ExecuteByName }): Actor {
  return {
    async runStep(task, options = {}) {
      const index = nextStep(task);
      const step = index === undefined ? undefined : task.plan[index];
      if (index === undefined || step === undefined) {
        throw toolError("no_change", `The plan of task "${task.taskId}" has no more steps`, {
          next: "Reflect on it, and give it a new plan where it is not complete.",
        });
      }
      // An id of its own for every try, the same one where the very same step is run again after a crash.
      const id = `${task.taskId}/${task.round}.${index + 1}`;
      const caller = { ...options.caller, task: task.taskId };
      const result = await execute(step.toolName, step.params ?? {}, { id, ...options, caller });
      const action: ActionResult = { step, index, round: task.round, result };
      task.actionsDone.push(action);
      return action;
    },
  };
}

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
