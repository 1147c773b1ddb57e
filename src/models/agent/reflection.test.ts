import { expect, test } from "vitest";
import { failureOf, type ErrorCode } from "../../core/error.ts";
import type { ToolResult } from "../../core/result.ts";
import type { AgentModel } from "./agent.ts";
import { createTaskContext, type PlanStep, type TaskContext } from "./plan.ts";
import { createModelReflector, createReflector } from "./reflection.ts";

const step: PlanStep = { description: "Fetch it", actionType: "tool_call", toolName: "fetch" };
const reflector = createReflector({ tools: () => [] });

function result(code?: ErrorCode): ToolResult {
  const common = { callId: "c", toolName: "fetch", content: [], display: "", metadata: {}, startedAt: 0 };
  if (code === undefined) return { ...common, status: "completed", success: true };
  return { ...common, status: "failed", success: false, error: failureOf(code, `It failed with ${code}.`) };
}

function task(codes: readonly (ErrorCode | undefined)[], { round = 1, isOptional = false } = {}): TaskContext {
  const plan = [...codes, "next"].map(() => ({ ...step, isOptional }));
  const made = createTaskContext("t", "goal", plan);
  const actionsDone = codes.map((code, index) => ({ step: plan[index]!, index, round, result: result(code) }));
  return { ...made, round, actionsDone };
}

test.each([
  ["unavailable", "replan", "again after a moment"],
  ["denied", "replan", "Do not repeat the call"],
  ["invalid_input", "replan", "as described in its error"],
  ["unknown_outcome", "replan", "Check what fetch has done"],
  ["failed", "replan", "does not work for this"],
  ["cancelled", "complete", "The person who runs this task"],
] as const)("%s means %s, with advice for the one who must act", async (code, verdict, words) => {
  const reflection = await reflector.reflect(task([undefined, code]));
  expect(reflection).toMatchObject({ verdict, toolFailures: [{ suggestion: expect.stringContaining(words) }] });
});

test("an optional step does not block a task, and a task that keeps failing is given up", async () => {
  expect(await reflector.reflect(task(["failed"], { isOptional: true }))).toMatchObject({ verdict: "continue" });
  const last = await reflector.reflect(task(["failed"], { round: 3 }));
  expect(last).toMatchObject({ verdict: "complete", assessment: expect.stringContaining("Given up") });
});

test("a valid reflection of the model is used, otherwise the one without a model", async () => {
  const replies = (text: string): AgentModel => ({
    id: "m",
    respond: async () => ({
      parts: [{ type: "text", text }],
      usage: { inputTokens: 1, outputTokens: 1 },
      finish: "ended",
    }),
  });
  const reflect = (text: string) =>
    createModelReflector({ model: replies(text), fallback: reflector }).reflect(task(["failed"]));
  const reply = '```json\n{"verdict": "continue", "assessment": "Fine.", "lessons": ["a"]}\n```';
  expect(await reflect(reply)).toEqual({ verdict: "continue", assessment: "Fine.", lessons: ["a"] });
  for (const wrong of ["Sure!", '{"verdict": "maybe"}', "{"])
    expect(await reflect(wrong)).toMatchObject({ verdict: "replan" });
});
