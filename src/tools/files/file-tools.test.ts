import { expect, test } from "vitest";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { createFileTools } from "../tool-families.ts";
import { createReadLedger } from "./read-before-edit.ts";

const tools = createFileTools({
  files: createFiles(createPathPolicy({ workspace: "." })),
  reads: createReadLedger(),
  lineIndexes: createLineIndexes(),
  findFiles: async () => ({ files: [], hasMore: false }),
  listTree: async () => ({ paths: [], isComplete: true }),
});

test("lists the file tools; only read-only ones run without approval", () => {
  expect(tools.map(({ name, kind }) => `${name} ${kind}`)).toEqual(
    expect.arrayContaining(["read readonly", "list_files readonly", "write write", "edit write", "delete_file write"]),
  );
  for (const { name, kind, permission } of tools) {
    expect(permission({}), name).toBe(kind === "readonly" ? "auto" : "confirm");
  }
});

test("each dialect has its own names, and every name works", () => {
  const haft = createHaft({ tools });
  const shown = (dialect: string) => haft.tools.definitions({ dialect }).map(({ name }) => name);
  expect(shown("claude").slice(0, 3)).toEqual(["Read", "Write", "Edit"]);
  expect(shown("snake").slice(0, 3)).toEqual(["read_file", "write_file", "edit_file"]);
  expect(shown("openclaw").slice(0, 3)).toEqual(["read", "write", "edit"]);
  expect(shown("gemini").slice(0, 3)).toEqual(["read_file", "write_file", "replace"]);
  expect(shown("codex")).toEqual(expect.arrayContaining(["read_file", "apply_patch", "list_dir"]));
  for (const name of ["Read", "write_file", "Edit", "edit_file", "list_directory"])
    expect(haft.tools.registry.get(name)).toBeDefined();
});
