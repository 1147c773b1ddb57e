import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AgentEvent, callsOf, type Message } from "../models/agent/agent.ts";
import { ToolCallContext } from "../core/tool-call-context.ts";
import { textOf } from "../core/content.ts";
import { createAgentTools } from "../tools/agents/agent-tools.ts";
import { createScriptedLanguageModel, createTestHaft, type LanguageScript, type TestHaft } from "../testing/index.ts";
import { type AgentOptions, createAgent } from "./create-agent.ts";

const add = {
  name: "add",
  description: "Adds two numbers",
  kind: "readonly" as const,
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => String(a + b),
};

function open(script: LanguageScript, more: Partial<AgentOptions> & { tools?: object[] } = {}) {
  const { tools = [add], ...options } = more;
  const haft = options.haft ?? createTestHaft({ tools: tools as never });
  const model = createScriptedLanguageModel(script);
  return { haft: haft as TestHaft, model, agent: createAgent({ haft, model, ...options }) };
}

/** Every call has its result in the next message: what no provider takes otherwise. */
function expectWhole(messages: readonly Message[]): void {
  for (const [at, message] of messages.entries()) {
    const ids = callsOf(message).map(({ callId }) => callId);
    if (ids.length === 0) continue;
    const next = messages[at + 1];
    expect(next?.role === "tool" && next.results.map(({ callId }) => callId)).toEqual(ids);
  }
}

const text = (message: { content: unknown } | undefined): string => JSON.stringify(message?.content ?? "");

