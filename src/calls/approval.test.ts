import { describe, expect, test } from "vitest";
import { aQuestion } from "./approval.fixture.ts";
import {
  type ApprovalAnswer,
  conflictOf,
  isAsked,
  isOneLine,
  isSameAnswer,
  missingConfirmation,
  readAnswer,
  requireRight,
  toApproval,
} from "./approval.ts";
import { type Question, type StoredCall, take } from "./stored-call.ts";

const QUESTIONS = [{ question: "Which?", options: [{ label: "a" }, { label: "b" }] }];
const ask = (question: Partial<Question> = {}, more: Partial<StoredCall> = {}): StoredCall => {
  const row = aQuestion({ id: "q", ...more });
  return { ...row, question: { ...row.question!, ...question } };
};

test("an approval that became a job has times that can be shown, also while a worker has the job", () => {
  const job = { id: "j", seq: 1, priority: 0, runAt: 5, attempt: 0, attempts: 1, round: 1 };
  const queued = aQuestion({ state: "approved", answeredAt: 5_000, deadline: undefined, job });
  const taken = { ...queued, ...take("me", "worker")(queued, 6_000) };
  for (const row of [queued, taken]) {
    expect(toApproval(row)).toMatchObject({ expiresAt: 5_000, waitsUntil: undefined });
  }
  expect(taken.holder).toBe("me");
});

describe("who may answer", () => {
  const mayAnswer = (row: StoredCall, answer: Partial<ApprovalAnswer>) =>
    requireRight(row, { approved: true, ...answer }).then(
      () => "yes",
      (error: Error) => error.message,
    );

  test("an approval needs the right to approve, if the rights are known", async () => {
    expect(await mayAnswer(ask(), {})).toBe("yes");
    expect(await mayAnswer(ask(), { rights: ["approve"] })).toBe("yes");
    expect(await mayAnswer(ask(), { rights: ["read", "call", "admin"] })).toContain('needs the right "approve"');
    expect(await mayAnswer(ask(), { rights: [], via: "mail" })).toContain("also through mail");
    expect(await mayAnswer(ask(), { rights: [] })).not.toContain("through");
  });

  test("a question is answered by its user or an administrator, who also need the right to approve", async () => {
    const ofAnn = ask({ questions: QUESTIONS }, { caller: { user: "ann", depth: 0 } });
    const ofNobody = ask({ questions: QUESTIONS }, { caller: { depth: 0 } });
    expect(await mayAnswer(ofAnn, { rights: ["approve"], by: "ann" })).toBe("yes");
    expect(await mayAnswer(ofAnn, { rights: ["approve", "admin"], by: "bob" })).toBe("yes");
    expect(await mayAnswer(ofAnn, { rights: ["approve"], by: "bob" })).toMatch(/question "q".*addressed to ann/);
    expect(await mayAnswer(ofAnn, { rights: ["approve"] })).toContain("addressed to ann");
    expect(await mayAnswer(ofAnn, { rights: ["admin"], by: "ann" })).toContain('needs the right "approve"');
    expect(await mayAnswer(ofNobody, { rights: ["approve"] })).toContain('needs the right "admin"');
    expect(await mayAnswer(ofNobody, { rights: ["approve", "admin"] })).toBe("yes");
    expect(await mayAnswer(ask({}, { caller: { user: "ann", depth: 0 } }), { rights: ["approve"], by: "bob" })).toBe(
      "yes",
    );
  });

  test("a caller without a user is nobody's, also not of a person without a name", () => {
    expect(isAsked({ depth: 0 }, { rights: ["approve"] })).toBe(false);
    expect(isAsked({ depth: 0 }, { by: undefined, rights: ["admin"] })).toBe(true);
    expect(isAsked({ user: "ann", depth: 0 }, { by: "ann", rights: [] })).toBe(true);
    expect(isAsked({ user: "ann", depth: 0 }, { by: "bob", rights: [] })).toBe(false);
  });

  test("the host has the last word", async () => {
    const refuse = () => "it is night";
    await expect(requireRight(ask(), { approved: true }, refuse)).rejects.toThrow(/approval "q" .*: it is night/);
    await expect(requireRight(ask(), { approved: true }, () => undefined)).resolves.toBeUndefined();
    await expect(requireRight(ask(), { approved: true, rights: [] }, () => undefined)).rejects.toThrow("approve");
  });
});

