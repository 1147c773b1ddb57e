import { isDeepStrictEqual } from "node:util";
import { BoundedMap } from "../core/bounded-map.ts";
import { callKey } from "../calls/calls.ts";
import { abortable, type Call, type CallIn, type Caller, givenContext, toolOf } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import { errorMessage, toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { pathOf, type SchemaIssue, type Validation } from "../schema/schema.ts";
import { startedRowOf } from "./idempotency.ts";
import { answerInTime } from "./tool-answers.ts";

/** Makes the data of the host for a call that brought none: one that another process continues, or an entrance without such data. */
export type ContextFor = (caller: Readonly<Caller>, tool: AnyTool) => unknown;

/** How many calls that go on later in this process keep the data that they were made with. Approved calls have them too, see `LiveCall`. */
const MAX_KEPT = 10_000;
/** For how many keys of calls it is known with which data they were made. */
const MAX_KEYS = 1000;

export interface HostContextStage extends Stage {
  /** Whether an earlier call with the same key had other data. */
  hasOtherData(call: Call): boolean;
}

export interface HostContextOptions {
  contextFor: ContextFor | undefined;
  /** Also for built-in tools: somebody else reads the data. */
  forAll?: boolean;
  clock: Clock;
}

/** Hands a call the host's data: its own, its parent's or of `contextFor`. First, because the tool may decide by it. */
export function hostContext({ contextFor, forAll = false, clock }: HostContextOptions): HostContextStage {
  const kept = new BoundedMap<string, unknown>(MAX_KEPT);
  const byKey = new BoundedMap<string, unknown>(MAX_KEYS);
  const withOther = new WeakSet<Call>();
  const isUnused = (tool: AnyTool): boolean =>
    tool.contextSchema === undefined && (contextFor === undefined || (tool.origin.type === "builtin" && !forAll));
  return {
    name: "context",
    hasOtherData: (call) => withOther.has(call),
    compile: (tool) => (isUnused(tool) ? {} : undefined),
    enter(call: CallIn<"context">) {
      const tool = toolOf(call);
      const given = givenContext(call) ?? keptFor(call, kept);
      const { needsContext } = call.options;
      if (given === undefined && !needsContext && isUnused(tool)) return undefined;
      const take = (data: unknown): MaybePromise<undefined> =>
        accept(call, tool, data, () => {
          if (isWithOtherData(call, byKey)) withOther.add(call);
        });
      if (given !== undefined || !contextFor) return take(given);
      return answerInTime(call, clock, made(contextFor, call, tool)).then(take);
    },
    leave(call, result) {
      const { secondPass } = call;
      if (result.status === "pending") {
        const given = givenContext(call) ?? keptFor(call, kept);
        // A program continues by its row, all others by what they wait for.
        const ids = [result.pending.id, startedRowOf(call)?.id];
        if (given !== undefined) for (const id of ids) if (id !== undefined) kept.set(id, given);
      } else if (secondPass && !secondPass.again?.(call, result)) kept.delete(secondPass.id);
      return result;
    },
  };
}

/** Of a call that goes on, and of the calls that it makes then. */
function keptFor(call: Call, kept: BoundedMap<string, unknown>): unknown {
  for (let at: Call | undefined = call; at; at = at.parent) {
    const data = at.secondPass && kept.get(at.secondPass.id);
    if (data !== undefined) return data;
  }
  return undefined;
}

/**
 * Two calls with one key are one call. Its question and its result belong to the data that it was made with: the plain values
 * that the tool's schema names. Functions, connections and what else a framework passes are new for each request.
 */
function isWithOtherData(call: Call, byKey: BoundedMap<string, unknown>): boolean {
  const { idempotencyKey, host } = call;
  if (idempotencyKey === undefined || host === undefined || call.parent || call.secondPass) return false;
  const key = callKey(call.caller, idempotencyKey);
  const plain = plainPart(host);
  if (byKey.get(key) !== undefined) return !isDeepStrictEqual(byKey.get(key), plain);
  byKey.set(key, plain);
  return false;
}

const MAX_DEPTH = 8;

function plainPart(value: unknown, depth = 0): unknown {
  if (typeof value === "function" || depth > MAX_DEPTH) return null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => plainPart(each, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return null;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainPart(each, depth + 1)]));
}

async function made(contextFor: ContextFor, { caller }: Call, tool: AnyTool): Promise<unknown> {
  try {
    return await contextFor(caller, tool);
  } catch (cause) {
    throw toolError("unavailable", `contextFor failed for "${tool.name}": ${errorMessage(cause)}`, {
      next: "Nothing was done. Correct the function in createHaft.",
      cause,
    });
  }
}

function accept(
  call: CallIn<"context">,
  tool: AnyTool,
  data: unknown,
  onAccepted: () => void,
): MaybePromise<undefined> {
  const { contextSchema } = tool;
  const take = (validation: Validation<unknown>): undefined => {
    if (!validation.issues) {
      call.host = validation.value;
      if (contextSchema) onAccepted();
    } else throw data === undefined ? missing(tool, call) : unfit(tool, validation.issues);
  };
  if (data === undefined && call.options.needsContext) throw missing(tool, call);
  if (!contextSchema) return take({ value: data });
  const validation = contextSchema.validate(data);
  return validation instanceof Promise ? abortable(call, validation.then(take)) : take(validation);
}

function missing({ name }: AnyTool, { secondPass, options }: Call): ToolError {
  return toolError("unavailable", `"${name}" needs data of its host, and this call has none`, {
    next: secondPass || options.needsContext ? CONTINUES : NEEDS_CONTEXT,
  });
}

const NEEDS_CONTEXT =
  "Nothing was done. Pass { context } with the call; for calls that another process continues, " +
  "set createHaft({ contextFor }) there.";
/** Whoever reads that it failed must not do by hand what is done later. */
const CONTINUES =
  "Nothing was done yet. The answer stays valid: the process that asked, or one with createHaft({ contextFor }), runs the call. " +
  "Do not do it in another way.";

/** Without the values, which the messages of schemas quote. */
function unfit({ name }: AnyTool, issues: readonly SchemaIssue[]): ToolError {
  const places = new Set(issues.map((issue) => pathOf(issue) || "the whole"));
  return toolError("unavailable", `The data of the host does not fit "${name}": ${[...places].join(", ")}`, {
    next: "Nothing was done. Correct what the program passes as { context }, or what contextFor returns.",
  });
}
