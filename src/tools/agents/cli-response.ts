import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import type { Caller } from "../../core/call.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";

/** Where words for the person go. Who is there to hear them is the host's business. */
export interface MessageSink {
  /** Whether somebody was there. */
  say(message: string, from: { caller: Caller; callId: string }): Promise<boolean> | boolean;
}

export function createCliResponseTool({ messageSink }: { messageSink: MessageSink }) {
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
