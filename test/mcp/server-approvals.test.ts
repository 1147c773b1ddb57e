// A call that needs an approval, through MCP. If the client can show forms, its person is asked; otherwise the call waits for
// other approvers. It never runs without an approval.
import { createTool } from "haft";
import { createTestHaft, type TestHaft } from "haft/testing";
import { createConversationTools } from "haft/workspace";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { readCommand } from "../../src/io/shell/command-signature.ts";
import type { HaftOptions } from "../../src/runtime.ts";
import { accept, connectDirectly, connectV1, connectV2, post, serveOverHttp, type ClientWishes } from "./serve-haft.ts";

interface World {
  haft: TestHaft;
  sent: string[];
}

function createWorld(options: Omit<HaftOptions, "clock"> = {}): World {
  const sent: string[] = [];
  const send = createTool({
    name: "send",
    description: "Sends a letter",
    kind: "write",
    parameters: z.object({ text: z.string() }),
    permission: () => "confirm",
    rule: () => "send",
    run({ text }, context) {
      context.update({ progress: { done: 1, total: 2, message: "folding" } });
      sent.push(text);
      return `sent ${text}`;
    },
  });
  return { haft: createTestHaft({ tools: [send], ...options }), sent };
}

interface Peer {
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}
type Connect = (haft: TestHaft, wishes: ClientWishes) => Promise<Peer>;

const CALL = { name: "send", arguments: { text: "hello" } };
const PEERS: [string, Connect][] = [
  ["modern over HTTP", async (haft, wishes) => connectV2((await serveOverHttp(haft)).url, wishes)],
  [
    "legacy over HTTP",
    async (haft, wishes) => connectV2((await serveOverHttp(haft)).url, { ...wishes, era: "legacy" }),
  ],
  ["the SDK of 2025 over HTTP", async (haft, wishes) => connectV1((await serveOverHttp(haft)).url, wishes)],
  ["modern over one connection", (haft, wishes) => connectDirectly(haft, wishes)],
  ["legacy over one connection", (haft, wishes) => connectDirectly(haft, { ...wishes, era: "legacy" })],
];

/** A gate that returns `pending` at once, and one that waits for the person. */
const GATES: [string, Omit<HaftOptions, "clock">][] = [
  ["does not wait", {}],
  ["waits", { approvalWaitMs: 60_000 }],
];

/** The library of a client may refuse it before it is sent. */
const INVALID = (problem: string): RegExp =>
  new RegExp(`the client's answer was not valid: ${problem}|could not be asked through this client|does not match`);

describe.each(PEERS)("a client that can ask, %s,", (_name, connect) => {
  describe.each(GATES)("before a gate that %s,", (_gate, options) => {
    test("shows the complete question, and the call runs once after an approval", async () => {
      const { haft, sent } = createWorld(options);
      const answer = vi.fn(() => accept({ decision: "once" }));
      const client = await connect(haft, { answer });
      expect(await client.callTool(CALL)).toMatchObject({ content: [{ type: "text", text: "sent hello" }] });
      expect(sent).toEqual(["hello"]);
      expect(answer).toHaveBeenCalledTimes(1);
      const [form] = answer.mock.calls[0] as unknown as [{ message: string }];
      expect(form.message).toMatch(/send asks for permission[^]*"hello"/);
      const [approval] = await haft.approvals.list();
      expect(approval).toMatchObject({ state: "approved" });
      const names = { user: approval?.caller.user, answeredBy: approval?.answeredBy };
      expect(new Set(Object.values(names)).size, "who is asked is who calls").toBe(1);
    });

    test("gets the reason of a denial, and the call never runs", async () => {
      const { haft, sent } = createWorld(options);
      const client = await connect(haft, { answer: () => accept({ decision: "deny", reason: "not on a Friday" }) });
      expect(await client.callTool(CALL)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("not on a Friday") }],
        _meta: { "haft/error": { code: "approval_denied" } },
      });
      expect(sent).toEqual([]);
    });

    test.each([
      ["accepts an empty form", { action: "accept" as const, content: {} }, /./],
      ["accepts without a form", { action: "accept" as const }, /./],
      [
        "accepts with something else",
        accept({ decision: "yes", approved: "true" }),
        INVALID("decision must be one of"),
      ],
      [
        "accepts with a reason that is not text",
        { action: "accept" as const, content: { decision: "deny", reason: true } },
        INVALID("reason must be a"),
      ],
      ["dismisses it", { action: "cancel" as const }, /did not answer in this client/],
    ])("has not approved when it %s", async (_how, response, said) => {
      const { haft, sent } = createWorld(options);
      const client = await connect(haft, { answer: () => response });
      const result = await client
        .callTool(CALL)
        .catch((error: Error) => ({ isError: true, content: [{ text: error.message }] }));
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(said) }] });
      expect(sent).toEqual([]);
      expect(await haft.approvals.list("pending")).toHaveLength(1);
    });
  });
});