describe("a run", () => {
  test("asks, calls, tells the results and ends with what the model says", async () => {
    const { agent, model, haft } = open([
      { text: "Let me see.", calls: [{ name: "add", input: { a: 1, b: 2 } }] },
      { text: "It is 3." },
    ]);
    const answer = await agent.run("What is 1 + 2?");
    expect(answer).toMatchObject({ text: "It is 3.", stop: "done", steps: 2 });
    expect(answer.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expectWhole(answer.messages);
    expect(model.requests[1]!.prompt.at(-1)).toMatchObject({
      role: "tool",
      content: [{ type: "tool-result", toolName: "add", output: { type: "text", value: "3" } }],
    });
    expect(await haft.calls.log.recent()).toMatchObject([{ toolName: "add", status: "completed" }]);
    expect(answer.context.pending()).toEqual([]);
    expect(answer.usage).toEqual({ inputTokens: 2, outputTokens: 2 });
  });

  test("makes the calls of one turn at the same time, and gives results in call order", async () => {
    const waiting: (() => void)[] = [];
    const meet = {
      name: "meet",
      description: "Waits for the other",
      kind: "readonly",
      parameters: z.object({ who: z.string() }),
      run: ({ who }: { who: string }) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(who));
          if (waiting.length === 2) for (const go of waiting.reverse()) go();
        }),
    };
    const { agent } = open(
      [
        {
          calls: [
            { name: "meet", input: { who: "a" } },
            { name: "meet", input: { who: "b" } },
          ],
        },
        { text: "met" },
      ],
      { tools: [meet] },
    );
    const { messages } = await agent.run("go");
    expect(messages[2]).toMatchObject({ results: [{ content: [{ text: "a" }] }, { content: [{ text: "b" }] }] });
  });

  test("tells a failed call as an error, and a name that nobody has with the nearest one", async () => {
    const { agent, model } = open([
      {
        calls: [
          { name: "ad", input: {} },
          { name: "add", input: { a: "x" } },
        ],
      },
      { text: "sorry" },
    ]);
    const { messages } = await agent.run("go");
    expect(messages[2]).toMatchObject({
      results: [{ error: { code: "tool_not_found" } }, { error: { code: "invalid_input" } }],
    });
    expect(text(model.requests[1]!.prompt.at(-1))).toContain('"type":"error-text"');
    expect(text(model.requests[1]!.prompt.at(-1))).toContain('\\"add\\"');
  });

  test("mends arguments that mean one thing, and says so; refuses those that do not", async () => {
    const { agent, model } = open([
      { calls: [{ name: "add", input: '{"a": 1, "b": 2,}' }] },
      { calls: [{ name: "add", input: '{"a": 1, "b"' }] },
      { text: "done" },
    ]);
    const { messages } = await agent.run("go");
    expect(messages[2]).toMatchObject({ results: [{ content: [{ text: "3" }] }] });
    expect(text(model.requests[1]!.prompt.at(-1))).toContain("Note from the runtime");
    expect(messages[5]).toMatchObject({ results: [{ error: { code: "invalid_input" } }] });
    // Providers take objects alone.
    expect(model.requests[2]!.prompt.at(-2)).toMatchObject({ content: [{ input: { unreadable: '{"a": 1, "b"' } }] });
  });

  test("gives ids that merely count one of their own, and shows the model the one that it gave", async () => {
    let runs = 0;
    const count = {
      name: "count",
      description: "Counts",
      kind: "write",
      parameters: [],
      needsApproval: false,
      run: () => String(++runs),
    };
    const call = { id: "call_0", name: "count" };
    const { agent, model } = open([{ calls: [call] }, { calls: [call] }, { text: "done" }], { tools: [count] });
    const { messages } = await agent.run("go", { caller: { session: "s" } });
    expect(runs).toBe(2);
    const ids = messages.flatMap((message) => callsOf(message).map(({ callId }) => callId));
    expect(new Set(ids).size).toBe(2);
    expect(model.requests[2]!.prompt.at(-1)).toMatchObject({ content: [{ toolCallId: "call_0" }] });
  });

  test("keeps an id that a provider rolled, so that the same call is known after a restart", async () => {
    let runs = 0;
    const count = {
      name: "count",
      description: "Counts",
      kind: "write",
      parameters: [],
      needsApproval: false,
      run: () => String(++runs),
    };
    const script = [{ calls: [{ id: "toolu_01A09q90qw90lq917835lq9", name: "count" }] }, { text: "done" }];
    const haft = createTestHaft({ tools: [count] as never });
    for (const _ of [1, 2]) await open(script, { haft }).agent.run("go", { caller: { session: "s" } });
    expect(runs).toBe(1);
  });

  test("streams words, calls, updates and results in order, and the same answer", async () => {
    const slow = {
      ...add,
      run: async ({ a, b }: { a: number; b: number }, context: { update(text: string): void }) => {
        context.update("half");
        return String(a + b);
      },
    };
    const { agent } = open(
      [{ reasoning: "hm", text: "Let me see.", calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "It is 3." }],
      { tools: [slow] },
    );
    const events: AgentEvent[] = [];
    for await (const event of agent.stream("go")) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      ...["message_added", "step_started", "reasoning", "text", "text", "text", "message_added", "step_finished"],
      ...["tool_call", "tool_update", "tool_result", "message_added"],
      ...["step_started", "text", "text", "text", "message_added", "step_finished", "run_finished"],
    ]);
    const words = events.flatMap((event) => (event.type === "text" ? [event.text] : []));
    expect(words.join("")).toBe("Let me see.It is 3.");
    expect(events.at(-1)).toMatchObject({ answer: { text: "It is 3.", stop: "done" } });
  });

  test("who stops listening to the stream stops the run", async () => {
    const { agent, model } = open([{ text: "one two three" }, { text: "never" }]);
    for await (const event of agent.stream("go")) if (event.type === "text") break;
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]!.abortSignal!.aborted).toBe(true);
  });
});

