import { describe, expect, test, vi } from "vitest";
import { textOf } from "../../core/content.ts";
import type { createHaft } from "../../runtime.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createConversationTools } from "../tool-families.ts";

const DATABASE = { question: "Which database?", options: [{ label: "PostgreSQL" }, { label: "SQLite" }] };
const PARTS = {
  question: "Which parts?",
  options: [{ label: "api" }, { label: "cli" }, { label: "docs" }],
  multiple: true,
};
const REASON = { question: "Why?" };

function open(options: Parameters<typeof createHaft>[0] = {}) {
  return createTestHaft({ ...options, tools: createConversationTools() });
}

async function ask(haft: ReturnType<typeof open>, questions: readonly object[], call = {}) {
  const result = await haft.execute("ask_user", { questions }, call);
  return { result, id: result.status === "pending" ? result.pending.id : "" };
}

describe("ask_user", () => {
  test("answers with the choices and the text of the person, each in its question's place", async () => {
    const haft = open();
    const { id } = await ask(haft, [DATABASE, PARTS, { ...REASON, header: "Reason" }]);
    const answers = [{ choices: ["SQLite"] }, { choices: ["docs", "api"] }, { text: "  less to run \n" }];
    expect(await haft.approvals.answer(id, answers, "ada")).toMatchObject({
      status: "completed",
      content: [
        { text: "The user answered:\n- Which database? → SQLite\n- Which parts? → api, docs\n- Reason → less to run" },
      ],
      details: {
        answers: [{ choices: ["SQLite"] }, { choices: ["api", "docs"] }, { text: "less to run" }],
        answeredBy: "ada",
      },
    });
  });

  test.each([
    [[DATABASE], [], /Got 0 answers, expected 1/],
    [[DATABASE], [{}], /No option was chosen and no text was written/],
    [[DATABASE], [{ text: "  " }], /No option was chosen and no text was written/],
    [[DATABASE], [{ choices: ["Oracle"] }], /"Oracle" is not one of the options.*choose one of "PostgreSQL", "SQLite"/],
    [[DATABASE], [{ choices: ["PostgreSQL", "SQLite"] }], /Only one option/],
    [[{ ...DATABASE, free_text: false }], [{ text: "Oracle" }], /does not accept text/],
    [[REASON], [{ choices: ["a"] }], /answer with text/],
    [[REASON], [{ text: "x".repeat(4001) }], /4001 characters; the maximum is 4000/],
    [[REASON], [{ choices: "a" }], /a list of labels/],
    [[REASON], ["because"], /No option was chosen/],
  ])("refuses wrong answer %#, and stays open", async (questions, answers, problem) => {
    const haft = open();
    const { id } = await ask(haft, questions);
    await expect(haft.approvals.answer(id, answers as never)).rejects.toThrow(problem);
    expect(await haft.approvals.get(id)).toMatchObject({ state: "pending" });
  });

  test("an answer grants nothing", async () => {
    const haft = open();
    const { id } = await ask(haft, [DATABASE]);
    const answers = [{ choices: ["SQLite"] }];
    await expect(haft.approvals.approve(id, { answers, scope: "always" })).rejects.toThrow("allows no further calls");
    await expect(haft.approvals.approve(id, { answers, scope: "session", rule: "ask_user" })).rejects.toThrow(
      "allows no further",
    );
    await haft.approvals.answer(id, answers);
    expect(await ask(haft, [DATABASE])).toMatchObject({ result: { status: "pending" } });
    haft.register({
      name: "write",
      description: "Writes",
      kind: "write",
      parameters: [],
      permission: "confirm",
      run: () => 1,
    });
    const write = await haft.execute("write", {});
    if (write.status !== "pending") throw new Error(write.display);
    await expect(haft.approvals.answer(write.pending.id, answers)).rejects.toThrow("needs approval, not answers");
    expect(await haft.approvals.get(write.pending.id)).toMatchObject({ state: "pending" });
  });

  test("the first answer counts, the same one again changes nothing, another one learns which", async () => {
    const haft = open();
    const { id } = await ask(haft, [DATABASE]);
    const both = await Promise.allSettled([
      haft.approvals.answer(id, [{ choices: ["SQLite"] }], "ada"),
      haft.approvals.answer(id, [{ choices: ["PostgreSQL"] }], "bob"),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const { answers, answeredBy } = (await haft.approvals.get(id))!;
    const lost = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    expect(String(lost.reason)).toContain(`already answered by ${answeredBy}: ${answers![0]!.choices![0]!}`);
    expect(await haft.approvals.answer(id, answers!)).toMatchObject({ status: "completed" });
    await expect(haft.approvals.deny(id)).rejects.toThrow("already answered");
  });

  test("secrets are removed from an answer when the call has ended, and the same answer still counts as the same", async () => {
    const haft = open();
    const token = `ghp_${"a1".repeat(18)}`;
    const login = { question: "Which login?", options: [{ label: "password=hunter22" }, { label: "none" }] };
    const { id } = await ask(haft, [login, REASON]);
    const answers = [{ choices: ["password=hunter22"] }, { text: `use ${token}` }];
    expect((await haft.approvals.answer(id, answers)).display).toContain(token);
    const shown = await haft.approvals.get(id);
    expect(JSON.stringify(shown)).not.toMatch(/hunter22|ghp_/);
    expect(shown?.answers).toEqual([{ choices: ["password=[hidden]"] }, { text: "use [hidden]" }]);
    expect(await haft.approvals.answer(id, answers)).toMatchObject({ status: "completed" });
    expect(await haft.approvals.answer(id, shown!.answers!)).toMatchObject({ status: "completed" });
    const other = [{ choices: ["password=hunter22"] }, { text: `use ghp_${"b2".repeat(18)}` }];
    await expect(haft.approvals.answer(id, other)).rejects.toThrow("already answered");
    await expect(haft.approvals.answer(id, [{ choices: 7 }, null] as never)).rejects.toThrow("already answered");
  });

  test("a question to no user is answered by an administrator", async () => {
    const haft = open();
    const { id } = await ask(haft, [DATABASE]);
    const answers = [{ choices: ["SQLite"] }];
    await expect(haft.approvals.answer(id, answers, { by: "bob", rights: ["approve"] })).rejects.toThrow(
      'needs the right "admin"',
    );
    await expect(haft.approvals.answer(id, answers, { rights: ["approve"] })).rejects.toThrow(
      'needs the right "admin"',
    );
    const admin = { by: "root", rights: ["approve", "admin"] };
    expect(await haft.approvals.answer(id, answers, admin)).toMatchObject({ status: "completed" });
  });

  test("nobody answers for another user, except an administrator", async () => {
    const haft = open();
    const { id } = await ask(haft, [DATABASE], { caller: { user: "ada" } });
    const answers = [{ choices: ["SQLite"] }];
    await expect(haft.approvals.answer(id, answers, { by: "bob", rights: ["approve"] })).rejects.toThrow(
      "it is addressed to ada",
    );
    await expect(haft.approvals.deny(id, "no", { by: "bob", rights: ["approve"] })).rejects.toThrow(
      "it is addressed to ada",
    );
    await expect(haft.approvals.answer(id, answers, { by: "ada", rights: ["call"] })).rejects.toThrow(
      'right "approve"',
    );
    const admin = { by: "root", rights: ["approve", "admin"] };
    expect(await haft.approvals.answer(id, answers, admin)).toMatchObject({ status: "completed" });
  });

  test.each([
    ["a subagent", {}, { caller: { depth: 1 } }, /A subagent cannot ask/],
    ["a call in the mode dontAsk", {}, { mode: "dontAsk" as const }, /mode dontAsk nobody is asked/],
    [
      "a runtime in the mode dontAsk",
      { rules: { defaultMode: "dontAsk" as const } },
      {},
      /mode dontAsk nobody is asked/,
    ],
  ])("%s gets no answer, and decides itself", async (_who, options, call, problem) => {
    const haft = open(options);
    const { result } = await ask(haft, [DATABASE], call);
    expect(result).toMatchObject({ status: "failed", error: { code: "no_answer", actor: "model", retryable: false } });
    expect(result.display).toMatch(problem);
    expect(result.content).toMatchObject([{ text: expect.stringContaining("Decide yourself") }]);
    expect(await haft.approvals.list()).toEqual([]);
  });

  test("nobody is asked in an unattended run", async () => {
    const haft = createTestHaft({ tools: createConversationTools({ isUnattended: true }) });
    expect(await haft.execute("ask_user", { questions: [REASON] })).toMatchObject({ error: { code: "no_answer" } });
  });

  test.each(["bypassPermissions", "acceptEdits", "plan"] as const)("the mode %s answers nothing", async (mode) => {
    expect(await ask(open(), [DATABASE], { mode })).toMatchObject({ result: { pending: { kind: "question" } } });
  });

  test("a rule that allows it answers nothing, and one that denies it counts", async () => {
    expect(await ask(open({ rules: { allow: ["ask_user"] } }), [DATABASE])).toMatchObject({
      result: { status: "pending" },
    });
    expect(await ask(open({ rules: { deny: ["ask_user"] } }), [DATABASE])).toMatchObject({
      result: { status: "failed", error: { code: "denied" } },
    });
  });

  test("silence is no answer", async () => {
    const haft = open({ approvals: { lifetimeMs: 60_000 } });
    const { id } = await ask(haft, [DATABASE]);
    await haft.clock.advance(60_001);
    await expect(haft.approvals.answer(id, [{ choices: ["SQLite"] }])).rejects.toThrow("expired");
    const waiting = open({ approvalWaitMs: 5000 });
    const asked = ask(waiting, [DATABASE]);
    await vi.waitFor(async () => expect(await waiting.approvals.list("pending")).toHaveLength(1));
    await waiting.clock.advance(5000);
    expect((await asked).result).toMatchObject({ status: "failed", error: { code: "no_answer" } });
    expect(textOf((await asked).result.content)).toMatch(
      /Nobody answered the question: .* within 5 s. Decide yourself/,
    );
  });

  test("an approver of the runtime answers at once", async () => {
    const haft = open({
      approver: async ({ questions }) => ({
        approved: true,
        answers: [{ choices: [questions![0]!.options![1]!.label] }],
      }),
    });
    expect(await ask(haft, [DATABASE])).toMatchObject({ result: { status: "completed", display: "SQLite" } });
  });

  test.each([
    [{ approved: true }, /approving does not answer it/],
    [{ approved: true, answers: [{ choices: ["Oracle"] }] }, /"Oracle" is not one of the options/],
    [{ approved: true, answers: [] }, /0 answers/],
  ])("the wrong answer %j of an approver leaves the question open", async (given, problem) => {
    const onWarning = vi.fn();
    const haft = open({ approver: async () => given, onWarning });
    const { result, id } = await ask(haft, [DATABASE]);
    expect(result).toMatchObject({ status: "pending", pending: { kind: "question" } });
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(problem));
    expect(await haft.approvals.answer(id, [{ choices: ["SQLite"] }])).toMatchObject({ display: "SQLite" });
  });

  test.each([
    [{ questions: [] }],
    [{ questions: [REASON, REASON, REASON, REASON, REASON] }],
    [{ questions: [{ question: "Which?", options: [{ label: "a" }, { label: "a" }] }] }],
    [{ questions: [{ question: "Which?", options: [{ label: "Yes" }, { label: "Yes\u200b" }] }] }],
    [{ questions: [{ question: "Which?", options: [{ label: "\u2800" }] }] }],
    [{ questions: [{ question: " " }] }],
    [{ questions: [{ question: "Which?", options: [{ label: "A\n  2. Safe" }] }] }],
    [{ questions: [{ question: "Which?", header: "A\u2028B" }] }],
  ])("refuses the input %j", async (input) => {
    expect(await open().execute("ask_user", input)).toMatchObject({ error: { code: "invalid_input" } });
  });
});