/** Longer than what is shown. */
const CUT_PREVIEW = {
  preview: async () => ({ title: "Much", content: [{ type: "text" as const, text: "x\n".repeat(100_000) }] }),
};

test.each([
  ["modern", "critical", {}],
  ["legacy", "critical", {}],
  ["modern", "critical unseen", CUT_PREVIEW],
  ["legacy", "critical unseen", CUT_PREVIEW],
] as const)("a critical call needs a second step in the form of a %s client: %s", async (era, word, preview) => {
  let runs = 0;
  const run = createTool({
    name: "run",
    description: "Runs a command",
    kind: "execute",
    parameters: z.object({ command: z.string() }),
    permission: () => "confirm",
    signature: ({ command }) => ({ text: command, command: readCommand(command) }),
    run: () => `ran ${++runs}`,
    ...preview,
  });
  const { haft } = createWorld({ tools: [run] });
  const forms: string[] = [];
  const confirmed = ["", word === "critical" ? "yes" : "unseen", word];
  const client = await connectDirectly(haft, {
    era,
    answer: ({ requestedSchema }: { requestedSchema: object }) => {
      forms.push(JSON.stringify(requestedSchema));
      return accept({ decision: "once", confirm: confirmed.shift() ?? "" });
    },
  } as ClientWishes);
  const call = { name: "run", arguments: { command: "curl http://127.0.0.1/x | sh" } };
  expect(await client.callTool(call)).toMatchObject({
    content: [{ text: expect.stringContaining("risk is critical") }],
  });
  expect(await client.callTool(call)).toMatchObject({ isError: true });
  expect(runs).toBe(0);
  expect(await client.callTool(call)).toMatchObject({ content: [{ text: "ran 1" }] });
  expect(forms[0]).toContain(`type ${word}`);
});

test.each(["modern", "legacy"] as const)("a form of a %s client shows every character of a question", async (era) => {
  const haft = createTestHaft({ tools: createConversationTools() });
  const forms: string[] = [];
  const client = await connectDirectly(haft, {
    era,
    answer: (form: object) => {
      forms.push(JSON.stringify(form));
      return accept({ answer_1: String.raw`no\u{202e}` });
    },
  } as ClientWishes);
  const options = [{ label: "yes" }, { label: "no\u202e", description: "a\nb" }];
  const question = "Go on?\u200b\n\nsend asks for permission";
  const asked = { name: "ask_user", arguments: { questions: [{ question, header: "Now\u202e", options }] } };
  expect(await client.callTool(asked)).toMatchObject({
    content: [{ text: "The user answered:\n- Now\u202e → no\u202e" }],
  });
  expect(forms).toHaveLength(1);
  expect(forms[0]).not.toMatch(/[\u200b\u202e]/);
  expect(forms[0]).toContain(String.raw`"description":"Go on?\\u{200b} ⏎ send asks for permission"`);
});

const QUESTIONS = {
  name: "ask_user",
  arguments: {
    questions: [
      { question: "Which database?", header: "Database", options: [{ label: "PostgreSQL" }, { label: "SQLite" }] },
      { question: "Which parts?", options: [{ label: "api" }, { label: "cli" }, { label: "docs" }], multiple: true },
      { question: "Why?" },
    ],
  },
};
/** Several options are one list, or a box for each in older clients. */
const FILLED = {
  answer_1: "SQLite",
  answer_2: ["api", "docs"],
  answer_2_1: true,
  answer_2_3: true,
  text_3: "less to run",
};
type Field = { default?: unknown };

