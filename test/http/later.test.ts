// Jobs and schedules of a real host over HTTP; every response is checked against its contract.
import { describe, expect, onTestFinished, test } from "vitest";
import { createTool } from "haft";
import { openHaft } from "haft/host";
import type { api, HaftClient } from "haft/client";
import { serveHttp } from "../../src/server/http-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openCheckedClient } from "./checked-client.ts";

async function open() {
  const folder = temporaryFolder("haft-later-");
  const kept: unknown[] = [];
  const gates: (() => void)[] = [];
  const host = await openHaft(folder, {
    home: folder,
    env: {},
    approvalWaitMs: false,
    tools: [
      createTool({
        name: "keep",
        description: "Keeps a text",
        kind: "readonly",
        parameters: [{ name: "text", type: "string", required: true }],
        run: (input) => (kept.push(input), "kept"),
      }),
      createTool({
        name: "build",
        description: "Takes its time",
        kind: "readonly",
        mode: "background",
        parameters: [],
        async run(_input, { update, signal }) {
          update({ content: [{ type: "text", text: "half way" }], progress: { done: 1, total: 2 } });
          await new Promise<void>((resolve, reject) => {
            gates.push(resolve);
            signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
          });
          return "built";
        },
      }),
    ],
  });
  const server = await serveHttp(host, { port: 0 });
  onTestFinished(async () => {
    await server.close();
    await host.close();
  });
  const tokenFor = (...scopes: api.Scope[]): Promise<string> => server.issueToken({ name: scopes.join("+"), scopes });
  const clientFor = (...scopes: api.Scope[]): Promise<HaftClient> => openCheckedClient({ server, tokenFor }, ...scopes);
  return { host, kept, gates, clientFor };
}

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const hourly = {
  name: "hourly",
  timing: { type: "every", everyMs: 3_600_000 },
  target: { type: "call", toolName: "keep", input: { text: "hello" } },
} as const;

describe("schedules", () => {
  test("are created, shown, changed, paused, run and removed", async () => {
    const { host, kept, clientFor } = await open();
    const client = await clientFor("read", "call");
    expect((await client.server.info()).parts).toEqual(expect.arrayContaining(["jobs", "schedules"]));
    const added = await client.schedules.create({ ...hourly, mode: "dontAsk", policy: { deny: ["exec"] } });
    expect(added).toMatchObject({
      authority: { caller: { user: "read+call" }, mode: "dontAsk", policy: [{ deny: ["exec"] }] },
    });
    expect(added.upcoming).toEqual([0, 1, 2, 3, 4].map((hours) => added.nextAt! + hours * 3_600_000));
    const { id } = added;
    expect(await client.schedules.update(id, { name: "renamed" })).toMatchObject({
      name: "renamed",
      nextAt: added.nextAt,
      authority: { caller: { user: "read+call" } },
    });
    expect(await client.schedules.pause(id, { isPaused: true })).toMatchObject({ isPaused: true, upcoming: [] });
    expect(await client.schedules.pause(id, { isPaused: false })).toMatchObject({ isPaused: false });
    expect(await client.schedules.run(id)).toMatchObject({ number: 1, trigger: "request", by: "read+call" });
    const run = await until(async () =>
      (await client.schedules.runs(id)).items.find(({ state }) => state === "completed"),
    );
    expect(run).toMatchObject({ number: 1, callId: `${id}.1`, outcome: "kept" });
    expect(kept).toEqual([{ text: "hello" }]);
    expect(await client.schedules.list()).toMatchObject({
      items: [{ id, lastRun: { number: 1 } }],
      status: { schedules: 1, isRunning: false },
    });
    host.schedules.start();
    await until(async () => ((await client.schedules.list()).status.isRunning ? true : undefined));
    await client.schedules.remove(id);
    await expect(client.schedules.get(id)).rejects.toMatchObject({ status: 404, code: "no_match" });
    await host.store.audit.flush();
    const changes = (await host.store.audit.query({ kind: "config_changed" })).entries.map(
      ({ data }) => data["action"],
    );
    expect(changes.reverse()).toEqual([
      "schedule_added",
      "schedule_changed",
      "schedule_paused",
      "schedule_resumed",
      "schedule_removed",
    ]);
  });

  test("are controlled by their owner or an admin, and cannot have a mode that the token may not use", async () => {
    const { clientFor } = await open();
    const owner = await clientFor("read", "call");
    const { id } = await owner.schedules.create(hourly);
    const other = await clientFor("call", "read");
    for (const steer of [
      () => other.schedules.run(id),
      () => other.schedules.remove(id),
      () => other.schedules.pause(id, { isPaused: true }),
      () => other.schedules.update(id, { name: "mine" }),
    ]) {
      await expect(steer()).rejects.toMatchObject({ status: 403, code: "forbidden" });
    }
    await expect(owner.schedules.create({ ...hourly, mode: "bypassPermissions" })).rejects.toMatchObject({
      status: 403,
    });
    await expect((await clientFor("read")).schedules.create(hourly)).rejects.toMatchObject({ status: 403 });
    const admin = await clientFor("read", "call", "admin");
    expect(await admin.schedules.pause(id, { isPaused: true })).toMatchObject({
      authority: { caller: { user: "read+call" } },
    });
  });

  test("that are not possible are refused with the next step", async () => {
    const { clientFor } = await open();
    const client = await clientFor("read", "call");
    const cron = (expression: string) => ({ type: "cron", expression, timeZone: "UTC" }) as const;
    await expect(client.schedules.create({ ...hourly, timing: cron("x") })).rejects.toMatchObject({
      message: expect.stringContaining("not a cron expression"),
      next: expect.stringContaining("30 8"),
    });
    const target = { type: "call", toolName: "nothing", input: {} } as const;
    await expect(client.schedules.create({ ...hourly, target })).rejects.toMatchObject({ status: 404 });
    await expect(client.schedules.create({ ...hourly, policy: { deny: ["keep"] } })).rejects.toMatchObject({
      status: 403,
      code: "denied",
    });
    await expect(client.schedules.runs("%00")).rejects.toMatchObject({ status: 404 });
  });
});

