import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Call } from "../../core/call.ts";
import { createTool } from "../../core/create-tool.ts";
import { textOf } from "../../core/content.ts";
import type { ToolResult } from "../../core/result.ts";
import { createHaft, type HaftOptions } from "../../runtime.ts";
import { RuleSet } from "./rules/rule-set.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";

function start(options: HaftOptions = {}, more: object = {}) {
  const runs: unknown[] = [];
  const haft = createHaft({
    ...options,
    tools: [
      createTool({
        name: "rm",
        description: "",
        kind: "write",
        parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
        permission: "confirm",
        run: (input: unknown) => (runs.push(input), "removed"),
        ...more,
      }),
    ],
  });
  return { haft, runs };
}

function idOf(result: ToolResult): string {
  if (result.status !== "pending") throw new Error(`expected a pending result, got ${result.status}`);
  return result.pending.id;
}

describe("a call that must ask", () => {
  test("is pending where nobody can answer, and says so to the model", async () => {
    const { haft, runs } = start();
    const result = await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } });
    expect(result).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(textOf(result.content)).toContain("Do not repeat the call");
    expect(runs).toEqual([]);
    expect(await haft.approvals.list("pending")).toMatchObject([
      { id: idOf(result), callId: "c", toolName: "rm", input: { path: "a" }, caller: { session: "s" } },
    ]);
  });

  test("runs exactly once when it is approved", async () => {
    const { haft, runs } = start();
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    expect(await haft.approvals.approve(id, "ann")).toMatchObject({
      status: "completed",
      callId: "c",
      details: "removed",
    });
    expect(await haft.approvals.approve(id)).toMatchObject({ status: "completed", callId: "c", details: "removed" });
    await expect(haft.approvals.deny(id)).rejects.toThrow(/already approved/);
    expect(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } })).toMatchObject({
      status: "completed",
      metadata: { known: "replay" },
    });
    expect(runs).toEqual([{ path: "a" }]);
    expect(await haft.approvals.get(id)).toMatchObject({ state: "approved", answeredBy: "ann" });
  });

  test("runs once when it is approved twice at the same moment", async () => {
    const { haft, runs } = start();
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    await Promise.allSettled([haft.approvals.approve(id), haft.approvals.approve(id), haft.approvals.approve(id)]);
    expect(runs).toHaveLength(1);
  });

  test("asks no second question when it is repeated", async () => {
    const { haft } = start();
    const first = await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } });
    const second = await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } });
    expect(idOf(second)).toBe(idOf(first));
    expect(await haft.approvals.list()).toHaveLength(1);
  });

  test("is not allowed by an answer to another call: other input, caller, paths or id ask again", async () => {
    const { haft, runs } = start();
    const shown = { id: "c", caller: { session: "s" }, allowedPaths: ["/a"] };
    await haft.approvals.save(idOf(await haft.execute("rm", { path: "a" }, shown)), { approved: true });
    for (const [input, options] of [
      [{ path: "b" }, shown],
      [{ path: "a" }, { ...shown, id: "d" }],
      [{ path: "a" }, { ...shown, caller: { session: "t" } }],
      [{ path: "a" }, { ...shown, allowedPaths: ["/a", "/"] }],
    ] as const) {
      expect(await haft.execute("rm", input, options)).toMatchObject({ status: "pending" });
    }
    expect(runs).toEqual([]);
    expect(await haft.execute("rm", { path: "a" }, shown)).toMatchObject({ status: "completed" });
  });

  test("is bound to what was sent, also where the schema turns that into something of its own", async () => {
    const { haft, runs } = start(
      {},
      { parameters: z.object({ paths: z.array(z.string()).transform((all) => new Set(all)) }) },
    );
    await haft.approvals.save(idOf(await haft.execute("rm", { paths: ["a"] }, { id: "c", caller: { session: "s" } })), {
      approved: true,
    });
    expect(await haft.execute("rm", { paths: ["everything"] }, { id: "c", caller: { session: "s" } })).toMatchObject({
      status: "pending",
    });
    expect(runs).toEqual([]);
  });

  test("is not allowed by an answer that was given for another definition of the tool", async () => {
    const { haft, runs } = start();
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    haft.tools.registry.unregister("rm");
    haft.register({
      name: "rm",
      description: "Now it does something else",
      parameters: [{ name: "path", type: "string" }],
      permission: "confirm",
      run: () => runs.push("new"),
    });
    expect(await haft.approvals.approve(id)).toMatchObject({ status: "failed", error: { code: "conflict" } });
    expect(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } })).toMatchObject({
      status: "pending",
    });
    expect(runs).toEqual([]);
  });

  test("is told why it was denied, and does not run", async () => {
    const { haft, runs } = start();
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    const result = await haft.approvals.deny(id, "that file is needed", "ann");
    expect(result).toMatchObject({ status: "failed", error: { code: "approval_denied", actor: "policy" } });
    expect(textOf(result.content)).toMatch(/Permission denied.*that file is needed.*Do not repeat/s);
    expect(runs).toEqual([]);
  });

  test("keeps its first answer: the same again changes nothing, another one is refused", async () => {
    const { haft, runs } = start();
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    expect(await haft.approvals.save(id, { approved: false, by: "ann" })).toMatchObject({ state: "denied" });
    expect(await haft.approvals.save(id, { approved: false, by: "bob" })).toMatchObject({
      state: "denied",
      answeredBy: "ann",
    });
    await expect(haft.approvals.save(id, { approved: true })).rejects.toThrow(/already denied by ann/);
    await expect(haft.approvals.approve(id)).rejects.toThrow(/already denied/);
    await expect(haft.approvals.save("apr_unknown", { approved: true })).rejects.toThrow(/no approval/);
    await expect(haft.approvals.approve("apr_unknown")).rejects.toThrow(/no approval/);
    expect(runs).toEqual([]);
  });

  test("decides by the input, where the tool does", async () => {
    const permission = ({ path }: { path: string }) => (path.startsWith("tmp/") ? "auto" : "confirm");
    const { haft, runs } = start({}, { permission });
    expect(await haft.execute("rm", { path: "tmp/x" })).toMatchObject({ status: "completed" });
    expect(await haft.execute("rm", { path: "etc/x" })).toMatchObject({ status: "pending" });
    expect(runs).toHaveLength(1);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("unsure");
      },
    ],
    ["resolves to nonsense", async () => "yes"],
    ["rejects", async () => Promise.reject(new Error("unsure"))],
    ["answers nonsense", () => "yes"],
    ["answers nothing", () => undefined],
  ])("does not run where the tool's own answer %s", async (_how, permission) => {
    const { haft, runs } = start({}, { permission });
    expect((await haft.execute("rm", { path: "a" })).status).not.toBe("completed");
    expect(runs).toEqual([]);
  });

  test("that was made on a tool itself, registered nowhere, can be approved too", async () => {
    const { haft } = start();
    const runs: string[] = [];
    const loose = createTool({
      name: "loose",
      description: "",
      parameters: [],
      permission: "confirm",
      run: () => runs.push("ran"),
    });
    const result = await haft.execute(loose, {}, { id: "c", caller: { session: "s" } });
    expect(await haft.approvals.approve(idOf(result))).toMatchObject({ status: "completed" });
    expect(runs).toEqual(["ran"]);
  });
});

