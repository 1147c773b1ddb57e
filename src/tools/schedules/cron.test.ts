import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { type HaftHost, openHaft } from "../../host.ts";
import type { CallOptions } from "../../core/call.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Schedule, ScheduleRun } from "../../core/schedule.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake-clock.ts";
import { readTiming, showTiming } from "./schedule-text.ts";

interface Opened {
  host: HaftHost;
  clock: FakeClock;
  kept: unknown[];
  /** Calls cron and approves. */
  cron(input: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
}

async function open(): Promise<Opened> {
  const folder = temporaryFolder("haft-cron-");
  const clock = createFakeClock(Date.UTC(2026, 10, 15, 8));
  const kept: unknown[] = [];
  const host = await openHaft(folder, {
    home: folder,
    env: {},
    clock,
    approvalWaitMs: false,
    tools: [
      {
        name: "keep",
        description: "Keeps a text",
        kind: "readonly",
        parameters: [{ name: "text", type: "string", required: true }],
        run: (input: unknown) => (kept.push(input), "kept"),
      } as never,
    ],
  });
  onTestFinished(async () => {
    await host.close();
  });
  return {
    host,
    clock,
    kept,
    async cron(input, options = {}) {
      const result = await host.haft.execute("cron", input, options);
      return result.status === "pending" ? host.haft.approvals.approve(result.pending.id) : result;
    },
  };
}

const minutely = { action: "add", name: "minutely", every: "1m", tool: "keep", input: { text: "hello" } };

describe("the cron tool", () => {
  test("needs approval to add, shows what runs, when and as whom, and then runs it", async () => {
    const { host, clock, kept } = await open();
    const requested = await host.haft.execute("cron", minutely, {
      caller: { user: "ada" },
      policy: { deny: ["exec"] },
    });
    expect(requested).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    const [question] = await host.haft.approvals.list("pending");
    expect(JSON.stringify(question!.preview)).toMatch(/every 1m.*keep \{.*hello.*ada.*deny.*exec/s);
    await host.haft.approvals.approve(question!.id);
    host.schedules.start();
    await clock.advance(2 * 60_000 + 1);
    expect(kept).toEqual([{ text: "hello" }, { text: "hello" }]);
  });

  test("shows all of a schedule that it would run or change", async () => {
    const { host, cron } = await open();
    const long = { text: `${"a".repeat(600)} the end` };
    const { id } = (await cron({ ...minutely, input: long })).details as Schedule;
    await host.haft.execute("cron", { action: "update", id, every: "2m" });
    const [question] = await host.haft.approvals.list("pending");
    expect(JSON.stringify(question!.preview).match(/the end/g)).toHaveLength(2);
  });

  test("lists, shows the status, changes, runs now, lists runs and removes", async () => {
    const { host, clock, kept, cron } = await open();
    expect((await cron({ action: "status" })).display).toContain("No process runs schedules now");
    const added = (await cron(minutely)).details as Schedule;
    host.schedules.start();
    await clock.advance(10);
    expect((await cron({ action: "status" })).display).toContain("1 schedule, 0 paused. Schedules are running.");
    expect((await cron({ action: "list" })).details).toMatchObject({ schedules: [{ id: added.id, name: "minutely" }] });
    const { id } = added;
    expect((await cron({ action: "update", id, input: { text: "other" } })).details).toMatchObject({
      timing: { type: "every", everyMs: 60_000 },
      target: { toolName: "keep", input: { text: "other" } },
      nextAt: added.nextAt,
    });
    await cron({ action: "run", id }, { caller: { user: undefined as never } });
    await clock.advance(10);
    expect(kept).toEqual([{ text: "other" }]);
    const { runs } = (await cron({ action: "runs", id })).details as { runs: ScheduleRun[] };
    expect(runs).toMatchObject([{ number: 1, trigger: "request", state: "completed", callId: `${id}.1` }]);
    await cron({ action: "remove", id });
    expect((await cron({ action: "list" })).display).toBe("There are no schedules.");
  });

  test("refuses invalid input before an approval is requested", async () => {
    const { host } = await open();
    const impossible: [Record<string, unknown>, string][] = [
      [{ ...minutely, tool: "nothing" }, "tool_not_found"],
      [{ ...minutely, input: { wrong: 1 } }, "invalid_input"],
      [{ ...minutely, tool: "cron", input: { action: "list" } }, "denied"],
      [{ ...minutely, every: "1x" }, "invalid_input"],
      [{ ...minutely, at: "20m" }, "invalid_input"],
      [{ ...minutely, every: undefined, at: "2026-11-16 08:00" }, "invalid_input"],
      [{ ...minutely, every: undefined }, "invalid_input"],
      [{ action: "wake", text: "now" }, "invalid_input"],
      [{ action: "run", id: "\0" }, "no_match"],
      [{ action: "runs" }, "invalid_input"],
    ];
    for (const [input, code] of impossible) {
      const result = await host.haft.execute("cron", JSON.parse(JSON.stringify(input)));
      expect(result, JSON.stringify(input)).toMatchObject({ status: "failed", error: { code } });
    }
    expect(await host.haft.approvals.list("pending")).toEqual([]);
  });

  test("only reads in plan mode", async () => {
    const { host } = await open();
    expect(await host.haft.execute("cron", minutely, { mode: "plan" })).toMatchObject({
      status: "failed",
      error: { code: "plan_mode" },
    });
  });
});

describe("a schedule", () => {
  test("never calls a tool that its creator may not call, neither when added nor when run", async () => {
    const { host, clock, kept, cron } = await open();
    const denied = await host.haft.execute("cron", minutely, { policy: { deny: ["keep"] } });
    expect(denied).toMatchObject({ status: "failed", error: { code: "denied" } });
    const toolkit = host.haft.tools.toolkit("narrow", ["cron"]);
    expect(await toolkit.execute("cron", minutely)).toMatchObject({ status: "failed", error: { code: "denied" } });

    const { id } = (await cron(minutely)).details as Schedule;
    host.schedules.start();
    host.haft.policy.rules.add("keep", "deny", "local", host.config.folder);
    await clock.advance(60_000 + 1);
    expect(kept).toEqual([]);
    expect(await host.schedules.runs(id)).toMatchObject([{ state: "denied", errorCode: "denied" }]);
  });

  test("keeps the toolkit, the mode and the paths of the call that made it", async () => {
    const { host, cron } = await open();
    const options = { mode: "dontAsk", allowedPaths: ["notes"], policy: { deny: ["exec"] } } as const;
    await cron(minutely, { ...options, mode: "default", caller: { user: "ada", session: "one" } });
    const toolkit = host.haft.tools.toolkit("helper", ["cron", "keep"]);
    const requested = await toolkit.execute("cron", { ...minutely, name: "second" });
    if (requested.status !== "pending") throw new Error(requested.display);
    await host.haft.approvals.approve(requested.pending.id);
    const [first, second] = await host.schedules.list();
    expect(first!.authority).toEqual({
      caller: { depth: 0, user: "ada", session: "one" },
      mode: "default",
      allowedPaths: ["notes"],
      policy: [{ deny: ["exec"] }],
    });
    expect(second!.authority.policy).toEqual([{ allow: ["cron", "keep"] }]);
  });

  test("belongs to its user, and cannot be run with fewer rights", async () => {
    const { cron, kept } = await open();
    const { id } = (await cron(minutely, { caller: { user: "ada" } })).details as Schedule;
    const eve = { caller: { user: "eve" } };
    expect((await cron({ action: "list" }, eve)).display).toBe("There are no schedules.");
    for (const action of ["run", "runs", "remove", "update"]) {
      expect(await cron({ action, id }, eve)).toMatchObject({ status: "failed", error: { code: "no_match" } });
    }
    const narrow = { caller: { user: "ada" }, policy: { deny: ["keep"] } };
    expect(await cron({ action: "run", id }, narrow)).toMatchObject({ status: "failed", error: { code: "denied" } });
    expect(await cron({ action: "update", id, name: "mine" }, narrow)).toMatchObject({
      status: "failed",
      error: { code: "denied" },
    });
    expect(kept).toEqual([]);
  });
});

test("times are parsed and shown again", () => {
  const now = Date.UTC(2026, 10, 15, 8);
  const shown = (words: Parameters<typeof readTiming>[0]): string => showTiming(readTiming(words, now)!);
  expect(shown({ at: "20m" })).toBe("once at 2026-11-15T08:20:00Z");
  expect(shown({ at: "2026-11-16T09:30:00+01:00" })).toBe("once at 2026-11-16T08:30:00Z");
  expect(shown({ every: "90s" })).toBe("every 90s");
  expect(shown({ every: "1.5h" })).toBe("every 90m");
  expect(shown({ cron: " 30 8 * * 1-5 ", timeZone: "Europe/Berlin" })).toBe("30 8 * * 1-5 (Europe/Berlin)");
  expect(readTiming({}, now)).toBeUndefined();
});
