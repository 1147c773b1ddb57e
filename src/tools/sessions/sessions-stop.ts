import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { SessionAccess } from "./session-access.ts";

export function createSessionsStopTool(access: SessionAccess) {
  return createTool({
    name: "sessions_stop",
    title: "Stop a session",
    description: {
      short: "Stops a session that was spawned here, and those that it spawned; what it has said and done stays.",
      examples: [{ input: { session: "research" }, description: "end what it is doing" }],
    },
    parameters: z.object({ session: z.string().min(1).max(1000).describe("Key or label of the session") }),
    parameterAliases: { sessionKey: "session" },
    kind: "execute",
    category: ToolCategory.SYSTEM,
    tags: ["session", "agent", "subagent", "cancel"],
    origin: { type: "builtin" },
    idempotent: true,
    async run({ session: target }, { caller }) {
      const { key, stopped } = await access.stop(caller, target);
      const message =
        stopped === 0 ? `Session ${key} was not at work.` : `Session ${key} was stopped (${stopped} in all).`;
      return { content: message, details: { session: key, stopped } };
    },
  });
}
