import type { AnyTool } from "../../core/tool.ts";
import { createExecTool, type ExecDependencies } from "./exec.ts";
import { createProcessTool } from "./process.ts";

/** The tools that run commands. Whoever gives the process table shuts it down: `processes.shutdown()`. */
export function createRuntimeTools(dependencies: ExecDependencies): AnyTool[] {
  return [createExecTool(dependencies), createProcessTool(dependencies)];
}
