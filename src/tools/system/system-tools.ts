import type { AnyTool } from "../../core/tool.ts";
import { createCurrentTimeTool, type CurrentTimeOptions } from "./current-time.ts";
import { createGetEnvTool, createSetEnvTool, type EnvironmentOptions } from "./env-tools.ts";
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
