import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createHaft } from "../../src/runtime.ts";
import { openWorkspace } from "../../src/workspace.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const TEXT = Array.from({ length: 40 }, (_, i) => `line ${i + 1}\n`).join("");

function stage() {
  const folder = temporaryFolder();
  for (const name of ["a.txt", "b.txt", "c.txt"]) writeFileSync(join(folder, name), TEXT);
  const haft = createHaft({
    workspace: openWorkspace(folder, { sandbox: false }),
    rules: { allow: ["exec", "edit", "write"] },
  });
  const caller = { session: "one" };
  const call = (name: string, input: unknown, session = "one") => haft.execute(name, input, { caller: { session } });
  const edit = (path: string, session?: string) =>
    call("edit", { path, old_string: "line 12\n", new_string: "LINE 12\n" }, session);
  return { folder, call, edit, caller };
}

const NOT_READ = { error: { code: "not_read" } };
const DONE = { status: "completed" };

test.each([
  "cat a.txt",
  "sed -n '5,20p' a.txt",
  "sed -n 12p a.txt",
  "head -n 15 a.txt",
  "head -15 a.txt",
  "tail -n 35 a.txt",
  "tail -n +10 a.txt",
  "cat b.txt && sed -n 10,12p a.txt",
])("a file that was shown by %s counts as read for edit", async (command) => {
  const { call, edit } = stage();
  expect(await edit("a.txt")).toMatchObject(NOT_READ);
  expect(await call("exec", { command })).toMatchObject(DONE);
  expect(await edit("a.txt", "two"), "in another session").toMatchObject(NOT_READ);
  expect(await edit("c.txt"), "of another file").toMatchObject(NOT_READ);
  expect(await edit("a.txt")).toMatchObject(DONE);
});

test.each([
  "cat a.txt | wc -l",
  "cat a.txt > copy.txt",
  "cat a.txt; echo more",
  "sed 's/x/y/' a.txt",
  "head -n 15 a.txt | tail -n 2",
  "cat a.txt missing.txt",
  "wc -l a.txt",
])("%s does not count", async (command) => {
  const { call, edit } = stage();
  await call("exec", { command });
  expect(await edit("a.txt")).toMatchObject(NOT_READ);
});

test("a part is enough for edit, not for write, and a file that changed later is stale", async () => {
  const { folder, call, edit } = stage();
  await call("exec", { command: "head -n 15 a.txt" });
  expect(await call("write", { path: "a.txt", content: "new\n" })).toMatchObject(NOT_READ);
  await call("exec", { command: "cat b.txt" });
  expect(await call("write", { path: "b.txt", content: "new\n" })).toMatchObject(DONE);
  writeFileSync(join(folder, "a.txt"), `changed\n${TEXT}`);
  expect(await edit("a.txt")).toMatchObject({ error: { code: "stale" } });
});

test("output that was cut does not count", async () => {
  const { folder, call } = stage();
  writeFileSync(join(folder, "long.txt"), `${TEXT.repeat(300)}`);
  expect(await call("exec", { command: "cat long.txt" })).toMatchObject({ details: { truncated: true } });
  expect(await call("edit", { path: "long.txt", old_string: "line 12\nline 13\n", new_string: "" })).toMatchObject(
    NOT_READ,
  );
});

test("lines that grep shows count, in content mode only", async () => {
  const { folder, call, edit } = stage();
  await call("grep", { pattern: "line 12", path: "a.txt", output_mode: "count" });
  expect(await edit("a.txt")).toMatchObject(NOT_READ);
  await call("grep", { pattern: "line 12", path: "a.txt", context: 2 });
  expect(await edit("a.txt")).toMatchObject(DONE);
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toContain("LINE 12\n");
  await call("grep", { pattern: "line", path: "b.txt", limit: 3 });
  expect(await call("write", { path: "b.txt", content: "" })).toMatchObject(NOT_READ);
});
