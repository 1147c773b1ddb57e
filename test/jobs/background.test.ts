// A background call through the whole gate, in memory and in the store: what holds for it, whoever runs it.
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createHaft,
  type Haft,
  type HaftOptions,
  type ToolEvent,
  ToolCallContext,
  type ToolContext,
  toolError,
  type ToolResult,
} from "haft";
import { openStore, type Store } from "haft/host";
import { temporaryFolder } from "../setup/temporary-folder.ts";

interface Place {
  open(options?: HaftOptions): Promise<Haft>;
}

/** Every runtime that is opened in one place has the same jobs, as processes on one store have. */
function inStore(): Place {
  const folder = temporaryFolder("haft-background-");
  const open: { haft: Haft; store: Store }[] = [];
  onTestFinished(async () => {
    for (const { haft, store } of open) {
      await haft.shutdown();
      await store.close();
    }
  });
  return {
    async open(options) {
      const store = await openStore({ stateFolder: folder });
      const { jobs, calls, audit } = store;
      const haft = createHaft({ jobs, calls, log: audit, ...options });
      open.push({ haft, store });
      return haft;
    },
  };
}

function inMemory(): Place {
  return {
    async open(options) {
      const haft = createHaft(options);
      onTestFinished(() => haft.shutdown());
      return haft;
    },
  };
}

const PLACES = [
  ["memory", inMemory],
  ["SQLite", inStore],
] as const;

/** A tool that does not answer before it is told to. */
function slowTool(name = "slow", more: object = {}) {
  const runs: unknown[] = [];
  let detach = (): void => {};
  const gone = new Promise<void>((resolve) => (detach = resolve));
  const tool = {
    name,
    description: "Takes its time",
    parameters: { type: "object", properties: { text: { type: "string" } } },
    async: true,
    permission: "auto",
    ...more,
    async run(input: unknown, { update, signal }: { update: (text: string) => void; signal: AbortSignal }) {
      runs.push(input);
      update("working");
      const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      await Promise.race([gone, stopped]);
      return { done: true };
    },
  };
  return { tool: tool as never, runs, detach };
}

function received(haft: Haft): ToolEvent[] {
  const events: ToolEvent[] = [];
  haft.on("*", (event) => void events.push(event));
  return events;
}

function typesOf(events: readonly ToolEvent[], callId: string): string[] {
  return events.flatMap((event) => ("callId" in event && event.callId === callId ? [event.type] : []));
}