describe("an end", () => {
  test.each([
    ["steps", { steps: 2 }, "2 steps"],
    ["tokens", { tokens: 25 }, "25 tokens"],
    ["cost", { costUsd: 0.00002 }, "US dollars"],
  ])("by the limit of %s leaves a whole conversation", async (_what, limits, words) => {
    const turn = (a: number) => ({
      calls: [{ name: "add", input: { a, b: 1 } }],
      usage: { inputTokens: 10, outputTokens: 5 },
    });
    const { agent } = open([turn(1), turn(2), turn(3)], { limits, prices: { input: 0.5, output: 1 } });
    const answer = await agent.run("go");
    expect(answer).toMatchObject({ stop: "limit", steps: 2, error: { message: expect.stringContaining(words) } });
    expectWhole(answer.messages);
  });

  test("by cost without prices says what is missing", async () => {
    const { agent } = open([], { limits: { costUsd: 1 } });
    expect(await agent.run("go")).toMatchObject({
      stop: "limit",
      error: { message: expect.stringContaining("prices") },
    });
  });

  test("by abort while tools run answers every call", async () => {
    const controller = new AbortController();
    const hang = { ...add, name: "hang", run: () => new Promise(() => {}) };
    const stop = { ...add, name: "stop", run: () => controller.abort() };
    const input = { a: 1, b: 2 };
    const { agent } = open(
      [
        {
          calls: [
            { name: "hang", input },
            { name: "stop", input },
            { name: "hang", input },
          ],
        },
        { text: "never" },
      ],
      { tools: [hang, stop] },
    );
    const answer = await agent.run("go", { signal: controller.signal });
    expect(answer).toMatchObject({ stop: "aborted", steps: 1 });
    expectWhole(answer.messages);
    expect(answer.messages.at(-1)).toMatchObject({
      results: [{ error: { code: "cancelled" } }, {}, { error: { code: "cancelled" } }],
    });
  });

  test("by abort while the model speaks", async () => {
    const controller = new AbortController();
    const speak = () => {
      controller.abort();
      throw controller.signal.reason;
    };
    const { agent } = open([speak]);
    expect(await agent.run("go", { signal: controller.signal })).toMatchObject({ stop: "aborted", messages: [{}] });
  });

  test("by an error of the model says what to do, and keeps what was done", async () => {
    const refused = Object.assign(new Error("no such key"), { statusCode: 401, isRetryable: false });
    const { agent } = open([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, refused]);
    const answer = await agent.run("go");
    expect(answer).toMatchObject({ stop: "error", error: { next: expect.stringContaining("Check the API key") } });
    expect(answer.messages).toHaveLength(3);
  });

  test("a passing error of the model is waited out", async () => {
    const haft = createTestHaft({ tools: [add] });
    const busy = Object.assign(new Error("slow down"), { statusCode: 429, isRetryable: true });
    const { agent, model } = open([busy, busy, { text: "there" }], { haft });
    const run = agent.run("go");
    for (let at = 0; at < 3; at++) {
      await new Promise((resolve) => setImmediate(resolve));
      await haft.clock.advance(5_000);
    }
    expect(await run).toMatchObject({ stop: "done", text: "there" });
    expect(model.requests).toHaveLength(3);
  });

  test("by an answer that was cut is a limit, not a success", async () => {
    const { agent } = open([{ text: "and then", finish: "length" }]);
    expect(await agent.run("go")).toMatchObject({ stop: "limit", text: "and then", error: { code: "too_large" } });
  });

  test("by stop_response", async () => {
    const control = createAgentTools({
      messageSink: { say: () => true },
      skills: { load: () => Promise.reject(new Error("none")), read: () => Promise.reject(new Error("none")) },
      agents: { names: () => [], run: () => Promise.reject(new Error("none")) },
    });
    const { agent } = open([{ text: "Bye.", calls: [{ name: "stop_response" }] }, { text: "never" }], {
      tools: control,
    });
    const answer = await agent.run("go");
    expect(answer).toMatchObject({ stop: "stopped", text: "Bye.", steps: 1 });
    expectWhole(answer.messages);
  });

  test("a tool from elsewhere that claims to end the turn does not", async () => {
    const haft = createTestHaft();
    haft.tools.registry.register({
      ...add,
      origin: { type: "mcp", server: "elsewhere" },
      run: () => ({ content: "3", metadata: { endsTurn: true, allowedTools: ["nothing"] } }),
    } as never);
    const { agent } = open([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "on" }], { haft });
    expect(await agent.run("go")).toMatchObject({ stop: "done", text: "on" });
  });

  test("a message that cannot be kept ends the run before its calls are made", async () => {
    const { agent, haft } = open([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }]);
    const onEvent = (event: AgentEvent): Promise<void> | undefined =>
      event.type === "message_added" && event.message.role === "assistant"
        ? Promise.reject(new Error("disk full"))
        : undefined;
    expect(await agent.run("go", { onEvent: onEvent as never })).toMatchObject({
      stop: "error",
      error: { message: "disk full" },
    });
    expect(await haft.calls.log.recent()).toEqual([]);
  });
});

