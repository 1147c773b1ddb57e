import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { isPlainRepository } from "./read-only-git.ts";

const PLAIN = `[core]
\trepositoryformatversion = 0
\tbare = false
[remote "origin"]
\turl = https://example.com/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
`;
let top: string;

beforeEach(() => {
  top = temporaryFolder("haft-repository-");
  mkdirSync(join(top, ".git"));
  mkdirSync(join(top, "src"));
  writeFileSync(join(top, ".git/config"), PLAIN);
});

test("an ordinary repository is plain from every folder inside it", () => {
  expect(isPlainRepository(top, top)).toBe(true);
  expect(isPlainRepository(join(top, "src"), top)).toBe(true);
});

test.each([
  '[filter "x"]\n\tclean = ./x',
  '[diff "x"]\n\ttextconv = ./x',
  "[core]\n\tfsmonitor = ./x",
  "[CORE]\n\tpager = x",
  "[include]\n\tpath = x",
  '[includeIf "gitdir:/"]\n\tpath = x',
  "[extensions]\n\tworktreeConfig = true",
  "[user] name = x",
  "[user]\n\tname = a\\\n\tb",
  "[filter.x]\n\tclean = ./x",
  "name = x",
])("a repository with %j is not plain", (more) => {
  writeFileSync(join(top, ".git/config"), more.startsWith("name") ? more : `${PLAIN}${more}\n`);
  expect(isPlainRepository(top, top)).toBe(false);
});

test("a repository is not plain if git would look elsewhere", () => {
  mkdirSync(join(top, "src/objects"));
  writeFileSync(join(top, "src/HEAD"), "");
  expect(isPlainRepository(join(top, "src"), top)).toBe(false);
  writeFileSync(join(top, ".gitmodules"), "");
  expect(isPlainRepository(top, top)).toBe(false);
  rmSync(join(top, ".git"), { recursive: true });
  rmSync(join(top, ".gitmodules"));
  expect(isPlainRepository(top, top)).toBe(false);
  writeFileSync(join(top, ".git"), "gitdir: /elsewhere");
  expect(isPlainRepository(top, top)).toBe(false);
  rmSync(join(top, ".git"));
  symlinkSync("/tmp", join(top, ".git"));
  expect(isPlainRepository(top, top)).toBe(false);
});
