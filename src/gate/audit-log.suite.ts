import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../core/create-tool.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft } from "../runtime.ts";
import type { AuditEntry, AuditLog } from "./audit-log.ts";

/** A runtime that writes to the log, with tools that read, write, fail and call each other. */
export function hafted(log: AuditLog) {
  return createHaft({
    log,
    tools: [
      createTool({
        name: "look",
        kind: "readonly",
        description: "",
        parameters: z.object({ at: z.string() }),
        run: () => "seen",
      }),
      createTool({
        name: "put",
        kind: "write",
        version: "2.1.0",
        description: "",
        parameters: z.looseObject({ path: z.string() }),
        needsApproval: false,
        run: () => ({ written: 5 }),
      }),
      createTool({
        name: "break",
        kind: "execute",
        description: "",
        parameters: [],
        needsApproval: false,
        run: () => {
          throw new Error("broken with sk-abcdefghijklmnopqrstuv");
        },
      }),
      createTool({
        name: "ask",
        kind: "write",
        description: "",
        parameters: [],
        permission: "confirm",
        run: () => "asked",
      }),
      createTool({
        name: "outer",
        kind: "write",
        description: "",
        parameters: [],
        needsApproval: false,
        run: (_input: unknown, context: ToolContext) => context.call("put", { path: "inner" }),
      }),
    ],
  });
}

async function collect(entries: AsyncIterable<AuditEntry>): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