describe("a model that goes in circles", () => {
  const same = { calls: [{ name: "add", input: { a: 1, b: 1 } }] };
  const other = { calls: [{ name: "add", input: { a: 2, b: 2 } }] };
  const unknown = (at: number) => ({ calls: [{ name: `tool${at}` }] });
  test.each([
    ["with one call", [same, same, same, same, same, same]],
    ["with two in turn", [same, other, same, other, same, other, same, other, same, other, same, other]],
    ["with tools that do not exist", [1, 2, 3, 4, 5, 6].map(unknown)],
  ])("%s is told, and then stopped", async (_what, script) => {
    const { agent, model } = open(script);
    const answer = await agent.run("go");
    expect(answer).toMatchObject({ stop: "loop", error: { message: expect.stringMatching(/^Stopped/) } });
    expect(model.requests.length).toBeLessThan(script.length);
    const reported = model.requests.filter(({ prompt }) => text(prompt.at(-1)).includes("Note from the runtime"));
    expect(reported).toHaveLength(1);
    expectWhole(answer.messages);
  });

  test("goes on where the results change: it waits for something", async () => {
    let polls = 0;
    const poll = { name: "poll", description: "Looks", kind: "readonly", parameters: [], run: () => `poll ${++polls}` };
    const { agent } = open([...Array.from({ length: 8 }, () => ({ calls: [{ name: "poll" }] })), { text: "ready" }], {
      tools: [poll],
    });
    expect(await agent.run("go")).toMatchObject({ stop: "done", text: "ready" });
  });
});

