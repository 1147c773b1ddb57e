import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { ExecutedFiles } from "./executed-files.ts";

test("names what was changed, created and deleted, with the reason", () => {
  const workspace = temporaryFolder();
  const write = (path: string, text: string): void => writeFileSync(join(workspace, path), text);
  mkdirSync(join(workspace, ".github/workflows"), { recursive: true });
  for (const path of ["package.json", "Jenkinsfile", "setup.py", "a.txt"]) write(path, "before");
  write(".github/workflows/ci.yml", "before");
  const files = new ExecutedFiles(workspace);
  expect(files.changes()).toEqual([]);
  write("package.json", "after!");
  write("a.txt", "after!");
  write(".github/workflows/release.yml", "new");
  mkdirSync(join(workspace, ".husky"));
  write(".husky/pre-commit", "new");
  rmSync(join(workspace, "Jenkinsfile"));
  const changes = files.changes();
  expect(changes.map(({ path }) => path).toSorted()).toEqual([
    ".github/workflows/release.yml",
    ".husky/pre-commit",
    "Jenkinsfile",
    "package.json",
  ]);
  expect(changes.find(({ path }) => path === "package.json")?.why).toMatch(/package managers/);
});

test("reads a worktree of git, where .git is a file", () => {
  const workspace = temporaryFolder();
  writeFileSync(join(workspace, ".git"), "gitdir: /elsewhere\n");
  writeFileSync(join(workspace, "package.json"), "before");
  const files = new ExecutedFiles(workspace);
  writeFileSync(join(workspace, "package.json"), "after!");
  expect(files.changes().map(({ path }) => path)).toEqual(["package.json"]);
});
