import type { CallOptions, ExecuteByName } from "../../core/call.ts";
import { toolError } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Reflection, Reflector } from "./reflection.ts";

/** A step of a plan. */
export interface PlanStep {
  /** What the step is for. */
  description: string;
  /** The only kind of step so far. */
  actionType: "tool_call";
  /** The tool to call. */
  toolName: string;
  /** Its input. */
  params?: unknown;
  /** The task can succeed without this step. */
  isOptional?: boolean;
}

/** A step that was run. */
export interface ActionResult {
  step: PlanStep;
  /** Its index in the plan, from 0. */
  index: number;
  /** The number of the plan: 1, plus 1 for each replan. */
  round: number;
  result: ToolResult;
}

/** A running task, as plain JSON. */
export interface TaskContext {
  /** Calls of the task have it as `caller.task`. */
  taskId: string;
  /** The task. */
  goal: string;
  /** The steps. */
  plan: PlanStep[];
  /** How often the plan was carried out. */
  round: number;
  /** The result of each step, in order. */
  actionsDone: ActionResult[];
  /** What was concluded after each round. */
  reflections: Reflection[];
}

/** Starts the record of a task. */
export function createTaskContext(taskId: string, goal: string, plan: readonly PlanStep[]): TaskContext {
  return { taskId, goal, plan: [...plan], round: 1, actionsDone: [], reflections: [] };
}

/** The index of the next step, or undefined after the last. */
export function nextStep({ plan, round, actionsDone }: TaskContext): number | undefined {
  const done = actionsDone.filter((action) => action.round === round).length;
  return done < plan.length ? done : undefined;
}

/** Runs steps of plans. Every step passes the gate, and its result is added to `actionsDone`. */
export interface Actor {
  /** Carries out one step. */
  runStep(task: TaskContext, options?: CallOptions): Promise<ActionResult>;
}

/** Makes what carries out the steps of a plan. */
export function createActor({ execute }: { execute: ExecuteByName }): Actor {
  return {
    async runStep(task, options = {}) {
      const index = nextStep(task);
      const step = index === undefined ? undefined : task.plan[index];
      if (index === undefined || step === undefined) {
        throw toolError("no_change", `The plan of task "${task.taskId}" has no more steps`, {
          next: "Reflect on it, and set a new plan if it is not complete.",
        });
      }
      // A different id for every attempt, but the same one if the step is repeated after a crash.
      const id = `${task.taskId}/${task.round}.${index + 1}`;
      const caller = { ...options.caller, task: task.taskId };
      const result = await execute(step.toolName, step.params ?? {}, { id, ...options, caller });
      const action: ActionResult = { step, index, round: task.round, result };
      task.actionsDone.push(action);
      return action;
    },
  };
}

interface TaskDependencies {
  actor: Actor;
  reflector: Reflector;
  /** Returns a new plan for the task. If omitted or empty, the task ends. */
  replan?(task: TaskContext, reflection: Reflection): Promise<readonly PlanStep[]> | readonly PlanStep[];
}

/** Alternates steps and reflections until the task is complete or waits. Returns the last reflection. */
export async function runTask(
  task: TaskContext,
  parts: TaskDependencies,
  options: CallOptions = {},
): Promise<Reflection> {
  for (;;) {
    const hasNext = nextStep(task) !== undefined;
    if (hasNext) await parts.actor.runStep(task, options);
    const reflection = await parts.reflector.reflect(task, { signal: options.signal });
    task.reflections.push(reflection);
    if (reflection.verdict === "complete") return reflection;
    // All steps were run; the rest is to wait for pending results.
    if (reflection.verdict === "continue" && nextStep(task) === undefined) return reflection;
    if (reflection.verdict !== "replan") continue;
    const plan = (await parts.replan?.(task, reflection)) ?? [];
    if (plan.length === 0) return reflection;
    task.plan = [...plan];
    task.round += 1;
  }
}
