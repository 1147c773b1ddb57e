// A question outlives the process that asked it: another one has what it needs to make the call again.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { AgentToolkit, createHaft, createTool, type HaftOptions } from "haft";
import { openWorkspace } from "haft/workspace";
import { idOf, makeFolder } from "./open-gate.ts";
import { type StoreFactory, postgresStoreFactory, sqliteStoreFactory } from "./open-stores.ts";

describe.each([
  ["SQLite", sqliteStoreFactory],
  ["PostgreSQL", postgresStoreFactory],
])("with approvals in %s", (_name, make) => {
  let storeFactory: StoreFactory;
  let calls = 0;
  beforeAll(async () => void (storeFactory = await make()));
  afterAll(() => storeFactory.remove());
  const newId = () => `restart-${++calls}`;

  async function startProcess(options: HaftOptions = {}) {
    const { calls } = await storeFactory.open();
    return createHaft({ calls, ...options });
  }
  const sendTool = (sent: unknown[], more: object = {}) =>
    createTool({
      name: "send",
      description: "Sends a text",
      kind: "execute",
      permission: "confirm",
      aliases: ["post"],
      parameters: [{ name: "text", type: "string", description: "What" }],
      run: (input: unknown, context) => (sent.push({ input, ...context.caller, paths: context.allowedPaths }), "sent"),
      ...more,
    });

  test("a new process runs what was asked in an old one: same input, caller and limits, once", async () => {
    const [before, after]: unknown[][] = [[], []];
    const old = await startProcess({ tools: [sendTool(before!)] });
    const options = { id: newId(), caller: { session: "s", user: "ada" }, allowedPaths: ["/tmp"], taskId: "t" };
    const requested = idOf(await old.execute("post", { text: "hi" }, options));
    await old.shutdown();
    const fresh = await startProcess({ tools: [sendTool(after!)] });
    expect(await fresh.approvals.approve(requested, "ann")).toMatchObject({ status: "completed", callId: options.id });
    const caller = { session: "s", user: "ada", task: "t", depth: 0 };
    expect(after).toEqual([{ input: { text: "hi" }, ...caller, paths: ["/tmp"] }]);
    expect(before).toEqual([]);
    expect(await fresh.approvals.approve(requested)).toMatchObject({ status: "completed", callId: options.id });
    const third = await startProcess({ tools: [sendTool(after!)] });
    expect(await third.approvals.approve(requested)).toMatchObject({ status: "completed", callId: options.id });
    expect(await third.execute("send", { text: "hi" }, options)).toMatchObject({ metadata: { known: "replay" } });
    expect(after).toHaveLength(1);
  });

  test("a new process that has not the tool keeps the answer; one that has another tool of its name does not use it", async () => {
    const sent: unknown[] = [];
    const old = await startProcess({ tools: [sendTool(sent)] });
    const [one, two] = [
      idOf(await old.execute("send", { text: "1" }, { id: newId() })),
      idOf(await old.execute("send", { text: "2" }, { id: newId() })),
    ];
    const empty = await startProcess();
    expect(await empty.approvals.approve(one)).toMatchObject({ status: "pending", pending: { id: one } });
    empty.register(sendTool(sent));
    expect(await empty.approvals.approve(one)).toMatchObject({ status: "completed" });
    const other = await startProcess({ tools: [sendTool(sent, { description: "Sends it elsewhere" })] });
    expect(await other.approvals.approve(two)).toMatchObject({ status: "failed", error: { code: "conflict" } });
    expect(await other.approvals.get(two)).toMatchObject({ state: "changed" });
    expect(sent).toHaveLength(1);
  });

  test("a call of a toolkit, made again, has no more tools than the toolkit had", async () => {
    const reached: string[] = [];
    const tools = () => [
      createTool({
        name: "outer",
        description: "Calls another tool",
        permission: "confirm",
        parameters: [],
        run: async (_input, context) => (await context.call("secret")).status,
      }),
      createTool({
        name: "secret",
        description: "Not for agents",
        parameters: [],
        needsApproval: false,
        run: () => void reached.push("x"),
      }),
    ];
    const old = await startProcess({ tools: tools() });
    const requested = idOf(await old.tools.toolkit("agent", ["outer"]).execute("outer", {}, { id: newId() }));
    const fresh = await startProcess({ tools: tools() });
    expect(await fresh.approvals.approve(requested)).toMatchObject({ status: "completed", details: "failed" });
    expect(reached).toEqual([]);
    expect(new AgentToolkit("agent").names()).toEqual([]);
  });

  test("of several versions the one that was shown runs", async () => {
    const ran: string[] = [];
    const version = (number: string) => sendTool([], { version: number, run: () => void ran.push(number) });
    const old = await startProcess({ tools: [version("1.0.0"), version("2.0.0")] });
    const requested = idOf(await old.execute("send@2.0.0", { text: "x" }, { id: newId() }));
    const fresh = await startProcess({ tools: [version("1.0.0"), version("2.0.0"), version("3.0.0")] });
    expect(await fresh.approvals.approve(requested)).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["2.0.0"]);
  });

  test("a file that was changed between the processes is asked about again", async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src/a.txt"), "one\n");
    const open = async () => {
      const workspace = openWorkspace(folder, { requireReadBeforeEdit: false });
      onTestFinished(() => workspace.close());
      return startProcess({ workspace });
    };
    const edit = { path: "src/a.txt", old_string: "one", new_string: "two" };
    const id = newId();
    const requested = idOf(await (await open()).execute("edit", edit, { id }));
    writeFileSync(join(folder, "src/a.txt"), "zero\none\n");
    const fresh = await open();
    const again = idOf(await fresh.approvals.approve(requested));
    expect(await fresh.approvals.get(requested)).toMatchObject({ state: "changed" });
    expect(await (await open()).approvals.approve(again)).toMatchObject({ status: "completed" });
  });

  test("a process that waits is told by another one, and runs the call itself", async () => {
    const [here, there]: unknown[][] = [[], []];
    const waiting = await startProcess({ tools: [sendTool(here!)], approvalWaitMs: 20_000 });
    const api = await startProcess({ tools: [sendTool(there!)] });
    const id = newId();
    const result = waiting.execute("send", { text: "x" }, { id });
    const find = async () => (await api.approvals.list("pending")).find(({ callId }) => callId === id);
    await expect.poll(find, { timeout: 10_000 }).toBeDefined();
    const reported = await api.approvals.approve((await find())!.id, "ann");
    // Both get the same result.
    expect(reported).toMatchObject({ status: "completed", display: "sent" });
    expect(await result).toMatchObject({ status: "completed" });
    expect([here!.length, there!.length]).toEqual([1, 0]);
  });

  test("a question stays open when the process that waits for it shuts down", async () => {
    const sent: unknown[] = [];
    const waiting = await startProcess({ tools: [sendTool(sent)], approvalWaitMs: 20_000 });
    const id = newId();
    const result = waiting.execute("send", { text: "x" }, { id });
    const find = async () => (await waiting.approvals.list("pending")).find(({ callId }) => callId === id);
    await expect.poll(find, { timeout: 10_000 }).toBeDefined();
    const requested = (await find())!.id;
    await waiting.shutdown();
    expect(await result).toMatchObject({ status: "pending", pending: { id: requested } });
    const fresh = await startProcess({ tools: [sendTool(sent)] });
    expect(await fresh.approvals.approve(requested)).toMatchObject({ status: "completed" });
    expect(sent).toHaveLength(1);
  });

  test("an approved call that has not begun when its process shuts down runs in another one", async () => {
    const sent: unknown[] = [];
    let hasStarted = (): void => undefined;
    const started = new Promise<void>((resolve) => (hasStarted = resolve));
    let proceed = (): void => undefined;
    const delay = new Promise<void>((resolve) => (proceed = resolve));
    const delayed = { name: "delayed", after: "permit", enter: () => (hasStarted(), delay) } as const;
    const ending = await startProcess({ tools: [sendTool(sent)], middleware: [delayed] });
    const requested = idOf(await ending.execute("send", { text: "x" }, { id: newId() }));
    const result = ending.approvals.approve(requested);
    await started;
    const closed = ending.shutdown();
    proceed();
    expect(await result).toMatchObject({ status: "pending", pending: { id: requested } });
    await closed;
    const fresh = await startProcess({ tools: [sendTool(sent)] });
    expect(await fresh.approvals.follow(requested)).toMatchObject({ status: "completed" });
    expect(sent).toHaveLength(1);
  });
});
