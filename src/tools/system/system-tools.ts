import type { AnyTool } from "../../core/tool.ts";
import { createCurrentTimeTool, type CurrentTimeOptions } from "./current-time.ts";
import { createGetEnvTool } from "./get-env.ts";
import type { EnvironmentOptions } from "./read-variable.ts";
import { createSetEnvTool } from "./set-env.ts";
import { createSleepTool } from "./sleep.ts";

export interface SystemToolsOptions extends CurrentTimeOptions, EnvironmentOptions {}

export function createSystemTools(options: SystemToolsOptions): AnyTool[] {
  return [
    createCurrentTimeTool(options),
    createSleepTool(options),
    createGetEnvTool(options),
    createSetEnvTool(options),
  ];
}