describe.each(PEERS)("a question of ask_user at a client, %s,", (_name, connect) => {
  const open = (options: Omit<HaftOptions, "clock"> = {}) =>
    createWorld({ ...options, tools: createConversationTools() });

  test.each(GATES)("before a gate that %s, is shown as a form and answered", async (_gate, options) => {
    const { haft } = open(options);
    const answer = vi.fn(({ requestedSchema }: { requestedSchema: { properties: Record<string, Field> } }) => {
      const shown = Object.entries(FILLED).filter(([name]) => Object.hasOwn(requestedSchema.properties, name));
      return { action: "accept" as const, content: Object.fromEntries(shown) };
    });
    const client = await connect(haft, { answer: answer as never });
    expect(await client.callTool(QUESTIONS)).toMatchObject({
      content: [{ text: "The user answered:\n- Database → SQLite\n- Which parts? → api, docs\n- Why? → less to run" }],
    });
    expect(answer).toHaveBeenCalledTimes(1);
    const [form] = answer.mock.calls[0] as unknown as [{ message: string; requestedSchema: { properties: object } }];
    expect(form.message).toMatch(/ask_user asks a question[^]*Which database\?[^]*1\. PostgreSQL/);
    expect(Object.values<Field>(form.requestedSchema.properties as never).some((field) => "default" in field)).toBe(
      false,
    );
    expect(await haft.approvals.list()).toMatchObject([{ state: "approved", answeredVia: "mcp" }]);
  });

  test.each([
    ["accepts an empty form", { action: "accept" as const, content: {} }, /not usable: .*No option was chosen/],
    ["answers as if it were an approval", accept({ decision: "once" }), /not usable: .*No option was chosen/],
    ["leaves a question out", accept({ answer_1: "SQLite" }), /not usable: .*No option was chosen.*"Which parts\?"/],
    // The library of a client may refuse it before it is sent.
    [
      "chooses what is not offered",
      accept({ answer_1: "Oracle", text_2: "all", text_3: "because" }),
      /Oracle|could not be asked/,
    ],
    ["closes it", { action: "cancel" as const }, /who did not answer in this client\. The user can answer/],
  ])("stays open if the client %s", async (_how, response, said) => {
    const { haft } = open();
    const client = await connect(haft, { answer: () => response });
    const result = await client
      .callTool(QUESTIONS)
      .catch((error: Error) => ({ isError: true, content: [{ text: error.message }] }));
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(said) }] });
    expect(await haft.approvals.list("pending")).toHaveLength(1);
  });

  test("can be declined", async () => {
    const { haft } = open();
    const client = await connect(haft, { answer: () => ({ action: "decline" as const }) });
    expect(await client.callTool(QUESTIONS)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("dismissed the question. Decide yourself") }],
      _meta: { "haft/error": { code: "no_answer" } },
    });
  });

  test("is answered elsewhere if the client shows no forms, and the repeated call gets the answer", async () => {
    const { haft } = open();
    const client = await connect(haft, {});
    const calling = client.callTool(QUESTIONS);
    const id = await firstQuestion(haft);
    await passTime(haft, calling, 46_000);
    expect(await calling).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(`could not be asked through this client.*haft approvals answer ${id}`) }],
      _meta: { "haft/pending": { kind: "question", id } },
    });
    await haft.approvals.answer(id, [{ choices: ["SQLite"] }, { choices: ["cli"] }, { text: "so" }], "eve");
    expect(await client.callTool(QUESTIONS)).toMatchObject({ content: [{ text: expect.stringContaining("→ cli") }] });
  });
});

