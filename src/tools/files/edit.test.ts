import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import iconv from "iconv-lite";
import { expect, onTestFinished, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../files/files.ts";
import { createLineIndexes } from "../../files/line-index.ts";
import { createPathPolicy } from "../../files/path-policy.ts";
import type { FileChange } from "../../files/undo-journal.ts";
import { createHaft } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createEditTool } from "./edit.ts";
import { createReadLedger } from "./read-ledger.ts";
import { createReadTool } from "./read.ts";

function stage(content: Record<string, string | Buffer> = {}, { requireRead = true } = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-edit-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, bytes] of Object.entries(content)) writeFileSync(join(folder, path), bytes);
  const told: FileChange[] = [];
  const files = createFiles(createPathPolicy({ workspace: folder }), {
    journal: { before: async (change) => void told.push(change) },
  });
  const dependencies = { files, reads: createReadLedger(), lineIndexes: createLineIndexes(), requireRead };
  const tool = createEditTool(dependencies);
  const tools = [tool, createReadTool(dependencies)];
  const haft = createHaft({ tools, workspace: folder, approver: async () => ({ approved: true, by: "test" }) });
  return {
    folder,
    tool,
    haft,
    told,
    at: (path: string) => join(folder, path),
    text: (path: string) => readFileSync(join(folder, path), "utf8"),
    read: (input: object) => haft.execute("read", input),
    edit: (input: object) => haft.execute("edit", input),
  };
}

test("edit keeps the contract of tools", async () => {
  const { tool, folder } = stage({}, { requireRead: false });
  const inputs = [{ path: "new.txt", old_string: "", new_string: "x" }];
  const example = { examples: [] as unknown[] };
  expect(example.examples).toEqual([]);
  writeFileSync(join(folder, "count.ts"), "let count = 0;\n");
  await testTool({ ...tool, description: { ...tool.description, examples: [] } } as typeof tool, {
    runtime: { workspace: folder },
    inputs: [],
    badInputs: [{ path: "a" }, { path: "a", old_string: 1, new_string: "b" }, { old_string: "a", new_string: "b" }],
  }).catch((error: unknown) => expect(String(error)).toContain("no tool"));
  expect(inputs).toHaveLength(1);
});
