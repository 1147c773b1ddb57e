// What a confined command must not be able to do, tried with the real sandbox of this machine.
import { createServer } from "node:http";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHaft, type Haft, type ToolResult } from "haft";
import { openHaft, trust } from "haft/host";
import { openWorkspace } from "haft/workspace";
import { openSandbox } from "../../src/io/sandbox/sandbox.ts";
import { machineEngines } from "../../src/io/sandbox/self-test.ts";
import { canRun } from "../setup/requirements.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const { look, work, tests } = machineEngines();
const missing =
  look && work?.name === "namespaces" ? undefined : `Commands cannot be confined here: ${JSON.stringify(tests)}.`;

describe.runIf(canRun("sandbox", missing))("a confined command", () => {
  let base: string;
  let workspace: string;
  let stateFolder: string;
  let haft: Haft;

  beforeEach(() => {
    // Not below /tmp, of which a confined command has one of its own.
    base = realpathSync(mkdtempSync(join(existsSync("/var/lib") ? "/var/lib" : tmpdir(), "haft-escape-")));
    workspace = join(base, "workspace");
    stateFolder = join(base, "state");
    for (const folder of [join(workspace, ".haft"), stateFolder]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "haft.db"), "the store");
    }
    writeFileSync(join(workspace, ".env"), "TOKEN=secret-token");
    writeFileSync(join(workspace, "code.txt"), "code");
    writeFileSync(join(base, "outside.txt"), "outside");
    git("init", "-q");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first");
    open();
  });
  afterEach(async () => {
    await haft.shutdown();
    rmSync(base, { recursive: true, force: true });
  });

  function git(...args: string[]): void {
    execFileSync("git", args, { cwd: workspace });
  }

  function open(options: { autoAllow?: boolean } = { autoAllow: true }): void {
    haft = createHaft({ workspace: openWorkspace(workspace, { sandbox: options, stateFolder }) });
  }

  /** As if a person said yes to everything: what is left is the sandbox. */
  async function approveAll(): Promise<void> {
    await haft.shutdown();
    const approver = async () => ({ approved: true, confirmUnshown: true });
    haft = createHaft({ workspace: openWorkspace(workspace, { sandbox: { autoAllow: true }, stateFolder }), approver });
  }

  const run = (command: string, more: object = {}): Promise<ToolResult> => haft.execute("exec", { command, ...more });
  const outputOf = (result: ToolResult): string => (result as { details?: { output?: string } }).details?.output ?? "";

  test("works in the workspace, and nothing of it asks", async () => {
    const result = await run(
      "echo new > new.txt && mkdir -p a/b && cat new.txt && git status --short && echo tmp > /tmp/x && cat /tmp/x",
    );
    expect(result).toMatchObject({ status: "completed", details: { confined: true } });
    expect(readFileSync(join(workspace, "new.txt"), "utf8")).toBe("new\n");
    expect(existsSync("/tmp/x")).toBe(false);
  });

  test("commits, and cannot change what git runs", async () => {
    const commit = await run(
      "git add code.txt && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l",
    );
    expect(outputOf(commit).trim()).toBe("2");
    await approveAll();
    for (const attempt of [
      "echo evil > .git/hooks/pre-commit",
      "git config core.fsmonitor ./evil",
      "mv .git elsewhere",
      "mv .git/hooks .git/h2 && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
      "rm -rf .git/hooks; mkdir -p .git/hooks && touch .git/hooks/pre-commit",
      "mv .haft away && mkdir .haft && echo x > .haft/haft.db",
    ]) {
      expect(await run(attempt), attempt).toMatchObject({ status: "failed" });
    }
    expect(existsSync(join(workspace, ".git", "hooks", "pre-commit"))).toBe(false);
    expect(readFileSync(join(workspace, ".git", "config"), "utf8")).not.toContain("evil");
    expect(readFileSync(join(workspace, ".haft", "haft.db"), "utf8")).toBe("the store");
  });

  test("with narrower paths leaves what others have in the rest of the workspace", async () => {
    mkdirSync(join(workspace, "src"));
    mkdirSync(join(workspace, ".vscode"));
    writeFileSync(join(workspace, ".vscode", "settings.json"), "{}");
    writeFileSync(join(workspace, ".git", "hooks", "pre-commit"), "mine");
    await approveAll();
    const input = { command: "touch new", working_directory: "src" };
    const result = await haft.execute("exec", input, { allowedPaths: [join(workspace, "src")] });
    expect(result).toMatchObject({ status: "completed" });
    expect(readFileSync(join(workspace, ".git", "hooks", "pre-commit"), "utf8")).toBe("mine");
    expect(existsSync(join(workspace, ".vscode", "settings.json"))).toBe(true);
  });

  test("writes nothing outside, by no path and through no link", async () => {
    symlinkSync(join(base, "outside.txt"), join(workspace, "link"));
    await approveAll();
    for (const attempt of [
      `echo evil > ${base}/outside.txt`,
      "echo evil > ../outside.txt",
      "echo evil > link",
      `echo evil >> ${homedir()}/.bashrc`,
      "touch /etc/haft-evil",
      "echo evil > /proc/sys/kernel/hostname",
      "cat /proc/sys/kernel/core_pattern > /tmp/same; cat /tmp/same > /proc/sys/kernel/core_pattern",
      "echo h > /proc/sysrq-trigger",
      `mount -o remount,rw ${base} && echo evil > ${base}/outside.txt`,
      `unshare -Urm sh -c 'mount -o remount,rw / && echo evil > ${base}/outside.txt'`,
      `ln ${base}/outside.txt hard && echo evil > hard`,
    ]) {
      expect(await run(attempt), attempt).toMatchObject({ status: "failed" });
    }
    expect(readFileSync(join(base, "outside.txt"), "utf8")).toBe("outside");
    expect(existsSync("/etc/haft-evil")).toBe(false);
  });

  test("reads no secret and not the runtime's own state", async () => {
    const own = `cat ${stateFolder}/haft.db; ls -A ${stateFolder}`;
    const result = await run(`cat .env; cat .haft/haft.db; ls -A .haft; ${own}; cat /etc/shadow; ls ~/.ssh; true`);
    expect(outputOf(result)).not.toMatch(/secret-token|the store|haft\.db\n|root:/);
  });

  test("reads no secret in a further folder, if it runs without approval", async () => {
    await haft.shutdown();
    const further = join(base, "further");
    mkdirSync(further);
    writeFileSync(join(further, "server.key"), "secret-token");
    writeFileSync(join(further, "open.txt"), "open text");
    haft = createHaft({ workspace: openWorkspace(workspace, { readOnlyPaths: [further], stateFolder }) });
    const result = await run("ls /usr/bin/env");
    expect(result).toMatchObject({ status: "completed", details: { profile: "look" } });
    const sandbox = openSandbox({ files: openWorkspace(workspace, { readOnlyPaths: [further] }).files });
    const { command } = await sandbox.confine("look", ["/bin/sh", "-c", `cat ${further}/*`], {
      cwd: workspace,
      terminal: false,
    });
    const { stdout } = spawnSync(command[0]!, command.slice(1), { cwd: workspace, encoding: "utf8" });
    expect(stdout).toBe("open text");
  });

  test.each(["namespaces", "landlock"] as const)("changes nothing in a read-only folder, with %s", async (name) => {
    const docs = join(workspace, "docs");
    mkdirSync(docs);
    writeFileSync(join(docs, "guide.md"), "as it was");
    const engines = () => ({ look, work: name === "landlock" ? look : work, tests });
    const files = openWorkspace(workspace, { readOnlyPaths: ["docs"] }).files;
    const sandbox = openSandbox({ files, engines });
    const script =
      "echo x > docs/guide.md; rm docs/guide.md; touch docs/new; mv docs gone; cat docs/guide.md; echo y > code.txt";
    const { command } = await sandbox.confine("work", ["/bin/sh", "-c", script], { cwd: workspace, terminal: false });
    const { stdout } = spawnSync(command[0]!, command.slice(1), { cwd: workspace, encoding: "utf8" });
    sandbox.close();
    expect(stdout).toBe("as it was");
    expect(readdirSync(docs)).toEqual(["guide.md"]);
    expect(readFileSync(join(workspace, "code.txt"), "utf8")).toBe("y\n");
  });

  test("reaches no address, private or public, and no service on this machine", async () => {
    const server = createServer((_request, response) => response.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const result = await run(
        `node -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then(console.log, () => process.exit(7))'`,
      );
      expect(outputOf(result)).not.toContain("reached");
      expect(outputOf(await run("ls -A /run /var/run"))).not.toMatch(/sock|dbus|systemd/);
    } finally {
      server.close();
    }
  });

  test("reaches the hosts that are allowed, through a proxy that checks them, and no others", async () => {
    const server = createServer((_request, response) => response.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const config = join(base, "allowed");
    mkdirSync(config);
    writeFileSync(
      join(config, "haft.config.json"),
      JSON.stringify({
        sandbox: { autoAllow: true, allowedHosts: ["127.0.0.1"] },
        network: { exceptions: [`127.0.0.1:${port}`] },
      }),
    );
    const home = join(base, "home");
    mkdirSync(home);
    await trust(config, { home });
    const host = await openHaft(config, { home });
    try {
      const get = (url: string) =>
        host.haft.execute("exec", { command: `curl -s -m 5 ${url} || wget -qO- -T 5 ${url}` });
      expect(outputOf(await get(`http://127.0.0.1:${port}/`)), JSON.stringify(host.warnings)).toContain("reached");
      expect(outputOf(await get("http://169.254.169.254/latest"))).toMatch(
        /not in the list of allowed hosts|403|refused/i,
      );
    } finally {
      await host.close();
      server.close();
    }
  });

  test("leaves nothing running behind", async () => {
    const name = `haft-survivor-${process.pid}`;
    await run(
      `cp "$(command -v sleep)" ./${name}; (setsid nohup ./${name} 60 >/dev/null 2>&1 &) ; sleep 0.2; echo left`,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toContain(`./${name}`);
  });

  test("says what it was refused, and asks a person before it runs outside", async () => {
    const refused = await run(`echo x > ${base}/outside.txt`);
    expect(JSON.stringify(refused.content)).toContain(`the command tried to use ${base}/outside.txt`);
    expect(JSON.stringify(refused.content)).toContain("outside_sandbox");
    const requested = await run(`echo approved > ${base}/outside.txt`, { outside_sandbox: true });
    expect(requested).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    const [approval] = await haft.approvals.list();
    expect(JSON.stringify(approval!.preview)).toContain("OUTSIDE the sandbox");
    expect(await haft.approvals.approve(approval!.id)).toMatchObject({ status: "completed" });
    expect(readFileSync(join(base, "outside.txt"), "utf8")).toBe("approved\n");
  });

  test("a rule that allows a command does not let it out", async () => {
    await haft.shutdown();
    haft = createHaft({ workspace: openWorkspace(workspace, { sandbox: {} }), rules: { allow: ["Bash(touch:*)"] } });
    expect(await run("touch inside.txt")).toMatchObject({ status: "completed", details: { confined: true } });
    expect(await run("touch inside.txt", { outside_sandbox: true })).toMatchObject({ status: "pending" });
  });

  test("without auto-allow it is confined and still asks", async () => {
    await haft.shutdown();
    open({});
    expect(await run("touch a.txt")).toMatchObject({ status: "pending" });
  });

  test("a hostile repository runs its programs inside, if at all", async () => {
    const proof = join(base, "proof");
    writeFileSync(join(workspace, "evil.sh"), `#!/bin/sh\ntouch ${proof} inside-proof\n`);
    chmodSync(join(workspace, "evil.sh"), 0o755);
    git("config", "core.fsmonitor", join(workspace, "evil.sh"));
    // What runs without a question starts no program of the repository.
    await run("git status");
    expect([existsSync(proof), existsSync(join(workspace, "inside-proof"))]).toEqual([false, false]);
    await run("git add evil.sh");
    expect(existsSync(proof)).toBe(false);
    // It was run, so that the test shows something.
    expect(existsSync(join(workspace, "inside-proof"))).toBe(true);
  });

  test("memory is limited", async () => {
    await haft.shutdown();
    haft = createHaft({
      workspace: openWorkspace(workspace, { sandbox: { autoAllow: true, memoryBytes: 100 * 1024 * 1024 } }),
    });
    expect(
      await run(`python3 -c 'x = "a" * (300 * 1024 * 1024)' || perl -e '$x = "a" x (300 * 1024 * 1024)'`),
    ).toMatchObject({
      status: "failed",
    });
  });

  test("works on a terminal, and in the background until it is ended", async () => {
    const result = await run("test -t 1 && echo terminal", { pty: true });
    expect(outputOf(result)).toContain("terminal");
    const started = await run("sleep 30", { run_in_background: true });
    const id = (started as { details: { processId: string } }).details.processId;
    expect(await haft.execute("process", { action: "kill", id })).toMatchObject({ status: "completed" });
  });
});

test("where nothing can be confined, every command asks and every result says so", async () => {
  const folder = temporaryFolder("haft-unconfined-");
  const engines = () => ({
    tests: [{ profile: "look", engine: "landlock", problem: "there is no Landlock" } as const],
  });
  const workspace = openWorkspace(folder, { sandbox: { autoAllow: true, engines } });
  const haft = createHaft({ workspace });
  try {
    expect(workspace.sandbox?.notice).toBe(
      "This machine cannot confine commands: there is no Landlock. Every command needs approval.",
    );
    for (const command of ["echo hi", "touch x"])
      expect(await haft.execute("exec", { command })).toMatchObject({ status: "pending" });
    const [approval] = await haft.approvals.list();
    expect(JSON.stringify(approval!.preview)).toContain("UNCONFINED");
    const result = await haft.approvals.approve(approval!.id);
    expect(result).toMatchObject({ status: "completed", details: { confined: false } });
    expect(JSON.stringify(result)).toContain("there is no Landlock");
  } finally {
    await haft.shutdown();
    rmSync(folder, { recursive: true, force: true });
  }
});
