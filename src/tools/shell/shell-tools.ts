import type { AnyTool } from "../../core/tool.ts";
import { createExecTool, type ExecDependencies } from "./exec.ts";
import { createProcessTool } from "./process.ts";

/** The tools that run commands. The owner of the process table must call `processes.shutdown()`. */
export function createRuntimeTools(dependencies: ExecDependencies): AnyTool[] {
  return [createExecTool(dependencies), createProcessTool(dependencies)];
}
