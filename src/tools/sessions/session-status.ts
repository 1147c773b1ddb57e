import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import type { Clock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { describeSession, lineOf } from "./describe-session.ts";
import type { SessionAccess } from "./session-access.ts";

export function createSessionStatusTool(access: SessionAccess, { clock }: { clock: Clock }) {
  return createTool({
    name: "session_status",
    title: "Session status",
    description: {
      short:
        "Tells where this session, or another one, stands: its state, what it waits for, what it has used, its children.",
      examples: [{ input: {}, description: "of this session" }],
    },
    parameters: z.object({
      session: z.string().min(1).max(1000).optional().describe("Key or label; this session if absent"),
    }),
    parameterAliases: { sessionKey: "session" },
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["session", "status", "usage", "agent"],
    origin: { type: "builtin" },
    async run({ session: target }, { caller }) {
      const found = await access.status(caller, target);
      const time = clock.now();
      if (!found) {
        const key = caller.session ?? null;
        const message = key === null ? "This call belongs to no session." : `Session ${key} is not a stored one.`;
        return {
          content: [text(message)],
          details: { stored: false as const, session: key, depth: caller.depth, time },
        };
      }
      const { session, waiting, children } = found;
      const described = describeSession(session);
      const { inputTokens, outputTokens } = session.usage;
      const lines = [
        lineOf(described),
        `tokens: ${inputTokens} in, ${outputTokens} out`,
        ...(waiting > 0 ? [`messages that wait for it: ${waiting}`] : []),
        ...(described.waitsFor ? [`it waits for: ${described.waitsFor.join(", ")}`] : []),
        ...children.map((child) => `- spawned ${lineOf(describeSession(child))}`),
      ];
      return {
        content: [text(lines.join("\n"))],
        display: `${session.label ?? session.key}: ${session.state}`,
        details: {
          stored: true as const,
          session: described,
          usage: session.usage,
          waiting,
          children: children.map(describeSession),
          time,
        },
      };
    },
  });
}
