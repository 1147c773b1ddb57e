import { isObject } from "../../schema/json-schema.ts";
import type { FrameworkAnswer } from "./framework-calls.ts";

/**
 * The value that a program resumes a run with: the person's answer, or why it is none. Only a clear yes is a yes. `decisions`
 * is the form of LangChain's approvals; `approvalId` alone says that the person has answered in Haft.
 */
export function readAnswer(given: unknown, approvalId: string | undefined): FrameworkAnswer | string {
  if (typeof given === "boolean") return { approved: given, approvalId };
  if (!isObject(given)) return problemOf(given);
  const { approvalId: named = approvalId, approved, reason, by, decisions } = given;
  const confirmUnshown = given["confirmUnshown"] === true || undefined;
  if (named !== approvalId) return `The answer is about the approval ${JSON.stringify(named)}.`;
  if (typeof approved === "boolean") {
    return { approved, approvalId, reason: textOf(reason), by: textOf(by), confirmUnshown };
  }
  const decision: unknown = Array.isArray(decisions) && decisions.length === 1 ? decisions[0] : undefined;
  if (isObject(decision)) {
    if (decision["type"] === "approve") return { approved: true, approvalId, confirmUnshown };
    if (decision["type"] === "reject") return { approved: false, approvalId, reason: textOf(decision["message"]) };
  }
  return "approvalId" in given ? "The approval is not answered yet." : problemOf(given);
}

function problemOf(given: unknown): string {
  const known =
    'true, { approved, reason, by, confirmUnshown }, { decisions: [{ type: "approve" }] } or { approvalId }';
  return `${JSON.stringify(given)} is not an answer to one call. Resume with ${known}.`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