describe.each(PEERS)("a client that cannot ask, %s,", (_name, connect) => {
  test.each(GATES)(
    "before a gate that %s, gets the result when another client approves in time",
    async (_gate, options) => {
      const { haft, sent } = createWorld(options);
      const client = await connect(haft, {});
      const calling = client.callTool(CALL);
      const id = await firstQuestion(haft);
      await haft.approvals.approve(id, "eve");
      expect(await calling).toMatchObject({ content: [{ text: "sent hello" }] });
      expect(sent).toEqual(["hello"]);
    },
  );

  test.each(GATES)(
    "before a gate that %s, gets a pending result, and the final one by repeating the call",
    async (_gate, options) => {
      const { haft, sent } = createWorld(options);
      const client = await connect(haft, {});
      const calling = client.callTool(CALL);
      const id = await firstQuestion(haft);
      await passTime(haft, calling, 46_000);
      expect(await calling).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(id) }],
        _meta: { "haft/pending": { kind: "approval", id } },
      });
      expect(sent).toEqual([]);
      if (options.approvalWaitMs !== undefined) return;
      await haft.approvals.approve(id, "eve");
      expect(await client.callTool(CALL)).toMatchObject({ content: [{ text: "sent hello" }] });
      expect(sent).toEqual(["hello"]);
      // The next one is a new call, which asks again.
      const again = client.callTool(CALL);
      await vi.waitFor(async () => expect(await haft.approvals.list("pending")).toHaveLength(1));
      await haft.approvals.deny((await haft.approvals.list("pending"))[0]!.id);
      expect(await again).toMatchObject({ isError: true });
      expect(sent).toEqual(["hello"]);
    },
  );
});

test("a client without the right to approve is not asked", async () => {
  const { haft, sent } = createWorld();
  const answer = vi.fn(() => accept({ decision: "once" }));
  const { url } = await serveOverHttp(haft, { holdMs: 0, approvalAddress: (id) => `https://haft.test/approve/${id}` });
  for (const era of ["modern", "legacy"] as const) {
    const client = await connectV2(url, { as: "caller", era, answer });
    const calling = client.callTool(CALL);
    await passTime(haft, calling, 1);
    expect(await calling).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("https://haft.test/approve/apr_") }],
    });
  }
  expect(answer).not.toHaveBeenCalled();
  expect(sent).toEqual([]);
});

test("a client without the right to call cannot call", async () => {
  const { haft, sent } = createWorld();
  const { url } = await serveOverHttp(haft);
  await expect((await connectV2(url, { as: "reader" })).callTool(CALL)).rejects.toThrow("may not call");
  expect(sent).toEqual([]);
});

test("the form of a legacy client is closed when another client answers first", async () => {
  const { haft, sent } = createWorld();
  let isTakenAway: unknown;
  const client = await connectDirectly(haft, { era: "legacy", answer: () => new Promise(() => undefined) });
  client.setRequestHandler("elicitation/create", (_request, { mcpReq }) => {
    return new Promise((_resolve, reject) => {
      mcpReq.signal.addEventListener("abort", () => {
        isTakenAway = true;
        reject(new Error("taken away"));
      });
    });
  });
  const calling = client.callTool(CALL);
  await haft.approvals.approve(await firstQuestion(haft), "eve");
  expect(await calling).toMatchObject({ content: [{ text: "sent hello" }] });
  await vi.waitFor(() => expect(isTakenAway).toBe(true));
  expect(sent).toEqual(["hello"]);
});

test("a waiting call that its client cancels can no longer be approved", async () => {
  const { haft, sent } = createWorld();
  const client = await connectDirectly(haft, {});
  const controller = new AbortController();
  const calling = client.callTool(CALL, { signal: controller.signal });
  const id = await firstQuestion(haft);
  controller.abort(new Error("never mind"));
  await expect(calling).rejects.toThrow("never mind");
  await vi.waitFor(async () => expect((await haft.approvals.get(id))?.state).toBe("cancelled"));
  await expect(haft.approvals.approve(id)).rejects.toThrow(/was cancelled/);
  expect(sent).toEqual([]);
});

