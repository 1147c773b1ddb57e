import { describe, expect, test } from "vitest";
import type { AuditFact, CallFilter } from "../../gate/audit-log.ts";
import { ENGINES, useEngine } from "../engines.fixture.ts";
import type { Store } from "../store.ts";

type Log = Store["audit"];

const ADA = { user: "ada", session: "s1", depth: 0 };
const BOT = { user: "ada", agent: "mcp:claude", session: "s2", depth: 0 };

function ended(callId: string, fact: Partial<AuditFact> = {}): AuditFact {
  return {
    ...{ kind: "call_ended", status: "completed", toolName: "read", caller: ADA, callId },
    ...{ data: { toolKind: "readonly", input: { path: `${callId}.txt` }, durationMs: 2 } },
    ...fact,
  };
}

async function fill(log: Log): Promise<void> {
  await log.append(ended("r1"));
  const write = { toolName: "write", caller: BOT, callId: "w1" } as const;
  await log.append({
    ...write,
    kind: "approval_asked",
    data: { risk: "medium", subject: { type: "path", text: "w1.txt" }, approvalId: "a1" },
  });
  await log.append({
    ...write,
    kind: "call_begun",
    data: { risk: "medium", toolKind: "write", input: { path: "w1.txt" } },
  });
  await log.append({
    ...write,
    kind: "call_ended",
    status: "failed",
    data: { risk: "medium", toolKind: "write", durationMs: 5, waitedMs: 700 },
  });
  await log.append({
    ...{ toolName: "exec", caller: BOT, callId: "e1", kind: "approval_asked" },
    data: { risk: "critical", subject: { type: "command", text: "rm -rf build" }, approvalId: "a2" },
  });
  // A text that looks like a class is none.
  await log.append(ended("r2", { data: { toolKind: "readonly", input: { text: '\uE000r68696768 "risk":"high"' } } }));
  await log.append(ended("你好", { toolName: "grep", data: { toolKind: "readonly", input: { q: "世界" } } }));
}

async function idsOf(log: Log, filter: CallFilter): Promise<(string | undefined)[]> {
  return (await log.calls(filter)).entries.map(({ callId }) => callId);
}