describe("a preview that never comes", () => {
  const preview = { preview: () => new Promise(() => {}) };

  test("does not hold a caller who gives up", async () => {
    const { haft } = start({}, preview);
    const controller = new AbortController();
    const call = haft.execute("rm", { path: "a" }, { signal: controller.signal });
    controller.abort();
    expect(await call).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    expect(await haft.approvals.list()).toEqual([]);
  });

  test("is not waited for without end: the question is asked without it", async () => {
    const clock = createFakeClock();
    const { haft, runs } = start({ clock }, preview);
    const call = haft.execute("rm", { path: "a" });
    await clock.advance(30_000);
    expect(await call).toMatchObject({ status: "pending" });
    expect(await haft.approvals.list("pending")).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
    expect(runs).toEqual([]);
  });
});

describe("an approver", () => {
  test.each([
    ["yes", { approved: true, by: "ann" }, "completed", 1],
    ["no", { approved: false, reason: "rather not" }, "failed", 0],
    ["nothing", undefined, "pending", 0],
  ] as const)("who says %s", async (_what, answer, status, ran) => {
    const requested: unknown[] = [];
    const { haft, runs } = start({ approver: async (approval) => (requested.push(approval.input), answer) });
    const events: unknown[] = [];
    haft.on("permission_resolved", ({ decision }) => void events.push(decision));
    const result = await haft.execute("rm", { path: "a" });
    expect(result.status).toBe(status);
    expect(runs).toHaveLength(ran);
    expect(requested).toEqual([{ path: "a" }]);
    expect(events).toEqual(answer ? [answer.approved ? "approved" : "denied"] : []);
    expect(textOf(result.content).includes("rather not")).toBe(status === "failed");
  });

  test("who said nothing may be followed by an answer from elsewhere", async () => {
    const { haft, runs } = start({ approver: async () => undefined });
    const id = idOf(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } }));
    expect(await haft.approvals.approve(id)).toMatchObject({ status: "completed" });
    expect(runs).toHaveLength(1);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no terminal");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no terminal"))],
  ] as [string, () => Promise<undefined>][])("who %s lets nothing run, then or later", async (_how, approver) => {
    const { haft, runs } = start({ approver });
    expect(await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } })).toMatchObject({
      status: "failed",
    });
    expect(await haft.approvals.list("pending")).toEqual([]);
    expect(await haft.approvals.list()).toHaveLength(1);
    await expect(haft.approvals.approve((await haft.approvals.list())[0]!.id)).rejects.toThrow(/was cancelled/);
    expect(runs).toEqual([]);
  });

  test("is told when the caller gives up, and a late yes runs nothing", async () => {
    const controller = new AbortController();
    let reported: AbortSignal | undefined;
    let answer!: (yes: { approved: boolean }) => void;
    const { haft, runs } = start({
      approver: (_approval, signal) => ((reported = signal), new Promise((done) => (answer = done))),
    });
    const call = haft.execute("rm", { path: "a" }, { signal: controller.signal, id: "c" });
    await expect.poll(() => reported).toBeDefined();
    controller.abort();
    expect(await call).toMatchObject({ error: { code: "cancelled" } });
    expect(reported?.aborted).toBe(true);
    answer({ approved: true });
    await new Promise((done) => setImmediate(done));
    expect(runs).toEqual([]);
    expect(await haft.approvals.list("pending")).toEqual([]);
  });

  test("is not asked for a caller who gave up before, and no question stays open", async () => {
    const controller = new AbortController();
    const { haft, runs } = start({ approver: async () => ({ approved: true }) });
    const call = haft.execute("rm", { path: "a" }, { signal: controller.signal, id: "c" });
    controller.abort();
    expect(await call).toMatchObject({ error: { code: "cancelled" } });
    expect(await haft.approvals.list("pending")).toEqual([]);
    expect(runs).toEqual([]);
  });

  test("holds no slot while a person thinks", async () => {
    const { haft } = start({ approver: () => new Promise(() => {}), concurrency: { maxConcurrent: 1 } });
    haft.register(createTool({ name: "other", description: "", parameters: [], needsApproval: false, run: () => 1 }));
    void haft.execute("rm", { path: "a" });
    expect(await haft.execute("other")).toMatchObject({ status: "completed" });
  });
});