describe("a call that is answered later", () => {
  const ask = { ...add, name: "ask", kind: "write" as const, permission: () => "confirm" as const };

  test("by a person ends the run as pending, and its result enters the next run", async () => {
    const haft = createTestHaft({ tools: [ask] as never });
    const { agent, model } = open([{ calls: [{ name: "ask", input: { a: 1, b: 2 } }] }, { text: "It is 3." }], {
      haft,
    });
    const first = await agent.run("go");
    expect(first).toMatchObject({ stop: "pending" });
    const [waiting] = await haft.approvals.list();
    const result = await haft.approvals.approve(waiting!.id);
    const late = [result];
    const second = await agent.run([], {
      messages: first.messages,
      context: first.context,
      lateResults: () => late.splice(0),
    });
    expect(second).toMatchObject({ stop: "done", text: "It is 3." });
    expect(text(model.requests[1]!.prompt.at(-1))).toMatch(/was pending, has ended.*\\n3/);
    expect(second.context.pending()).toEqual([]);
  });

  test("while the model still works is told at its next step", async () => {
    const haft = createTestHaft({ tools: [ask, add] as never });
    const approve = async () => {
      const [waiting] = await haft.approvals.list();
      await haft.approvals.approve(waiting!.id);
      return { calls: [{ name: "add", input: { a: 5, b: 5 } }] };
    };
    const both = {
      calls: [
        { name: "ask", input: { a: 1, b: 2 } },
        { name: "add", input: { a: 1, b: 1 } },
      ],
    };
    const { agent, model } = open([both, approve, { text: "done" }], { haft });
    const answer = await agent.run("go");
    expect(answer).toMatchObject({ stop: "done" });
    expect(text(model.requests[2]!.prompt.at(-1))).toContain("was pending, has ended");
    expectWhole(answer.messages);
  });

  const later = { ...add, mode: "background" as const };
  const deny = async (haft: TestHaft) => {
    const [waiting] = await haft.approvals.list();
    await haft.approvals.deny(waiting!.id, "not today");
  };
  const approve = async (haft: TestHaft) => {
    const [waiting] = await haft.approvals.list();
    await haft.approvals.approve(waiting!.id);
  };
  const endJob = async (haft: TestHaft) => {
    const [job] = await haft.jobs.list();
    await haft.jobs.work();
    await haft.jobs.wait(job!.id);
  };
  const program = `try { return await tools.ask({ a: 1, b: 2 }) } catch ({ code }) { return code }`;

  test.each([
    [
      "a job that ended",
      { tools: [later], worker: false },
      { name: "add", input: { a: 1, b: 2 } },
      endJob,
      /ended.*3/s,
    ],
    ["a yes", { tools: [ask] }, { name: "ask", input: { a: 1, b: 2 } }, approve, /has ended.*3/s],
    ["a no", { tools: [ask] }, { name: "ask", input: { a: 1, b: 2 } }, deny, /has failed.*not today/s],
    [
      "a program that went on",
      { tools: [ask], code: {} },
      { name: "run_code", input: { code: program } },
      approve,
      /3/,
    ],
    ["one told no", { tools: [ask], code: {} }, { name: "run_code", input: { code: program } }, deny, /denied/],
  ] as const)("while nobody runs, by %s, is found and told once", async (_what, options, call, end, reported) => {
    const haft = createTestHaft(options as never);
    const { agent, model } = open([{ calls: [call] }, { text: "I wait." }, { text: "Now." }, { text: "Still." }], {
      haft,
    });
    const caller = { session: "s" };
    const first = await agent.run("go", { caller });
    expect(first.stop).toBe("pending");
    const steps = model.requests.length;
    await end(haft);
    const second = await agent.run([], { messages: first.messages, context: first.context, caller });
    expect(second).toMatchObject({ stop: "done", steps: 1 });
    expect(text(model.requests[steps]!.prompt.at(-1))).toMatch(reported);
    expect(second.context.pending()).toEqual([]);
    // Also where the context was not kept, and only what was said is.
    const third = await agent.run("And?", { messages: [...first.messages, ...second.messages], caller });
    expect(third.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await haft.shutdown();
  });

  test("is told although somebody else had put its result into the context", async () => {
    const haft = createTestHaft({ tools: [later] as never, worker: false });
    const { agent, model } = open([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "" }, { text: "3" }], {
      haft,
    });
    const context = new ToolCallContext();
    haft.jobs.follow(context);
    const first = await agent.run("go", { context });
    await endJob(haft);
    expect(context.pending()).toEqual([]);
    await agent.run([], { messages: first.messages, context });
    expect(text(model.requests.at(-1)!.prompt.at(-1))).toMatch(/was pending, has ended.*3/);
  });

  test("of another caller with the same id is nobody's business", async () => {
    const haft = createTestHaft({ tools: [ask] as never });
    const call = { id: "toolu_01A09q90qw90lq917835lq9", name: "ask", input: { a: 1, b: 2 } };
    const { agent, model } = open([{ calls: [call] }, { text: "?" }], { haft });
    const first = await agent.run("go", { caller: { user: "ann" } });
    const [anns] = await haft.approvals.list();
    await haft.execute("ask", call.input, { id: call.id, caller: { user: "bob", agent: "agent" } });
    const bobs = (await haft.approvals.list()).find(({ id }) => id !== anns!.id);
    await haft.approvals.approve(bobs!.id);
    const second = await agent.run("Well?", { messages: first.messages, caller: { user: "ann" } });
    expect(second.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(text(model.requests.at(-1)!.prompt.at(-1))).not.toContain("was pending");
  });
});

describe("a conversation", () => {
  test("that was cut off is answered before it goes on", async () => {
    const { agent, model } = open([{ text: "on" }]);
    const call = { type: "tool_call" as const, callId: "c1", name: "add", input: {} };
    const messages: Message[] = [
      { role: "user", content: "go" },
      { role: "assistant", content: [call] },
    ];
    expect(await agent.run("and now?", { messages })).toMatchObject({ stop: "done" });
    expect(model.requests[0]!.prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "user"]);
    expect(text(model.requests[0]!.prompt[3])).toContain("Its effect is unknown");
  });

  test("shows pictures of results and of the user as pictures", async () => {
    const picture = { type: "image" as const, data: "aGVsbG8=", mimeType: "image/png" };
    const look = {
      name: "look",
      description: "Looks",
      kind: "readonly",
      parameters: [],
      run: () => ({ content: [picture] }),
    };
    const { agent, model } = open([{ calls: [{ name: "look" }] }, { text: "nice" }], { tools: [look] });
    await agent.run([{ role: "user", content: [{ type: "text", text: "look" }, picture] }]);
    const file = { type: "file", mediaType: "image/png", data: "aGVsbG8=" };
    expect(model.requests[0]!.prompt[1]).toMatchObject({ content: [{ text: "look" }, file] });
    expect(model.requests[1]!.prompt.at(-2)).toMatchObject({ role: "tool" });
    expect(text(model.requests[1]!.prompt.at(-2))).not.toContain("aGVsbG8=");
    expect(model.requests[1]!.prompt.at(-1)).toMatchObject({ role: "user", content: [{ type: "text" }, file] });
  });
});