/** The contract of every audit log. */
export function describeAuditLog(name: string, open: () => Promise<AuditLog>): void {
  describe(`an audit log in ${name}`, () => {
    test("has the start of a call before its effect, and then its end", async () => {
      const log = await open();
      let seenInside: AuditEntry[] = [];
      const haft = hafted(log);
      haft.register(
        createTool({
          name: "inspect",
          kind: "execute",
          description: "",
          parameters: [],
          needsApproval: false,
          run: async () => void (seenInside = (await log.query()).entries),
        }),
      );
      await haft.execute(
        "inspect",
        {},
        { id: "c1", caller: { session: "s", agent: "a", user: "u", depth: 1 }, taskId: "t" },
      );
      expect(seenInside).toMatchObject([{ kind: "call_begun", callId: "c1" }]);
      const entries = await collect(log.entries());
      expect(entries).toMatchObject([
        { seq: 1, kind: "call_begun", callId: "c1", toolName: "inspect" },
        {
          seq: 2,
          kind: "call_ended",
          callId: "c1",
          toolName: "inspect",
          status: "completed",
        },
      ]);
      for (const { caller } of entries) {
        expect(caller).toEqual({ session: "s", agent: "a", user: "u", task: "t", depth: 1 });
      }
      expect(entries[0]!.data).toMatchObject({
        toolVersion: "1.0.0",
        toolKind: "execute",
        definition: expect.stringMatching(/^sha256:/),
      });
      expect(entries[1]!.data).toMatchObject({ startedAt: expect.any(Number), durationMs: expect.any(Number) });
    });

    test("has one entry for a short read-only call, with its input and its result", async () => {
      const log = await open();
      await hafted(log).execute("look", { at: "b" }, { id: "r" });
      expect(await collect(log.entries())).toMatchObject([
        {
          ...{ kind: "call_ended", callId: "r", status: "completed" },
          data: { toolKind: "readonly", input: { at: "b" }, durationMs: expect.any(Number) },
        },
      ]);
    });

    test("distinguishes refused, pending, failed, replayed and nested calls", async () => {
      const log = await open();
      const haft = hafted(log);
      await haft.execute("nothing at all", { x: 1 }, { id: "refused" });
      await haft.execute("put", { wrong: 1 }, { id: "invalid" });
      await haft.execute("ask", {}, { id: "waiting" });
      await haft.execute("break", {}, { id: "failed" });
      await haft.execute("put", { path: "p" }, { id: "known", caller: { session: "s" } });
      await haft.execute("put", { path: "p" }, { id: "known", caller: { session: "s" } });
      await haft.execute("outer", {}, { id: "outer" });
      const shown = (await collect(log.entries())).map(({ kind, callId, parentId, status }) =>
        [kind, callId, parentId, status].filter(Boolean).join(" "),
      );
      expect(shown.filter((line) => !line.startsWith("approval_"))).toEqual([
        "call_refused refused failed",
        "call_refused invalid failed",
        "call_waiting waiting pending",
        "call_begun failed",
        "call_ended failed failed",
        "call_begun known",
        "call_ended known completed",
        "call_known known completed",
        "call_begun outer",
        "call_begun outer/1 outer",
        "call_ended outer/1 outer completed",
        "call_ended outer completed",
      ]);
      const failed = (await log.query({ callId: "failed", status: "failed" })).entries[0]!;
      expect(failed.data).toMatchObject({ error: { code: "failed", message: "broken with [hidden]" } });
      expect(await log.call("outer")).toMatchObject({ callId: "outer", nested: ["outer/1"], entries: [{}, {}] });
      expect(await log.call("nobody's")).toBeUndefined();
    });

    test("masks secrets by name and by shape, and cuts long text", async () => {
      const log = await open();
      await hafted(log).execute("put", {
        path: "p",
        password: "hunter22",
        headers: { Authorization: "Bearer abcdefghijkl", "x-plain": "fine" },
        nested: [{ apiKey: "k-123456789" }, "see ghp_abcdefghijklmnopqrstuvwxyz0123 there"],
        command: "PGPASSWORD=hunter22 psql postgres://u:hunter22@db/x --token hunter22",
        long: "y".repeat(100_000),
      });
      const text = JSON.stringify(await collect(log.entries()));
      expect(text).not.toMatch(/hunter22|abcdefghijkl|k-123456789/);
      expect(text.length).toBeLessThan(12_000);
      const [begun] = (await log.query({ kind: "call_begun" })).entries;
      expect(begun!.data).toMatchObject({
        input: {
          path: "p",
          password: "[hidden, 8 characters]",
          headers: { "x-plain": "fine" },
          nested: [{}, "see [hidden] there"],
          long: expect.stringContaining("98000 more characters"),
        },
      });
    });

    test("keeps events of other kinds, with any characters", async () => {
      const log = await open();
      const odd = "a\0b\ud800'\"?%_\u202e😀";
      await log.append({ kind: "rule_added", data: { rule: odd, token: "hush-hush" } }, { synced: true });
      await log.append({ kind: "note", callId: odd, toolName: odd, caller: { session: odd.repeat(300) } });
      const entries = await collect(log.entries());
      expect(entries).toMatchObject([
        { kind: "rule_added", data: { rule: odd, token: "[hidden, 9 characters]" } },
        { kind: "note", callId: "a\uFFFDb\uFFFD'\"?%_\u202e😀" },
      ]);
      expect((await log.query({ callId: odd })).entries).toHaveLength(1);
      expect(await log.verify()).toMatchObject({ ok: true, count: 2 });
    });

    test("is queried by tool, caller, verdict, status, time and text", async () => {
      const log = await open();
      const say = (tool: string, session: string, status: "completed" | "failed", data = {}) =>
        log.append({
          kind: "call_ended",
          toolName: tool,
          caller: { session, agent: `${session}-agent`, user: `${session}-user` },
          status,
          verdict: status === "failed" ? "deny" : "allow",
          data,
        });
      await say("read", "one", "completed", { input: { path: 'C:\\dir\\"File".txt' } });
      await say("read", "two", "failed", { summary: "100% of_it" });
      await say("write", "one", "completed", { summary: "100 percent" });
      await say("exec", "two", "completed");
      await log.append({ kind: "config_changed", data: { by: "ann" } });
      const seqs = async (filter: object) => (await log.query(filter)).entries.map(({ seq }) => seq);
      expect(await seqs({})).toEqual([5, 4, 3, 2, 1]);
      expect(await seqs({ tool: "read" })).toEqual([2, 1]);
      expect(await seqs({ session: "one" })).toEqual([3, 1]);
      expect(await seqs({ agent: "two-agent" })).toEqual([4, 2]);
      expect(await seqs({ user: "two-user", tool: "exec" })).toEqual([4]);
      expect(await seqs({ verdict: "deny" })).toEqual([2]);
      expect(await seqs({ status: "completed" })).toEqual([4, 3, 1]);
      expect(await seqs({ kind: ["config_changed"] })).toEqual([5]);
      expect(await seqs({ text: "100%" })).toEqual([2]);
      expect(await seqs({ text: "of_it" })).toEqual([2]);
      expect(await seqs({ text: "PERCENT" })).toEqual([3]);
      expect(await seqs({ text: 'dir\\"file"' })).toEqual([1]);
      expect(await seqs({ text: "exec" })).toEqual([4]);
      const { at } = (await log.query({ tool: "exec" })).entries[0]!;
      expect(await seqs({ until: at - 1_000_000 })).toEqual([]);
      expect(await seqs({ since: at + 1_000_000 })).toEqual([]);
      expect(await seqs({ since: at, until: at })).toContain(4);
      expect(await log.facets()).toEqual({
        tool: [
          { value: "read", count: 2 },
          { value: "exec", count: 1 },
          { value: "write", count: 1 },
        ],
        verdict: [
          { value: "allow", count: 3 },
          { value: "deny", count: 1 },
        ],
        status: [
          { value: "completed", count: 3 },
          { value: "failed", count: 1 },
        ],
      });
      expect((await log.facets({ session: "two" })).tool).toEqual([
        { value: "exec", count: 1 },
        { value: "read", count: 1 },
      ]);
    });

    test("is read in pages, which new entries do not shift", async () => {
      const log = await open();
      for (let i = 1; i <= 7; i++) await log.append({ kind: "note", data: { i } });
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await log.query({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.entries.map(({ seq }) => seq));
        cursor = page.cursor;
        await log.append({ kind: "note", data: {} });
      } while (cursor !== undefined);
      expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1]);
      await expect(log.query({ cursor: "x" })).rejects.toThrow("not a cursor");
    });

    test("returns the last calls in the common form", async () => {
      const log = await open();
      const haft = hafted(log);
      await haft.execute("put", { path: "a" }, { id: "1", caller: { session: "s" } });
      await log.append({ kind: "note" });
      await haft.execute("break", {}, { id: "2" });
      expect(await log.recent(5)).toMatchObject([
        {
          callId: "1",
          toolName: "put",
          status: "completed",
          caller: { session: "s", depth: 0 },
          durationMs: expect.any(Number),
        },
        { callId: "2", toolName: "break", status: "failed", errorCode: "failed" },
      ]);
      expect(await log.recent(1)).toHaveLength(1);
    });

    test("keeps the real end of a call whose outcome was unknown, beside what was answered", async () => {
      const log = await open();
      let end = (_value: string): void => undefined;
      const run = () => new Promise<string>((resolve) => (end = resolve));
      const haft = createHaft({
        log,
        timeouts: { graceMs: 0 },
        tools: [
          createTool({ name: "slow", kind: "write", description: "", parameters: [], needsApproval: false, run }),
        ],
      });
      const corrected = new Promise((resolve) => haft.on("tool_call_settled_late", resolve));
      await haft.execute("slow", {}, { id: "late-1", timeoutMs: 1 });
      expect(await log.recent()).toMatchObject([{ callId: "late-1", errorCode: "unknown_outcome" }]);
      end("done");
      await corrected;
      const history = await log.call("late-1");
      expect(history?.entries.map(({ kind, status }) => [kind, status])).toEqual([
        ["call_begun", undefined],
        ["call_ended", "failed"],
        ["call_corrected", "completed"],
      ]);
      expect(await log.recent()).toMatchObject([{ callId: "late-1", status: "completed" }]);
      expect((await log.facets()).tool).toEqual([{ value: "slow", count: 1 }]);
      expect(await log.verify()).toMatchObject({ ok: true });
    });

    test("follows new entries until the signal aborts", async () => {
      const log = await open();
      await log.append({ kind: "note", data: { i: 1 } });
      await log.append({ kind: "note", data: { i: 2 } });
      const controller = new AbortController();
      const seen: unknown[] = [];
      for await (const { data } of log.entries({ after: 1, follow: true, signal: controller.signal })) {
        seen.push(data["i"]);
        if (data["i"] === 2) void log.append({ kind: "note", data: { i: 3 } });
        if (data["i"] === 3) controller.abort();
      }
      expect(seen).toEqual([2, 3]);
    });

    test("commits entries that arrive during a commit or a read", async () => {
      const log = await open();
      for (let turns = 0; turns < 12; turns++) {
        const said = [log.append({ kind: "note" })];
        for (let i = 0; i < turns; i++) await new Promise((done) => setImmediate(done));
        said.push(log.append({ kind: "note" }), log.flush());
        await Promise.all(said);
      }
      expect(await log.verify()).toMatchObject({ ok: true, count: 24 });
    });

    test("commits many concurrent entries in one unbroken chain", async () => {
      const log = await open();
      const haft = hafted(log);
      await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          i % 2 ? haft.execute("look", { at: `${i}` }) : haft.execute("put", { path: `${i}` }),
        ),
      );
      expect(await log.verify()).toMatchObject({ ok: true, count: 90, problems: [] });
      const head = await log.head();
      expect(head.count).toBe(90);
      await log.append({ kind: "note" });
      expect(await log.verify(head)).toMatchObject({ ok: true });
      expect(await log.verify({ count: 90, hash: "0".repeat(64) })).toMatchObject({
        ok: false,
        problems: [{ seq: 90 }],
      });
      expect(await log.verify({ count: 500, hash: head.hash })).toMatchObject({ ok: false, problems: [{ seq: 500 }] });
    });
  });
}