describe("what an answer grants", () => {
  const read = (answer: Partial<ApprovalAnswer>, question: Partial<Question> = {}) =>
    readAnswer(ask({ suggestedRules: ["rm(a)"], ...question }), { approved: true, ...answer });

  test("a plain yes is for one call, and a no grants nothing", () => {
    expect(read({})).toEqual({ approved: true, scope: "once" });
    expect(read({ approved: false, scope: "always", by: "ann", via: "http", reason: "no" })).toEqual({
      ...{ approved: false, by: "ann", via: "http", reason: "no" },
    });
    expect(() => read({ rule: "rm" })).toThrow('the scope is "once"');
  });

  test("a wider scope has the suggested rules, or others, which are marked", () => {
    for (const scope of ["session", "always"] as const) {
      expect(read({ scope })).toEqual({ approved: true, scope, rules: ["rm(a)"] });
      expect(read({ scope, rule: "rm(a)" })).toEqual({ approved: true, scope, rules: ["rm(a)"] });
      expect(read({ scope, rule: ["rm(a)", "rm(b)"], confirmBroader: true })).toMatchObject({
        ...{ scope, rules: ["rm(a)", "rm(b)"], rulesEdited: true },
      });
    }
    expect(() => read({ scope: "forever" as never })).toThrow('"forever" is not a scope');
  });

  test("without a suggested rule only what was offered can be granted", () => {
    const grant = { sentence: "", key: "", values: {}, isBroader: false };
    const offered = { suggestedRules: [], grants: [{ ...grant, scope: "session" as const, rules: ["rm(a)"] }] };
    expect(read({ scope: "session", rule: "rm(a)", confirmBroader: true }, offered)).toMatchObject({
      rules: ["rm(a)"],
    });
    for (const answer of [
      { scope: "always", rule: "rm(a)" },
      { scope: "session", rule: "rm(b)" },
      { scope: "session" },
    ]) {
      expect(() => read({ ...answer, confirmBroader: true } as ApprovalAnswer, offered)).toThrow(
        "only be approved once",
      );
    }
    expect(() => read({ scope: "session" }, { suggestedRules: [], grants: undefined })).toThrow(
      "only be approved once",
    );
  });

  test("a rule is one line of text", () => {
    for (const rule of ["", "  ", [], ["rm(a)", ""], [1] as never]) {
      expect(() => read({ scope: "always", rule, confirmBroader: true })).toThrow("empty rule");
    }
    for (const end of ["\r", "\n", "\0", "\u2028", "\u2029"]) {
      expect(isOneLine(`a${end}b`)).toBe(false);
      expect(() => read({ scope: "always", rule: ["rm(a)", `a${end}b`], confirmBroader: true })).toThrow(
        "several lines",
      );
    }
    expect(isOneLine("a b\t")).toBe(true);
  });

  test("a rule that allows more than what was shown needs a second step if the risk is high", () => {
    const broader = { approved: true, scope: "always", rule: "rm" } as const;
    const missing = (level: string | undefined, answer: ApprovalAnswer = broader) => {
      const summary = level === undefined ? undefined : ({ risk: { level } } as never);
      return missingConfirmation(ask({ suggestedRules: ["rm(a)"], summary }), answer)?.why;
    };
    for (const level of ["high", "critical", undefined]) {
      expect(missing(level)).toContain("allows more");
      expect(missing(level, { ...broader, scope: "session", rule: ["rm(a)", "rm"] })).toContain("allows more");
      expect(missing(level, { ...broader, confirmBroader: true })).toBeUndefined();
      expect(missing(level, { ...broader, rule: "rm(a)" })).toBeUndefined();
      expect(missing(level, { ...broader, rule: undefined })).toBeUndefined();
      expect(missing(level, { ...broader, approved: false })).toBeUndefined();
      expect(missing(level, { approved: true, rule: "rm" })).toBeUndefined();
      expect(missing(level, { ...broader, scope: "once" })).toBeUndefined();
    }
    for (const level of ["low", "medium"]) expect(missing(level)).toBeUndefined();
    expect(() => read({ scope: "always", rule: "rm" })).toThrow("allows more");
  });

  test("what was not shown is approved only by a person who was told", () => {
    const preview = { title: "t", content: [], unshown: "the rest" };
    for (const question of [{ unseen: "Not shown: the rest." }, { preview }] as Partial<Question>[]) {
      expect(() => read({}, question)).toThrow("plain yes. Not shown: the rest.");
      expect(() => read({ confirmUnshown: "yes" as never }, question)).toThrow("plain yes");
      expect(read({ confirmUnshown: true }, question)).toMatchObject({ approved: true });
      expect(read({ approved: false }, question)).toEqual({ approved: false });
    }
  });

  test("a question is answered, not approved, and grants nothing", () => {
    const asked = { questions: QUESTIONS };
    const answers = [{ choices: ["a"] }];
    expect(read({ answers }, asked)).toMatchObject({ approved: true, scope: "once", answers: [{ choices: ["a"] }] });
    expect(read({ answers, scope: "once" }, asked)).not.toHaveProperty("rules");
    expect(() => read({}, asked)).toThrow("approving does not answer it");
    expect(() => read({ answers: [{ choices: ["c"] }] }, asked)).toThrow("is not one of the options");
    expect(() => read({ answers, scope: "always" }, asked)).toThrow("allows no further calls");
    expect(() => read({ answers, rule: "rm" }, asked)).toThrow("allows no further calls");
    expect(() => read({ answers, approved: false }, asked)).toThrow("dismissed");
    expect(read({ approved: false }, asked)).toEqual({ approved: false });
    expect(() => read({ answers })).toThrow("needs approval, not answers");
    expect(missingConfirmation(ask({ ...asked, unseen: "x" }), { approved: true })).toBeUndefined();
  });
});

