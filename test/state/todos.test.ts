// To-do lists survive their process, and belong to one session of one user.
import { expect, test } from "vitest";
import { openHaft } from "haft/host";
import { temporaryFolder } from "../setup/temporary-folder.ts";

test("a list is read after a restart, also by a caller that has no stored session", async () => {
  const folder = temporaryFolder();
  const caller = { session: "mcp-1\0", user: "ada" };
  const todos = [{ content: "Find it", status: "in_progress" }];
  const first = await openHaft(folder, { only: [] });
  expect(await first.haft.execute("todo", { todos }, { caller })).toMatchObject({ status: "completed" });
  await first.close();
  const second = await openHaft(folder, { only: [] });
  expect(await second.haft.execute("todo", {}, { caller })).toMatchObject({ details: { todos } });
  expect(await second.haft.execute("todo", {}, { caller: { ...caller, user: "bob" } })).toMatchObject({
    details: { todos: [] },
  });
  await second.haft.execute("todo", { todos: [] }, { caller });
  expect(await second.store.todos.get(JSON.stringify({ user: "ada", session: "mcp-1\0" }))).toEqual([]);
  await second.close();
});