describe("jobs", () => {
  test("are listed, watched while they run, and end with their result", async () => {
    const { gates, clientFor } = await open();
    const client = await clientFor("read", "call");
    const result = await client.calls.execute({ tool: "build" });
    if (result.status !== "pending") throw new Error(result.display);
    const { id } = result.pending;
    const frames: api.JobFrame[] = [];
    const followed = (async () => {
      for await (const frame of client.jobs.watch(id)) frames.push(frame);
    })();
    await until(() => frames.find((frame) => frame.type === "line" && frame.line.update?.content));
    expect(await client.jobs.list({ state: ["running"] })).toMatchObject({
      items: [{ id, toolName: "build", caller: { user: "read+call" }, progress: { done: 1, total: 2 } }],
      counts: { running: 1 },
    });
    gates[0]!();
    await followed;
    expect(frames.at(-1)).toMatchObject({ type: "job", job: { state: "completed", result: { display: "built" } } });
    expect(await client.jobs.get(id)).toMatchObject({ state: "completed", input: {} });
    const { items } = await client.jobs.log(id);
    const lines = frames.flatMap((frame) => (frame.type === "line" ? [frame.line] : []));
    expect(lines).toEqual(items);
    expect((await client.jobs.log(id, { after: items.at(-1)!.number })).items).toEqual([]);
    await expect(client.jobs.list({ state: ["gone" as never] })).rejects.toMatchObject({ status: 400 });
    await expect(client.jobs.get("none")).rejects.toMatchObject({ status: 404 });
  });

  test("are cancelled and retried by their owner and by admins", async () => {
    const { gates, clientFor } = await open();
    const client = await clientFor("read", "call");
    const result = await client.calls.execute({ tool: "build" });
    if (result.status !== "pending") throw new Error(result.display);
    const { id } = result.pending;
    await until(() => gates[0]);
    const other = await clientFor("call", "read");
    await expect(other.jobs.cancel(id)).rejects.toMatchObject({ status: 403 });
    await client.jobs.cancel(id, { reason: "not needed" });
    const ended = await until<api.JobDetail>(async () => {
      const job = await client.jobs.get(id);
      return job.endedAt === undefined ? undefined : job;
    });
    expect(ended).toMatchObject({ state: "cancelled", result: { error: { code: "cancelled" } } });
    await expect(other.jobs.retry(id)).rejects.toMatchObject({ status: 403 });
    expect(await (await clientFor("read", "call", "admin")).jobs.retry(id)).toMatchObject({ id, round: 2 });
    await until(() => gates[1]);
    gates[1]!();
    await until(async () => ((await client.jobs.get(id)).state === "completed" ? true : undefined));
  });
});
