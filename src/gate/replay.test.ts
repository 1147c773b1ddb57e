import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createTool } from "../core/create-tool.ts";
import { toolError } from "../core/error.ts";
import type { Update } from "../core/events.ts";
import type { ToolResult } from "../core/result.ts";
import { createHaft, type HaftOptions } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import {
  createRecorder,
  createReplay,
  type RecordedCall,
  type RecorderOptions,
  type RecordingLine,
  type ReplayOptions,
} from "./record-and-replay.ts";

let folder: string;
let file: string;
let ran: string[];

beforeEach(() => {
  folder = temporaryFolder("haft-replay-");
  file = join(folder, "session.jsonl");
  ran = [];
});

/** Tools with a different answer each time: a recorded answer can be told from a new one. */
function tools(description = "Answers with a number that grows") {
  let count = 0;
  const answer = (name: string): number => {
    ran.push(name);
    return ++count;
  };
  return [
    createTool({
      name: "draw",
      description,
      kind: "readonly",
      parameters: z.object({ from: z.string(), key: z.string().optional() }),
      run: async ({ from }) => ({ from, drawn: answer("draw") }),
    }),
    createTool({
      name: "stream",
      description: "Tells how far it is and then ends",
      kind: "readonly",
      parameters: z.object({}),
      async *run() {
        yield "half";
        yield { progress: { done: 2, total: 2 } };
        return `ended ${answer("stream")}`;
      },
    }),
    createTool({
      name: "break",
      description: "Fails, or waits for somebody",
      kind: "execute",
      permission: "auto",
      parameters: z.object({ how: z.enum(["fail", "wait", "data"]) }),
      run: ({ how }) => {
        answer("break");
        if (how === "fail") throw toolError("exit_code", "It ended with 3", { data: { code: 3 } });
        if (how === "data") return { content: [{ type: "text", text: "bytes" }], details: 10n };
        return { content: "later", pending: { kind: "client", id: "x1" } };
      },
    }),
    createTool({
      name: "outer",
      description: "Calls another tool in turn",
      kind: "readonly",
      parameters: z.object({}),
      run: async (_, { call }) => (await call("draw", { from: "inner" })).details,
    }),
  ];
}

async function record(
  play: (haft: ReturnType<typeof createHaft>) => Promise<unknown>,
  options: RecorderOptions = {},
  runtime: HaftOptions = {},
): Promise<RecordingLine[]> {
  const recorder = createRecorder(file, options);
  const haft = createHaft({ tools: tools(), middleware: recorder.middleware, ...runtime });
  haft.on("tool_call_updated", recorder.onEvent);
  await play(haft);
  recorder.close();
  ran = [];
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordingLine);
}

function replayed(options: ReplayOptions = {}, runtime: HaftOptions = {}) {
  const replay = createReplay(file, options);
  const haft = createHaft({ tools: tools(), middleware: replay.middleware, ...runtime });
  return { haft, replay };
}

const drawn = (result: ToolResult): unknown => (result as { details?: { drawn?: number } }).details?.drawn;
const calls = (lines: readonly RecordingLine[]): RecordedCall[] => lines.filter((line) => line.type === "call");

