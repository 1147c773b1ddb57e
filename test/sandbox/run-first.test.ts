// Commands that no rule decides run first, with the real sandbox of this machine: nobody is asked if they changed nothing.
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHaft, type Haft, textOf, type ToolResult } from "haft";
import { openWorkspace } from "haft/workspace";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { refusalReporting } = machineEngines();
const missing = refusalReporting?.isReported ? undefined : `Refusals are not reported: ${refusalReporting?.why}.`;
const CANARY = "canary-of-run-first";

describe.runIf(canRun("sandbox", missing))("a command that no rule decides", () => {
  let folder: string;
  let haft: Haft;
  let ids = 0;

  beforeEach(() => {
    const base = temporaryFolder();
    folder = join(base, "workspace");
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(at("a.txt"), "one\ntwo\n");
    writeFileSync(at("src/run.sh"), "echo ran\n");
    writeFileSync(at("write.sh"), "echo more >> a.txt\n");
    writeFileSync(at(".env"), `TOKEN=${CANARY}\n`);
    open();
  });
  afterEach(() => haft.shutdown());

  function open(options: object = {}): void {
    const workspace = openWorkspace(folder, { stateFolder: join(folder, "../state") });
    haft = createHaft({ workspace, ...options });
  }
  const at = (path: string): string => join(folder, path);
  const run = (command: string, more: object = {}): Promise<ToolResult> =>
    haft.execute("exec", { command, ...more }, { id: `call-${++ids}`, caller: { session: "s" } });
  const git = (script: string): string =>
    execFileSync("sh", ["-c", script], {
      cwd: folder,
      encoding: "utf8",
      env: {
        ...process.env,
        GIT_AUTHOR_NAME: "a",
        GIT_AUTHOR_EMAIL: "a@b.c",
        GIT_COMMITTER_NAME: "a",
        GIT_COMMITTER_EMAIL: "a@b.c",
      },
    });
  const factsOf = async (result: ToolResult): Promise<string[]> => {
    if (result.status !== "pending") throw new Error(`expected a question, got ${JSON.stringify(result.content)}`);
    const { preview } = (await haft.approvals.get(result.pending.id))!;
    return (preview?.facts ?? []).map(({ text }) => text);
  };

  /** Everything below the workspace: kind, mode, time, number of names and content. */
  function picture(): string[] {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((path) => {
        const info = lstatSync(at(path));
        const content = info.isFile() ? readFileSync(at(path), "base64") : "";
        return [path, info.mode, info.mtimeMs, info.nlink, content].join(" ");
      })
      .toSorted();
  }

  test("that changed nothing but that a rule asks about is asked once, and a yes gives the output that was shown", async () => {
    await haft.shutdown();
    open({ rules: [{ origin: "host", ask: ["Bash"] }] });
    const asked = await run("cat /proc/sys/kernel/random/uuid");
    if (asked.status !== "pending") throw new Error(asked.display);
    const { preview } = (await haft.approvals.get(asked.pending.id))!;
    const result = await haft.approvals.approve(asked.pending.id, "ann");
    expect(result.status).toBe("completed");
    const { output } = result.details as { output: string };
    expect(output).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(JSON.stringify(preview)).toContain(output.trim());
    expect(await haft.approvals.list("pending")).toEqual([]);
  });

  test("asks nobody if it changed nothing and was refused nothing, whatever program it is, and is one call", async () => {
    const before = picture();
    const commands = ["sh src/run.sh", "bash -c 'sh src/run.sh'", "echo ran > /dev/null; sh src/run.sh"];
    for (const command of commands) {
      const result = await run(command);
      expect(result).toMatchObject({ status: "completed", details: { exitCode: 0, output: "ran\n", confined: true } });
    }
    expect(await run("sh src/run.sh; exit 3")).toMatchObject({ status: "failed", details: { exitCode: 3 } });
    expect(picture()).toEqual(before);
    expect(await haft.approvals.list()).toEqual([]);
    expect(await haft.calls.log.recent()).toHaveLength(commands.length + 1);
  });

  test("asks with exactly its changes, and a yes applies them without a second run", async () => {
    const result = await run("sh write.sh; date +%N > at.txt; cat at.txt");
    expect(await factsOf(result)).toContainEqual(expect.stringContaining("Approve to apply 2 changed files"));
    expect(existsSync(at("at.txt"))).toBe(false);
    if (result.status !== "pending") return;
    const done = await haft.approvals.approve(result.pending.id);
    expect(textOf(done.content)).toContain(readFileSync(at("at.txt"), "utf8").trim());
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\ntwo\nmore\n");
  });

  test.each([
    ["the network", "bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo done", "It was refused the network"],
    ["a write outside", "sh -c 'echo > /etc/haft-run-first'; sh src/run.sh", "outside of the workspace"],
    ["a signal", "sh -c 'kill -0 1'; setpriv --help > /dev/null; unshare -U true; echo done", "It was refused"],
  ])("asks with what it was refused: %s", async (_, command, fact) => {
    expect(await factsOf(await run(command))).toContainEqual(expect.stringContaining(fact));
    expect(existsSync("/etc/haft-run-first")).toBe(false);
  });

  test("runs it after one yes, also if it was refused something and prints something else each time", async () => {
    const asked = await run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; cat /proc/sys/kernel/random/uuid");
    if (asked.status !== "pending") throw new Error(asked.display);
    const result = await haft.approvals.approve(asked.pending.id);
    expect(result).toMatchObject({ status: "completed" });
    expect(await haft.approvals.list("pending")).toEqual([]);
  });

  test("asks if a program opens a secret; a search that meets one gets a note", async () => {
    const opened = await run("sh -c '. ./.env; echo $TOKEN'");
    expect(opened.status).toBe("pending");
    const met = await run("grep -rc TOKEN . | sort");
    const scripted = await run("bash -c 'grep -rc TOKEN . | sort'");
    for (const { status, content } of [met, scripted]) {
      expect(status).toBe("completed");
      expect(textOf(content)).toMatch(/as empty[^\]]*\.env/);
    }
    expect(JSON.stringify([opened, met, scripted])).not.toContain(CANARY);
  });

  test("asks if it reads the history of git and that holds a secret, and not otherwise", async () => {
    git("git init -q . && git add a.txt src && git commit -qm one");
    const script = "sh -c 'git log --format=%s; git cat-file --batch-all-objects --batch'";
    const clean = await run(script);
    expect(clean).toMatchObject({ status: "completed" });
    expect(textOf(clean.content)).toContain("one");
    git("git add -f .env && git commit -qm two && git rm -q --cached .env && git commit -qm three");
    const asked = await run(script);
    expect(await factsOf(asked)).toContainEqual(expect.stringContaining("reads the history of git"));
    expect(JSON.stringify(asked)).not.toContain(CANARY);
    git("git checkout -q --orphan fresh && git commit -qm fresh && git branch -D -q main master 2>/dev/null; true");
    expect(await run("python3 -c 'import os; print(os.listdir(\".git/objects\"))'")).toMatchObject({
      status: "pending",
    });
    expect(await run("sh src/run.sh")).toMatchObject({ status: "completed" });
  });

  test("runs for real, unasked, nothing that destroys: a deletion is shown, and one elsewhere is asked", async () => {
    const before = picture();
    expect(await factsOf(await run("rm -rf src"))).toContainEqual(expect.stringContaining("Approve to apply"));
    for (const command of ["rm -rf ~", "rm -rf /", "rm -rf ../workspace", "sh -c 'rm -rf \"$HOME\"'", "rm -rf nothing"])
      expect(await run(command), command).toMatchObject({ status: "pending" });
    expect(picture()).toEqual(before);
  });

  test("shows how much it would change if that is too much to list", async () => {
    mkdirSync(at("many"));
    for (let i = 0; i < 2100; i++) writeFileSync(at(`many/${i}`), "");
    const facts = await factsOf(await run("rm -rf many"));
    expect(facts).toContainEqual(expect.stringContaining("it changes 2101 paths, of which it deletes 2101"));
    expect(readdirSync(at("many"))).toHaveLength(2100);
  });

  test("its own time limit ends it without a question; without one, a person is asked", async () => {
    const limited = await run("sh src/run.sh; sh -c 'sleep 600'", { timeout: 1500 });
    expect(limited).toMatchObject({ status: "failed", error: { code: "timeout" } });
    await haft.shutdown();
    const workspace = openWorkspace(folder, { stateFolder: join(folder, "../state"), sandbox: { previewMs: 1000 } });
    haft = createHaft({ workspace });
    const asked = await run("sh src/run.sh; echo x > so-far.txt; sh -c 'read line < /dev/zero'");
    expect(await factsOf(asked)).toContainEqual(expect.stringContaining("did not end within 1 s"));
    expect(await factsOf(asked)).toContainEqual(expect.stringContaining("Until then it changed so-far.txt"));
    expect(await haft.approvals.get(asked.status === "pending" ? asked.pending.id : "")).toMatchObject({
      preview: { output: expect.stringContaining("ran") as string },
    });
    for (const more of [{ run_in_background: true }, { pty: true }, { keep_stdin_open: true }])
      expect(await run("sh src/run.sh", more)).toMatchObject({ status: "pending" });
  });

  test("a rule decides before that: what it denies does not run, what it asks about is asked", async () => {
    await haft.shutdown();
    open({ rules: { deny: ["Bash(sh write.sh)"], ask: ["Bash(sh src/run.sh)"] } });
    expect(await run("sh write.sh")).toMatchObject({ status: "failed", error: { code: "denied" } });
    expect(await run("sh src/run.sh")).toMatchObject({ status: "pending" });
  });

  test("a secret under another name, in the environment or left by another command is not told unasked", async () => {
    linkSync(at(".env"), at("src/plain.txt"));
    const commands = [
      "sh -c 'cat src/plain.txt'",
      "sh -c 'cat ./.e*'",
      "python3 -c 'print(open(\".env\").read())'",
      "sh -c 'cat /proc/*/environ'",
      "sh -c 'cat /proc/self/root/$PWD/.env; cat /proc/1/root$PWD/.env'",
      "sh -c 'exec 3< .env; cat /proc/self/fd/3'",
      "sh -c 'find / -xdev -samefile .env -exec cat {} +'",
    ];
    for (const command of commands) expect(JSON.stringify(await run(command)), command).not.toContain(CANARY);
  }, 120_000);

  test("leaves nothing behind: neither processes that outlive it nor changes of modes, times and names", async () => {
    const before = picture();
    const commands = [
      "sh -c '(sleep 1; echo late >> a.txt) & disown; true'",
      "sh -c 'setsid nohup sh -c \"sleep 1; echo late >> a.txt\" > /dev/null 2>&1 &'",
      "sh -c 'chmod 600 a.txt'",
      "sh -c 'touch -d @1 a.txt'",
      "sh -c 'ln a.txt b.txt'",
      "sh -c 'mv a.txt b.txt; mv b.txt a.txt'",
      "sh -c 'mkfifo pipe'",
      "sh -c 'echo x > /proc/self/cwd/new.txt'",
      'python3 -c \'import os; os.setxattr("a.txt", "user.haft", b"1")\'',
    ];
    for (const command of commands) await run(command);
    // The processes end with the command, so nothing has to be waited for.
    expect(picture()).toEqual(before);
    expect(execFileSync("sh", ["-c", "getfattr -d a.txt 2>/dev/null || true"], { cwd: folder, encoding: "utf8" })).toBe(
      "",
    );
  });

  test("asks if the copy does not keep what it did: a cache, an attribute, a folder's time, a process left", async () => {
    const python = (script: string): string => `python3 -c '${script}'`;
    const home = temporaryFolder();
    mkdirSync(join(home, ".npm/_cacache"), { recursive: true });
    writeFileSync(join(home, ".npm/_cacache/one"), "1");
    await haft.shutdown();
    const workspace = openWorkspace(folder, { stateFolder: join(folder, "../state"), sandbox: { home } as object });
    haft = createHaft({ workspace });
    writeFileSync(at("left.sh"), "(sleep 60; echo late > late.txt) >/dev/null 2>&1 &\necho started\n");
    writeFileSync(at("daemon.py"), "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)\n");
    for (const [command, fact] of [
      [`echo x > ${home}/.npm/new`, "a cache"],
      [`rm ${home}/.npm/_cacache/one`, "a cache"],
      [python(`import shutil; shutil.rmtree("${home}/.npm/_cacache"); print("cleaned")`), "a cache"],
      [python('import os; os.setxattr("a.txt", "user.haft", b"1")'), "a.txt"],
      [python('import os; os.setxattr("src", "user.haft", b"1")'), "src"],
      [python('import os; os.utime("src", (1, 1))'), "src"],
      [python('import os; os.utime(".", (1, 1))'), "times of"],
      ["sh left.sh", "left a process"],
      ["python3 daemon.py", "left a process"],
    ] as const)
      expect(await factsOf(await run(command)), command).toContainEqual(expect.stringContaining(fact));
    expect(readdirSync(join(home, ".npm"))).toEqual(["_cacache"]);
    // What nobody misses is named and not asked about.
    mkdirSync(join(home, ".npm/_logs"));
    const logged = await run(`sh -c 'echo x > ${home}/.npm/_logs/1.log; sh src/run.sh'`);
    expect(logged).toMatchObject({ status: "completed", details: { output: "ran\n" } });
    expect(textOf(logged.content)).toContain(`thrown away: ${home}/.npm/_logs`);
    await haft.shutdown();
    open();
    writeFileSync(at("package.json"), '{ "scripts": { "test": "node -p 1+1" } }');
    git("git init -q . && git add a.txt && git commit -qm one && touch a.txt");
    for (const command of [
      "git status",
      "git log --stat",
      "npm test",
      "python3 -c 'import json, http.server'",
      "sh -c 'exit 3'",
    ])
      expect((await run(command)).status, command).not.toBe("pending");
  }, 120_000);
});