describe("approvals in memory", () => {
  test("have ids that cannot be guessed", async () => {
    const { haft } = start();
    const ids = new Set<string>();
    for (let i = 0; i < 200; i++) ids.add(idOf(await haft.execute("rm", { path: `${i}` })));
    expect(ids.size).toBe(200);
    for (const id of ids) expect(id).toMatch(/^apr_[0-9a-f]{24}$/);
  });
});

describe("a built-in tool that did its call in a copy before the question", () => {
  const ran = { title: "rm", content: [], hasNoEffects: true };
  const builtIn = { origin: { type: "builtin" }, preview: async () => ran };

  test("asks nobody if nothing was changed, and the record says why", async () => {
    const verdicts: unknown[] = [];
    const log = { begun: (call: Call) => void verdicts.push(call.verdict), closed: () => {}, recent: () => [] };
    const { haft, runs } = start({ log }, builtIn);
    const result = await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" } });
    expect(result).toMatchObject({ status: "completed" });
    expect(runs).toEqual([{ path: "a" }]);
    expect(await haft.approvals.list()).toEqual([]);
    expect(verdicts).toMatchObject([{ decision: "allow", by: "effects", key: "verdict.noEffects" }]);
  });

  test.each([
    ["it changed something", { ...builtIn, preview: async () => ({ ...ran, hasNoEffects: false }) }, {}, {}],
    ["it is no built-in tool", { preview: async () => ran }, {}, {}],
    ["a rule asks", builtIn, { rules: { ask: ["rm"] } }, {}],
    ["it runs later, in another process", builtIn, {}, { background: true }],
  ])("asks if %s", async (_, more, options, call) => {
    const { haft, runs } = start(options as HaftOptions, more);
    const result = await haft.execute("rm", { path: "a" }, { id: "c", caller: { session: "s" }, ...call });
    expect(result).toMatchObject({ status: "pending", pending: { kind: "approval" } });
    expect(runs).toEqual([]);
  });

  test("is denied by a rule that was made meanwhile", async () => {
    const rules = new RuleSet([]);
    const preview = async () => (rules.add("rm", "deny", "here"), ran);
    const { haft, runs } = start({ rules }, { ...builtIn, preview });
    expect(await haft.execute("rm", { path: "a" })).toMatchObject({ status: "failed", error: { code: "denied" } });
    expect(runs).toEqual([]);
  });
});
