import { describe, expect, test } from "vitest";
import { createTool } from "haft";
import { createConversationTools } from "haft/workspace";
import { z } from "zod";
import { openCheckedClient } from "./checked-client.ts";
import { ask as send, openTestServer } from "./open-server.ts";

async function ask(times = 1, haft: NonNullable<Parameters<typeof openTestServer>[0]>["haft"] = {}) {
  const api = await openTestServer({ haft });
  const caller = await openCheckedClient(api, "call");
  const person = await openCheckedClient(api, "read", "approve");
  const ids: string[] = [];
  for (let i = 0; i < times; i++) {
    const requested = await caller.calls.execute({
      tool: "keep",
      input: { text: `hello ${i}` },
      id: `keep ${i}`,
      session: "s",
    });
    ids.push(requested.status === "pending" ? requested.pending.id : "");
  }
  return { api, caller, person, ids, id: ids[0]! };
}

describe("an approval", () => {
  test("is shown with everything that would run, its caller and its end", async () => {
    const { person, id } = await ask();
    const shown = await person.approvals.get(id);
    expect(shown).toMatchObject({
      id,
      callId: "keep 0",
      toolName: "keep",
      kind: "write",
      input: { text: "hello 0" },
      caller: { user: "call", session: "s" },
      state: "pending",
    });
    expect(shown.expiresAt).toBeGreaterThan(shown.askedAt);
    expect(shown.hash).toBeTruthy();
    expect((await person.approvals.list({ state: "pending" })).items).toEqual([shown]);
    const { input, verdict, cwd, preview, hash, steps, rule, ruleExamples, grants, ...brief } = shown;
    expect((await person.approvals.list({ state: "pending", brief: true })).items).toEqual([{ ...brief, input: null }]);
    expect([input, verdict, cwd, hash]).not.toContain(undefined);
    expect([preview, steps, rule, ruleExamples]).toHaveLength(4);
    expect(grants).toMatchObject([
      { scope: "session", rules: ['keep(text=="hello 0")'], isBroader: false },
      { scope: "session", rules: ["keep"], isBroader: true },
      { scope: "always", isBroader: false },
      { scope: "always", isBroader: true },
    ]);
    expect(grants![0]!.sentence).toBe(
      'call (session s) may call keep with text "hello 0" and nothing else, without asking, in this session, for 12 hours at most.',
    );
  });

  test("is listed in pages, newest first, with how many there are", async () => {
    const { person, ids } = await ask(5);
    const first = await person.approvals.list({ state: "pending", limit: 2 });
    await person.approvals.answer(first.items[0]!.id, { decision: "deny" });
    const second = await person.approvals.list({ state: "pending", limit: 2, cursor: first.next });
    const last = await person.approvals.list({ state: "pending", limit: 2, cursor: second.next });
    const all = [first, second, last];
    expect(all.map(({ items }) => items.length)).toEqual([2, 2, 1]);
    expect(all.map(({ total }) => total)).toEqual([5, 4, 4]);
    expect(new Set(all.flatMap(({ items }) => items.map(({ id }) => id)))).toEqual(new Set(ids));
    expect(last.next).toBeUndefined();
    expect(await person.approvals.list({ state: "denied" })).toMatchObject({ items: [{ id: first.items[0]!.id }] });
    await expect(person.approvals.list({ cursor: "elsewhere" })).rejects.toMatchObject({ status: 400 });
  });

  test("says in a sentence what a rule of one's own would allow, to those who may approve, and saves nothing", async () => {
    const { api, person, caller, id } = await ask();
    const own = await person.approvals.grant(id, { scope: "always", rule: "keep(text==he*)" });
    expect(own).toMatchObject({ scope: "always", rules: ["keep(text==he*)"], isBroader: true });
    expect(own.sentence).toMatch(
      /^Every caller .* may call keep with text==he\* and nothing else, without asking, until/,
    );
    const offered = await person.approvals.grant(id, { scope: "session", rule: 'keep(text=="hello 0")' });
    expect(offered).toEqual((await person.approvals.get(id)).grants![0]);
    for (const rule of ["keep(", "keep(text==)", "effect:delete>1", "\n"])
      await expect(person.approvals.grant(id, { scope: "session", rule })).rejects.toMatchObject({ status: 400 });
    await expect(caller.approvals.grant(id, { scope: "session", rule: "keep" })).rejects.toMatchObject({ status: 403 });
    expect(await api.haft.policy.grants.list()).toEqual([]);
    expect((await person.approvals.get(id)).state).toBe("pending");
  });

  test("that is given runs the call once for its caller, and names who answered", async () => {
    const { api, person, caller, id } = await ask();
    const answered = await person.approvals.answer(id, { decision: "once" });
    expect(answered).toMatchObject({
      approval: { state: "approved", answeredBy: "read+approve" },
      result: { status: "completed" },
    });
    expect(api.runs).toEqual([{ text: "hello 0" }]);
    await expect(person.approvals.answer(id, { decision: "deny" })).rejects.toMatchObject({
      status: 409,
      code: "conflict",
    });
    expect(
      await caller.calls.execute({ tool: "keep", input: { text: "hello 0" }, id: "keep 0", session: "s" }),
    ).toMatchObject({
      status: "completed",
    });
    expect(api.runs).toHaveLength(1);
    expect(await person.calls.get("keep 0")).toMatchObject({
      status: "completed",
      approvalId: id,
      askedAt: expect.any(Number),
    });
  });

  test("that is denied gives the model the reason, and nothing runs", async () => {
    const { api, person, id } = await ask();
    const { result } = await person.approvals.answer(id, { decision: "deny", reason: "not on a Friday" });
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "approval_denied", message: expect.stringContaining("not on a Friday") },
    });
    expect(api.runs).toEqual([]);
    expect((await person.approvals.list({ state: "denied" })).items).toMatchObject([{ id, note: "not on a Friday" }]);
  });

  test("that does not exist is not found", async () => {
    const { person } = await ask();
    await expect(person.approvals.get("apr_made_up")).rejects.toMatchObject({ status: 404 });
    await expect(person.approvals.answer("apr_made_up", { decision: "once" })).rejects.toMatchObject({ status: 404 });
  });

  test("for the session shows the rule that it saves, and similar calls need none", async () => {
    const { api, person, caller, id } = await ask();
    const { rule } = await person.approvals.get(id);
    expect(rule).toBeTruthy();
    expect(await person.approvals.answer(id, { decision: "session" })).toMatchObject({
      rule,
      result: { status: "completed" },
    });
    const again = (text: string, session: string) =>
      caller.calls.execute({ tool: "keep", input: { text }, session }).then(({ status }) => status);
    expect(await again("hello 0", "s")).toBe("completed");
    expect(await again("hello 0", "other")).toBe("pending");
    expect(await again("another", "s")).toBe("pending");
    expect(api.runs).toHaveLength(2);
  });

  test("cannot be given with an invalid rule", async () => {
    const { api, person, id } = await ask();
    await expect(person.approvals.answer(id, { decision: "always", rule: "keep(" })).rejects.toMatchObject({
      status: 400,
    });
    expect(await person.approvals.get(id)).toMatchObject({ state: "pending" });
    expect(api.runs).toEqual([]);
  });

  test("several are answered together, each on its own", async () => {
    const { api, person, ids } = await ask(3);
    const { items } = await person.approvals.answerMany({
      answers: [
        { id: ids[0]!, decision: "once" },
        { id: "apr_made_up", decision: "once" },
        { id: ids[2]!, decision: "deny", reason: "no" },
      ],
    });
    expect(items).toMatchObject([
      { id: ids[0], answered: { result: { status: "completed" } } },
      { id: "apr_made_up", error: { code: "not_found" } },
      { id: ids[2], answered: { approval: { state: "denied" } } },
    ]);
    expect(api.runs).toEqual([{ text: "hello 0" }]);
    expect((await person.approvals.list({ state: "pending" })).items.map(({ id }) => id)).toEqual([ids[1]]);
  });
});

