import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { canConfine } from "../../../test/setup/confinement.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createFiles } from "../../io/files/files.ts";
import { createPathPolicy } from "../../io/files/path-policy.ts";
import { createHaft } from "../../runtime.ts";
import { ProcessTable } from "../../io/shell/process-table.ts";
import { createSessionEnvironments, type SessionEnvironments } from "../../io/shell/shell-environment.ts";
import { openSandbox } from "../../io/sandbox/sandbox.ts";
import { createExecTool } from "./exec.ts";

let workspace: string;
let haft: ReturnType<typeof createHaft>;
let environments: SessionEnvironments;
const processes = new ProcessTable();

beforeEach(() => {
  workspace = temporaryFolder("haft-plan-");
  mkdirSync(join(workspace, "src"));
  writeFileSync(join(workspace, "src", "a.txt"), "one\ntwo\n");
  writeFileSync(join(workspace, ".env"), "SECRET=hidden-value\n");
  symlinkSync("/etc", join(workspace, "outside"));
  const files = createFiles(createPathPolicy({ workspace }));
  environments = createSessionEnvironments({ host: process.env });
  // Nobody approves, so calls that need approval stay pending.
  const sandbox = openSandbox({ files });
  haft = createHaft({ tools: [createExecTool({ processes, environments, files, sandbox })], folder: workspace });
});

test("without a sandbox nothing runs without a question", async () => {
  const files = createFiles(createPathPolicy({ workspace }));
  const environments = createSessionEnvironments({ host: process.env });
  for (const sandbox of [undefined, openSandbox({ files, engines: () => ({ tests: [] }) })]) {
    const tool = createExecTool({ processes, environments, files, sandbox });
    haft = createHaft({ tools: [tool], folder: workspace });
    expect(await statusOf("ls")).toBe("pending");
  }
});

const statusOf = async (command: string): Promise<string> => (await haft.execute("exec", { command })).status;

describe.runIf(canConfine)("a command that provably only reads", () => {
  test.each(["ls", "ls -la src", "cat src/a.txt", "head -n 1 src/a.txt", "wc -l src/a.txt | sort", "pwd && ls src"])(
    "runs without a question: %s",
    async (command) => {
      expect(await statusOf(command)).toBe("completed");
    },
  );

  test("runs as analysed: quoted words, no expansion", async () => {
    const result = await haft.execute("exec", { command: `echo 'it'"'"'s $HOME' "and *"` });
    expect(textOf(result.content)).toContain("it's $HOME and *");
  });
});

describe.runIf(canConfine)("a command that reads whole folders", () => {
  test.each([
    "grep -r SECRET",
    "grep -R hidden .",
    "diff -N . src",
    "cat .* * 2>/dev/null",
    "find . -type f -exec cat {} +",
    'for f in .*; do cat "$f"; done',
    "cat $(find . -name '.e*')",
    "sh -c 'cat .e*'",
    "xxd .e* | head",
    "tar -cf - . | strings",
  ])("prints no secret without a question: %s", async (command) => {
    const result = await haft.execute("exec", { command });
    expect(JSON.stringify([result.content, result.details])).not.toContain("hidden-value");
    expect(existsSync(join(workspace, "x"))).toBe(false);
  });

  test("finds everything else, and works in a repository", async () => {
    expect(textOf((await haft.execute("exec", { command: "grep -rs two" })).content)).toContain("src/a.txt:two");
    execFileSync("git", ["init", "-q", workspace]);
    expect(textOf((await haft.execute("exec", { command: "git status --short" })).content)).toContain("?? src/");
  });
});

test.runIf(canConfine)("variables that may hold a secret are absent", async () => {
  environments.of("s").set("API_TOKEN", "hidden-value-1234567890");
  environments.of("s").set("COLOR", "green");
  const result = await haft.execute("exec", { command: "env; echo $API_TOKEN" }, { caller: { session: "s" } });
  expect(textOf(result.content)).toContain("COLOR=green");
  expect(textOf(result.content)).not.toContain("hidden-value");
});

describe("every other command needs approval", () => {
  test.each([
    "touch x",
    "cat src/a.txt > b",
    "cat .env",
    "cat outside/passwd",
    "cat /etc/passwd",
    "PATH=. ls",
    "TMPDIR=. sort src/a.txt",
    "cat $(touch x)",
    "sh -c 'touch x'",
    "ls; rm src/a.txt",
    "./ls",
    "ls &",
    "ls\nrm src/a.txt",
  ])("%s", async (command) => {
    expect(await statusOf(command)).toBe("pending");
  });

  test("and so does one with its own environment, input or terminal", async () => {
    for (const more of [{ env: { A: "1" } }, { stdin: "x" }, { pty: true }, { run_in_background: true }]) {
      expect((await haft.execute("exec", { command: "ls", ...more })).status).toBe("pending");
    }
  });
});

test("the paths of a call narrow what is read without approval", async () => {
  const result = await haft.execute(
    "exec",
    { command: "cat src/a.txt", working_directory: "src" },
    { allowedPaths: ["src"] },
  );
  expect(result.status).not.toBe("completed");
  const outside = await haft.execute(
    "exec",
    { command: "cat ../src/a.txt", working_directory: "src" },
    { allowedPaths: ["outside"] },
  );
  expect(outside.status).not.toBe("completed");
});
