import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { canConfine } from "../../../test/setup/confinement.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { openSandbox } from "../../io/sandbox/sandbox.ts";
import { ProcessTable } from "../../io/shell/process-table.ts";
import { createSessionEnvironments } from "../../io/shell/shell-environment.ts";
import { createHaft } from "../../runtime.ts";
import { createExecTool } from "./exec.ts";

const CANARY = "canary-of-the-history";
let workspace: string;
let haft: ReturnType<typeof createHaft>;

const bash = (script: string): string =>
  execFileSync("bash", ["-c", script], { cwd: workspace, env: { ...process.env, HOME: workspace }, encoding: "utf8" });

/** Files are older than the index, so git need not read them again. Commits: `one` adds a.txt, `two` adds `.env`, HEAD~2 removes it, HEAD~1 adds private/, HEAD changes a.txt. */
beforeEach(() => {
  workspace = temporaryFolder("haft-look-");
  bash(`git init -q -b main && git config user.email a@b.c && git config user.name n && mkdir -p src private
    add() { touch -d '1 hour ago' $@; git add -f $@; }
    echo one > a.txt; add a.txt; git commit -qm one; git tag one
    echo S=${CANARY} > .env; add .env; git commit -qm two; git tag two
    git rm -q .env; echo two >> a.txt; add a.txt; git commit -qm three
    echo plan ${CANARY} > private/plan.md; echo x > src/b.ts; add private/plan.md src/b.ts; git commit -qm denied
    echo three >> a.txt; git commit -qam four; git tag secret-blob two:.env; echo four >> a.txt`);
  const files = createFiles(createPathPolicy({ workspace, denyGlobs: ["private/**"] }));
  const environments = createSessionEnvironments({ host: process.env });
  const tool = createExecTool({ processes: new ProcessTable(), environments, files, sandbox: openSandbox({ files }) });
  haft = createHaft({ tools: [tool], folder: workspace });
});

async function expectStatus(status: string, commands: readonly string[]): Promise<void> {
  const wrong: string[] = [];
  for (const command of commands) {
    const result = await haft.execute("exec", { command });
    const leaks = result.status !== "pending" && JSON.stringify(result).includes(CANARY);
    if (result.status !== status || leaks) wrong.push(`${command}: ${leaks ? "printed it" : result.status}`);
  }
  expect(wrong).toEqual([]);
}

