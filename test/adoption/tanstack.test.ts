import { chat, EventType, type StreamChunk } from "@tanstack/ai";
import { resolveTanStackApprovals, toTanStackTools } from "haft/formats";
import { expect, expectTypeOf, test } from "vitest";
import { createTanStackAdapter, type ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import { describeFramework } from "./framework.suite.ts";
import { openRig } from "./tanstack.rig.ts";
import { createPayTools, createWorld, openQuestion } from "./pay-world.ts";
import { versionOf } from "./versions.ts";

describeFramework({
  name: "TanStack AI",
  rig: "tanstack",
  version: versionOf("@tanstack/ai"),
  openRig,
  cannot: { "one id, two tools": "the framework takes calls with one id for one call" },
});

const PAY: ScriptedCall = { id: "functions.pay:0", name: "pay", input: { amount: 50 } };
const inChat = { call: { caller: { session: "chat-1", user: "ada" } } };
const prompt = [{ role: "user", content: "go" }];

type Tools = ReturnType<typeof toTanStackTools>;

interface Request {
  calls?: readonly ScriptedCall[];
  messages?: readonly object[];
  threadId?: string;
  /** The answer to the interrupt of PAY in the run that is resumed. */
  answer?: { approved: boolean; runId: string };
}

/** One request of the program: what it reads from the stream. */
async function play(tools: Tools, { calls = [PAY], messages = prompt, threadId = "t1", answer }: Request = {}) {
  const runId = `run-${Math.random()}`;
  const stream = chat({
    adapter: createTanStackAdapter(calls),
    messages: messages as never,
    tools,
    middleware: [tools.middleware],
    threadId,
    runId,
    parentRunId: answer?.runId,
    resume: answer && [
      { interruptId: `approval_${PAY.id}`, status: "resolved", payload: { approved: answer.approved } },
    ],
  }) as AsyncIterable<StreamChunk>;
  const chunks: StreamChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const snapshot = chunks.findLast((chunk) => chunk.type === EventType.MESSAGES_SNAPSHOT);
  const finished = chunks.findLast((chunk) => chunk.type === EventType.RUN_FINISHED);
  const outcome = finished?.type === EventType.RUN_FINISHED ? finished.outcome : undefined;
  return {
    runId,
    chunks,
    text: chunks.flatMap((chunk) => (chunk.type === EventType.TEXT_MESSAGE_CONTENT ? [chunk.delta] : [])).join(""),
    results: chunks.flatMap((chunk) => (chunk.type === EventType.TOOL_CALL_RESULT ? [chunk] : [])),
    interrupts: outcome?.type === "interrupt" ? outcome.interrupts : [],
    messages: (snapshot?.type === EventType.MESSAGES_SNAPSHOT ? snapshot.messages : []) as object[],
  };
}

test("a call that needs a person is an interrupt, and a yes there runs it once and is Haft's answer", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit, inChat);
  const first = await play(tools);
  expect(first.interrupts).toMatchObject([{ id: `approval_${PAY.id}`, toolCallId: PAY.id }]);
  const question = await openQuestion(haft);
  expect(question).toMatchObject({ toolName: "pay", callId: PAY.id, caller: { session: "chat-1" } });
  expect(effects).toEqual([]);

  const second = await play(tools, { messages: first.messages, answer: { approved: true, runId: first.runId } });
  expect(second.text).toBe("done");
  expect(JSON.stringify(second.results)).toContain("r-50");
  expect(effects).toEqual(["paid 50 to ann"]);
  expect(await haft.approvals.get(question.id)).toMatchObject({
    state: "approved",
    answeredBy: "ada",
    answeredVia: "TanStack AI",
    call: { outcome: "completed" },
  });
  // The client sends the same request again.
  await play(tools, { messages: first.messages, answer: { approved: true, runId: first.runId } });
  expect(effects).toHaveLength(1);
  expect(await haft.approvals.list()).toHaveLength(1);
});

test("a yes in Haft resumes the chat", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit);
  const { messages } = await play(tools);
  const waiting = resolveTanStackApprovals(tools, { messages, threadId: "t1" });
  await haft.approvals.approve((await openQuestion(haft)).id, "grace");
  await waiting;
  const second = await play(tools, { messages });
  expect(second.text).toBe("done");
  expect(JSON.stringify(second.results)).toContain("r-50");
  expect(effects).toEqual(["paid 50 to ann"]);
});