describe("what is not shown", () => {
  const show = { approvals: { maxShownBytes: 40 }, tools: [] };
  const long = (text: string) => text + "x".repeat(100);

  test("is approved only with a second step, alone and among several", async () => {
    const api = await openTestServer({ haft: show });
    const caller = await openCheckedClient(api, "read", "call");
    const person = await openCheckedClient(api, "read", "approve");
    const ids: string[] = [];
    for (const text of ["a", "b"]) {
      const requested = await caller.calls.execute({ tool: "keep", input: { text: long(text) }, session: "s" });
      ids.push(requested.status === "pending" ? requested.pending.id : "");
    }
    const [one = "", other = ""] = ids;
    expect((await person.approvals.get(one)).unseen).toMatch(/^Not shown: a part of the arguments/);
    expect((await person.approvals.list({ state: "pending", brief: true })).items[0]?.unseen).toBeTruthy();
    for (const decision of ["once", "session", "always"] as const)
      await expect(person.approvals.answer(one, { decision })).rejects.toMatchObject({ status: 400 });
    const { items } = await person.approvals.answerMany({
      answers: [
        { id: one, decision: "once" },
        { id: other, decision: "once", confirmUnshown: true },
      ],
    });
    expect(items).toMatchObject([
      { id: one, error: { code: "invalid_input" } },
      { id: other, answered: { result: { status: "completed" } } },
    ]);
    expect(api.runs).toEqual([{ text: long("b") }]);
    expect(JSON.parse(await person.approvals.input(one))).toEqual({ text: long("a") });
  });

  test("is given to approvers only: a caller sees that its call waits", async () => {
    const lines = Array.from({ length: 3000 }, (_, at) => `line ${at}`).join("\n");
    const tool = createTool({
      name: "look_first",
      description: "Shows a preview.",
      parameters: z.object({}),
      permission: "confirm",
      preview: async () => ({ title: "t", content: [{ type: "text", text: lines }], output: "PRINTED" }),
      run: () => "done",
    });
    const api = await openTestServer({ haft: { approvals: { maxShownBytes: 4000 }, tools: [tool] } });
    const caller = await openCheckedClient(api, "read", "call");
    const person = await openCheckedClient(api, "read", "approve");
    const requested = await caller.calls.execute({ tool: "look_first", input: {} });
    const id = requested.status === "pending" ? requested.pending.id : "";
    const seen = [
      requested,
      await caller.approvals.get(id),
      await caller.approvals.list(),
      await caller.approvals.result(id),
      await caller.calls.get(requested.callId),
    ];
    expect(JSON.stringify(seen)).not.toMatch(/line 1|PRINTED|Not shown/);
    for (const read of ["preview", "previewText", "input"] as const)
      await expect(caller.approvals[read](id)).rejects.toMatchObject({ status: 403 });
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const part = await person.approvals.preview(id, { offset, limit: 5000 });
      parts.push(part.text);
      offset = part.next;
    }
    const whole = await person.approvals.previewText(id);
    expect(parts.join("")).toBe(whole);
    expect(whole).toContain("line 2999");
    expect(whole).toContain("| PRINTED");
    expect(await person.approvals.preview(id, { offset: 10 ** 9 })).toMatchObject({ text: "", total: whole.length });
  });
});

