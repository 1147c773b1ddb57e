import type { AnyTool } from "../../core/tool.ts";
import { createCallSubagentTool, type CallSubagentOptions } from "./call-subagent.ts";
import { createCliResponseTool, type Speaker } from "./cli-response.ts";
import { createSkillTool, type SkillShelf } from "./skill.ts";
import { createStopResponseTool } from "./stop-response.ts";

export interface AgentToolsOptions extends CallSubagentOptions {
  speaker: Speaker;
  skills: SkillShelf;
}

/** The tools by which an agent steers itself and others. */
export function createAgentTools({ speaker, skills, ...subagents }: AgentToolsOptions): AnyTool[] {
  return [
    createStopResponseTool(),
    createCliResponseTool({ speaker }),
    createSkillTool({ skills }),
    createCallSubagentTool(subagents),
  ];
}