describe("what a model is shown", () => {
  const write = { ...add, name: "write_it", kind: "write" as const };

  test("in plan mode: tools that read, and that it shall plan", async () => {
    const { agent, model } = open([{ calls: [{ name: "write_it", input: { a: 1, b: 2 } }] }, { text: "plan" }], {
      tools: [add, write],
    });
    const answer = await agent.run("go", { mode: "plan" });
    expect(model.requests[0]!.tools!.map(({ name }) => name)).toEqual(["add"]);
    expect(model.requests[0]!.prompt[0]!.content).toContain("Plan mode");
    expect(answer.messages[2]).toMatchObject({ results: [{ error: { code: "plan_mode" } }] });
  });

  test("no tool that policy takes from it, be it the runtime's or the run's", async () => {
    const haft = createTestHaft({ tools: [add, write] as never, policy: { deny: ["add"] } });
    const { agent, model } = open([{ text: "ok" }, { text: "ok" }], { haft });
    await agent.run("go");
    await agent.run("go", { policy: [{ deny: ["write_it"] }] });
    expect(model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([["write_it"], []]);
  });

  test("tools that are registered while it works", async () => {
    const haft = createTestHaft({ tools: [add] });
    const grow = () => {
      haft.register(write as never);
      return { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    };
    const { agent, model } = open([grow, { text: "ok" }], { haft });
    await agent.run("go");
    expect(model.requests.map(({ tools = [] }) => tools.length)).toEqual([1, 2]);
  });

  test("only the tools of its toolkit, and it can call no other", async () => {
    const haft = createTestHaft({ tools: [add, write] as never });
    const toolkit = haft.tools.toolkit("small", ["add"]);
    const { agent, model } = open([{ calls: [{ name: "write_it", input: { a: 1, b: 2 } }] }, { text: "ok" }], {
      haft,
      toolkit,
      name: "small",
    });
    const { messages } = await agent.run("go");
    expect(model.requests[0]!.tools!.map(({ name }) => name)).toEqual(["add"]);
    expect(messages[2]).toMatchObject({ results: [{ error: { code: "tool_not_found" } }] });
  });
});

describe("a model that speaks text", () => {
  const call = "<tool_call><name>add</name><params><a>1</a><b>2</b></params></tool_call>";

  test.each([false, true])("is told of tools in its prompt, and its calls are made (streamed: %s)", async (streams) => {
    const { agent, model } = open([{ text: `Let me see. ${call}` }, { text: "It is 3." }], { format: "xml" });
    const seen: string[] = [];
    const onEvent = (event: AgentEvent): void => void (event.type === "text" && seen.push(event.text));
    const answer = await agent.run("go", streams ? { onEvent } : {});
    expect(answer).toMatchObject({ stop: "done", text: "It is 3." });
    expect(model.requests[0]!.tools).toBeUndefined();
    expect(model.requests[0]!.prompt[0]!.content).toContain("<tool_call>");
    const [, , said, back] = model.requests[1]!.prompt;
    expect(said).toEqual({ role: "assistant", content: [{ type: "text", text: `Let me see. ${call}` }] });
    expect(text(back)).toContain("<tool_result>");
    expect(seen.join("")).toBe(streams ? "Let me see. It is 3." : "");
    expectWhole(answer.messages);
  });

  test("is answered with the right form where its call cannot be read, and nothing runs", async () => {
    const { agent, haft } = open([{ text: "<tool_call><name>add</name><params><a>1</a>" }, { text: "sorry" }], {
      format: "xml",
    });
    const { messages } = await agent.run("go");
    expect(messages[2]).toMatchObject({ results: [{ status: "failed", toolName: "add" }] });
    expect(await haft.calls.log.recent()).toMatchObject([{ toolName: "add", status: "failed" }]);
  });
});

test("the context of a conversation goes on from run to run", async () => {
  const context = new ToolCallContext();
  const { agent } = open([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "3" }, { text: "yes" }]);
  const first = await agent.run("go", { context });
  await agent.run("sure?", { context, messages: first.messages });
  expect(context.toolResults.map(({ content }) => textOf(content))).toEqual(["3"]);
  expect(context.toolDefinitions.map(({ name }) => name)).toEqual(["add"]);
});
