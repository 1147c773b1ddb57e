import type { AnyTool } from "../../core/tool.ts";
import { createCallSubagentTool, type CallSubagentOptions } from "./call-subagent.ts";
import { createCliResponseTool, type MessageSink } from "./cli-response.ts";
import { createSkillTool, type SkillSource } from "./skill.ts";
import { createStopResponseTool } from "./stop-response.ts";

export interface AgentToolsOptions extends CallSubagentOptions {
  messageSink: MessageSink;
  skills: SkillSource;
}

/** The tools by which an agent steers itself and others. */
export function createAgentTools({ messageSink, skills, ...subagents }: AgentToolsOptions): AnyTool[] {
  return [
    createStopResponseTool(),
    createCliResponseTool({ messageSink }),
    createSkillTool({ skills }),
    createCallSubagentTool(subagents),
  ];
}
