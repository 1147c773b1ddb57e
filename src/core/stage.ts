import type { Call } from "./call.ts";
import type { ToolResult } from "./result.ts";
import type { AnyTool } from "./tool.ts";

/**
 * One step of the gate. Calls enter the stages in order and leave them in reverse order; a stage that returns a result
 * from `enter` ends the call there, and only the entered stages are left.
 *
 * Not nested functions: every wrapper that works after the tool costs a promise and a turn of the microtask
 * queue, and the whole gate may cost only a few of them (docs/decisions/0002).
 */
export interface Stage extends StageHooks {
  readonly name: string;
  /** Also entered by a call that is aborted already. Only for stages after the first one, without others between. */
  readonly isAlwaysEntered?: boolean;
  /**
   * What the stage has to do for plain calls of this tool: calls without options that no other call makes. Undefined if that is
   * not known before such a call; then it passes every stage whole. Applies until a counter of `changes` increases. Default: everything.
   */
  compile?(tool: AnyTool): StageHooks | undefined;
  /** The counters of what `compile` depends on. Read at every call. */
  changes?: readonly ChangeCounter[];
}

/** Counts the changes of something that answers of the gate depend on. */
export class ChangeCounter {
  count = 0;
}

/** The functions of a stage. */
export interface StageHooks {
  /** Before the tool runs. A returned result answers the call; otherwise the call continues. */
  enter?(call: Call): MaybePromise<ToolResult | undefined | void>;
  /** After the tool. May replace the result. */
  leave?(call: Call, result: ToolResult): MaybePromise<ToolResult>;
  /**
   * The tool has ended after its caller got `unknown_outcome`: `result` is the real one. May replace it for the stages
   * before this one. In the order of `leave`, and after it.
   */
  late?(call: Call, result: ToolResult): MaybePromise<ToolResult | void>;
  /** Called once the tool's code has ended, perhaps long after its caller was answered; or if it never started. */
  ended?(call: Call): void;
  /** Wraps the tool's code, for an ambient context such as tracing; undefined for most calls. */
  around?(call: Call): ((run: () => unknown) => unknown) | undefined;
}

export type MaybePromise<T> = T | Promise<T>;

/** Where middleware of a host may be placed: after the built-in stage of that name. */
export type StageName =
  | "record"
  | "telemetry"
  | "resolve"
  | "visible"
  | "validate"
  | "context"
  | "provenance"
  | "known"
  | "permit"
  | "background"
  | "claim"
  | "admit"
  | "begin"
  | "bound";

/** A host's own stage, at a named place. Its `enter` may end the call, but never skip later stages. */
export interface Middleware extends StageHooks {
  /** In messages and traces. */
  readonly name: string;
  /** The built-in stage that it follows. */
  readonly after: StageName;
}

/** Inserts a host's stages after the built-in ones that they name; several at one place keep their order. */
export function placeMiddleware(stages: readonly Stage[], middleware: readonly Middleware[]): Stage[] {
  for (const { name, after } of middleware) {
    if (!stages.some((stage) => stage.name === after)) {
      throw new TypeError(
        `Middleware "${name}" cannot be placed after "${after}". The stages are: ${stages.map((stage) => stage.name).join(", ")}.`,
      );
    }
  }
  return stages.flatMap((stage) => [stage, ...middleware.filter(({ after }) => after === stage.name)]);
}
