// Calls, events and statistics of servers that share a store, and of one that was started again.
import { expect, onTestFinished, test } from "vitest";
import type { EventMessage } from "../../src/contracts/index.ts";
import { openStore } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openCheckedClient } from "./checked-client.ts";
import { openTestServer, until } from "./open-server.ts";

async function openShared(stateFolder: string) {
  const store = await openStore({ stateFolder });
  onTestFinished(() => store.close());
  const api = await openTestServer({ haft: { log: store.audit, calls: store.calls }, parts: { store } });
  api.haft.register({
    name: "put",
    description: "Puts a text",
    kind: "write",
    parameters: [{ name: "text", type: "string", required: true }] as never,
    needsApproval: false,
    run: (input) => (api.runs.push(input), "put"),
  });
  return { api, store, client: await openCheckedClient(api, "read", "call", "approve") };
}

test("calls of another server are listed, filtered and shown, also after its end", async () => {
  const folder = temporaryFolder("haft-history-");
  const one = await openShared(folder);
  const two = await openShared(folder);
  await one.client.calls.execute({ tool: "echo", input: { text: "hello needle" }, id: "a", session: "s" });
  await one.client.calls.execute({ tool: "put", input: { text: "password=hunter22x" }, id: "b" });
  await one.client.calls.execute({ tool: "nothing", id: "c" });
  await one.client.calls.start({ tool: "wait", id: "running" });
  await until(() => one.api.runs.includes("begun"));
  await until(async () => (await two.client.calls.list()).items.length === 4);
  const listed = async (query: Parameters<typeof two.client.calls.list>[0]) =>
    (await two.client.calls.list(query)).items.map(({ callId }) => callId);
  expect(await listed({})).toEqual(["running", "c", "b", "a"]);
  expect(await listed({ status: ["running"] })).toEqual(["running"]);
  // One whose tool asks a person waits for them, in lists and counts.
  const asking = ["running"];
  const { audit } = one.store;
  expect((await audit.calls({ status: ["waiting"], asking })).entries).toMatchObject([{ callId: "running" }]);
  expect((await audit.calls({ status: ["running"], asking })).entries).toEqual([]);
  expect((await audit.callFacets({ asking })).status).toContainEqual({ value: "waiting", count: 1 });
  expect(await listed({ status: ["failed"] })).toEqual(["c"]);
  expect(await listed({ status: ["completed"], tool: "put" })).toEqual(["b"]);
  expect(await listed({ session: "s" })).toEqual(["a"]);
  expect(await listed({ user: "nobody" })).toEqual([]);
  expect(await listed({ search: "need hello" })).toEqual(["a"]);
  expect(await listed({ to: 1 })).toEqual([]);
  const first = await two.client.calls.list({ limit: 3 });
  expect(await listed({ limit: 3, cursor: first.next! })).toEqual(["a"]);
  expect(await two.client.calls.get("a")).toMatchObject({
    ...{ status: "completed", caller: { session: "s" }, input: { text: "hello needle" } },
    ...{ startedAt: expect.any(Number), result: { status: "completed", content: [] } },
  });
  expect((await one.client.calls.get("a")).result).toMatchObject({ details: "hello needle" });
  expect(await two.client.calls.get("running")).toMatchObject({ status: "running" });
  await expect(two.client.calls.output("a")).rejects.toMatchObject({ status: 404 });
  expect(await two.client.calls.replay("a")).toMatchObject({ details: "hello needle" });
  await expect(two.client.calls.replay("b")).rejects.toMatchObject({ status: 409 });
  await one.client.calls.cancel("running");
  const frames = [];
  for await (const frame of two.client.calls.watch("running")) frames.push(frame.type);
  expect(frames).toEqual(["started", "result"]);
});

test("a search of calls says how many entries the index does not have yet", async () => {
  const { store, client } = await openShared(temporaryFolder("haft-history-"));
  await store.audit.index.close();
  await client.calls.execute({ tool: "put", input: { text: "needle" }, id: "a" });
  const { count } = await store.audit.head();
  expect(await client.calls.list({ search: "needle" })).toEqual({ items: [], unsearched: count });
  expect(await client.calls.list()).not.toHaveProperty("unsearched");
});

