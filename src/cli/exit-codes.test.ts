import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ApiError, notFound } from "../contracts/errors.ts";
import { createTool } from "../core/create-tool.ts";
import { failureOf, toolError, type ToolFailure } from "../core/error.ts";
import { createTestHaft } from "../testing/test-haft.ts";
import { explainFailedCall, explainFailure, EXIT } from "./exit-codes.ts";

const save = createTool({
  name: "save",
  description: "Saves a text.",
  kind: "write",
  needsApproval: false,
  parameters: z.object({ text: z.string(), count: z.number().optional() }),
  run: ({ text }) => {
    throw toolError("unavailable", `${text} was not saved`, { next: "Start the server." });
  },
});

async function failureOfCall(input: unknown, options: Parameters<typeof createTestHaft>[0] = {}, mode?: "plan") {
  const haft = createTestHaft({ ...options, tools: [save] });
  const result = await haft.execute("save", input, mode ? { mode } : {});
  if (result.status !== "failed") throw new Error(`The call is ${result.status}.`);
  return result.error;
}

describe("a failed call at a terminal", () => {
  test("names missing arguments, and says where the right ones are shown", async () => {
    expect(explainFailedCall(await failureOfCall({ count: "x" }), "save")).toEqual({
      message: "text is missing (string)\ncount: Invalid input: expected number, received string",
      next: "`haft tools describe save` shows its parameters, with examples.",
    });
  });

  test("says what the tool says", async () => {
    expect(explainFailedCall(await failureOfCall({ text: "a" }), "save")).toEqual({
      message: "a was not saved",
      next: "Start the server.",
    });
  });

  test("says how to see the rule that denied it, and how to leave plan mode", async () => {
    const denied = explainFailedCall(await failureOfCall({ text: "a" }, { policy: { deny: ["save"] } }), "save");
    expect(denied.message).toMatch(/^Permission denied: tool "save" is not allowed by policy/);
    expect(denied.next).toBe("`haft policy explain save` shows which rule decides.");
    const planned = explainFailedCall(await failureOfCall({ text: "a" }, {}, "plan"), "save");
    expect(planned.message).toMatch(/in plan mode only read-only tools run$/);
    expect(planned.next).toBe("Use another --mode to change something.");
  });

  test("gives no advice about an answer of a person", () => {
    const next = "Do not repeat it; ask what to do instead.";
    for (const code of ["approval_denied", "approval_expired"] as const) {
      const failure: ToolFailure = failureOf(code, "A person denied it", { next });
      expect(explainFailedCall(failure, "save")).toEqual({ message: "A person denied it", next: undefined });
    }
  });
});

describe("a failed command", () => {
  test("names the command that lists what exists", () => {
    expect(explainFailure(notFound("There is no such job", "jobs"))).toMatchObject({
      exitCode: EXIT.failed,
      message: "There is no such job",
      next: "Look at `haft jobs list`.",
    });
    expect(explainFailure(notFound("There is no such channel", "channels")).next).toBeUndefined();
    expect(explainFailure(new ApiError("conflict", "It runs", "Wait.")).next).toBe("Wait.");
  });

  test("has the advice of an error of ours beside what happened", () => {
    expect(explainFailure(toolError("io_error", "The disk is full", { next: "Free some space." }))).toEqual({
      exitCode: EXIT.failed,
      code: "io_error",
      message: "The disk is full",
      next: "Free some space.",
    });
  });
});
