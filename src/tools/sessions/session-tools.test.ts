import { describe, expect, test } from "vitest";
import {
  agentsByLabel,
  gate,
  oneAgent,
  type SessionStage,
  stageSessions,
} from "../../models/agent/session-stage.fixture.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import { testTool } from "../../testing/test-tool.ts";

const call = (
  stage: SessionStage,
  name: string,
  input: object,
  session?: string,
  more: object = {},
): Promise<ToolResult> =>
  stage.haft.execute(name, input, { caller: { depth: 0, ...(session === undefined ? {} : { session }), ...more } });

/** A parent with a spawned child, and an unrelated session. */
async function family() {
  const stage = stageSessions(oneAgent(Array.from({ length: 9 }, (_, i) => ({ text: `answer ${i}` }))).agents);
  const parent = await stage.sessions.create({ key: "parent", label: "boss" });
  const spawned = await call(stage, "sessions_spawn", { task: "Count the files", label: "counter" }, "parent");
  const stranger = await stage.sessions.create({ key: "stranger", label: "other" });
  await stage.sessions.settled();
  return { stage, parent, stranger, child: (spawned.details as { session: string }).session };
}

describe("the session tools", () => {
  test("keep a tool's contract", async () => {
    const { haft } = stageSessions(() => undefined);
    await testTool(haft.tools.registry.get("sessions_list")!, {
      inputs: [{}],
      badInputs: [{ state: "asleep" }, { limit: 0 }],
    });
    await testTool(haft.tools.registry.get("session_status")!, { inputs: [{}], badInputs: [{ session: "" }] });
  });

  test("that send messages keep a tool's contract", async () => {
    const { haft, sessions } = stageSessions(oneAgent(Array.from({ length: 50 }, () => ({ text: "yes" }))).agents);
    await sessions.create({ label: "research" });
    for (const name of ["sessions_history", "sessions_send", "sessions_spawn", "sessions_stop"]) {
      await testTool(haft.tools.registry.get(name)!, {
        inputs: [],
        badInputs: [{}, { session: 1, message: 2, task: 3 }],
      });
    }
  });

  test("spawn immediately, and the result of the child is reported to its parent", async () => {
    const held = gate();
    const model = agentsByLabel({
      boss: [
        { calls: [{ name: "sessions_spawn", input: { task: "Count the files", label: "counter" } }] },
        { text: "It counts." },
        { text: "There are 7." },
      ],
      counter: [() => ({ text: "7 files" })],
    });
    const stage = stageSessions((session, haft) => model.agents(session, haft));
    const { key } = await stage.sessions.create({ label: "boss" });
    held.open();
    await stage.sessions.send(key, { id: "m", kind: "message", text: "How many files?" }, { waitMs: 60_000 });
    await stage.sessions.settled();
    expect(model.shown("counter")[0]).toEqual([
      "user: [Message from session boss, not from the user]\nCount the files",
    ]);
    expect(model.shown("boss").at(-1)!.at(-1)).toBe(
      "user: [Report of session counter, not from the user]\nIt has finished.\n7 files",
    );
    expect(await stage.sessions.get(key)).toMatchObject({ state: "idle", lastText: "There are 7." });
  });

  test("let a session see only itself and its descendants", async () => {
    const { stage, child } = await family();
    const seen = async (session?: string, more?: object) =>
      ((await call(stage, "sessions_list", {}, session, more)).details as { sessions: { key: string }[] }).sessions
        .map(({ key }) => key)
        .sort();
    expect(await seen("parent")).toEqual(["parent", child]);
    expect(await seen(child)).toEqual([child]);
    expect(await seen("stranger")).toEqual(["stranger"]);
    expect(await seen("unknown")).toEqual([]);
    expect(await seen()).toEqual(["parent", child, "stranger"].sort());
    expect(await seen(undefined, { user: "eve" })).toEqual([]);
    expect(await seen("parent", { user: "eve" })).toEqual([]);
  });

  test("refuse to message, read and stop sessions that it did not spawn", async () => {
    const { stage, child } = await family();
    const sent = await call(stage, "sessions_send", { session: "parent", message: "hi" }, child);
    expect(sent).toMatchObject({ success: false, error: { code: "denied" }, details: { status: "forbidden" } });
    for (const name of ["sessions_history", "sessions_stop", "session_status"]) {
      expect(await call(stage, name, { session: "stranger" }, "parent")).toMatchObject({ error: { code: "denied" } });
    }
    const all = stageSessions(oneAgent([{ text: "hello" }]).agents, {
      store: stage.store,
      sessionService: { visibility: "all" },
    });
    expect(await call(all, "sessions_send", { session: "stranger", message: "hi" }, child)).toMatchObject({
      details: { status: "ok", reply: "hello" },
    });
  });

  test("send by key or label, with or without waiting", async () => {
    const { stage, child } = await family();
    expect(await call(stage, "sessions_send", { session: child, message: "And now?" }, "parent")).toMatchObject({
      success: true,
      details: { status: "ok", session: child, reply: expect.stringMatching(/^answer/) },
    });
    const quick = { session: "counter", message: "Go on", timeout_seconds: 0 };
    expect((await call(stage, "sessions_send", quick, "parent")).details).toEqual({
      status: "accepted",
      session: child,
    });
    const miss = await call(stage, "sessions_send", { session: "countr", message: "hi" }, "parent");
    expect(textOf(miss.content)).toContain('Did you mean "counter"?');
    await stage.sessions.settled();
  });

  test("return a reply in time once, and report a late one", async () => {
    const held = gate();
    const model = agentsByLabel(
      { boss: [{ text: "ok" }, { text: "ok" }], counter: [{ text: "0" }, { text: "1" }, { text: "2" }] },
      { before: () => (slow ? held.pass() : undefined) },
    );
    let slow = false;
    const stage = stageSessions(model.agents);
    await stage.sessions.create({ key: "parent", label: "boss" });
    await call(stage, "sessions_spawn", { task: "t", label: "counter" }, "parent");
    await stage.sessions.settled();
    const reports = async (): Promise<number> =>
      (await stage.sessions.history("parent")).filter(({ incoming }) => incoming?.kind === "announce").length;
    expect(await reports()).toBe(1);
    // As in a turn of the parent, so nobody else takes incoming messages.
    const lease = (await stage.store.claim("parent"))!;
    await call(stage, "sessions_send", { session: "counter", message: "more" }, "parent");
    expect(await stage.store.waiting("parent")).toBe(0);
    slow = true;
    const sent = call(stage, "sessions_send", { session: "counter", message: "more", timeout_seconds: 5 }, "parent");
    await held.reached;
    await stage.clock.advance(5_001);
    expect((await sent).details).toMatchObject({ status: "timeout" });
    slow = false;
    held.open();
    await stage.sessions.settled();
    expect(await stage.store.waiting("parent")).toBe(1);
    await stage.store.release(lease, true);
  });

  test("show the status of a session, even if it is not stored", async () => {
    const { stage, child } = await family();
    expect((await call(stage, "session_status", {}, "parent")).details).toMatchObject({
      stored: true,
      session: { key: "parent", depth: 0 },
      children: [{ key: child, label: "counter", depth: 1 }],
    });
    expect((await call(stage, "session_status", {})).details).toMatchObject({ stored: false, session: null });
    expect((await call(stage, "session_status", {}, "x")).details).toMatchObject({ stored: false, session: "x" });
  });

  test("show the history", async () => {
    const { stage } = await family();
    const history = await call(stage, "sessions_history", { session: "counter" }, "parent");
    expect(textOf(history.content)).toMatch(/#1 user: .*Count the files\n\n#2 assistant: answer 0/s);
  });

  test("give a child no more than its parent has", async () => {
    const stage = stageSessions(oneAgent([{ text: "ok" }]).agents);
    await stage.sessions.create({ key: "parent", toolNames: ["sessions_spawn", "write_down"] });
    const options = {
      caller: { session: "parent", user: "ann", depth: 0 },
      mode: "plan" as const,
      policy: { deny: ["write_down"] },
    };
    const planned = await stage.haft.execute("sessions_spawn", { task: "t" }, options);
    expect(planned).toMatchObject({ error: { code: "plan_mode" } });
    const tools = ["write_down", "exec"];
    const spawned = await stage.haft.tools
      .toolkit("main", ["sessions_spawn", "write_down"])
      .execute("sessions_spawn", { task: "t", tools }, { ...options, mode: "dontAsk" });
    const child = await stage.sessions.get((spawned.details as { session: string }).session);
    expect(child).toMatchObject({
      toolNames: tools,
      mode: "dontAsk",
      // Of the call, of the toolkit that it was made in, and of the parent.
      policy: [
        { deny: ["write_down"] },
        { allow: ["sessions_spawn", "write_down"] },
        { allow: ["sessions_spawn", "write_down"] },
      ],
      caller: { depth: 1, user: "ann", parent: { session: "parent", user: "ann" } },
    });
    const held = await stage.haft.execute(
      "sessions_spawn",
      { task: "t" },
      { ...options, mode: "default", allowedPaths: ["a"] },
    );
    expect(held).toMatchObject({ error: { code: "denied" } });
  });

  test("respect the limits for depth and number", async () => {
    const held = gate();
    const stage = stageSessions(oneAgent([{ text: "ok" }], { before: () => held.pass() }).agents, {
      sessionService: { maxDepth: 1, maxChildren: 1 },
    });
    await stage.sessions.create({ key: "parent" });
    const first = await call(stage, "sessions_spawn", { task: "t" }, "parent");
    const { session } = first.details as { session: string };
    expect(await call(stage, "sessions_spawn", { task: "t" }, session, { depth: 1 })).toMatchObject({
      error: { code: "too_deep" },
    });
    expect(await call(stage, "sessions_spawn", { task: "t" }, "parent")).toMatchObject({ error: { code: "busy" } });
    held.open();
  });

  test("spawn one session for repeated calls with one id", async () => {
    const stage = stageSessions(oneAgent([{ text: "ok" }, { text: "ok" }]).agents);
    await stage.sessions.create({ key: "parent" });
    const caller = { session: "parent", depth: 0 };
    const spawn = (task: string) => stage.sessionService.spawn({ caller }, { task, id: "call_1" });
    const [one, two] = [await spawn("t"), await spawn("t")];
    expect(two.key).toBe(one.key);
    await stage.sessions.settled();
    expect((await stage.sessions.history(one.key)).filter(({ incoming }) => incoming)).toHaveLength(1);
  });

  test("stop a child without waking its parent", async () => {
    const held = gate();
    const stage = stageSessions(
      agentsByLabel({ "": [{ text: "parent" }], counter: [{ text: "never" }] }, { before: () => held.pass() }).agents,
    );
    await stage.sessions.create({ key: "parent" });
    await call(stage, "sessions_spawn", { task: "t", label: "counter" }, "parent");
    await held.reached;
    const stopped = await call(stage, "sessions_stop", { session: "counter" }, "parent");
    expect(stopped.details).toMatchObject({ stopped: 1 });
    await stage.sessions.settled();
    expect(await stage.sessions.history("parent")).toEqual([]);
    expect(await call(stage, "sessions_stop", { session: "parent" }, "parent")).toMatchObject({
      error: { code: "invalid_input" },
    });
  });

  test("name the next step if no model is configured", async () => {
    const stage = stageSessions(() => undefined);
    await stage.sessions.create({ key: "parent" });
    const spawned = await call(stage, "sessions_spawn", { task: "t" }, "parent");
    expect(spawned).toMatchObject({ success: false, error: { code: "unavailable" } });
    expect(textOf(spawned.content)).toContain("Set agent.model");
    expect((await call(stage, "sessions_list", {}, "parent")).status).toBe("completed");
  });

  test("propagate taint labels to the reader", async () => {
    const shared: string[] = [];
    const stage = stageSessions(oneAgent([{ text: "ok" }, { text: "ok" }]).agents, {
      sessionService: { shareTaint: (from, to) => Promise.resolve(void shared.push(`${from} > ${to}`)) },
    });
    await stage.sessions.create({ key: "parent" });
    const { details } = await call(stage, "sessions_spawn", { task: "t", label: "c" }, "parent");
    const { session: child } = details as { session: string };
    await call(stage, "sessions_history", { session: "c" }, "parent");
    await call(stage, "sessions_send", { session: "c", message: "m" }, "parent");
    expect(shared).toEqual([`parent > ${child}`, `${child} > parent`, `parent > ${child}`, `${child} > parent`]);
  });
});
