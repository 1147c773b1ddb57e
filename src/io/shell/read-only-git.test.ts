import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { rebuildCommand } from "./rebuild-command.ts";

let folder: string;
const bash = (script: string) =>
  execFileSync("bash", ["-c", script], { cwd: folder, env: { ...process.env, HOME: folder } });

beforeEach(() => {
  folder = temporaryFolder("haft-git-");
  writeFileSync(join(folder, "helper.sh"), "#!/bin/sh\ntouch STARTED\ncat\n", { mode: 0o755 });
  bash(`git init -q && git config user.email a@b.c && git config user.name n && echo one > a.txt && git add a.txt &&
    git commit -qm first && echo two >> a.txt`);
});

function run(text: string): string {
  const rebuilt = rebuildCommand(text, { cwd: folder, programPath: (name) => name });
  const { stdout, status } = spawnSync("bash", ["-c", "text" in rebuilt ? rebuilt.text : "exit 9"], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    encoding: "utf8",
  });
  expect(status).toBe(0);
  return stdout;
}

test.each([
  ["core.fsmonitor", "git config core.fsmonitor ./helper.sh"],
  ["diff.external", "git config diff.external ./helper.sh"],
  ["diff.x.command", "git config diff.x.command ./helper.sh; echo '*.txt diff=x' > .gitattributes"],
  ["diff.x.textconv", "git config diff.x.textconv ./helper.sh; echo '*.txt diff=x' > .gitattributes"],
  ["core.pager", "git config core.pager ./helper.sh"],
  ["gpg.program", "git config gpg.program ./helper.sh; git config log.showSignature true"],
  ["hooks", "mkdir -p .git/hooks; cp helper.sh .git/hooks/post-index-change; touch a.txt"],
])("git starts no helper that %s names", (_, setUp) => {
  bash(setUp);
  for (const text of [
    "git status",
    "git diff",
    "git log -p -1",
    "git show HEAD:a.txt",
    "git branch",
    "git blame a.txt",
  ])
    run(text);
  expect(existsSync(join(folder, "STARTED"))).toBe(false);
});

test("git whatchanged, which newer versions refuse, starts no helper either", () => {
  const rebuilt = rebuildCommand("git whatchanged -p", { cwd: folder, programPath: (name) => name });
  expect(rebuilt).toMatchObject({ text: expect.stringContaining("whatchanged --no-ext-diff --no-textconv") });
});

test("hardened git gives the same results", () => {
  expect(run("git status --short")).toBe(" M a.txt\n?? helper.sh\n");
  expect(run("git diff --stat")).toContain("1 insertion");
  expect(run("git log --format=%s")).toBe("first\n");
  expect(run("git show HEAD:a.txt")).toBe("one\n");
  expect(run("git worktree list --porcelain")).toContain("worktree ");
  expect(run("git reflog show -n1 --date=iso")).toContain("first");
});

test("a stash is shown with the options of its command, and starts no helper", () => {
  bash("git config diff.x.textconv ./helper.sh; echo '*.txt diff=x' > .gitattributes; git stash -q");
  expect(run("git stash show -p")).toContain("+two");
  expect(run("git stash list -p --format=%gd")).toMatch(/^stash@\{0\}[^]*\+two/);
  expect(existsSync(join(folder, "STARTED"))).toBe(false);
});
