import { expect, test } from "vitest";
import { createTestHaft } from "../testing/index.ts";
import { type CallData, type CallOptions, fromCallData, readCallData, type StoredOptions, toCallData } from "./call.ts";
import { createTool } from "./create-tool.ts";
import { callOf } from "./gate.ts";

/** A call as data, after a store has kept it. */
async function keep(options: CallOptions): Promise<{ data: CallData; kept: ReturnType<typeof fromCallData> }> {
  let data: CallData | undefined;
  const tool = createTool({
    name: "look",
    description: "Looks at its own call",
    kind: "readonly",
    parameters: [{ name: "at", type: "string", description: "What" }],
    run: (_input, context) => void (data = JSON.parse(JSON.stringify(toCallData(callOf(context)))) as CallData),
  });
  const haft = createTestHaft({ tools: [tool] });
  expect(await haft.execute("look", { at: "it" }, options)).toMatchObject({ status: "completed" });
  if (!data) throw new Error("It did not run.");
  return { data, kept: fromCallData(data, haft.tools.registry) };
}

test("a call keeps every option that can be stored, its id and its caller, and nothing of its process", async () => {
  // All of them: the compiler reports one that is missing.
  const stored: Required<StoredOptions> = {
    idempotencyKey: "key",
    needsContext: true,
    timeoutMs: 5000,
    allowedPaths: ["/tmp"],
    mode: "acceptEdits",
    policy: [{ deny: ["write"] }],
    background: false,
    waitForEnd: true,
  };
  const { kept } = await keep({
    ...stored,
    id: "c1",
    caller: { session: "s", depth: 1 },
    taskId: "t",
    userId: "ada",
    signal: new AbortController().signal,
    onUpdate: () => undefined,
    onApprovalRequested: () => undefined,
    userMessage: "please look",
    context: { tenant: "a" },
    isInConversation: () => true,
  });
  expect(kept).toMatchObject({ name: "look@1.0.0", input: { at: "it" }, scope: undefined });
  expect(kept.options).toEqual({
    ...stored,
    id: "c1",
    caller: { session: "s", depth: 1, task: "t", user: "ada" },
  });
});

test("a call runs again under the key that it had, or under none if it was given none", async () => {
  const session = { session: "s" };
  expect((await keep({ id: "c1", caller: session })).kept.options.idempotencyKey).toBe("c1");
  expect((await keep({ id: "c1" })).kept.options.idempotencyKey).toBeUndefined();
  expect((await keep({ id: "c1", caller: session, idempotencyKey: false })).kept.options.idempotencyKey).toBe(false);
  const { data } = await keep({ id: "c1", caller: session });
  const again = fromCallData({ ...data, idempotencyKey: "job:1" }, { get: () => undefined });
  expect(again.options.idempotencyKey).toBe("job:1");
});

test("what earlier versions stored is read as it would be stored now", () => {
  const caller = { depth: 0, session: "s" };
  const question = readCallData(
    { name: "post", options: { id: "c", caller, mode: "plan" }, scope: ["send"], isDirect: false, folder: "/w" },
    { toolName: "send", toolVersion: "2.0.0" },
  );
  expect(question).toEqual({
    ...{ callId: "c", toolName: "send", toolVersion: "2.0.0", requestedName: "post", isDirect: false },
    ...{ caller, options: { mode: "plan" }, toolkit: ["send"], folder: "/w", idempotent: false },
  });
  const program = readCallData({
    name: "run_code@1.0.0",
    input: { code: "1" },
    options: { id: "p", idempotencyKey: "step", caller },
    toolkit: ["send"],
    verdict: { decision: "allow", by: "rule", reason: "allowed" },
  });
  expect(program).toMatchObject({ callId: "p", toolName: "run_code", toolVersion: "1.0.0", toolkit: ["send"] });
  expect(fromCallData(program, { get: () => undefined }).options).toEqual({ id: "p", idempotencyKey: "step", caller });
});
