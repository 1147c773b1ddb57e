// `haft approvals answer` and `haft sessions show` before a real host, in this process.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

const QUESTIONS = [
  { question: "Which parts?\u001b[31m", options: [{ label: "api" }, { label: "docs" }], multiple: true },
  { question: "Why?" },
];

test("haft approvals lists, shows, answers and dismisses questions, and approves none", async () => {
  const { haft, host } = await openHostCli(temporaryFolder("haft-questions-"));
  const asked = await haft("tools", "call", "ask_user", `questions:=${JSON.stringify(QUESTIONS)}`);
  expect(asked).toMatchObject({ code: 7, stderr: expect.stringContaining("waits for an answer") });
  const [id = ""] = /apr_\w+/.exec(asked.stderr) ?? [];
  expect((await haft("approvals", "list")).stdout).toMatch(/\? asks.*Which parts/);
  const shown = await haft("approvals", "show", id);
  expect(shown.stdout).toMatch(/ask_user asks a question[^]*1\. api[^]*2\. docs[^]*Why\?/);
  expect(shown.stdout).not.toContain("\u001b[31m");
  expect(await haft("approvals", "approve", id)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`haft approvals answer ${id}`),
  });
  expect(await haft("approvals", "answer", id)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('choose one or more of "api", "docs"'),
  });
  expect(await haft("approvals", "answer", id, "1")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("2 answers"),
  });
  const wrong = await haft("approvals", "answer", id, "7", "so");
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain('"7" is not one of the options');
  const answered = await haft("approvals", "answer", id.slice(0, 12), "1,docs", "less to write");
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("Why? → less to write") });
  expect(await host.haft.approvals.get(id)).toMatchObject({
    answers: [{ choices: ["api", "docs"] }, { text: "less to write" }],
    answeredBy: "ann",
  });
  const { entries } = await host.store.audit.query({ kind: ["approval_answered"] });
  expect(entries).toMatchObject([
    {
      toolName: "ask_user",
      data: {
        approvalId: id,
        answeredBy: "ann",
        questions: [{ options: [{ label: "api" }, { label: "docs" }] }, { question: "Why?" }],
        answers: [{ choices: ["api", "docs"] }, { text: "less to write" }],
      },
    },
  ]);
  expect(await haft("approvals", "answer", id, "api", "no")).toMatchObject({
    code: 8,
    stderr: expect.stringContaining("already answered by ann"),
  });
  expect((await haft("approvals", "show", id)).stdout).toMatch(/answer +api, docs[^]*state +answered by ann/);

  const again = await haft("tools", "call", "ask_user", `questions:=${JSON.stringify(QUESTIONS)}`);
  const [other = ""] = /apr_\w+/.exec(again.stderr) ?? [];
  expect(await haft("approvals", "deny", other)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("dismissed"),
  });
});

test("an answer that is not used is said before the new question", async () => {
  const folder = temporaryFolder("haft-unused-");
  mkdirSync(join(folder, ".config", "haft"), { recursive: true });
  const config = { workspace: { requireReadBeforeEdit: false } };
  writeFileSync(join(folder, ".config", "haft", "config.json"), JSON.stringify(config));
  const { haft } = await openHostCli(folder);
  const asked = await haft("tools", "call", "write", "path=a.txt", "content=new");
  const [id = ""] = /apr_\w+/.exec(asked.stderr) ?? [];
  writeFileSync(join(folder, "a.txt"), "two\n");
  const { code, stderr } = await haft("approvals", "approve", id, "--quiet");
  expect(code, stderr).toBe(8);
  expect(stderr).toMatch(
    /^Your answer was not used: .* has changed\. The new question:\nwrite waits for an approval: apr_/,
  );
});

test("haft sessions show prints the to-do list", async () => {
  const { haft, host } = await openHostCli(temporaryFolder("haft-todos-"));
  const { key, caller } = await host.sessions.create({ label: "plan", caller: { user: "ann" } });
  const todos = [
    { content: "Find it\u001b[31m", status: "completed" },
    { content: "Change it", status: "in_progress" },
  ];
  await host.haft.execute("todo", { todos }, { caller });
  const shown = await haft("sessions", "show", "plan");
  expect(shown.stdout).toMatch(/2 steps: 1 completed, 1 in progress\n {2}\[x\] Find it.*\n {2}\[>\] Change it/);
  expect(shown.stdout).not.toContain("\u001b[31m");
  expect(JSON.parse((await haft("sessions", "show", key, "--json")).stdout)).toMatchObject({ todos });
});