describe("a second answer", () => {
  const answered = (answer: StoredCall["answer"], question: Partial<Question> = {}) => ask(question, { answer });

  test("is the same if it says the same, or less", () => {
    const always = answered({ approved: true, scope: "always", rules: ["rm(a)"] });
    expect(isSameAnswer(ask(), { approved: true })).toBe(false);
    expect(isSameAnswer(always, { approved: true })).toBe(true);
    expect(isSameAnswer(always, { approved: false })).toBe(false);
    expect(isSameAnswer(always, { approved: true, scope: "always", rule: "rm(a)" })).toBe(true);
    expect(isSameAnswer(always, { approved: true, scope: "once" })).toBe(false);
    expect(isSameAnswer(always, { approved: true, rule: "rm(b)" })).toBe(false);
    expect(isSameAnswer(always, { approved: true, rule: ["rm(a)", "rm(b)"] })).toBe(false);
    expect(isSameAnswer(answered({ approved: true, scope: "once" }), { approved: true, rule: "rm" })).toBe(false);
    expect(isSameAnswer(answered({ approved: true, scope: "once" }), { approved: true, rule: [] })).toBe(true);
    expect(isSameAnswer(answered({ approved: false }), { approved: false, scope: "always", rule: "x" })).toBe(true);
  });

  test("to a question is the same if the choices and the text are, in any order", () => {
    const questions = [{ question: "Which?", options: [{ label: "a" }, { label: "b" }], multiple: true }] as never;
    const row = ask({ questions });
    const first = readAnswer(row, { approved: true, answers: [{ choices: ["a", "b"], text: "x" }] });
    // Secrets were removed from what is shown.
    const kept = { ...row, answer: { ...first, answers: [{ choices: ["a", "b"], text: "[secret]" }] } };
    const same = (answers: unknown) => isSameAnswer(kept, { approved: true, answers: answers as never });
    expect(same([{ choices: ["b", "a", "a"], text: " x " }])).toBe(true);
    expect(same([{ choices: ["a", "b"], text: "[secret]" }])).toBe(true);
    for (const other of [
      [{ choices: ["a"], text: "x" }],
      [{ choices: ["a", "b"] }],
      [],
      "x",
      [null],
      [{ text: "x" }],
    ]) {
      expect(same(other)).toBe(false);
    }
    expect(
      isSameAnswer({ ...kept, id: "other" }, { approved: true, answers: [{ choices: ["a", "b"], text: "x" }] }),
    ).toBe(false);
    // It is compared, not read again.
    expect(readAnswer(kept, { approved: true, answers: [{ choices: ["gone"] }] })).toMatchObject({ approved: true });
  });

  test.each([
    [{ state: "approved", answer: { approved: true, by: "ann" } }, 'Approval "q" was already approved by ann (once).'],
    [{ state: "approved", answer: { approved: true, scope: "always" } }, "was already approved (always)."],
    [{ state: "running", answer: { approved: true } }, "was already approved (once), and the call is running."],
    [{ state: "ended", outcome: "completed" }, "was already approved (once), and the call has completed."],
    [{ state: "ended", outcome: "unknown" }, "and the outcome of the call is unknown."],
    [
      { state: "ended", outcome: "denied", answer: { approved: false, by: "ann" }, note: "no" },
      "already denied by ann: no.",
    ],
    [{ state: "ended", outcome: "expired", note: "late" }, "has expired: late."],
    [{ state: "ended", outcome: "cancelled" }, "was cancelled."],
    [{ state: "ended", outcome: "changed" }, "is out of date"],
  ] as [Partial<StoredCall>, string][])("that differs is told what became of the first: %j", (more, message) => {
    expect(conflictOf(ask({}, more))).toMatchObject({ code: "conflict", message: expect.stringContaining(message) });
  });

  test("to a question is told the first answer", () => {
    const questions = QUESTIONS;
    const said = { approved: true, by: "ann", answers: [{ choices: ["a"] }] };
    expect(conflictOf(ask({ questions }, { answer: said })).message).toMatch(
      /^Question "q" was already answered by ann: .*a/,
    );
    const dismissed = { state: "ended", outcome: "denied", answer: { approved: false } } as const;
    expect(conflictOf(ask({ questions }, dismissed)).message).toContain('Question "q" was already dismissed.');
  });
});