describe("a denial", () => {
  test("is stored with the transport that it came through", async () => {
    const { api, person, id } = await ask();
    expect(await person.approvals.answer(id, { decision: "deny", reason: "not now" })).toMatchObject({
      approval: { state: "denied", answeredBy: "read+approve", note: "not now" },
    });
    expect(await api.haft.approvals.get(id)).toMatchObject({ state: "denied", answeredVia: "http" });
  });
});

test("answers to questions are shown to the person who was asked, and to administrators", async () => {
  const api = await openTestServer({ haft: { tools: createConversationTools() } });
  const asked = await openCheckedClient(api, "read", "call", "approve");
  const input = { questions: [{ question: "Why?" }] };
  const requested = await asked.calls.execute({ tool: "ask_user", input, id: "q" });
  const id = requested.status === "pending" ? requested.pending.id : "";
  const other = await openCheckedClient(api, "read", "approve");
  const given = { decision: "answer" as const, answers: [{ text: "for ada only" }] };
  await expect(other.approvals.answer(id, given)).rejects.toMatchObject({ status: 403 });
  expect(await asked.approvals.answer(id, given)).toMatchObject({ approval: { answers: given.answers } });
  const seen = async (client: typeof asked) =>
    JSON.stringify([
      await client.approvals.get(id),
      await client.approvals.list({}),
      await client.approvals.list({ brief: true }),
      await client.approvals.result(id),
      await client.calls.list({}),
      await client.calls.tree("q"),
      await client.calls.get("q"),
    ]).split("for ada only").length - 1;
  expect(await seen(other)).toBe(0);
  expect(await seen(asked)).toBeGreaterThan(4);
  expect(await seen(await openCheckedClient(api, "read", "admin"))).toBeGreaterThan(4);
});

test("an id that no store could keep is refused, in an address, a query and a batch", async () => {
  const { api, person } = await ask();
  const token = await api.tokenFor("read");
  expect(await send(api, "GET", "/api/approvals/%00", { token })).toMatchObject({ status: 400 });
  expect(await send(api, "GET", "/api/calls?tool=%00", { token })).toMatchObject({ status: 400 });
  expect(await send(api, "GET", "/api/approvals/%00")).toMatchObject({ status: 401 });
  const { items } = await person.approvals.answerMany({ answers: [{ id: "\0", decision: "once" }] });
  expect(items).toMatchObject([{ error: { code: "not_found" } }]);
});
