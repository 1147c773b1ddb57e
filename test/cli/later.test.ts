// `haft jobs` and `haft schedules` before a real host, in this process.
import { expect, test } from "vitest";
import { createTool } from "haft";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

async function open() {
  const folder = temporaryFolder("haft-later-");
  const gates: (() => void)[] = [];
  const build = createTool({
    name: "build",
    description: "Takes its time",
    kind: "readonly",
    mode: "background",
    parameters: [],
    async run(_input, { update, signal }) {
      update("half way \u001b[31m");
      await new Promise<void>((resolve, reject) => {
        gates.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      return "built";
    },
  });
  return { ...(await openHostCli(folder, { tools: [build] })), gates };
}

test("haft schedules adds a schedule, lists, runs and tells of it, pauses, resumes and removes it", async () => {
  const { haft } = await open();
  expect((await haft("schedules", "list")).stderr).toContain("No schedules.");
  const added = await haft("schedules", "add", "--every", "15m", "--name", "look", "list_files", "path=.", "--json");
  expect(added.stderr).toContain("No process runs schedules at the moment");
  const { id, target, authority } = JSON.parse(added.stdout) as Record<string, unknown> & { id: string };
  expect({ target, authority }).toEqual({
    target: { type: "call", toolName: "list_files", input: { path: "." } },
    authority: { caller: { depth: 0, user: "ann" } },
  });
  expect((await haft("schedules", "list")).stdout).toMatch(/look {2}every 15m .*list_files/);
  const ran = await haft("schedules", "run", id);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/completed .*requested by ann/);
  expect((await haft("schedules", "runs", id, "--jsonl")).stdout.split("\n").filter(Boolean)).toHaveLength(1);
  expect((await haft("schedules", "pause", id)).stdout).toContain("paused");
  expect((await haft("schedules", "resume", id)).stdout).not.toContain("paused");
  expect((await haft("schedules", "remove", id)).code).toBe(0);
  expect(await haft("schedules", "runs", id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no schedule"),
  });
});

test("haft schedules add refuses what cannot be, and says what to write", async () => {
  const { haft } = await open();
  expect(await haft("schedules", "add", "list_files")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--every"),
  });
  expect((await haft("schedules", "add", "--every", "15x", "list_files")).stderr).toContain("30s, 5m, 2h");
  expect(await haft("schedules", "add", "--cron", "x", "list_files")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("30 8 * * 1-5"),
  });
  expect((await haft("schedules", "add", "--every", "1h", "list_filez")).stderr).toContain("list_files");
});

test("a run that must ask waits, and the exit code says so", async () => {
  const { haft, host } = await open();
  const added = await haft("schedules", "add", "--every", "1h", "exec", "command=touch a", "--json");
  const { id } = JSON.parse(added.stdout) as { id: string };
  const ran = await haft("schedules", "run", id);
  expect(ran).toMatchObject({ code: 7, stderr: expect.stringContaining("haft approvals list") });
  const [question] = await host.haft.approvals.list("pending");
  await host.haft.approvals.approve(question!.id);
  expect((await haft("schedules", "runs", id)).stdout).toContain("completed");
});

test("haft jobs lists, shows, follows, cancels and retries", async () => {
  const { haft, host, gates } = await open();
  const result = await host.haft.execute("build", {}, { caller: { user: "ann" } });
  if (result.status !== "pending") throw new Error(result.display);
  const { id } = result.pending;
  while (gates.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  expect((await haft("jobs", "list", "--state", "running")).stdout).toContain(`${id}  running  build`);
  expect((await haft("jobs", "logs", id)).stdout).toContain("half way \\u{1b}[31m");
  const followed = haft("jobs", "logs", id, "--follow");
  gates[0]!();
  expect(await followed).toMatchObject({ code: 0, stderr: expect.stringContaining("completed: built") });
  expect((await haft("jobs", "show", id)).stdout).toContain("built");
  expect(JSON.parse((await haft("jobs", "retry", id, "--json")).stdout)).toMatchObject({ id, round: 2 });
  while (gates.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await haft("jobs", "cancel", id, "--reason", "enough");
  expect(await haft("jobs", "logs", id, "--follow")).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("cancelled"),
  });
  expect(await haft("jobs", "show", "none")).toMatchObject({ code: 1, stderr: expect.stringContaining("no such job") });
});