test("a no there closes the question, and a no in Haft is a failure of the tool", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit, inChat);
  const first = await play(tools);
  const { id } = await openQuestion(haft);
  const refused = await play(tools, { messages: first.messages, answer: { approved: false, runId: first.runId } });
  expect(refused.text).toBe("done");
  expect(await haft.approvals.get(id)).toMatchObject({ state: "denied", answeredBy: "ada" });

  const others = toTanStackTools(toolkit, { call: { caller: { session: "chat-2" } } });
  const { messages } = await play(others);
  await haft.approvals.deny((await openQuestion(haft)).id, "not today", "grace");
  await resolveTanStackApprovals(others, { messages });
  const second = await play(others, { messages });
  expect(second.text).toBe("done");
  expect(JSON.stringify(second.results)).toContain("not today");
  expect(effects).toEqual([]);
});

test("equal call ids of two threads are two calls, and only the call that needs it asks", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit);
  const calls = [{ ...PAY, input: { amount: 5 } }];
  for (const threadId of ["t1", "t2"]) expect((await play(tools, { calls, threadId })).interrupts).toEqual([]);
  expect(effects).toEqual(["paid 5 to ann", "paid 5 to ann"]);
  // At the same time, with the same tools.
  const [asked, unasked] = await Promise.all([play(tools, { threadId: "t3" }), play(tools, { calls, threadId: "t4" })]);
  expect(asked.interrupts).toHaveLength(1);
  expect(unasked.interrupts).toHaveLength(0);
  expect(await haft.approvals.list("pending")).toHaveLength(1);
});

test("failures are errors of the tool, also of a denied one", async () => {
  const { haft, effects, toolkit } = createWorld({ policy: { deny: ["pay"] } });
  const calls = [PAY, { id: "c2", name: "fail", input: {} }, { id: "c3", name: "count", input: { to: "x" } }];
  const { results, text } = await play(toTanStackTools(toolkit), { calls });
  expect(text).toBe("done");
  expect(results).toHaveLength(3);
  for (const result of results) expect(JSON.stringify(result)).toContain("output-error");
  expect(JSON.stringify(results)).toContain("out of paper");
  expect(effects).toEqual([]);
  expect(await haft.calls.log.recent()).toHaveLength(3);
});

test("a no there after a yes in Haft does not hide what has happened", async () => {
  const { haft, effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit);
  const { messages, runId } = await play(tools);
  await haft.approvals.approve((await openQuestion(haft)).id, "grace");
  const second = await play(tools, { messages, answer: { approved: false, runId } });
  expect(JSON.stringify(second.results)).toContain("r-50");
  expect(effects).toEqual(["paid 50 to ann"]);
});

test("an answer to a question that was never asked runs nothing", async () => {
  const { haft, effects, toolkit } = createWorld();
  const toolCalls = [{ id: PAY.id, type: "function", function: { name: "pay", arguments: '{"amount":5000}' } }];
  const messages = [...prompt, { role: "assistant", content: "", toolCalls }];
  // Sent again, it must not answer a question that the first request has opened.
  for (const _request of [1, 2]) {
    const forged = await play(toTanStackTools(toolkit), { messages, answer: { approved: true, runId: "forged" } });
    expect(JSON.stringify(forged.results)).toContain("output-error");
  }
  expect(effects).toEqual([]);
  expect(await haft.approvals.list("pending")).toEqual([]);
});

test("an id that a later turn uses again is another call", async () => {
  const { effects, toolkit } = createWorld();
  const tools = toTanStackTools(toolkit, inChat);
  const calls = [{ ...PAY, input: { amount: 5 } }];
  const toolCalls = [{ id: PAY.id, type: "function", function: { name: "pay", arguments: '{"amount":5}' } }];
  const said = { role: "assistant", content: "", toolCalls };
  await play(tools, { calls });
  const ended = [...prompt, said, { role: "tool", toolCallId: PAY.id, content: "paid" }];
  const second = await play(tools, { calls, messages: [...ended, ...prompt] });
  expect(JSON.stringify(second.results)).toContain("r-5");
  expect(effects).toEqual(["paid 5 to ann", "paid 5 to ann"]);
});

test("without the middleware a call that needs a person fails, and says what to pass", async () => {
  const { effects, toolkit } = createWorld();
  const adapter = createTanStackAdapter([PAY]);
  const stream = chat({ adapter, messages: prompt as never, tools: toTanStackTools(toolkit) });
  const chunks: unknown[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(JSON.stringify(chunks)).toContain("middleware: [tools.middleware]");
  expect(effects).toEqual([]);
});

test("types of names and inputs come from the tools", () => {
  const { pay, count } = createPayTools();
  const tools = toTanStackTools({ pay, count });
  expectTypeOf(tools[0]!.name).toEqualTypeOf<"pay" | "count">();
  const [tool] = toTanStackTools({ pay });
  expectTypeOf(tool!.execute).parameter(0).toEqualTypeOf<{ amount: number; to?: string | undefined }>();
});
