import { toolOf } from "../core/call.ts";
import { ToolPermissionError } from "../core/error.ts";
import type { Stage } from "../core/stage.ts";
import type { AnyTool } from "../core/tool.ts";
import { isToolAllowed, type ToolPolicy } from "./tool-policy.ts";

/** Whether a tool exists for a caller: every layer must let it through, so that a layer can only narrow. */
export function isVisible(tool: AnyTool, layers: readonly ToolPolicy[]): boolean {
  return layers.every((layer) => isToolAllowed(tool, layer));
}

/** Refuses tools that do not exist for the caller. The same question decides what a model is shown. */
export function visible(layers: readonly ToolPolicy[]): Stage {
  return {
    name: "visible",
    enter(call) {
      const tool = toolOf(call);
      if (layers.length > 0 && !isVisible(tool, layers)) throw denied(tool);
      const { policy, mode } = call.options;
      if (policy && !isToolAllowed(tool, policy)) throw denied(tool);
      if (mode === "plan" && !tool.isReadOnly) throw planMode(tool);
    },
  };
}

function denied(tool: AnyTool): ToolPermissionError {
  return new ToolPermissionError(
    tool.name,
    `tool "${tool.name}" is not allowed by policy`,
    "Do not call it again; use another tool, or tell the person what you need it for.",
  );
}

function planMode(tool: AnyTool): ToolPermissionError {
  return new ToolPermissionError(
    tool.name,
    `"${tool.name}" changes things, and in plan mode only read-only tools run`,
    "Finish the plan first, with read-only tools.",
    "plan_mode",
  );
}
