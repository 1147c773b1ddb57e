import { describe, expect, test } from "vitest";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createConversationTools } from "../tool-families.ts";

const open = () => createTestHaft({ tools: createConversationTools() });
const TODOS = [{ content: "Find it", status: "in_progress" }];

describe("to-do lists of other clients", () => {
  test.each([
    ["TodoWrite", { todos: [{ ...TODOS[0], activeForm: "Finding it" }] }],
    ["TodoWrite", { todos: [{ ...TODOS[0], id: "1", priority: "high" }] }],
    ["write_todos", { todos: [{ description: "Find it", status: "in_progress" }] }],
    ["update_plan", { explanation: "First look", plan: [{ step: "Find it", status: "in_progress" }] }],
  ])("%s with %j is read", async (name, input) => {
    expect(await open().execute(name, input)).toMatchObject({ status: "completed", details: { todos: TODOS } });
  });

  test("what means something else is refused", async () => {
    for (const input of [
      { todos: TODOS, merge: true },
      { todos: [{ content: "Find it", step: "Find that", status: "pending" }] },
      { todos: [{ content: "Find it", status: "pending", owner: "ada" }] },
    ]) {
      expect(await open().execute("todo", input), JSON.stringify(input)).toMatchObject({
        error: { code: "invalid_input" },
      });
    }
  });
});

describe("questions of other clients", () => {
  const options = [{ label: "a", description: "first" }, { label: "b" }];
  test.each([
    ["AskUserQuestion", [{ question: "Which?", header: "One", options, multiSelect: true }], { multiple: true }],
    ["AskUserQuestion", [{ question: "Which?", options: [{ label: "a", preview: "x" }, { label: "b" }] }], {}],
    ["request_user_input", [{ id: "q1", header: "One", question: "Which?", options }], { header: "One" }],
    ["ask_user", [{ question: "Which?", type: "choice", options, placeholder: "…" }], {}],
    ["ask_user", [{ question: "Which?", type: "yesno" }], { options: [{ label: "Yes" }, { label: "No" }] }],
    ["ask_user", [{ question: "Which?", type: "text" }], {}],
    ["ask_user", [{ question: "Which?", options: ["a", "b"], custom: false }], { free_text: false }],
    ["question", [{ question: "Which?", header: "One", options, multiple: true, custom: false }], { free_text: false }],
  ])("%s with %j is asked", async (name, questions, asked) => {
    const haft = open();
    const result = await haft.execute(name, { questions });
    expect(result).toMatchObject({ status: "pending", pending: { kind: "question" } });
    expect(await haft.approvals.list()).toMatchObject([{ questions: [{ question: "Which?", ...asked }] }]);
  });

  test("a single question needs no list", async () => {
    const haft = open();
    await haft.execute("ask_user", { question: "Which?", options });
    await haft.execute("ask_followup_question", { question: "Which?", options: ["a", "b"] });
    const labels = [{ label: "a" }, { label: "b" }];
    expect(await haft.approvals.list()).toMatchObject([
      { questions: [{ question: "Which?", options }] },
      { questions: [{ question: "Which?", options: labels }] },
    ]);
  });

  test.each([
    [{ question: "Which?", type: "choice" }],
    [{ question: "Which?", type: "slider" }],
    [{ question: "Which?", type: "text", options }],
    [{ question: "Which?", optoins: options }],
  ])("%j is refused", async (question) => {
    expect(await open().execute("ask_user", { questions: [question] })).toMatchObject({
      error: { code: "invalid_input" },
    });
  });
});
