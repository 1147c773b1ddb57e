import { describe, expect, test } from "vitest";
import type { Script } from "../../testing/scripted-model.ts";
import { agentsByLabel, gate, oneAgent, stageSessions } from "./session-stage.fixture.ts";

const message = (id: string, text = id) => ({ id, kind: "message" as const, text });
const LONG = 60_000;

describe("sessions", () => {
  test("answer messages, and remember messages and calls", async () => {
    const model = oneAgent([
      { text: "I write it down.", calls: [{ name: "write_down", input: { line: "one" } }] },
      { text: "Done." },
      { text: "I wrote one." },
    ]);
    const { sessions, written } = stageSessions(model.agents);
    const { key } = await sessions.create({ label: "notes" });
    expect(await sessions.send(key, message("m1", "Write one down"), { waitMs: LONG })).toMatchObject({
      status: "ok",
      reply: "Done.",
    });
    expect(written).toEqual(["one"]);
    expect(await sessions.send(key, message("m2", "What did you do?"), { waitMs: LONG })).toMatchObject({
      reply: "I wrote one.",
    });
    expect(model.shown().at(-1)).toEqual([
      "user: Write one down",
      "assistant: I write it down.",
      "tool: write_down completed",
      "assistant: Done.",
      "user: What did you do?",
    ]);
    expect(
      (await sessions.history(key)).map(({ turn, message, end }) => `${turn} ${message?.role ?? end?.stop}`),
    ).toEqual(["1 user", "1 assistant", "1 tool", "1 assistant", "1 done", "2 user", "2 assistant", "2 done"]);
    expect(await sessions.get(key)).toMatchObject({
      state: "idle",
      turns: 2,
      usage: { inputTokens: 30 },
      lastText: "I wrote one.",
    });
  });

  test("take messages during a turn into the next one, and each message once", async () => {
    const first = gate();
    const model = oneAgent([{ text: "first" }, { text: "second" }], {
      before: (step) => (step === 1 ? first.pass() : undefined),
    });
    const { sessions } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    const answer = sessions.send(key, message("m1"), { waitMs: LONG });
    await first.reached;
    const more = [
      sessions.send(key, message("m2"), { waitMs: LONG }),
      sessions.send(key, message("m3"), { waitMs: LONG }),
    ];
    expect(await sessions.send(key, message("m2", "again"))).toEqual({ status: "accepted" });
    first.open();
    expect((await Promise.all([answer, ...more])).map((sent) => sent.status === "ok" && sent.reply)).toEqual([
      "first",
      "second",
      "second",
    ]);
    expect(model.shown()[1]).toEqual(["user: m1", "assistant: first", "user: m2", "user: m3"]);
  });

  test("resume after an approval, and pass its result to the model once", async () => {
    const model = oneAgent([
      { calls: [{ name: "write_down", input: { line: "ask first" } }] },
      { text: "Now it is written." },
    ]);
    const { sessions, haft, written } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    expect(await sessions.send(key, message("m1"), { waitMs: LONG })).toEqual({ status: "accepted" });
    expect(await sessions.get(key)).toMatchObject({
      state: "waiting",
      pending: [{ name: "write_down", pending: { kind: "approval" } }],
    });
    const [approval] = await haft.approvals.list("pending");
    expect(approval!.caller).toMatchObject({ session: key, agent: "main" });
    await haft.approvals.approve(approval!.id, "ann");
    await sessions.settled();
    expect(written).toEqual(["ask first"]);
    expect(model.shown()).toHaveLength(2);
    expect(model.shown()[1]!.at(-1)).toMatch(
      /^user: Note from the runtime.*write_down, which was pending, has ended.*\n.*wrote ask first/s,
    );
    expect(await sessions.get(key)).toMatchObject({ state: "idle", pending: [], lastText: "Now it is written." });
    const [, result] = (await sessions.history(key)).filter(({ incoming }) => incoming);
    expect(result?.incoming?.result).toMatchObject({ status: "completed", toolName: "write_down" });
  });

  test("find at start the results of calls that ended unnoticed", async () => {
    const model = oneAgent([{ calls: [{ name: "write_down", input: { line: "ask twice" } }] }, { text: "Good." }]);
    const { sessions, haft, store, calls } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    await sessions.send(key, message("m1"), { waitMs: LONG });
    await sessions.close();
    await haft.approvals.approve((await haft.approvals.list("pending"))[0]!.id, "ann");
    const later = stageSessions(model.agents, { store, calls });
    await later.sessions.start();
    await later.sessions.settled();
    expect(await later.sessions.get(key)).toMatchObject({ state: "idle", lastText: "Good." });
    expect(model.shown()[1]!.at(-1)).toContain("wrote ask twice");
  });

  test("do not deliver a late result again that arrived during the turn", async () => {
    const calls = ["plain", "ask"].map((line) => ({ name: "write_down", input: { line } }));
    const model = oneAgent([{ calls }, { text: "One is written." }, { text: "Both are." }], {
      before: async (step) => {
        if (step === 2) await haft.approvals.approve((await haft.approvals.list("pending"))[0]!.id, "ann");
      },
    });
    const { sessions, haft, store } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    expect(await sessions.send(key, message("m1"), { waitMs: LONG })).toMatchObject({
      status: "ok",
      reply: "Both are.",
    });
    await sessions.settled();
    expect([model.shown().length, await store.waiting(key), (await sessions.get(key))!.pending]).toEqual([3, 0, []]);
    const late = (await sessions.history(key)).filter(({ incoming }) => incoming?.kind === "result");
    expect(late.map(({ incoming }) => incoming?.result?.status)).toEqual(["completed"]);
  });

  test("pass a denial to the model", async () => {
    const model = oneAgent([{ calls: [{ name: "write_down", input: { line: "ask" } }] }, { text: "Then not." }]);
    const { sessions, haft, written } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    await sessions.send(key, message("m1"), { waitMs: LONG });
    await haft.approvals.deny((await haft.approvals.list("pending"))[0]!.id, "not today");
    await sessions.settled();
    expect([written, (await sessions.get(key))!.state]).toEqual([[], "idle"]);
    expect(model.shown()[1]!.at(-1)).toMatch(/has failed.*not today/s);
  });

  test("resume at the next start after their process ended, and run no call twice", async () => {
    const script: Script = [
      { calls: [{ id: "call_abcdefgh1", name: "write_down", input: { line: "once" } }] },
      { text: "It is written once." },
    ];
    // The process ends after the call was made, before the model got its result.
    const ending = oneAgent(script, { before: (step) => void (step === 2 && first.sessions.close()) });
    const first = stageSessions(ending.agents);
    const { key } = await first.sessions.create({});
    await first.sessions.send(key, message("m1"));
    await first.sessions.settled();
    expect([first.written, (await first.sessions.history(key)).at(-1)?.end]).toEqual([["once"], undefined]);
    const again = oneAgent(script.slice(1));
    const later = stageSessions(again.agents, { store: first.store, calls: first.calls });
    await later.sessions.start();
    await later.sessions.settled();
    expect(later.written).toEqual([]);
    expect(again.shown()).toEqual([["user: m1", "assistant: ", "tool: write_down completed"]]);
    expect(await later.sessions.get(key)).toMatchObject({ state: "idle", turns: 1, lastText: "It is written once." });
  });

  test("that were interrupted before a result was stored get it, and run calls that had not run", async () => {
    const { sessions, store, written, calls, haft } = stageSessions(oneAgent([{ text: "Both are there." }]).agents);
    const { key } = await sessions.create({});
    await store.push(key, { ...message("m1"), at: 1 }, 9);
    const lease = (await store.claim(key))!;
    await store.take(lease, () => ({ message: { role: "user", content: "m1" } }));
    const call = (callId: string, line: string) => ({
      type: "tool_call" as const,
      callId,
      name: "write_down",
      input: { line },
    });
    const content = [call("c1", "made"), call("c2", "not made"), call("c3", "begun")];
    await store.append(lease, [{ message: { role: "assistant", content } }]);
    const caller = { session: key, agent: "main", depth: 0 };
    await haft.tools.toolkit("main", ["write_down"]).execute("write_down", { line: "made" }, { id: "c1", caller });
    const begun = { id: "r3", callId: "c3", fingerprint: "begun elsewhere", toolName: "write_down", caller };
    const elsewhere = {
      state: "running",
      owner: "elsewhere",
      epoch: 1,
      lost: 0,
      repeatable: false,
      createdAt: 1,
    } as const;
    calls.insert({ ...begun, ...elsewhere, key: JSON.stringify([key, "main", null, "c3"]) });
    await store.release(lease, true);
    await sessions.start();
    await sessions.settled();
    expect(written).toEqual(["made", "not made"]);
    const results = (await sessions.history(key)).flatMap((entry) =>
      entry.message?.role === "tool" ? entry.message.results : [],
    );
    expect(
      results.map((result) =>
        result.status === "failed" ? result.error.code : (result.metadata.known ?? result.status),
      ),
    ).toEqual([undefined, "completed", "conflict"].map((wanted) => wanted ?? "completed"));
    expect(await sessions.get(key)).toMatchObject({ state: "idle", lastText: "Both are there." });
  });

  test("store messages if no agent can answer, and answer them later", async () => {
    const { sessions, store, problems } = stageSessions(() => undefined);
    const { key } = await sessions.create({});
    await expect(sessions.send(key, message("m1"))).rejects.toThrow("No model is configured. Set agent.model.");
    await sessions.wake(key, "Good morning");
    await sessions.settled();
    await sessions.wake(key, "Still there?");
    await sessions.settled();
    expect([await sessions.waiting(key), problems.length]).toEqual([2, 1]);
    const model = oneAgent([{ text: "Morning." }]);
    const later = stageSessions(model.agents, { store });
    await later.sessions.start();
    await later.sessions.settled();
    expect(model.shown()).toEqual([
      ["user: [Message from a schedule]\nGood morning", "user: [Message from a schedule]\nStill there?"],
    ]);
  });

  test("reject messages when the inbox is full", async () => {
    const { sessions } = stageSessions(() => undefined, { maxWaiting: 1 });
    const { key } = await sessions.create({});
    await sessions.wake(key, "one");
    await expect(sessions.wake(key, "two")).rejects.toThrow("1 messages already wait");
    await expect(sessions.wake("nobody", "two")).rejects.toThrow('There is no session "nobody"');
  });

  test("report a failed model, and answer the next message", async () => {
    const model = oneAgent([
      () => {
        throw new Error("overloaded");
      },
      { text: "Here I am." },
    ]);
    const { sessions } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    expect(await sessions.send(key, message("m1"), { waitMs: LONG })).toMatchObject({
      status: "error",
      error: expect.stringContaining("overloaded"),
    });
    expect(await sessions.get(key)).toMatchObject({ state: "failed", error: expect.stringContaining("overloaded") });
    expect(await sessions.send(key, message("m2"), { waitMs: LONG })).toMatchObject({ status: "ok" });
    expect((await sessions.get(key))!.error).toBeUndefined();
  });

  test("time out for the sender, and still answer", async () => {
    const held = gate();
    const { sessions, clock } = stageSessions(oneAgent([{ text: "at last" }], { before: () => held.pass() }).agents);
    const { key } = await sessions.create({});
    const sent = sessions.send(key, message("m1"), { waitMs: 1_000 });
    await held.reached;
    await clock.advance(1_001);
    expect(await sent).toEqual({ status: "timeout" });
    held.open();
    await sessions.settled();
    expect(await sessions.send(key, message("m1"), { waitMs: LONG })).toMatchObject({ status: "ok", reply: "at last" });
  });

  test("can be stopped during a turn, with all descendants, and continued", async () => {
    const held = gate();
    const model = agentsByLabel(
      { a: [{ text: "a" }], b: [{ text: "b" }] },
      {
        before: (step) => (step === 1 ? held.pass() : undefined),
      },
    );
    const { sessions } = stageSessions(model.agents);
    const above = await sessions.create({ label: "a", first: message("m1") });
    const below = await sessions.create({
      label: "b",
      parent: above.key,
      caller: { depth: 1, parent: above.caller },
      first: message("m1"),
    });
    await held.reached;
    expect(await sessions.stop(above.key)).toBe(2);
    await sessions.settled();
    for (const { key } of [above, below]) expect(await sessions.get(key)).toMatchObject({ state: "stopped" });
    expect(await sessions.send(above.key, message("m2"), { waitMs: LONG })).toMatchObject({
      status: "ok",
      reply: "a",
    });
    expect(await sessions.stop(below.key)).toBe(0);
  });

  test("that were stopped while waiting do not resume by themselves", async () => {
    const model = oneAgent([{ calls: [{ name: "write_down", input: { line: "ask" } }] }, { text: "never" }]);
    const { sessions, haft, store } = stageSessions(model.agents);
    const { key } = await sessions.create({});
    await sessions.send(key, message("m1"), { waitMs: LONG });
    expect([await sessions.stop(key), (await sessions.get(key))!.state]).toEqual([1, "stopped"]);
    await haft.approvals.approve((await haft.approvals.list("pending"))[0]!.id, "ann");
    await sessions.settled();
    expect([model.shown().length, await store.due()]).toEqual([1, []]);
  });

  test("are restricted to their tools, also to an empty list", async () => {
    for (const toolNames of [["sessions_list"], []]) {
      const model = oneAgent([{ calls: [{ name: "write_down", input: { line: "no" } }] }, { text: "I may not." }]);
      const { sessions, written } = stageSessions(model.agents);
      const { key } = await sessions.create({ toolNames });
      expect(await sessions.send(key, message("m1"), { waitMs: LONG })).toMatchObject({ reply: "I may not." });
      expect([written, model.shown()[1]!.at(-1)]).toEqual([[], "tool: write_down failed"]);
    }
  });

  test("restore the environment of their commands after a restart", async () => {
    const overlays = new Map<string, Record<string, string>>();
    const environments = {
      read: (key: string) => ({ ...overlays.get(key) }),
      restore: (key: string, kept: Readonly<Record<string, string>>) =>
        void overlays.set(key, { ...kept, ...overlays.get(key) }),
    };
    const first = stageSessions(
      oneAgent([{ text: "set" }], { before: () => void overlays.set(key, { APP_MODE: "test" }) }).agents,
      { environments },
    );
    const { key } = await first.sessions.create({});
    await first.sessions.send(key, message("m1"), { waitMs: LONG });
    await first.sessions.close();
    overlays.clear();
    const seen: unknown[] = [];
    const second = oneAgent([{ text: "there" }], { before: () => void seen.push(overlays.get(key)) });
    const later = stageSessions(second.agents, { store: first.store, environments });
    await later.sessions.send(key, message("m2"), { waitMs: LONG });
    expect(seen).toEqual([{ APP_MODE: "test" }]);
  });

  test("can be followed: earlier entries, deltas of the current turn, and its end", async () => {
    const { sessions } = stageSessions(oneAgent([{ text: "one" }, { text: "two" }]).agents);
    const { key } = await sessions.create({});
    await sessions.send(key, message("m1"), { waitMs: LONG });
    const stop = new AbortController();
    const received: string[] = [];
    const following = (async () => {
      for await (const event of sessions.feed.follow(key, { after: 1, signal: stop.signal })) {
        received.push(
          event.type === "entry"
            ? `#${event.entry.seq} ${event.entry.message?.role ?? event.entry.end?.stop}`
            : event.type,
        );
        if (event.type === "entry" && event.entry.seq === 6) stop.abort();
      }
    })();
    await sessions.send(key, message("m2"), { waitMs: LONG });
    await following;
    expect(received).toEqual(["#2 assistant", "#3 done", "#4 user", "text", "#5 assistant", "#6 done"]);
  });
});
