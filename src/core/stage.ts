import type { Call } from "./call.ts";
import type { ToolResult } from "./result.ts";

/**
 * One place on the way through the gate. Calls enter the stages in order and leave them in reverse; a stage that answers
 * in `enter` ends the way there, and only those that were passed are left again.
 *
 * Not functions around functions: every wrapper that works after the tool costs a promise and a turn of the microtask
 * queue, and the whole gate may cost no more than a few of them (docs/decisions/0002).
 */
export interface Stage {
  readonly name: string;
  /** Before the tool runs. A result answers instead of the tool; without one the call continues. */
  enter?(call: Call): MaybePromise<ToolResult | undefined | void>;
  /** After. May replace the result. */
  leave?(call: Call, result: ToolResult): MaybePromise<ToolResult>;
  /** Once the tool's own code has really ended, which may be long after its caller was answered; or when it never began. */
  ended?(call: Call): void;
  /** What to put around the tool's own code, for what must be ambient in it (a tracing context); nothing for most calls. */
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
  | "taint"
  | "known"
  | "permit"
  | "background"
  | "claim"
  | "admit"
  | "begin"
  | "bound";

/** A host's own stage, at a named place. Its `enter` may tighten (answer), never skip what follows. */
export interface Middleware extends Omit<Stage, "name"> {
  /** In messages and traces. */
  readonly name: string;
  /** The built-in stage that it follows. */
  readonly after: StageName;
}

/** Places a host's stages after the built-in ones that they name; several at one place keep their order. */
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
