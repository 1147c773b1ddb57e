import type { Call } from "../call.ts";
import { findDialect } from "../definition.ts";
import { callOf, hostOf } from "../gate.ts";
import type { AnyTool, ToolContext } from "../tool.ts";
import { DEFAULT_RESULT_TOKENS } from "./estimated-tokens.ts";

/** A call in the text of a result, as `read {"path":"spill:ID"}`, in the names that this caller's model uses. */
export function showCall(call: Call, tool: AnyTool, input: Readonly<Record<string, unknown>>): string {
  const dialect = tool.dialects[dialectOf(call) ?? ""];
  const shown = Object.entries(input).map(([name, value]) => [dialect?.parameters?.[name] ?? name, value]);
  return `${dialect?.name ?? tool.name} ${JSON.stringify(Object.fromEntries(shown))}`;
}

/** For the text of a tool: as `showCall`, by the canonical name of another tool. */
export function nextCall(context: ToolContext, name: string, input: Readonly<Record<string, unknown>>): string {
  return possibleCall(context, name, input) ?? `${name} ${JSON.stringify(input)}`;
}

/** As `nextCall`; undefined if there is no such tool. */
export function possibleCall(
  context: ToolContext,
  name: string,
  input: Readonly<Record<string, unknown>>,
): string | undefined {
  const call = callOf(context);
  const tool = call.scope?.get(name) ?? hostOf(context).find(name);
  return tool && showCall(call, tool, input);
}

/** How to go on with the same tool: `Use offset=10 to continue.`, in the parameter names of the model. */
export function continueBy(context: ToolContext, changes: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(changes).map(([name, value]) => `${parameterName(context, name)}=${String(value)}`);
  return `Use ${shown.join(", ")} to continue.`;
}

/** How many tokens the result of this call may have, for tools that limit their own text. */
export function resultTokensOf(context: ToolContext): number {
  return Math.min(DEFAULT_RESULT_TOKENS, hostOf(context).maxResultTokens ?? DEFAULT_RESULT_TOKENS);
}

/** As the model of this call knows a parameter. */
export function parameterName(context: ToolContext, name: string): string {
  const call = callOf(context);
  return call.tool?.dialects[dialectOf(call) ?? ""]?.parameters?.[name] ?? name;
}

function dialectOf({ tool, requestedName, dialect }: Call): string | undefined {
  return tool && (dialect ?? findDialect(tool, requestedName));
}