describe("a recording", () => {
  it("has a header, each tool once with its definition, and every call with its input, caller, order and result", async () => {
    const lines = await record(
      async (haft) => {
        await haft.execute("draw", { from: "a" }, { id: "c1", caller: { session: "s", user: "u" } });
        await haft.execute("draw", { nothing: 1 }, { id: "c2" });
        await haft.execute("nobody", {}, { id: "c3" });
        await haft.execute("outer", {}, { id: "c4" });
      },
      { versions: { model: "m1" } },
    );
    expect(lines[0]).toMatchObject({ type: "header", version: 1, redacted: false, versions: { model: "m1" } });
    expect(lines.filter(({ type }) => type === "tool")).toMatchObject([
      { name: "draw", definition: expect.stringMatching(/^sha256:/) },
      { name: "outer" },
    ]);
    expect(calls(lines)).toMatchObject([
      {
        callId: "c1",
        tool: "draw",
        input: { from: "a" },
        caller: { session: "s", user: "u" },
        began: 1,
        ended: 2,
        ran: true,
      },
      { callId: "c2", ran: false, result: { error: { code: "invalid_input" } } },
      { callId: "c3", tool: "nobody", ran: false, result: { error: { code: "tool_not_found" } } },
      { callId: "c4/1", parentId: "c4", ran: true },
      { callId: "c4", ran: true },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("masks secrets if requested, and records one session if it is named", async () => {
    const secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    const lines = await record(
      async (haft) => {
        await haft.execute("draw", { from: secret }, { caller: { session: "s" } });
        await haft.execute("draw", { from: "b" }, { caller: { session: "t" } });
      },
      { redact: true, session: "s" },
    );
    expect(calls(lines)).toHaveLength(1);
    expect(readFileSync(file, "utf8")).not.toContain(secret);
    // The call with the secret still finds it.
    const { haft } = replayed();
    expect((await haft.execute("draw", { from: secret })).status).toBe("completed");
  });

  it("overwrites a file only on request, and reports at the end that a line is missing", () => {
    writeFileSync(file, "mine");
    expect(() => createRecorder(file)).toThrow(/EEXIST/);
    expect(existsSync(file)).toBe(true);
    createRecorder(file, { overwrite: true }).close();
    expect(readFileSync(file, "utf8")).toContain("haft-recording");
  });

  it.runIf(existsSync("/dev/full"))("does not fail calls that it cannot write", async () => {
    const recorder = createRecorder("/dev/full", { overwrite: true });
    const haft = createHaft({ tools: tools(), middleware: recorder.middleware });
    expect((await haft.execute("draw", { from: "a" })).status).toBe("completed");
    expect(() => recorder.close()).toThrow(/not complete/);
  });
});

describe("a replay", () => {
  it("answers with the recorded results, equal calls in order, and runs no tool", async () => {
    await record(async (haft) => {
      for (const from of ["a", "b", "a"]) await haft.execute("draw", { from });
    });
    const { haft, replay } = replayed({ strict: true });
    const results = [];
    for (const from of ["a", "b", "a"])
      results.push(await haft.execute("draw", { from }, { id: `r${results.length}` }));
    expect(results.map(drawn)).toEqual([1, 2, 3]);
    expect(results[0]).toMatchObject({ callId: "r0", status: "completed", metadata: { known: "replay" } });
    expect(ran).toEqual([]);
    expect(replay.report()).toMatchObject({
      unused: [],
      differing: [],
      outOfOrder: [],
      changedTools: [],
      isTorn: false,
    });
    expect((await haft.calls.log.recent()).every(({ status }) => status === "completed")).toBe(true);
  });

  it("ignores the order of keys, and repeats the last answer unless it is strict", async () => {
    await record((haft) => haft.execute("draw", { from: "a", key: "k" }));
    const loose = replayed().haft;
    expect(drawn(await loose.execute("draw", { key: "k", from: "a" }))).toBe(1);
    expect(drawn(await loose.execute("draw", { from: "a", key: "k" }))).toBe(1);
    const { haft: strict, replay } = replayed({ strict: true });
    await strict.execute("draw", { from: "a", key: "k" });
    const again = await strict.execute("draw", { from: "a", key: "k" });
    expect(again).toMatchObject({
      error: { code: "replay_mismatch", message: expect.stringContaining("more often than it was recorded") },
    });
    expect(replay.report().differing).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it("reports the nearest recorded call with its differences, and the calls that were not used", async () => {
    await record(async (haft) => {
      await haft.execute("draw", { from: "a" }, { id: "c1" });
      await haft.execute("draw", { from: "b", key: "x" }, { id: "c2" });
    });
    const { haft, replay } = replayed();
    const result = await haft.execute("draw", { from: "c", key: "x" });
    expect(result).toMatchObject({
      status: "failed",
      error: {
        code: "replay_mismatch",
        message: expect.stringContaining('"c2" (from: recorded "b", now "c")'),
        data: { nearest: { callId: "c2", differences: [{ at: "from", recorded: "b", now: "c" }] } },
      },
    });
    expect(await haft.execute("stream", {})).toMatchObject({
      error: { message: expect.stringContaining('No call of "stream" was recorded') },
    });
    expect(replay.report()).toMatchObject({ used: [], unused: [{ callId: "c1" }, { callId: "c2" }] });
    expect(replay.report().differing).toHaveLength(2);
    expect(ran).toEqual([]);
  });

  it("replays updates, failures, pending results and unreadable output unchanged", async () => {
    const played = async (haft: ReturnType<typeof createHaft>) => {
      const updates: Update[] = [];
      const results = [await haft.execute("stream", {}, { onUpdate: (update) => updates.push(update) })];
      for (const how of ["fail", "wait", "data"]) results.push(await haft.execute("break", { how }));
      return { updates, results: results.map(withoutTimes) };
    };
    let first: Awaited<ReturnType<typeof played>> | undefined;
    await record(async (haft) => (first = await played(haft)));
    const second = await played(replayed({ strict: true }).haft);
    expect(second).toEqual(first);
    expect(second.updates).toHaveLength(2);
    expect(second.results.map(({ status }) => status)).toEqual(["completed", "failed", "pending", "failed"]);
    expect(ran).toEqual([]);
  });

  it("does not change the gate: denied calls stay denied, and calls that need approval ask", async () => {
    await record(async (haft) => {
      await haft.execute("draw", { from: "a" });
      await haft.execute("break", { how: "wait" });
    });
    const denied = replayed({}, { policy: { deny: ["draw"] } });
    expect(await denied.haft.execute("draw", { from: "a" })).toMatchObject({ status: "failed", metadata: {} });
    expect(denied.replay.report().used).toEqual([]);
    const planned = await replayed().haft.execute("break", { how: "wait" }, { mode: "plan" });
    expect(planned).toMatchObject({ error: { code: "plan_mode" } });
    expect(await replayed().haft.execute("draw", { from: 1 })).toMatchObject({ error: { code: "invalid_input" } });
  });

  it("never runs a call that was refused when it was recorded", async () => {
    await record((haft) => haft.execute("draw", { from: "a" }), {}, { policy: { deny: ["draw"] } });
    expect(await replayed().haft.execute("draw", { from: "a" })).toMatchObject({ error: { code: "replay_mismatch" } });
    expect(ran).toEqual([]);
  });

  it("accepts parallel calls in any order, and in strict mode no other call out of order", async () => {
    await record(async (haft) => {
      await haft.executeMany([
        { name: "draw", input: { from: "a" } },
        { name: "draw", input: { from: "b" } },
      ]);
      await haft.execute("draw", { from: "c" }, { id: "last" });
    });
    const { haft } = replayed({ strict: true });
    expect(await haft.execute("draw", { from: "c" })).toMatchObject({
      error: { code: "replay_mismatch", message: expect.stringContaining("comes before it") },
    });
    expect((await haft.execute("draw", { from: "b" })).status).toBe("completed");
    expect((await haft.execute("draw", { from: "a" })).status).toBe("completed");
    expect((await haft.execute("draw", { from: "c" })).status).toBe("completed");
    const loose = replayed();
    await loose.haft.execute("draw", { from: "c" });
    expect(loose.replay.report().outOfOrder).toMatchObject([{ callId: "last" }]);
  });

  it("does not repeat the nested calls of a replayed tool, and does not report them as unused", async () => {
    await record((haft) => haft.execute("outer", {}));
    const { haft, replay } = replayed({ strict: true });
    expect(await haft.execute("outer", {})).toMatchObject({ details: { from: "inner", drawn: 1 } });
    expect(replay.report().unused).toEqual([]);
    expect(ran).toEqual([]);
  });

  it("reports a tool with another definition, and refuses it in strict mode", async () => {
    await record((haft) => haft.execute("draw", { from: "a" }));
    const other = { tools: tools("Answers with something else now") };
    const loose = replayed({}, other);
    expect((await loose.haft.execute("draw", { from: "a" })).status).toBe("completed");
    expect(loose.replay.report().changedTools).toEqual(["draw"]);
    const strict = await replayed({ strict: true }, other).haft.execute("draw", { from: "a" });
    expect(strict).toMatchObject({
      error: { code: "replay_mismatch", message: expect.stringContaining("different definition") },
    });
  });

  it("uses the recorded delays if requested", async () => {
    const clock = createFakeClock();
    const slow = createTool({
      name: "slow",
      description: "Takes its time",
      kind: "readonly",
      parameters: z.object({}),
      run: () => new Promise((resolve) => clock.after(5_000, () => resolve("done"))),
    });
    const recorder = createRecorder(file, { clock });
    const recording = createHaft({ tools: [slow], middleware: recorder.middleware, clock }).execute("slow", {});
    await clock.advance(5_000);
    await recording;
    recorder.close();
    const { middleware } = createReplay(file, { pace: "recorded", clock });
    let answered = false;
    const replaying = createHaft({ tools: [slow], middleware, clock })
      .execute("slow", {})
      .then(() => (answered = true));
    await clock.advance(4_999);
    expect(answered).toBe(false);
    await clock.advance(1);
    await replaying;
  });

  it("reads the file of a killed process, reports its truncated end, and refuses a file that is not a recording", async () => {
    await record((haft) => haft.execute("draw", { from: "a" }));
    appendFileSync(file, '{"type":"call","callI');
    const { haft, replay } = replayed();
    expect((await haft.execute("draw", { from: "a" })).status).toBe("completed");
    expect(replay.report().isTorn).toBe(true);
    writeFileSync(file, '{"type":"call"}\n');
    expect(() => createReplay(file)).toThrow(/not a header/);
    writeFileSync(file, '{"type":"header","format":"haft-recording","version":2}\n');
    expect(() => createReplay(file)).toThrow(/format 2/);
  });
});

function withoutTimes(result: ToolResult) {
  const { callId: _id, startedAt: _start, completedAt: _end, durationMs: _took, ...rest } = result;
  const { known: _known, replayOf: _of, ...metadata } = rest.metadata;
  return { ...rest, metadata };
}
