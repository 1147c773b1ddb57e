import { type Call, toolOf } from "../core/call.ts";
import type { ToolResult } from "../core/result.ts";
import type { AnyTool, TaintLabel } from "../core/tool.ts";
import { appliesTo } from "./tool-policy.ts";

/** Labels that a user gives, by name, group or `*` pattern, besides those that tools have. */
export type UserLabels = Readonly<Record<string, readonly TaintLabel[]>>;

/** What a call may bring in and carry out: of what the tool says, what the user says, and what silence means. */
export function labelsOfCall(call: Call, given: UserLabels = {}, result?: ToolResult): ReadonlySet<TaintLabel> {
  const tool = toolOf(call);
  const labels = new Set(declared(tool, call.input, result));
  if (tool.labels.length === 0) for (const label of assumed(tool)) labels.add(label);
  for (const [entry, more] of Object.entries(given)) {
    if (appliesTo(entry, tool)) for (const label of more) labels.add(label);
  }
  return labels;
}

function declared(tool: AnyTool, input: unknown, result?: ToolResult): readonly TaintLabel[] {
  if (!tool.labelsOf) return tool.labels;
  try {
    return tool.labelsOf(input, result);
  } catch {
    // It cannot tell: then the worst.
    return tool.labels;
  }
}

/** A server that says nothing of its tools is a stranger: its answers are not trusted, and it acts on the outside. */
function assumed({ origin, isReadOnly }: AnyTool): readonly TaintLabel[] {
  if (origin.type !== "mcp") return [];
  return isReadOnly ? ["untrusted_input"] : ["untrusted_input", "outside_effect"];
}
