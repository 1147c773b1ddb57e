import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { type ToolFailure, toolError } from "../../core/error.ts";
import { didYouMean } from "../../core/nearest-name.ts";
import type { ToolContext } from "../../core/tool.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** The agents that can be called. */
export interface Subagents {
  names(): readonly string[];
  /** Runs the task on behalf of the call in `context`, with at most its rights. */
  run(task: SubagentTask, context: ToolContext): Promise<SubagentOutcome>;
}

export interface SubagentTask {
  agent: string;
  instruction: string;
}

export interface SubagentOutcome {
  text: string;
  stop: "done" | "stopped" | "limit" | "loop" | "aborted" | "error" | "pending";
  steps: number;
  usage: { inputTokens: number; outputTokens: number; costUsd?: number };
  error?: ToolFailure;
  /** Calls that are still pending. */
  pending: readonly { callId: string; name: string }[];
}

export interface CallSubagentOptions {
  agents: Subagents;
  /** Max nesting of subagents. Default: 3. */
  maxDepth?: number;
}

const DEFAULT_MAX_DEPTH = 3;
const MAX_TIMEOUT_MS = 55 * 60_000;

export function createCallSubagentTool({ agents, maxDepth = DEFAULT_MAX_DEPTH }: CallSubagentOptions) {
  return createTool({
    name: "call_subagent",
    title: "Call a subagent",
    description: {
      short: "Gives a task to another agent and returns its answer.",
      usageNotes: [
        "It does not know your conversation: include everything it needs, and say what it should return.",
        "Call independent subagents in one turn, and they run in parallel.",
      ],
      examples: [{ input: { agent_name: "reviewer", instruction: "Look for mistakes in src/parse.ts. List them." } }],
    },
    parameters: z.object({
      agent_name: z.string().min(1).describe("The name of the agent"),
      instruction: z.string().min(1).max(200_000).describe("The complete task"),
    }),
    // It changes nothing itself: each call of the subagent is checked separately, in the mode of this call.
    kind: "readonly",
    category: ToolCategory.AGENT,
    tags: ["agent", "subagent", "delegate", "route"],
    builtIn: {
      zh: { title: "调用子代理", short: "把一项任务交给另一个代理，并返回它的回答。" },
      isCore: true,
      usesOtherTools: true,
      knownInRules: ["agent", "task"],
      sameAs: { opencode: ["task"], gemini: [] },
    },
    output: describeOutput<{ agent: string } & Omit<SubagentOutcome, "error">>({
      agent: field.text(),
      text: field.text("Its answer"),
      stop: field.text("Why it ended: done, stopped, limit, loop or pending"),
      steps: field.integer(),
      usage: field.object({ inputTokens: field.integer(), outputTokens: field.integer(), "costUsd?": field.number() }),
      pending: field.list(field.object({ callId: field.text(), name: field.text() }), "Calls that have not ended"),
    }),
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
        throw toolError("too_deep", `Subagents can be nested ${maxDepth} levels deep, and this is the last level`, {
          next: "Do the task yourself.",
        });
      }
      const { error, ...outcome } = await agents.run({ agent, instruction }, context);
      const details = { agent, ...outcome };
      if (outcome.stop === "aborted") throw toolError("cancelled", `The subagent "${agent}" was stopped`);
      if (outcome.stop === "error") {
        const { code = "failed", message = "unknown reason", next } = error ?? {};
        throw toolError(code, `The subagent "${agent}" failed: ${message}`, { next, data: details });
      }
      return { content: [text([outcome.text, ...remarks(outcome, error)].filter(Boolean).join("\n\n"))], details };
    },
  });
}

/** Notes for the caller besides the answer. */
function remarks({ stop, pending }: Omit<SubagentOutcome, "error">, error: ToolFailure | undefined): string[] {
  const waits = pending.map(({ callId, name }) => `${name} (${callId})`).join(", ");
  return [
    ...(stop === "limit" || stop === "loop" ? [`(It was stopped before it finished: ${error?.message ?? stop})`] : []),
    ...(waits === "" ? [] : [`(Still pending: ${waits}. It continued without them.)`]),
  ];
}
