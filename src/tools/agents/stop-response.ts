import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";

export function createStopResponseTool() {
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
