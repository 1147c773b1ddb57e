import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type CallSubagentOptions, createCallSubagentTool } from "./call-subagent.ts";
import { createSkillTool, type SkillSource } from "./skill.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export interface AgentToolsOptions extends CallSubagentOptions {
  messageSink: MessageSink;
  skills: SkillSource;
}

/** The tools with which an agent controls itself and others. */
export function createAgentTools({ messageSink, skills, ...subagents }: AgentToolsOptions): AnyTool[] {
  return [
    createStopResponseTool(),
    createCliResponseTool({ messageSink }),
    createSkillTool({ skills }),
    createCallSubagentTool(subagents),
  ];
}

/** Delivers messages to the person. The host implements it. */
export interface MessageSink {
  /** Resolves to whether somebody was there. */
  say(message: string, from: { caller: Caller; callId: string }): Promise<boolean> | boolean;
}

function createCliResponseTool({ messageSink }: { messageSink: MessageSink }) {
  return createTool({
    name: "cli_response",
    title: "Tell the person",
    description: {
      short: "Shows a message to the person at the terminal immediately, while you continue working.",
      usageNotes: ["For progress reports during long work. Your final answer needs no tool: just write it."],
    },
    parameters: z.object({ message: z.string().min(1).max(20_000).describe("What to show, as plain text") }),
    kind: "readonly",
    category: ToolCategory.AGENT,
    aliases: ["cli-response"],
    tags: ["agent", "say", "person", "terminal"],
    builtIn: {
      zh: { title: "告知用户", short: "立即向终端前的人显示一条消息，同时继续工作。" },
      isCore: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ message: field.text(), wasHeard: field.flag("Somebody was at the terminal") }),
    async run({ message }, { caller, callId }) {
      const wasShown = await messageSink.say(message, { caller, callId });
      const summary = wasShown ? "Shown." : "Nobody is at the terminal; the message is in the record of this call.";
      return { content: [text(summary)], display: message, details: { message, wasHeard: wasShown } };
    },
  });
}

function createStopResponseTool() {
  return createTool({
    name: "stop_response",
    title: "Stop",
    description: {
      short: "Ends your turn: nothing more happens until somebody writes to you again.",
      usageNotes: ["Call it alone, after you have said everything."],
    },
    parameters: z.object({
      reason: z.string().max(500).optional().describe("Why there is nothing more to do, for the record"),
    }),
    kind: "readonly",
    category: ToolCategory.AGENT,
    aliases: ["stop-response"],
    tags: ["agent", "end", "turn"],
    builtIn: {
      zh: { title: "停止", short: "结束本轮：直到再次收到消息为止不再做任何事。" },
      isCore: true,
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ stopped: field.flag() }),
    idempotent: true,
    run({ reason }) {
      const message = reason === undefined ? "The turn is over." : `The turn is over: ${reason}`;
      // The agent loop reads this, but only from built-in tools.
      return { content: [text(message)], display: message, details: { stopped: true }, metadata: { endsTurn: true } };
    },
  });
}
