// What only shows with the command line as a program of its own. `piped.test.ts` runs its commands in process.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { until } from "../setup/until.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { bundleHaft, type HaftProgram, Running } from "./run-haft.ts";

let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => void haft.openFolder());

test("a command prints its output as it comes, and its failure is that of the command line", async () => {
  const command = "echo first; until [ -e go ]; do sleep 0.02; done; echo second; exit 3";
  const running = haft.start(["tools", "call", "exec", "--mode", "bypassPermissions", `command=${command}`]);
  await running.waitForOutput(/^first\n$/);
  writeFileSync(join(haft.folder, "go"), "");
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(5);
  expect(stdout).toMatch(/^first\nsecond\n\[exit code 3\]\n/);
  expect(stdout.match(/first/g)).toHaveLength(1);
  expect(stderr).toContain("exec failed (exit_code)");
});

test("a call that needs a yes asks nobody off a terminal: it says what to run, and another process answers", async () => {
  const requested = await haft.run(["tools", "call", "write", "path=a.txt", "content=Hello"], { input: "y\ny\n" });
  expect(requested).toMatchObject({ code: 7, stdout: "" });
  const [, id] = /haft approvals approve (\S+)/.exec(requested.stderr)!;
  expect(existsSync(join(haft.folder, "a.txt"))).toBe(false);
  const listed = await haft.run(["approvals", "list", "--json"]);
  expect(JSON.parse(listed.stdout).items).toMatchObject([{ id, state: "pending", toolName: "write" }]);
  const shown = await haft.run(["approvals", "show", id!]);
  expect(shown.stdout).toContain("+Hello");
  const answered = await haft.run(["approvals", "approve", id!]);
  expect(answered).toMatchObject({ code: 0 });
  expect(readFileSync(join(haft.folder, "a.txt"), "utf8")).toBe("Hello");
  const again = await haft.run(["approvals", "approve", id!]);
  expect(again).toMatchObject({ code: 0, stdout: answered.stdout });
  const undone = await haft.run(["undo", "--last"]);
  expect(undone).toMatchObject({ code: 0, stdout: expect.stringMatching(/\bwrite\s+wrote \(undone\)\s+.*a\.txt/) });
  expect(existsSync(join(haft.folder, "a.txt"))).toBe(false);
  const verified = await haft.run(["audit", "verify"]);
  expect(verified).toMatchObject({ code: 0 });
});

test("a killed program loses no question: the person is told to start it again, and its call takes the answer", async () => {
  const program = await bundleProgram("test/cli/paying-program.ts", join(haft.folder, "../program"), { isSplit: true });
  const start = () => {
    const child = spawn(process.execPath, [program, haft.folder], { env: haft.env, stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return new Running(child);
  };
  const killed = start();
  const [, id = ""] = await killed.waitForOutput(/asked (\S+)/);
  expect((await haft.run(["approvals", "show", id])).stdout).toContain("; the caller waits 10 min more");
  killed.child.kill("SIGKILL");
  await killed.ended;
  // It has the store open, and cannot run a tool of another program.
  const server = haft.start(["serve", "--no-open", "--port", "0"]);
  await server.waitForOutput(/login=/);
  expect((await haft.run(["approvals", "show", id])).stdout).toMatch(/, in 24 h; its caller has ended/);
  const approved = await haft.run(["approvals", "approve", id]);
  expect(approved).toMatchObject({ code: 7, stdout: "" });
  expect(approved.stderr).toMatch(
    /Approved\. No running process has "send_money"\. Start the program that asked again: the same idempotencyKey and input takes this answer, until \d{4}-/,
  );
  expect(approved.stderr).not.toContain("not started yet");
  expect(existsSync(join(haft.folder, "sent.txt"))).toBe(false);
  const again = start();
  expect(await again.ended).toMatchObject({ code: 0, stdout: "completed: sent to ada\n" });
  expect(readFileSync(join(haft.folder, "sent.txt"), "utf8")).toBe("ada\n");
  expect(await haft.run(["approvals", "approve", id])).toMatchObject({ code: 0, stdout: "sent to ada\n" });
});

test("a command follows the audit log of other processes until it is interrupted", async () => {
  const tail = haft.start(["audit", "tail", "--jsonl", "-n", "0"]);
  // It says nothing when it begins to follow: calls are made until it shows one.
  await until(async () => {
    await haft.run(["tools", "call", "current_time"]);
    return tail.stdout.includes('"toolName":"current_time"');
  });
  tail.child.kill("SIGINT");
  expect(await tail.ended).toMatchObject({ code: 130 });
});
