import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { McpAnswer, McpQuestion } from "./mcp-runtime.ts";

const CHOICES = {
  once: "Allow this call",
  session: "Allow calls like it in this session",
  always: "Always allow calls like it",
  decline: "Do not allow it",
} as const;
type Choice = keyof typeof CHOICES;

/**
 * The question as a form. Nothing is chosen beforehand: a client that accepts forms without showing them, with their
 * defaults or empty, has not said yes.
 */
export function approvalForm(
  question: McpQuestion,
  lines: readonly string[],
  { isModern }: { isModern: boolean },
): ElicitRequestFormParams {
  const choices = choicesOf(question);
  const decision = { type: "string" as const, title: "Decision", description: "Whether the call may run" };
  return {
    mode: "form",
    message: lines.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        decision: isModern
          ? { ...decision, oneOf: choices.map((choice) => ({ const: choice, title: CHOICES[choice] })) }
          : { ...decision, enum: choices, enumNames: choices.map((choice) => CHOICES[choice]) },
        reason: { type: "string", title: "Reason", description: "Told to the model, where it is not allowed" },
      },
      required: ["decision"],
    },
  };
}

/** Undefined where nothing was decided: the form was dismissed, or what came back is no answer to it. */
export function readApprovalForm(question: McpQuestion, response: unknown): McpAnswer | undefined {
  if (typeof response !== "object" || response === null) return undefined;
  const { action, content } = response as { action?: unknown; content?: unknown };
  const { decision, reason } = (typeof content === "object" && content !== null ? content : {}) as Record<
    string,
    unknown
  >;
  const why = typeof reason === "string" && reason.trim() !== "" ? { reason: reason.trim() } : {};
  if (action === "decline") return { approved: false, ...why };
  if (action !== "accept" || !choicesOf(question).includes(decision as Choice)) return undefined;
  if (decision === "decline") return { approved: false, ...why };
  return { approved: true, scope: decision as Exclude<Choice, "decline"> };
}

function choicesOf({ suggestedRules }: McpQuestion): Choice[] {
  return suggestedRules.length > 0 ? ["once", "session", "always", "decline"] : ["once", "decline"];
}
