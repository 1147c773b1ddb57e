import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createTestHaft } from "../../testing/test-haft.ts";
import { createTodoTool } from "./todo.ts";

const LIST = [
  { content: "Find the parser", status: "completed" },
  { content: "Accept weeks", status: "in_progress" },
  { content: "Test it", status: "pending" },
  { content: "Ask for a review", status: "cancelled" },
];
const SHOWN = `4 steps: 1 completed, 1 in progress, 1 pending, 1 cancelled:
[x] Find the parser
[>] Accept weeks
[ ] Test it
[-] Ask for a review`;

describe("todo", () => {
  const open = () => createTestHaft({ tools: [createTodoTool()] });
  const of = (session: string, user = "ada") => ({ caller: { session, user } });

  test("keeps the list of each session, says briefly what it has, and shows it without input", async () => {
    const haft = open();
    const kept = await haft.execute("todo", { todos: LIST }, of("one"));
    expect(textOf(kept.content)).toBe("4 steps: 1 completed, 1 in progress, 1 pending, 1 cancelled.");
    expect(kept).toMatchObject({ status: "completed", details: { todos: LIST } });
    expect(textOf((await haft.execute("todo", {}, of("one"))).content)).toBe(SHOWN);
    for (const other of [of("two"), of("one", "bob"), { caller: { agent: "one" } }]) {
      expect(await haft.execute("todo", {}, other)).toMatchObject({ details: { todos: [] }, display: "No steps" });
    }
  });

  test("is replaced as a whole, and deleted by an empty list", async () => {
    const haft = open();
    await haft.execute("todo", { todos: LIST }, of("one"));
    await haft.execute("todo", { todos: LIST.slice(0, 1) }, of("one"));
    expect(await haft.execute("todo", {}, of("one"))).toMatchObject({ details: { todos: LIST.slice(0, 1) } });
    const emptied = await haft.execute("todo", { todos: [] }, of("one"));
    expect(textOf(emptied.content)).toBe("The list is empty.");
    expect(await haft.execute("todo", {}, of("one"))).toMatchObject({ details: { todos: [] } });
  });

  test("accepts several steps in progress, with a hint", async () => {
    const busy = ["a", "b"].map((content) => ({ content, status: "in_progress" }));
    const kept = await open().execute("todo", { todos: busy });
    expect(textOf(kept.content)).toBe(
      "2 steps: 2 in progress. 2 steps are in progress: work on one at a time if you can.",
    );
  });

  test("asks nobody, also in plan mode, and is harmless under every mode", async () => {
    for (const mode of ["default", "plan", "dontAsk"] as const) {
      expect(await open().execute("todo", { todos: LIST }, { mode })).toMatchObject({ status: "completed" });
    }
  });

  test.each([
    ["too many", { todos: Array.from({ length: 101 }, () => LIST[0]) }],
    ["too long", { todos: [{ content: "x".repeat(501), status: "pending" }] }],
    ["empty", { todos: [{ content: " ", status: "pending" }] }],
    ["in a state that does not exist", { todos: [{ content: "x", status: "done" }] }],
  ])("refuses steps that are %s, and keeps the list", async (_what, input) => {
    const haft = open();
    await haft.execute("todo", { todos: LIST }, of("one"));
    expect(await haft.execute("todo", input, of("one"))).toMatchObject({ error: { code: "invalid_input" } });
    expect(await haft.execute("todo", {}, of("one"))).toMatchObject({ details: { todos: LIST } });
  });
});