function jobOf(result: ToolResult): string {
  if (result.status !== "pending") throw new Error(`Not pending: ${JSON.stringify(result)}`);
  return result.pending.id;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe.each(PLACES)("a background call, in %s", (_name, place) => {
  test("is answered at once, runs later, and its result finds the call, the events and every context", async () => {
    const haft = await place().open();
    const { tool, runs, detach } = slowTool();
    haft.register(tool);
    const events = received(haft);
    const context = new ToolCallContext();
    const reported: string[] = [];
    haft.jobs.follow(context);
    haft.jobs.follow({
      onToolCall() {
        throw new Error("not my day");
      },
    });
    haft.jobs.follow({ onToolCall: ({ callId }) => void reported.push(callId) });
    context.setToolCalls([{ callId: "c1", name: "slow", input: { text: "a" } }]);
    const result = await haft.execute("slow", { text: "a" }, { id: "c1" });
    expect(result).toMatchObject({ status: "pending", pending: { kind: "job" } });
    expect(result.content).toMatchObject([{ text: expect.stringMatching(/job .*Do not make this call again/) }]);
    context.setToolCallResult(result);
    expect(context.toPrompt()).toContain(`still running as job ${jobOf(result)}`);
    await until(() => runs.length === 1);
    detach();
    const final = await haft.jobs.wait(jobOf(result));
    expect(final).toMatchObject({ callId: "c1", status: "completed", details: { done: true } });
    expect(context.result("c1")).toEqual(final);
    expect(context.pending()).toEqual([]);
    expect(reported).toEqual(["c1"]);
    expect(typesOf(events, "c1")).toEqual([
      ...["tool_call_requested", "job_queued", "tool_call_pending"],
      ...["tool_call_started", "tool_call_updated", "tool_call_completed"],
    ]);
    expect(haft.tools.stats().callStats["slow"]).toMatchObject({ count: 1 });
  });

  test("has ended in the queue when its end is told", async () => {
    const haft = await place().open();
    haft.register({
      name: "quick",
      description: "Quick",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 1,
    });
    const states: Promise<string | undefined>[] = [];
    const ended = new Promise<void>((resolve) => {
      haft.on("tool_call_completed", () => {
        states.push(haft.jobs.list().then(([job]) => job?.state));
        resolve();
      });
    });
    await haft.execute("quick");
    await ended;
    expect(await Promise.all(states)).toEqual(["completed"]);
  });

  test("made again with the same id is the same job, and afterwards the same result; another input is refused", async () => {
    const haft = await place().open();
    const { tool, runs, detach } = slowTool();
    haft.register(tool);
    const first = await haft.execute("slow", { text: "a" }, { id: "c1", caller: { session: "s" } });
    const second = await haft.execute("slow", { text: "a" }, { id: "c1", caller: { session: "s" } });
    expect(jobOf(second)).toBe(jobOf(first));
    expect(await haft.execute("slow", { text: "b" }, { id: "c1", caller: { session: "s" } })).toMatchObject({
      error: { code: "conflict" },
    });
    detach();
    await haft.jobs.wait(jobOf(first));
    expect(await haft.execute("slow", { text: "a" }, { id: "c1", caller: { session: "s" } })).toMatchObject({
      status: "completed",
      metadata: { known: "replay" },
    });
    expect(runs).toEqual([{ text: "a" }]);
  });

  test("with one key under two ids is one job, and both calls hear of its end", async () => {
    const haft = await place().open();
    const { tool, detach } = slowTool();
    haft.register(tool);
    const events = received(haft);
    const [one, two] = await Promise.all(
      ["c1", "c2"].map((id) => haft.execute("slow", {}, { id, idempotencyKey: "k" })),
    );
    expect(jobOf(two!)).toBe(jobOf(one!));
    detach();
    await haft.jobs.wait(jobOf(one!));
    for (const id of ["c1", "c2"]) expect(typesOf(events, id).at(-1)).toBe("tool_call_completed");
  });

  test("is validated and permitted before it waits; what is denied meanwhile does not run", async () => {
    const denied: string[] = [];
    const haft = await place().open({ policy: { deny: denied } });
    let runs = 0;
    haft.register({
      ...{ name: "count", description: "Counts", async: true, needsApproval: false },
      parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      run: () => ++runs,
    } as never);
    expect(await haft.execute("count", {})).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
    denied.push("count");
    expect(await haft.execute("count", { text: "a" })).toMatchObject({ status: "failed" });
    expect(await haft.jobs.list()).toEqual([]);
    denied.pop();
    const result = await haft.execute("count", { text: "a" }, { background: { delayMs: 60 } });
    denied.push("count");
    expect(await haft.jobs.wait(jobOf(result))).toMatchObject({ status: "failed", error: { actor: "policy" } });
    expect(runs).toBe(0);
  });

  test("that asks is asked once, before it waits", async () => {
    const haft = await place().open();
    haft.register({
      ...{ name: "asks", description: "Asks", parameters: [], async: true, permission: "confirm" },
      run: () => "ran",
    } as never);
    const requested = await haft.execute("asks", {}, { id: "c1" });
    expect(requested).toMatchObject({ pending: { kind: "approval" } });
    const queued = await haft.approvals.approve(jobOf(requested));
    expect(queued).toMatchObject({ status: "pending", pending: { kind: "job" } });
    expect(await haft.jobs.wait(jobOf(queued))).toMatchObject({ status: "completed", details: "ran" });
  });

  test("that asks, with an id, runs as its job after the approval, and its approval has the result", async () => {
    const haft = await place().open();
    const { tool, runs, detach } = slowTool("slow", { permission: "confirm" });
    haft.register(tool);
    const options = { id: "c1", caller: { session: "s" } };
    const approvalId = jobOf(await haft.execute("slow", {}, options));
    const queued = await haft.approvals.approve(approvalId);
    expect(queued).toMatchObject({ status: "pending", pending: { kind: "job" } });
    expect(await haft.execute("slow", {}, options)).toMatchObject({ pending: { kind: "job", id: jobOf(queued) } });
    detach();
    expect(await haft.jobs.wait(jobOf(queued))).toMatchObject({ status: "completed" });
    expect((await haft.approvals.get(approvalId))?.call).toEqual({ state: "ended", outcome: "completed" });
    expect(await haft.execute("slow", {}, options)).toMatchObject({ status: "completed" });
    expect(runs).toHaveLength(1);
  });

  test("that was approved and then cancelled has not run, and its approval says so", async () => {
    const haft = await place().open({ worker: false });
    const { tool } = slowTool("slow", { permission: "confirm" });
    haft.register(tool);
    const approvalId = jobOf(await haft.execute("slow"));
    await haft.jobs.cancel(jobOf(await haft.approvals.approve(approvalId)));
    const { call } = await haft.approvals.waitForEnd(approvalId);
    expect(call).toEqual({ state: "ended", outcome: "cancelled" });
  });

  test("can be wished for, and wished away; from inside a tool it is waited for", async () => {
    const haft = await place().open();
    haft.register({ name: "inline", description: "Inline", parameters: [], needsApproval: false, run: () => 1 });
    haft.register({
      name: "later",
      description: "Later",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 2,
    });
    haft.register({
      ...{ name: "outer", description: "Calls", parameters: [], needsApproval: false },
      run: async (_input, { call }) => (await call("later")).details,
    });
    expect(await haft.execute("inline", {}, { background: true })).toMatchObject({ pending: { kind: "job" } });
    expect(await haft.execute("later", {}, { background: false })).toMatchObject({ details: 2 });
    expect(await haft.execute("outer")).toMatchObject({ details: 2 });
  });

  test("that is safe to repeat is tried again, and only its last end is told", async () => {
    const haft = await place().open();
    let tries = 0;
    haft.register({
      ...{ name: "shaky", description: "Shaky", parameters: [], async: true, idempotent: true, needsApproval: false },
      limits: { timeoutMs: 20 },
      run: () => (++tries < 2 ? new Promise(() => {}) : tries),
    } as never);
    const events = received(haft);
    const result = await haft.execute("shaky", {}, { id: "c1", background: { attempts: 2 } });
    expect(await haft.jobs.wait(jobOf(result))).toMatchObject({ status: "completed", details: 2 });
    expect(typesOf(events, "c1").filter((type) => /completed|failed/.test(type))).toEqual(["tool_call_completed"]);
    expect(await haft.jobs.get(jobOf(result))).toMatchObject({ attempt: 2 });
  });

  test("with effects that failed is not tried again", async () => {
    const haft = await place().open();
    let tries = 0;
    haft.register({
      ...{ name: "effect", description: "Acts", parameters: [], async: true, kind: "write", needsApproval: false },
      limits: { timeoutMs: 20 },
      run: () => (++tries, new Promise(() => {})),
    } as never);
    const result = await haft.execute("effect", {}, { background: { attempts: 5 } });
    expect(await haft.jobs.wait(jobOf(result))).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    expect(tries).toBe(1);
  });

  test("is run by a worker without a limit, and a worker that could run none does not start", async () => {
    const haft = await place().open({ worker: { concurrency: Number.POSITIVE_INFINITY } });
    haft.register({
      ...{ name: "quick", description: "Answers", parameters: [], async: true, permission: "auto" },
      run: () => "done",
    } as never);
    for (const concurrency of [0, -1, Number.NaN])
      await expect(haft.jobs.work({ concurrency })).rejects.toThrow(/1 or more/);
    const id = jobOf(await haft.execute("quick", {}, { background: true }));
    expect(await haft.jobs.wait(id)).toMatchObject({ status: "completed" });
  });

  test("with effects whose start could not be recorded has not run, and is tried again", async () => {
    let starts = 0;
    const begun = (): void => {
      if (++starts === 1) throw toolError("unavailable", "The store restarts");
    };
    const log: HaftOptions["log"] = { begun, closed: () => {}, recent: () => [] };
    const haft = await place().open({ log });
    let runs = 0;
    haft.register({
      ...{ name: "effect", description: "Acts", parameters: [], async: true, kind: "write", needsApproval: false },
      run: () => ++runs,
    } as never);
    const id = jobOf(await haft.execute("effect", {}, { background: true }));
    expect(await haft.jobs.wait(id)).toMatchObject({ status: "completed", details: 1 });
    expect(await haft.jobs.get(id)).toMatchObject({ state: "completed", attempt: 1, attempts: 1 });
  });

  test("with effects is not tried again, also when its tool says that a process is closing", async () => {
    const haft = await place().open();
    let tries = 0;
    haft.register({
      ...{ name: "effect", description: "Acts", parameters: [], async: true, kind: "write", needsApproval: false },
      run() {
        // The gate says this only of calls that have no effect yet. Such tries are not counted.
        if (++tries === 1) throw toolError("shutdown", "The other side is closing");
      },
    } as never);
    const result = await haft.execute("effect", {}, { background: true });
    expect(await haft.jobs.wait(jobOf(result))).toMatchObject({ error: { code: "shutdown", retryable: true } });
    expect(tries).toBe(1);
  });

  test("can be cancelled, waiting and running: one end is told, recorded, and everybody who waits is answered", async () => {
    const haft = await place().open({ worker: { concurrency: 1 } });
    const { tool, runs } = slowTool();
    haft.register(tool);
    const events = received(haft);
    const running = await haft.execute("slow", {}, { id: "running" });
    await until(() => runs.length === 1);
    const waiting = await haft.execute("slow", {}, { id: "waiting" });
    const results = Promise.all([running, waiting].map((result) => haft.jobs.wait(jobOf(result))));
    for (const result of [waiting, running]) await haft.jobs.cancel(jobOf(result), "enough");
    const message = expect.stringContaining("enough");
    expect(await results).toMatchObject([
      { error: { code: "unknown_outcome", message } },
      { error: { code: "cancelled", message } },
    ]);
    expect(runs).toHaveLength(1);
    for (const id of ["running", "waiting"]) {
      expect(typesOf(events, id).filter((type) => type === "tool_call_failed")).toHaveLength(1);
    }
    const recorded = (await haft.calls.log.recent()).filter(({ callId }) => callId === "waiting");
    expect(recorded.map(({ status }) => status)).toEqual(["pending", "failed"]);
  });

  test("is cleared with all that wait, and made again on demand as a call of its own", async () => {
    const haft = await place().open({ worker: false });
    let runs = 0;
    haft.register({
      name: "count",
      description: "Counts",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => ++runs,
    });
    const results = await Promise.all(["c1", "c2"].map((id) => haft.execute("count", {}, { id })));
    const waits = results.map((result) => haft.jobs.wait(jobOf(result)));
    expect(await haft.jobs.clear()).toBe(2);
    for (const result of await Promise.all(waits)) expect(result).toMatchObject({ error: { code: "cancelled" } });
    const again = await haft.jobs.retry(jobOf(results[0]!));
    await haft.jobs.work();
    expect(await haft.jobs.wait(again.id)).toMatchObject({ callId: "c1#2", status: "completed", details: 1 });
    await expect(haft.jobs.wait("unknown")).rejects.toThrow(/no job/);
    await expect(haft.jobs.cancel("unknown")).rejects.toThrow(/no job/);
  });

  test("stays in the toolkit of who made it, also through the tools that it calls", async () => {
    const haft = await place().open();
    haft.register({ name: "secret", description: "Secret", parameters: [], needsApproval: false, run: () => "told" });
    haft.register({
      ...{ name: "outer", description: "Calls", parameters: [], async: true, needsApproval: false },
      run: async (_input: unknown, { call }: ToolContext) => (await call("secret")).status,
    } as never);
    const result = await haft.tools.toolkit("agent", ["outer"]).execute("outer");
    expect(await haft.jobs.wait(jobOf(result))).toMatchObject({ details: "failed" });
  });

  test("keeps every option of its call that can be stored, and its worker waits for the end", async () => {
    const waits: boolean[] = [];
    const haft = await place().open();
    const run = (_input: unknown, context: ToolContext) => void waits.push(context.waitForEnd);
    haft.register({ name: "look", description: "Looks", kind: "readonly", parameters: [], run });
    // `false` is for a caller that stays; nobody could follow what a job leaves running.
    const stored = {
      ...{ timeoutMs: 5000, allowedPaths: ["/tmp"], mode: "acceptEdits" as const, waitForEnd: false },
      ...{ idempotencyKey: "key", policy: { deny: ["write"] }, background: { priority: 2 } },
    };
    const made = await haft.execute("look", {}, { ...stored, id: "c1", onUpdate: () => undefined });
    expect(await haft.jobs.wait(jobOf(made))).toMatchObject({ status: "completed" });
    const { call } = (await haft.jobs.get(jobOf(made))) ?? {};
    expect(call?.options).toEqual({ ...stored, policy: [stored.policy] });
    expect(waits).toEqual([true]);
  });

  test("of a tool that is not registered is waited for, and that is said", async () => {
    const haft = await place().open({ tools: [] });
    const other = createHaft();
    const tool = other.register({
      name: "loose",
      description: "Loose",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 1,
    });
    expect(await haft.execute(tool)).toMatchObject({
      details: 1,
      metadata: { waited: expect.any(String) },
    });
  });

  test("is waited for where there are no jobs", async () => {
    const haft = await place().open({ jobs: false });
    haft.register({
      name: "later",
      description: "Later",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 2,
    });
    expect(await haft.execute("later")).toMatchObject({ details: 2 });
  });

  test("that runs at shutdown gets its time", async () => {
    const haft = await place().open();
    const { tool, runs, detach } = slowTool();
    haft.register(tool);
    const result = await haft.execute("slow");
    await until(() => runs.length === 1);
    const waited = haft.jobs.wait(jobOf(result));
    const closed = haft.shutdown({ graceMs: 60_000 });
    detach();
    await closed;
    expect(await waited).toMatchObject({ status: "completed" });
  });
});

describe("a job that runs elsewhere", () => {
  test("is handed back by a shutdown that gives no time, where repeating does no harm; who waits is told", async () => {
    const storeFactory = inStore();
    const first = await storeFactory.open();
    const { tool, runs, detach } = slowTool("slow", { idempotent: true });
    first.register(tool);
    const result = await first.execute("slow", {}, { id: "c1" });
    await until(() => runs.length === 1);
    const waited = first.jobs.wait(jobOf(result));
    await first.shutdown();
    expect(await waited).toMatchObject({ status: "pending" });
    const second = await storeFactory.open();
    second.register(tool);
    detach();
    await second.jobs.work();
    expect(await second.jobs.wait(jobOf(result))).toMatchObject({ callId: "c1", status: "completed" });
    expect(runs).toHaveLength(2);
  });

  test("of a tool that does not listen is handed back, and not begun elsewhere before it has ended here", async () => {
    const storeFactory = inStore();
    const first = await storeFactory.open();
    const begun: string[] = [];
    let detach = (): void => {};
    const gone = new Promise<void>((resolve) => (detach = resolve));
    const deaf = (where: string, until?: Promise<void>) => ({
      ...{
        name: "deaf",
        description: "Hears nothing",
        parameters: [],
        async: true,
        idempotent: true,
        needsApproval: false,
      },
      async run() {
        begun.push(where);
        await until;
        return where;
      },
    });
    first.register(deaf("here", gone) as never);
    const result = await first.execute("deaf", {}, { id: "c1" });
    await until(() => begun.length === 1);
    await first.shutdown();
    const second = await storeFactory.open();
    second.register(deaf("there") as never);
    second.register({
      name: "quick",
      description: "Quick",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 1,
    });
    await second.jobs.work();
    // It works, and leaves the job to the first run, which has not ended.
    await second.jobs.wait(jobOf(await second.execute("quick")));
    expect(await second.jobs.get(jobOf(result))).toMatchObject({ state: "running" });
    expect(begun).toEqual(["here"]);
    detach();
    expect(await second.jobs.wait(jobOf(result))).toMatchObject({ status: "completed", details: "there" });
    expect(begun).toEqual(["here", "there"]);
  });

  test("tells its start, updates and end where the call was made, once, and joins its context", async () => {
    const storeFactory = inStore();
    const client = await storeFactory.open({ worker: false });
    const worker = await storeFactory.open();
    const { tool, detach } = slowTool();
    for (const haft of [client, worker]) haft.register(tool);
    const events = received(client);
    const updates: unknown[] = [];
    const context = new ToolCallContext();
    client.jobs.follow(context);
    context.setToolCalls([{ callId: "c1", name: "slow", input: {} }]);
    const result = await client.execute("slow", {}, { id: "c1", onUpdate: (update) => void updates.push(update) });
    context.setToolCallResult(result);
    await worker.jobs.work();
    await until(() => updates.length === 1);
    detach();
    await client.jobs.wait(jobOf(result));
    expect(context.result("c1")).toMatchObject({ status: "completed" });
    expect(typesOf(events, "c1").slice(-3)).toEqual([
      ...["tool_call_started", "tool_call_updated", "tool_call_completed"],
    ]);
  });

  test("that ended while nobody was here is joined to a context that is followed afterwards", async () => {
    const storeFactory = inStore();
    const worker = await storeFactory.open();
    worker.register({
      name: "later",
      description: "Later",
      parameters: [],
      async: true,
      needsApproval: false,
      run: () => 2,
    });
    const result = await worker.execute("later", {}, { id: "c1" });
    await worker.jobs.wait(jobOf(result));
    const context = new ToolCallContext();
    context.setToolCalls([{ callId: "c1", name: "later", input: {} }]);
    context.setToolCallResult(result);
    const reported: string[] = [];
    (await storeFactory.open()).jobs.follow(
      Object.assign(context, { onToolCall: (r: ToolResult) => void reported.push(r.callId) }),
    );
    await until(() => context.pending().length === 0);
    expect(context.result("c1")).toMatchObject({ details: 2 });
    expect(reported).toEqual(["c1"]);
  });
});