describe.each(ENGINES)("the calls of the log on $name", (engine) => {
  const { openStore } = useEngine(engine);

  test.each(["new", "indexed"])(
    "are filtered by class and state, and found by words of their entries: %s",
    async (age) => {
      const { audit } = await openStore();
      await fill(audit);
      if (age === "indexed") await audit.index.reach((await audit.head()).count);
      expect(await idsOf(audit, {})).toEqual(["你好", "r2", "e1", "w1", "r1"]);
      expect(await idsOf(audit, { tool: "read" })).toEqual(["r2", "r1"]);
      expect(await idsOf(audit, { tool: "nothing" })).toEqual([]);
      expect(await idsOf(audit, { agent: "mcp:claude" })).toEqual(["e1", "w1"]);
      expect(await idsOf(audit, { session: "s1", tool: "grep" })).toEqual(["你好"]);
      expect(await idsOf(audit, { kind: ["write"] })).toEqual(["w1"]);
      expect(await idsOf(audit, { risk: ["high"] })).toEqual([]);
      expect(await idsOf(audit, { risk: ["medium", "critical"] })).toEqual(["e1", "w1"]);
      expect(await idsOf(audit, { risk: ["low"], user: "ada" })).toEqual(["你好", "r2", "r1"]);
      expect(await idsOf(audit, { status: ["waiting"] })).toEqual(["e1"]);
      expect(await idsOf(audit, { status: ["failed", "waiting"], user: "ada" })).toEqual(["e1", "w1"]);
      expect(await idsOf(audit, { status: ["failed"] })).toEqual(["w1"]);
      expect(await idsOf(audit, { text: "w1.txt" })).toEqual(["w1"]);
      expect(await idsOf(audit, { text: "世", tool: "grep" })).toEqual(["你好"]);
      expect(await idsOf(audit, { text: "build", status: ["waiting"] })).toEqual(["e1"]);
      expect(await idsOf(audit, { since: Date.now() + 60_000 })).toEqual([]);
      expect(await idsOf(audit, { since: Date.now() - 60_000, tool: "write" })).toEqual(["w1"]);
    },
  );

  test.each(["new", "indexed"])(
    "were denied, or nobody knows their outcome: states of their own, after a restart too: %s",
    async (age) => {
      const { audit } = await openStore();
      const failed = (callId: string, code: string, more: object = {}) =>
        audit.append(ended(callId, { status: "failed", data: { ...more, error: { code, message: "no" } } }));
      await failed("policy", "denied");
      await failed("person", "approval_denied");
      await failed("stopped", "unknown_outcome");
      await failed("broken", "exit_code");
      await audit.append(ended("lost", { kind: "call_lost", status: "unknown", data: {} }));
      await audit.append(ended("claims", { data: { input: { error: { code: "denied", message: "no" } } } }));
      if (age === "indexed") await audit.index.reach((await audit.head()).count);
      expect(await idsOf(audit, { status: ["denied"] })).toEqual(["person", "policy"]);
      expect(await idsOf(audit, { status: ["unknown"] })).toEqual(["lost", "stopped"]);
      expect(await idsOf(audit, { status: ["failed"] })).toEqual(["broken"]);
      expect(await idsOf(audit, { status: ["unknown", "failed"] })).toEqual(["lost", "broken", "stopped"]);
      const status = [
        { value: "denied", count: 2 },
        { value: "unknown", count: 2 },
        { value: "completed", count: 1 },
        { value: "failed", count: 1 },
      ];
      expect((await audit.callFacets()).status).toEqual(status);
    },
  );

  test("are paged by a filter without gaps, and the end of a call has its input", async () => {
    const { audit } = await openStore();
    await fill(audit);
    await audit.index.reach(5);
    const seen: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await audit.calls({ user: "ada", limit: 2, cursor });
      seen.push(...page.entries.map(({ callId }) => callId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(["你好", "r2", "e1", "w1", "r1"]);
    const [written] = (await audit.calls({ tool: "write" })).entries;
    expect(written?.data).toMatchObject({ input: { path: "w1.txt" }, waitedMs: 700, risk: "medium" });
  });

  test("are counted by every facet, also with a filter", async () => {
    const { audit } = await openStore();
    await fill(audit);
    await audit.index.reach(6);
    expect(await audit.callFacets()).toMatchObject({
      tool: [
        { value: "read", count: 2 },
        { value: "exec", count: 1 },
        { value: "grep", count: 1 },
        { value: "write", count: 1 },
      ],
      status: [
        { value: "completed", count: 3 },
        { value: "failed", count: 1 },
        { value: "waiting", count: 1 },
      ],
      risk: [
        { value: "low", count: 3 },
        { value: "critical", count: 1 },
        { value: "medium", count: 1 },
      ],
      agent: [{ value: "mcp:claude", count: 2 }],
      counted: 5,
      isPartial: false,
    });
    expect(await audit.callFacets({ agent: "mcp:claude" })).toMatchObject({
      tool: [
        { value: "exec", count: 1 },
        { value: "write", count: 1 },
      ],
      session: [{ value: "s2", count: 2 }],
      counted: 2,
    });
  });

  test("form a tree with what calls made, and with the sessions that they started", async () => {
    const { audit } = await openStore();
    await audit.append(ended("root", { toolName: "run_code" }));
    await audit.append(ended("child", { parentId: "root" }));
    await audit.append(ended("spawn", { toolName: "sessions_spawn", parentId: "child" }));
    await audit.append(ended("in-subagent", { caller: { ...ADA, session: "s1/spawn", depth: 1 } }));
    await audit.append(ended("elsewhere", { parentId: "root", caller: { user: "bob", session: "s9" } }));
    await audit.append(ended("alone"));
    const shape = async (id: string) => {
      const tree = await audit.tree(id, { user: "ada" });
      return tree && [tree.root, ...tree.calls.map(({ callId, parentId }) => `${parentId} > ${callId}`)];
    };
    const whole = ["root", "undefined > root", "root > child", "child > spawn", "spawn > in-subagent"];
    expect(await shape("root")).toEqual(whole);
    expect(await shape("in-subagent")).toEqual(whole);
    expect(await shape("alone")).toEqual(["alone", "undefined > alone"]);
    expect(await shape("nothing")).toBeUndefined();
    expect(await audit.tree("root", { user: "ada", maxCalls: 2 })).toMatchObject({ isPartial: true });
  });
});