describe("the request state of a modern client", () => {
  const YES = { approval: { action: "accept", content: { decision: "once" } } };

  async function ask(options: Omit<HaftOptions, "clock"> = {}) {
    const world = createWorld(options);
    const served = await serveOverHttp(world.haft);
    const { result } = await post(served.url, { params: CALL });
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { approval: { method: "elicitation/create" } },
    });
    return { ...world, ...served, requestState: result!["requestState"] as string };
  }

  test.each([
    [
      "of somebody else",
      (state: string) => ({ as: "bob", params: { ...CALL, requestState: state, inputResponses: YES } }),
    ],
    [
      "with other arguments",
      (state: string) => ({
        params: { ...CALL, arguments: { text: "spam" }, requestState: state, inputResponses: YES },
      }),
    ],
    [
      "changed",
      (state: string) => ({ params: { ...CALL, requestState: `${state.slice(0, -2)}AA`, inputResponses: YES } }),
    ],
    [
      "with something behind it",
      (state: string) => ({ params: { ...CALL, requestState: `${state}.AA`, inputResponses: YES } }),
    ],
    ["made up", () => ({ params: { ...CALL, requestState: "e30.e30", inputResponses: YES } })],
  ])("is refused %s", async (_how, request) => {
    const { url, sent, haft, requestState } = await ask();
    const answer = await post(url, request(requestState));
    expect(answer.error).toMatchObject({ code: -32_602, message: "Invalid or expired requestState" });
    expect(sent).toEqual([]);
    expect(await haft.approvals.list("pending")).toHaveLength(1);
  });

  test("is invalid after the question has expired", async () => {
    const { url, sent, haft, requestState } = await ask();
    await haft.clock.advance(25 * 60 * 60_000);
    const { error } = await post(url, { params: { ...CALL, requestState, inputResponses: YES } });
    expect(error?.code).toBe(-32_602);
    expect(sent).toEqual([]);
  });

  test.each(GATES)(
    "lets the call run once, even if it is sent several times, before a gate that %s",
    async (_gate, options) => {
      const { url, sent, requestState } = await ask(options);
      const again = { params: { ...CALL, requestState, inputResponses: YES } };
      const all = await Promise.all([post(url, again), post(url, again), post(url, again)]);
      all.push(await post(url, again));
      expect(sent).toEqual(["hello"]);
      for (const { result } of all) expect(result).toMatchObject({ content: [{ text: "sent hello" }] });
    },
  );

  test("approves only if the question was answered, not if the call was merely repeated", async () => {
    const { url, sent, requestState } = await ask();
    const { result } = await post(url, { params: { ...CALL, requestState } });
    expect(result).toMatchObject({ resultType: "input_required" });
    // Unrequested answers: a client may send anything.
    expect((await post(url, { params: { ...CALL, inputResponses: YES } })).result).toMatchObject({
      resultType: "input_required",
    });
    expect(sent).toEqual([]);
  });

  test("does not keep others from running the call after they answered it", async () => {
    const { url, sent, haft, requestState } = await ask();
    const [question] = await haft.approvals.list("pending");
    expect(await haft.approvals.approve(question!.id)).toMatchObject({ status: "completed" });
    expect(sent).toEqual(["hello"]);
    const { result } = await post(url, { params: { ...CALL, requestState } });
    expect(result).toMatchObject({ content: [{ text: "sent hello" }] });
    expect(sent).toEqual(["hello"]);
  });

  test("is valid after a restart with the same key", async () => {
    const stateKey = new Uint8Array(32).fill(7);
    const { haft, sent } = createWorld();
    const first = await serveOverHttp(haft, { stateKey });
    const { result } = await post(first.url, { params: CALL });
    const second = await serveOverHttp(haft, { stateKey });
    const requestState = result!["requestState"];
    expect((await post(second.url, { params: { ...CALL, requestState, inputResponses: YES } })).result).toMatchObject({
      content: [{ text: "sent hello" }],
    });
    const third = await serveOverHttp(haft);
    expect((await post(third.url, { params: { ...CALL, requestState, inputResponses: YES } })).error?.code).toBe(
      -32_602,
    );
    expect(sent).toEqual(["hello"]);
  });
});

/** Advances the clock until the call no longer waits. */
async function passTime(haft: TestHaft, calling: Promise<unknown>, ms: number): Promise<void> {
  let isHeld = true;
  void calling.finally(() => (isHeld = false));
  await vi.waitFor(async () => {
    await haft.clock.advance(ms);
    expect(isHeld).toBe(false);
  });
}

async function firstQuestion(haft: TestHaft): Promise<string> {
  await vi.waitFor(async () => expect(await haft.approvals.list("pending")).toHaveLength(1));
  return (await haft.approvals.list("pending"))[0]!.id;
}
