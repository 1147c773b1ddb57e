import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { type ToolFailure, toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { ToolContext } from "../../core/tool.ts";

/** The agents that may be called, as this tool needs them. */
export interface Subagents {
  names(): readonly string[];
  /** Works on the task on behalf of the call that `context` is of, with no more than its rights. */
  run(task: SubagentTask, context: ToolContext): Promise<SubagentAnswer>;
}

export interface SubagentTask {
  agent: string;
  instruction: string;
}

export interface SubagentAnswer {
  text: string;
  stop: "done" | "stopped" | "limit" | "loop" | "aborted" | "error" | "pending";
  steps: number;
  usage: { inputTokens: number; outputTokens: number; costUsd?: number };
  error?: ToolFailure;
  /** Calls that nobody has answered yet. */
  pending: readonly { callId: string; name: string }[];
}

export interface CallSubagentOptions {
  agents: Subagents;
  /** Subagents of subagents: how many levels there may be. */
  maxDepth?: number;
}

const MAX_DEPTH = 3;
const MAX_TIMEOUT_MS = 55 * 60_000;

export function createCallSubagentTool({ agents, maxDepth = MAX_DEPTH }: CallSubagentOptions) {
  return createTool({
    name: "call_subagent",
    title: "Call a subagent",
    description: {
      short: "Gives a task to another agent and returns its answer.",
      usageNotes: [
        "It knows nothing of your conversation: say everything that it needs, and what it should answer with.",
        "Several that do not need each other's answers: call them in one turn, and they work side by side.",
      ],
      examples: [{ input: { agent_name: "reviewer", instruction: "Look for mistakes in src/parse.ts. List them." } }],
    },
    parameters: z.object({
      agent_name: z.string().min(1).describe("Which agent"),
      instruction: z.string().min(1).max(200_000).describe("The task, whole"),
    }),
    // It changes nothing itself: each call of the agent is judged by itself, in the mode of this one.
    kind: "readonly",
    category: ToolCategory.AGENT,
    tags: ["agent", "subagent", "delegate", "route"],
    origin: { type: "builtin" },
    limits: { timeoutMs: MAX_TIMEOUT_MS },
    async run({ agent_name: agent, instruction }, context) {
      const names = agents.names();
      if (!names.includes(agent)) {
        throw toolError("invalid_input", `There is no subagent "${agent}"`, {
          next:
            names.length === 0
              ? "None are configured: do the task yourself."
              : `${didYouMean(agent, names) ?? ""} Valid names: ${names.join(", ")}.`.trim(),
          data: { names },
        });
      }
      if (context.caller.depth >= maxDepth) {
        throw toolError("too_deep", `Subagents may call each other ${maxDepth} levels deep, and this is the last`, {
          next: "Do the task yourself.",
        });
      }
      const { error, ...answer } = await agents.run({ agent, instruction }, context);
      const details = { agent, ...answer };
      if (answer.stop === "aborted") throw toolError("cancelled", `The subagent "${agent}" was stopped`);
      if (answer.stop === "error") {
        const why = error?.message ?? "unknown reason";
        throw toolError(error?.code ?? "failed", `The subagent "${agent}" failed: ${why}`, { data: details });
      }
      return { content: [text([answer.text, ...remarks(answer, error)].filter(Boolean).join("\n\n"))], details };
    },
  });
}

/** What the caller should know besides the answer. */
function remarks({ stop, pending }: Omit<SubagentAnswer, "error">, error: ToolFailure | undefined): string[] {
  const waits = pending.map(({ callId, name }) => `${name} (${callId})`).join(", ");
  return [
    ...(stop === "limit" || stop === "loop" ? [`(It was ended before it was done: ${error?.message ?? stop})`] : []),
    ...(waits === "" ? [] : [`(Not answered yet: ${waits}. It went on without.)`]),
  ];
}