test.each([
  [{ state: "waiting" }, "pending"],
  [{ state: "approved" }, "approved"],
  [{ state: "running" }, "approved"],
  [{ state: "suspended" }, "approved"],
  ...(["denied", "expired", "cancelled", "changed"] as const).map((outcome) => [{ state: "ended", outcome }, outcome]),
  [{ state: "ended", outcome: "completed", answer: { approved: true } }, "approved"],
  [{ state: "ended", outcome: "unknown", answer: { approved: false } }, "denied"],
  [{ state: "ended", outcome: "failed" }, "denied"],
] as [Partial<StoredCall>, string][])("the approval of a call that is %j is %s", (more, state) => {
  expect(toApproval(ask({}, more)).state).toBe(state);
});

test("an approval shows who waits, what was answered and why, and a call without a question has none", () => {
  const answer = { approved: true, by: "ann", via: "http", reason: "fine", scope: "always", rules: ["r"] } as const;
  const row = ask({}, { holder: "p", holdUntil: 7, answer, answeredAt: 5, deadline: undefined });
  expect(toApproval(row)).toMatchObject({
    ...{
      answeredBy: "ann",
      answeredVia: "http",
      note: "fine",
      scope: "always",
      rules: ["r"],
      waitsUntil: 7,
      expiresAt: 5,
    },
  });
  expect(toApproval(row)).not.toHaveProperty("round");
  expect(toApproval({ ...row, note: "late", holder: undefined })).toMatchObject({
    note: "late",
    waitsUntil: undefined,
  });
  expect(toApproval(ask({}, { deadline: undefined, createdAt: 3 })).expiresAt).toBe(3);
  expect(toApproval(ask({}, { deadline: 9, answeredAt: 5 })).expiresAt).toBe(9);
  expect(() => toApproval({ ...row, question: undefined })).toThrow("has no question");
});
