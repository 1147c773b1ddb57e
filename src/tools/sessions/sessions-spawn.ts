import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import type { SessionAccess } from "./session-access.ts";

export function createSessionsSpawnTool(access: SessionAccess) {
  return createTool({
    name: "sessions_spawn",
    title: "Spawn a session",
    description: {
      short:
        "Starts a session of its own for a task, and returns at once; its result is reported here when it has ended.",
      usageNotes: [
        "The task must say everything: the new session knows nothing of this conversation.",
        "It has no more rights than this session. Do not wait for it in a loop: its report comes by itself.",
      ],
      examples: [
        {
          input: { task: "Find every TODO in src and sort them by file.", label: "todos" },
          description: "have something done meanwhile",
        },
      ],
    },
    parameters: z.object({
      task: z.string().min(1).max(100_000).describe("What to do, with everything that must be known for it"),
      label: z.string().min(1).max(100).optional().describe("A name to speak of it by"),
      agent: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe("Which configured agent does it; the default one if absent"),
      tools: z
        .array(z.string().min(1))
        .max(200)
        .optional()
        .describe("Only these tools, of those that this session has"),
    }),
    parameterAliases: { agentId: "agent", toolNames: "tools" },
    kind: "execute",
    category: ToolCategory.SYSTEM,
    tags: ["session", "agent", "subagent", "background", "parallel"],
    origin: { type: "builtin" },
    // The same call spawns the same session.
    idempotent: true,
    async run({ task, label, agent, tools }, { authority, callId }) {
      const session = await access.spawn(authority, {
        task,
        id: callId,
        ...(label === undefined ? {} : { label }),
        ...(agent === undefined ? {} : { agent }),
        ...(tools === undefined ? {} : { toolNames: tools }),
      });
      const isReported = session.parent !== undefined;
      return {
        content: `Session ${session.key} has accepted the task. ${
          isReported ? "Its result is reported here when it has ended." : "sessions_history shows what came of it."
        }`,
        details: { status: "accepted" as const, session: session.key },
        display: `spawned ${label ?? session.key}`,
      };
    },
  });
}
