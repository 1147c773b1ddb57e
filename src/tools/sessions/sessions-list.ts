import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { describeSession, lineOf } from "./describe-session.ts";
import type { SessionAccess } from "./session-access.ts";

export function createSessionsListTool(access: SessionAccess) {
  return createTool({
    name: "sessions_list",
    title: "List sessions",
    description: {
      short: "Lists this session and the sessions that were spawned from it, those that changed last first.",
      examples: [
        { input: {}, description: "all of them" },
        { input: { state: "running" }, description: "those that are at work" },
      ],
    },
    parameters: z.object({
      state: z
        .enum(["idle", "running", "waiting", "stopped", "failed"])
        .optional()
        .describe("Only those in this state"),
      limit: z.number().int().min(1).max(200).default(50).describe("At most this many"),
    }),
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["session", "agent", "subagent", "conversation"],
    origin: { type: "builtin" },
    async run({ state, limit }, { caller }) {
      const sessions = (await access.list(caller, { limit, ...(state ? { state } : {}) })).map(describeSession);
      const lines = sessions.map((session) => `${session.key === caller.session ? "* " : "- "}${lineOf(session)}`);
      return {
        content: [text(lines.length === 0 ? "There are no sessions. sessions_spawn starts one." : lines.join("\n"))],
        display: `${sessions.length} sessions`,
        details: { sessions },
      };
    },
  });
}
