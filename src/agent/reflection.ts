import type { TaskContext } from "./plan.ts";

/** What a look back at a task says: go on with the plan, make another one, or be content. */
export interface Reflection {
  verdict: "complete" | "continue" | "replan";
  /** In a sentence or two: how it stands. */
  assessment: string;
  /** What should be done otherwise from now on. */
  lessons: string[];
  nextFocus?: string;
  toolFailures?: ToolFailureNote[];
}

export interface ToolFailureNote {
  toolName: string;
  error: string;
  suggestion?: string;
}

export interface Reflector {
  reflect(task: TaskContext, options?: { signal?: AbortSignal }): Promise<Reflection>;
}
