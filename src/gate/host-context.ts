import { BoundedMap } from "../core/bounded-map.ts";
import { abortable, type Call, type CallIn, type Caller, givenContext, toolOf } from "../core/call.ts";
import { errorMessage, toolError, type ToolError } from "../core/error.ts";
import type { MaybePromise, Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { formatIssues, type Validation } from "../schema/schema.ts";

/** Makes the data of the host for a call that brought none: one that another process continues, or an entrance without such data. */
export type ContextFor = (caller: Readonly<Caller>, tool: AnyTool) => unknown;

/** Jobs and calls of clients that go on in this process have the data that they were made with. Approved calls have them too, see `LiveCall`. */
const MAX_KEPT = 1000;

/**
 * Hands the data of the host to a call: its own, that of the call that made it, or what `contextFor` returns. Before
 * anything is decided about the call, because the tool may decide by it.
 */
export function hostContext(contextFor: ContextFor | undefined): Stage {
  const kept = new BoundedMap<string, unknown>(MAX_KEPT);
  return {
    name: "context",
    compile: (tool) => (needsNone(tool, contextFor) ? {} : undefined),
    enter(call: CallIn<"context">) {
      const tool = toolOf(call);
      const given = givenContext(call) ?? (call.secondPass && kept.get(call.secondPass.id));
      if (given === undefined && needsNone(tool, contextFor)) return undefined;
      if (given !== undefined || !contextFor) return accept(call, tool, given);
      return abortable(call, made(contextFor, call, tool)).then((data) => accept(call, tool, data));
    },
    leave(call, result) {
      if (result.status !== "pending") {
        if (call.secondPass) kept.delete(call.secondPass.id);
      } else if (result.pending.kind === "job" || result.pending.kind === "client") {
        const given = givenContext(call);
        if (given !== undefined) kept.set(result.pending.id, given);
      }
      return result;
    },
  };
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

function needsNone(tool: AnyTool, contextFor: ContextFor | undefined): boolean {
  return tool.contextSchema === undefined && (contextFor === undefined || tool.origin.type === "builtin");
}

function accept(call: CallIn<"context">, tool: AnyTool, data: unknown): MaybePromise<undefined> {
  const { contextSchema } = tool;
  const take = (validation: Validation<unknown>): undefined => {
    if (!validation.issues) call.host = validation.value;
    else throw data === undefined ? missing(tool, call) : unfit(tool, formatIssues(validation.issues));
  };
  if (!contextSchema) return take({ value: data });
  const validation = contextSchema.validate(data);
  return validation instanceof Promise ? abortable(call, validation.then(take)) : take(validation);
}

function missing({ name }: AnyTool, { secondPass }: Call): ToolError {
  return toolError("unavailable", `"${name}" needs data of its host, and this call has none`, {
    next: secondPass ? CONTINUES : NEEDS_CONTEXT,
  });
}

const NEEDS_CONTEXT =
  "Nothing was done. Pass { context } with the call; for calls that another process continues, " +
  "set createHaft({ contextFor }) there.";
/** Whoever reads that it failed must not do by hand what is done later. */
const CONTINUES =
  "Nothing was done yet. The answer stays valid: the process that asked, or one with createHaft({ contextFor }), runs the call. " +
  "Do not do it in another way.";

function unfit({ name }: AnyTool, problems: readonly string[]): ToolError {
  return toolError("unavailable", `The data of the host does not fit "${name}": ${problems.join("; ")}`, {
    next: "Nothing was done. Correct what the program passes as { context }, or what contextFor returns.",
  });
}
