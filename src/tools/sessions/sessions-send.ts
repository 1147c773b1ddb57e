import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { failureOf, toFailure, ToolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { SentView, SessionAccess } from "./session-access.ts";

const MAX_SECONDS = 600;

export interface SentDetails {
  status: "ok" | "accepted" | "timeout" | "error" | "forbidden";
  session: string;
  reply?: string;
  error?: string;
}

export function createSessionsSendTool(access: SessionAccess) {
  return createTool({
    name: "sessions_send",
    title: "Send to a session",
    description: {
      short: "Says something to another session, by its key or label, and waits for the answer.",
      usageNotes: [
        "With timeout_seconds 0 it does not wait: the status is accepted. After the time the status is timeout; what was said is still answered, and a session that was spawned here reports its answer by itself.",
      ],
      examples: [
        { input: { session: "research", message: "Which sources did you use?" }, description: "ask and wait" },
        { input: { session: "research", message: "Go on.", timeout_seconds: 0 }, description: "say it and go on" },
      ],
    },
    parameters: z.object({
      session: z.string().min(1).max(1000).describe("Key or label of the session"),
      message: z.string().min(1).max(100_000).describe("What to say to it"),
      timeout_seconds: z.number().min(0).max(MAX_SECONDS).default(30).describe("How long to wait for the answer"),
    }),
    parameterAliases: { sessionKey: "session", label: "session", timeoutSeconds: "timeout_seconds" },
    kind: "execute",
    category: ToolCategory.SYSTEM,
    tags: ["session", "agent", "message", "ask"],
    origin: { type: "builtin" },
    // The same call is the same message: the session takes it once.
    idempotent: true,
    limits: { timeoutMs: ({ timeout_seconds: seconds }) => (seconds + 30) * 1000 },
    async run(
      { session, message, timeout_seconds: seconds },
      { caller, callId, signal },
    ): Promise<ToolOutput<SentDetails>> {
      try {
        const id = `send ${caller.session ?? caller.user ?? ""} ${callId}`;
        return describe(await access.send(caller, session, { text: message, id }, { waitMs: seconds * 1000, signal }));
      } catch (error) {
        if (!(error instanceof ToolError) || error.code !== "denied") throw error;
        return { content: error.message, details: { status: "forbidden", session }, error: toFailure(error) };
      }
    },
  });
}

function describe(sent: SentView): ToolOutput<SentDetails> {
  const { key: session, status } = sent;
  switch (status) {
    case "ok":
      return { content: [text(sent.reply)], details: { status, session, reply: sent.reply }, display: "answered" };
    case "accepted":
      return {
        content: `Accepted by session ${session}.${sent.reply === undefined ? "" : ` It said so far: ${sent.reply}`}`,
        details: { status, session, ...(sent.reply === undefined ? {} : { reply: sent.reply }) },
      };
    case "timeout":
      return {
        content: `Session ${session} has not answered yet. It still will: read sessions_history later, do not send it again.`,
        details: { status, session },
      };
    case "error":
      return {
        content: `Session ${session} failed: ${sent.error}`,
        details: { status, session, error: sent.error },
        error: failureOf("failed", `Session ${session} failed: ${sent.error}`),
      };
  }
}