describe.runIf(canConfine)("git", () => {
  test("asks if it would print a file that is secret or denied", async () => {
    const blob = bash("git rev-parse two:.env").trim();
    const tree = bash("git rev-parse 'two^{tree}'").trim();
    await expectStatus("pending", [
      ...["git log -p", "git log --stat", "git log -S canary-of"],
      ...["git log -p -S canary-of -1", "git log -L1,1:.env two", "git log -L1,1:a.txt"],
      ...["git log --all --full-history -p -- '*.env'", "git log -p -- .en?", "git log -p -- ':(glob)**/.env'"],
      ...["git log -p -- ':(icase).ENV'", "git log -p -- ':/'", "git whatchanged -p"],
      ...["git show two", "git show HEAD~2", "git show two -- .en?", "git show --stat HEAD~1", "git show two:.env"],
      ...["git show :0:.env", "git show 'HEAD^{/a:b}:.env'", `git show ${blob}`],
      ...["git show secret-blob", `git cat-file -p ${blob}`, `git cat-file -p ${tree}`],
      ...[`git diff one:a.txt ${blob}`, `git diff ${tree} HEAD`, `git diff-tree -p ${tree} HEAD`, "git diff two"],
      ...["git diff one two", "git diff two -- '*env'", "git diff-tree -p two"],
      ...["git diff-index -p two", "git range-diff one..two one..HEAD", "git grep canary-of two"],
      ...["git grep canary-of HEAD -- private", "git grep -c . HEAD"],
      ...["git ls-tree -r two", "git ls-tree -r HEAD", "git show $(git rev-parse two)"],
      ...["cd src && git show two", "git -C src show two", "git archive two"],
      ...["git format-patch --stdout one", "git cat-file --batch-all-objects --batch", "git reflog -p"],
      ...["git rev-list --objects --all", "git blame two -- .env"],
    ]);
  }, 120_000);

  test("stays free if it prints nothing of them", async () => {
    await expectStatus("completed", [
      ...[
        "git show HEAD",
        "git show",
        "git diff",
        "git diff HEAD",
        "git diff HEAD~1",
        "git diff --stat",
        "git show one",
      ],
      ...["git show -s two", "git log", "git log --oneline --graph --all", "git log -p -1", "git log -p -- a.txt"],
      ...[
        "git log --follow --stat -- a.txt",
        "git log -S three -1 -- a.txt",
        "git show HEAD:a.txt",
        "git show HEAD:src",
      ],
      ...["git cat-file -p HEAD", "git cat-file -t HEAD:a.txt", "git grep three", "git grep three HEAD -- a.txt src"],
      ...["git status", "git branch -a", "git diff src/*.ts"],
      ...[
        "git diff -- 'src/*.ts'",
        "git diff-tree -p HEAD",
        "git ls-tree HEAD src/",
        "git ls-files",
        "git blame a.txt",
      ],
      ...[
        "cd src && git show HEAD",
        "git -C src diff",
        "git rev-parse HEAD",
        "git stash list",
        "git log --format=%h -3",
      ],
    ]);
  }, 120_000);

  test("looks at what is staged and stashed", async () => {
    bash(`echo S=${CANARY}2 > .env; touch -d '1 hour ago' .env; git add -f .env`);
    const staged = [
      "git diff --cached",
      "git diff HEAD",
      "git status -v",
      "git ls-files -s",
      "git grep --cached canary-of",
    ];
    await expectStatus("pending", staged);
    await expectStatus("completed", ["git status", "git diff", "git diff --cached -- a.txt", "git ls-files"]);
    bash("git stash -q");
    const stashed = [
      "git stash show -p",
      "git stash show",
      "git stash list -p",
      "git show -m stash@{0}",
      "git log -p -1 -m stash",
    ];
    await expectStatus("pending", stashed);
    await expectStatus("completed", ["git stash list"]);
  }, 60_000);

  test("leaves out a hidden file that only looks changed", async () => {
    bash("touch private/plan.md; cd src; touch b.ts");
    await expectStatus("completed", [
      "git diff",
      "git diff HEAD",
      "git diff --stat",
      "cd src && git diff",
      "git diff -- .",
    ]);
    const { content } = await haft.execute("exec", { command: "git diff --stat" });
    expect(JSON.stringify(content)).toContain("a.txt");
    expect(JSON.stringify(content)).not.toContain("plan.md");
  }, 60_000);

  test("follows a secret under its earlier name", async () => {
    bash(`echo S=${CANARY} > .env; for i in 1 2 3 4 5 6; do echo line $i >> .env; done; git add -f .env; git commit -qm e
      git mv .env settings.txt; git commit -qm moved`);
    await expectStatus("pending", [
      "git show HEAD",
      "git log --follow -p -- settings.txt",
      "git log -L1,2:settings.txt",
    ]);
  }, 60_000);

  test("trusts no setting of the repository", async () => {
    writeFileSync(join(workspace, "evil.sh"), "#!/bin/sh\ntouch STARTED\n", { mode: 0o755 });
    bash(`git config diff.relative true; git config diff.noprefix true; git config diff.renames copies
      git config diff.external ./evil.sh; git config core.pager ./evil.sh; git config color.ui always
      git config log.follow true; git config alias.show status; git config format.pretty 'format:%s'
      git config diff.x.textconv ./evil.sh; echo '*.txt diff=x' > .gitattributes`);
    await expectStatus("pending", ["git show two", "git log -p", "cd src && git diff two", "git grep canary-of two"]);
    await expectStatus("completed", ["git show HEAD"]);
    expect(bash("ls")).not.toContain("STARTED");
  }, 60_000);
});