test("a call that waits for a person, and then runs, is one call", async () => {
  const { client } = await openShared(temporaryFolder("haft-history-"));
  const asked = await client.calls.execute({ tool: "keep", input: { text: "x" }, id: "q" });
  const [waiting] = (await client.calls.list()).items;
  const approvalId = asked.status === "pending" ? asked.pending.id : "";
  expect(waiting).toMatchObject({ callId: "q", status: "waiting", approvalId });
  await client.approvals.answer(approvalId, { decision: "once" });
  await client.calls.execute({ tool: "keep", input: { text: "x" }, id: "q" });
  const { items } = await client.calls.list();
  expect(items).toMatchObject([{ callId: "q", status: "completed" }]);
  expect(await client.calls.get("q")).toMatchObject({
    ...{ askedAt: expect.any(Number), answeredAt: expect.any(Number), startedAt: expect.any(Number) },
    input: { text: "x" },
  });
});

test("lists, counts, statistics and the log agree on how each call stands", async () => {
  const { client, store } = await openShared(temporaryFolder("haft-history-"));
  const ask = async (id: string): Promise<string> => {
    const asked = await client.calls.execute({ tool: "keep", input: { text: id }, id });
    return asked.status === "pending" ? asked.pending.id : "";
  };
  await ask("open");
  await client.approvals.answer(await ask("denied"), { decision: "deny" });
  const approved = await ask("approved");
  await store.calls.change(approved, () => ({ state: "approved", answer: { approved: true }, answeredAt: Date.now() }));
  await client.calls.execute({ tool: "put", input: { text: "x" }, id: "done" });
  await client.calls.execute({ tool: "echo", id: "failed" });
  await store.audit.append({
    kind: "call_lost",
    status: "unknown",
    callId: "lost",
    toolName: "put",
    caller: { user: "x", depth: 0 },
  });
  const of = {
    waiting: "open",
    pending: "approved",
    denied: "denied",
    completed: "done",
    failed: "failed",
    unknown: "lost",
  };
  const { items } = await client.calls.list();
  expect(Object.fromEntries(items.map(({ status, callId }) => [status, callId]))).toEqual(of);
  for (const [status, callId] of Object.entries(of)) {
    const found = await client.calls.list({ status: [status as "waiting"] });
    expect(found.items).toMatchObject([{ status, callId }]);
  }
  const { facets } = await client.calls.facets();
  const counts = facets.find(({ name }) => name === "status")?.values.map(({ value, count }) => [value, count]);
  expect(Object.fromEntries(counts!)).toEqual(Object.fromEntries(Object.keys(of).map((status) => [status, 1])));
  const to = Date.now() + 60_000;
  const { tools } = await client.statistics.show({ from: to - 3_600_000, to, buckets: 10 });
  const sum = (name: "count" | "failures" | "denials") => tools.reduce((total, each) => total + each[name], 0);
  expect([sum("count"), sum("failures"), sum("denials")]).toEqual([4, 1, 1]);
  const log = await client.audit.search();
  const ends = log.facets.find(({ name }) => name === "status")?.values ?? [];
  expect(ends.filter(({ value }) => value !== "pending" && value !== "completed")).toEqual([
    { value: "denied", count: 1 },
    { value: "failed", count: 1 },
    { value: "unknown", count: 1 },
  ]);
  for (const status of ["denied", "failed", "unknown"] as const)
    expect((await client.audit.search({ status })).items).toMatchObject([{ callId: of[status] }]);
});

test("events of another server arrive, in its order, and statistics count its calls", async () => {
  const folder = temporaryFolder("haft-history-");
  const one = await openShared(folder);
  const two = await openShared(folder);
  const stop = new AbortController();
  const seen: EventMessage[] = [];
  const reading = (async () => {
    for await (const message of two.client.events.subscribe({}, { signal: stop.signal })) seen.push(message);
  })().catch(() => undefined);
  await until(() => seen.length > 0);
  await until(async () => {
    await one.client.calls.execute({ tool: "put", input: { text: "x" } });
    return seen.some(({ type }) => type === "tool_call_completed");
  });
  stop.abort();
  await reading;
  const types = seen.map(({ type }) => type).filter((type) => type.startsWith("tool_call"));
  expect(types.slice(0, 2)).toEqual(["tool_call_started", "tool_call_completed"]);
  await one.client.calls.execute({ tool: "echo" });
  await one.store.audit.flush();
  const to = Date.now() + 60_000;
  const shown = await two.client.statistics.show({ from: to - 3_600_000, to, buckets: 10 });
  const made = shown.tools.find(({ tool }) => tool === "put");
  expect(made?.count).toBe(one.api.runs.length);
  expect(shown.tools.find(({ tool }) => tool === "echo")).toMatchObject({ count: 1, failures: 1 });
  expect(shown.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(one.api.runs.length + 1);
});
