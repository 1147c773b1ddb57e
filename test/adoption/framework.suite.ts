// What every framework with an adapter must do, against the framework itself. Each test is one row of the table that
// `npm run test:full -- --long adoption` prints.
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import type { ScriptedCall } from "../../src/models/frameworks/scripted-models.fixture.ts";
import { ROOT } from "../architecture/read-entries.ts";
import { bundleProgram } from "../setup/bundle-program.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openWorld, type World } from "./world.ts";

/** What a run of the framework's agent has reached: its end, or a question to a person. Plain data, for another process. */
export interface Turn {
  /** The framework's name of the run. */
  run: string;
  /** The approvals that the framework shows. */
  asked: { approvalId: string; callId: string; toolName: string }[];
  /** What the model was given for each call. */
  results: { callId: string; text: string; isError: boolean }[];
  /** Partial results that the framework has streamed. */
  updates: string[];
  /** The last text of the model; undefined while the run waits. */
  text?: string | undefined;
}

export interface StartOptions {
  /** Default: a new one. */
  run?: string;
  signal?: AbortSignal;
}

/** An agent of the framework whose model is scripted. Its state is in the folder of the world. */
export interface Rig {
  /** The model makes `calls`, and says "done" when it has their results. A run that has ended is continued with another turn. */
  start(calls: readonly ScriptedCall[], options?: StartOptions): Promise<Turn>;
  /** A person answers in the framework. */
  answer(turn: Turn, approved: boolean): Promise<Turn>;
  /** A person has answered in Haft, or will: the program resumes the run. */
  resume(turn: Turn): Promise<Turn>;
  close?(): Promise<void>;
}

export type OpenRig = (world: World) => Promise<Rig>;

export const ROWS = [
  "call",
  "denied",
  "approved here",
  "approved there",
  "restart",
  "streaming",
  "error",
  "abort",
  "one id, two tools",
  "one id, two turns",
] as const;
export type Row = (typeof ROWS)[number];

export interface Framework {
  /** As in the table. */
  name: string;
  /** Of `rigs.ts`. */
  rig: string;
  version: string;
  openRig: OpenRig;
  /** What the framework itself cannot do, and why. */
  cannot?: Partial<Record<Row, string>>;
}

/** Ids as served models give them: every conversation starts at 0. */
const PAY: ScriptedCall = { id: "functions.pay:0", name: "pay", input: { to: "ada" } };

