// `haft worker` and `haft serve` as programs, on the store of a folder: who makes a call, who runs it and who ends first are
// different processes.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Job } from "../../src/calls/job.ts";
import { openStore } from "../../src/store/store.ts";
import { bundleHaft, type HaftProgram } from "../cli/run-haft.ts";

let haft: HaftProgram;
beforeAll(async () => void (haft = await bundleHaft()), 120_000);
afterAll(() => haft.remove());

async function submit(...words: string[]): Promise<string> {
  const made = await haft.run(["tools", "call", ...words, "--background", "--json"]);
  expect(made.code, made.stderr).toBe(7);
  const { pending } = JSON.parse(made.stdout) as { pending: { kind: string; id: string } };
  expect(pending.kind).toBe("job");
  return pending.id;
}

/** What lies in the store, whoever wrote it. */
async function watchJobs() {
  const { jobs, close } = await openStore({ stateFolder: haft.stateFolder });
  onTestFinished(close);
  const get = async (id: string): Promise<Job> => (await jobs.get(id))!;
  return {
    get,
    async ended(id: string): Promise<Job> {
      for (;;) {
        const job = await get(id);
        if (job.endedAt !== undefined) return job;
        await pause();
      }
    },
  };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test("a worker takes what others left, finishes what runs when it is told to end, and a server takes the rest", async () => {
  writeFileSync(join(haft.folder, "note.txt"), "a note\n");
  const jobs = await watchJobs();
  const first = await submit("read", "path=note.txt");
  // Who made the call has ended, and began nothing.
  expect(await jobs.get(first)).toMatchObject({ state: "queued", attempt: 0 });
  const worker = haft.start(["worker", "--concurrency", "1", "--name", "bench", "--json"]);
  const [said] = await worker.waitForOutput(/^\{.*\}\n/);
  expect(JSON.parse(said)).toMatchObject({ worker: "bench", queue: "file", pid: worker.child.pid });
  expect(await jobs.ended(first)).toMatchObject({ state: "completed", worker: expect.stringMatching(/^bench\//) });

  const command = "command=touch begun; until [ -e go ]; do sleep 0.05; done; touch ended";
  const second = await submit("exec", command, "--mode", "bypassPermissions");
  const third = await submit("read", "path=note.txt");
  while (!existsSync(join(haft.folder, "begun"))) await pause();
  worker.child.kill("SIGTERM");
  await worker.waitForOutput(/waiting for 1 running jobs/, "stderr");
  writeFileSync(join(haft.folder, "go"), "");
  expect(await worker.ended).toMatchObject({ code: 0 });
  expect(existsSync(join(haft.folder, "ended"))).toBe(true);
  expect(await jobs.get(second)).toMatchObject({ state: "completed" });
  expect(await jobs.get(third)).toMatchObject({ state: "queued", attempt: 0 });

  const server = haft.start(["serve", "--port", "0", "--json"]);
  expect(await jobs.ended(third)).toMatchObject({ state: "completed", result: { success: true } });
  server.child.kill("SIGTERM");
  expect(await server.ended).toMatchObject({ code: 0 });
}, 120_000);

test("a worker for certain tools leaves the others alone", async () => {
  haft.openFolder();
  writeFileSync(join(haft.folder, "note.txt"), "a note\n");
  const jobs = await watchJobs();
  const [foreign, own] = [await submit("read", "path=note.txt"), await submit("list_files", "path=.")];
  haft.start(["worker", "--tools", "list_files", "--json"]);
  expect(await jobs.ended(own)).toMatchObject({ state: "completed" });
  expect(await jobs.get(foreign)).toMatchObject({ state: "queued", attempt: 0 });
}, 120_000);
