import type { CallOptions, Execute } from "../core/call.ts";
import { toolError } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Reflection } from "./reflection.ts";

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

export function createActor({ execute }: { execute: Execute }): Actor {
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
