import { z } from "zod";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { type CallSubagentOptions, createCallSubagentTool } from "./call-subagent.ts";
import { createSkillTool, type SkillSource } from "./skill.ts";

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

/** Where words for the person go. Who is there to hear them is the host's business. */
export interface MessageSink {
  /** Whether somebody was there. */
  say(message: string, from: { caller: Caller; callId: string }): Promise<boolean> | boolean;
}

function createCliResponseTool({ messageSink }: { messageSink: MessageSink }) {
  return createTool({
    name: "cli_response",
    title: "Tell the person",
    description: {
      short: "Shows a message to the person at the terminal at once, while you go on working.",
      usageNotes: ["For news during long work. Your answer at the end needs no tool: just write it."],
    },
    parameters: z.object({ message: z.string().min(1).max(20_000).describe("What to show, as plain text") }),
    kind: "readonly",
    category: ToolCategory.AGENT,
    aliases: ["cli-response"],
    tags: ["agent", "say", "person", "terminal"],
    origin: { type: "builtin" },
    async run({ message }, { caller, callId }) {
      const wasHeard = await messageSink.say(message, { caller, callId });
      const summary = wasHeard ? "Shown." : "Nobody is at the terminal; the message is in the record of this call.";
      return { content: [text(summary)], display: message, details: { message, wasHeard } };
    },
  });
}

function createStopResponseTool() {
  return createTool({
    name: "stop_response",
    title: "Stop",
    description: {
      short: "Ends your turn: nothing more is said or done until somebody writes to you again.",
      usageNotes: ["Call it alone, when everything is said. What you should still say, say before."],
    },
    parameters: z.object({
      reason: z.string().max(500).optional().describe("Why there is nothing more to do, for the record"),
    }),
    kind: "readonly",
    category: ToolCategory.AGENT,
    aliases: ["stop-response"],
    tags: ["agent", "end", "turn"],
    origin: { type: "builtin" },
    idempotent: true,
    run({ reason }) {
      const message = reason === undefined ? "The turn is over." : `The turn is over: ${reason}`;
      // What the loop reads; it listens to built-in tools alone.
      return { content: [text(message)], display: message, details: { stopped: true }, metadata: { endsTurn: true } };
    },
  });
}