export function describeFramework({ name, rig: rigName, version, openRig, cannot = {} }: Framework): void {
  describe(`${name}`, () => {
    let world: World;
    let rig: Rig;
    beforeAll(async () => {
      world = await openWorld(temporaryFolder("haft-adoption-"));
      rig = await openRig(world);
    });
    afterAll(async () => {
      await rig?.close?.();
      await world?.close();
    });

    const row = (title: Row, run: () => Promise<void>): void =>
      // oxlint-disable-next-line vitest/expect-expect -- `run` expects.
      test(`${title}`, async (context: TestContext) => {
        Object.assign(context.task.meta, { adoption: { framework: name, version, row: title, note: cannot[title] } });
        const reason = cannot[title];
        if (reason !== undefined) return context.skip(reason);
        await run();
      });
    /** Runs `work`, and expects that `pay` ran `times` in it. */
    const paid = async (times: number, work: () => Promise<void>): Promise<void> => {
      const before = world.payments().length;
      await work();
      expect(world.payments().length - before).toBe(times);
    };

    row("call", async () => {
      const calls = [
        { id: "functions.save:0", name: "save", input: { text: "hello" } },
        { id: "functions.save:1", name: "save", input: { text: 7 } },
      ];
      const first = await rig.start(calls);
      expect(first).toMatchObject({ asked: [], text: "done" });
      const results = first.results.toSorted((one, other) => one.callId.localeCompare(other.callId));
      expect(results).toMatchObject([{ callId: "functions.save:0", isError: false }, { isError: true }]);
      expect(results[0]!.text).toContain("saved hello");
      expect(results[1]!.text).toContain("Parameter validation failed");

      // The same ids in another run are other calls.
      const second = await rig.start([{ ...calls[0]!, input: { text: "again" } }]);
      expect(second.results[0]!.text).toContain("saved again");
      expect(world.saved).toEqual(["hello", "again"]);
    });

    row("denied", () =>
      paid(0, async () => {
        const here = await rig.answer(await rig.start([PAY]), false);
        expect(here.text).toBe("done");
        expect(here.results[0]).toMatchObject({ callId: PAY.id, isError: true });

        const waiting = await rig.start([PAY]);
        await world.haft.approvals.deny(waiting.asked[0]!.approvalId, "not today", "ada");
        const there = await rig.resume(waiting);
        expect(there.results[0]).toMatchObject({ callId: PAY.id, isError: true });
        expect(there.results[0]!.text).toContain("not today");
        expect((await world.haft.approvals.list()).slice(-2).map(({ state }) => state)).toEqual(["denied", "denied"]);
      }),
    );

    row("approved here", () =>
      paid(1, async () => {
        const waiting = await rig.start([PAY]);
        expect(waiting.text).toBeUndefined();
        expect(waiting.asked).toMatchObject([{ callId: PAY.id, toolName: "pay" }]);
        const { approvalId } = waiting.asked[0]!;
        expect(await world.haft.approvals.get(approvalId)).toMatchObject({ state: "pending", toolName: "pay" });

        const ended = await rig.answer(waiting, true);
        expect(ended).toMatchObject({ asked: [], text: "done" });
        expect(ended.results).toMatchObject([{ callId: PAY.id, isError: false }]);
        expect(ended.results[0]!.text).toContain("paid ada");
        const approval = await world.haft.approvals.get(approvalId);
        expect(approval).toMatchObject({ state: "approved", call: { state: "ended", outcome: "completed" } });
        expect(approval!.answeredVia).toBeTruthy();
      }),
    );

    row("approved there", () =>
      paid(1, async () => {
        const waiting = await rig.start([PAY]);
        const questions = (await world.haft.approvals.list()).length;
        await world.haft.approvals.approve(waiting.asked[0]!.approvalId, "grace");
        const ended = await rig.resume(waiting);
        expect(ended).toMatchObject({ asked: [], text: "done" });
        expect(ended.results).toMatchObject([{ callId: PAY.id, isError: false }]);
        expect(ended.results[0]!.text).toContain("paid ada");
        expect(await world.haft.approvals.get(waiting.asked[0]!.approvalId)).toMatchObject({ answeredBy: "grace" });
        expect(await world.haft.approvals.list()).toHaveLength(questions);
      }),
    );

    row("restart", () =>
      paid(2, async () => {
        const [first, second] = await startElsewhere(rigName, world.folder, [PAY], ["here", "there"]);
        const here = await rig.answer(first!, true);
        expect(here).toMatchObject({ text: "done", results: [{ callId: PAY.id, isError: false }] });

        await world.haft.approvals.approve(second!.asked[0]!.approvalId, "grace");
        const there = await rig.resume(second!);
        expect(there).toMatchObject({ text: "done", results: [{ callId: PAY.id, isError: false }] });
      }),
    );

    row("streaming", async () => {
      const { updates, results } = await rig.start([{ id: "functions.count:0", name: "count", input: { to: 3 } }]);
      expect(updates).toEqual(["at 1", "at 2", "at 3"]);
      expect(results[0]!.text).toContain("counted to 3");
    });

    row("error", async () => {
      const { results, text } = await rig.start([{ id: "functions.fail:0", name: "fail", input: {} }]);
      expect(results).toMatchObject([{ callId: "functions.fail:0", isError: true }]);
      expect(results[0]!.text).toContain("out of paper");
      expect(text).toBe("done");
    });

    row("abort", async () => {
      const stop = new AbortController();
      const off = world.haft.on("tool_call_started", ({ toolName }) => {
        if (toolName === "wait") stop.abort();
      });
      const call = { id: "functions.wait:0", name: "wait", input: {} };
      await rig.start([call], { signal: stop.signal }).catch(() => undefined);
      off();
      await world.stopped;
      const entry = (await world.haft.calls.log.recent()).find(({ toolName }) => toolName === "wait");
      expect(entry).toMatchObject({ errorCode: "cancelled" });
    });

    row("one id, two tools", async () => {
      const { results } = await rig.start([
        { id: "0", name: "book", input: { seat: "1a" } },
        { id: "0", name: "cancel", input: { seat: "1a" } },
      ]);
      expect(results.map(({ isError }) => isError)).toEqual([false, false]);
      const [first, second] = results.map(({ text }) => text).sort();
      expect(first).toContain("booked 1a");
      expect(second).toContain("cancelled 1a");
      expect(world.bookings.splice(0).sort()).toEqual(["booked 1a", "cancelled 1a"]);
    });

    row("one id, two turns", async () => {
      const first = { id: "call_0", name: "book", input: { seat: "2b" } };
      const { run } = await rig.start([first]);
      await rig.start([first], { run });
      const { results } = await rig.start([{ ...first, input: { seat: "3c" } }], { run });
      expect(results.at(-1)).toMatchObject({ isError: false });
      expect(results.at(-1)!.text).toContain("booked 3c");
      expect(world.bookings.splice(0)).toEqual(["booked 2b", "booked 2b", "booked 3c"]);
    });
  });
}

/** Starts the runs in a process that ends while they wait. */
async function startElsewhere(
  rig: string,
  folder: string,
  calls: readonly ScriptedCall[],
  runs: readonly string[],
): Promise<Turn[]> {
  const program = await bundleProgram("test/adoption/start-runs.ts", temporaryFolder("haft-adoption-program-"), {
    isSplit: true,
  });
  const given = JSON.stringify({ rig, folder, calls, runs });
  const env = { ...process.env, HAFT_ADOPTION_ROOT: ROOT };
  const { stdout } = await promisify(execFile)(process.execPath, [program, given], { env, timeout: 50_000 });
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Turn[];
}
