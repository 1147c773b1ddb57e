import { expect, test } from "vitest";
import { createFiles } from "../../io/files/files.ts";
import { createLineIndexes } from "../../io/files/line-index.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { createFileTools } from "./file-tools.ts";
import { createReadLedger } from "./read-before-edit.ts";

const tools = createFileTools({
  files: createFiles(createPathPolicy({ workspace: "." })),
  reads: createReadLedger(),
  lineIndexes: createLineIndexes(),
});

test("lists the file tools; only read-only ones run without approval", () => {
  expect(tools.map(({ name, kind, permission }) => [name, kind, permission({})])).toEqual([
    ["read", "readonly", "auto"],
    ["write", "write", "confirm"],
    ["edit", "write", "confirm"],
    ["apply_patch", "write", "confirm"],
    ["list_files", "readonly", "auto"],
    ["get_file_info", "readonly", "auto"],
    ["move_file", "write", "confirm"],
    ["delete_file", "write", "confirm"],
  ]);
});

test("each dialect has its own names, and every name works", () => {
  const haft = createHaft({ tools });
  const shown = (dialect: string) => haft.toLLMTools({ dialect }).map(({ name }) => name);
  expect(shown("claude").slice(0, 3)).toEqual(["Read", "Write", "Edit"]);
  expect(shown("snake").slice(0, 3)).toEqual(["read_file", "write_file", "edit_file"]);
  expect(shown("openclaw").slice(0, 3)).toEqual(["read", "write", "edit"]);
  for (const name of ["Read", "write_file", "Edit", "edit_file", "list_directory"])
    expect(haft.registry.get(name)).toBeDefined();
});
