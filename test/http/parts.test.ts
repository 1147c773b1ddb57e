// The audit log, file changes, rules, statistics and tools over HTTP.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createTool, type PendingResult } from "haft";
import { openHaft } from "haft/host";
import { openWorkspace } from "haft/workspace";
import { createDirectClient } from "../../src/api/direct-client.ts";
import { HostApi } from "../../src/api/host-api.ts";
import { contracts } from "../../src/contracts/index.ts";
import { createMemoryUndo } from "../../src/io/files/undo-store.ts";
import { createUndo } from "../../src/io/files/undo.ts";
import { RuleSet } from "../../src/gate/permit/rules/rule-set.ts";
import { openStore } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openCheckedClient } from "./checked-client.ts";
import { ask, openTestServer } from "./open-server.ts";

function makeFolder(): string {
  const folder = temporaryFolder("haft-parts-");
  return folder;
}

async function openAudited() {
  const store = await openStore({ stateFolder: makeFolder() });
  onTestFinished(() => store.close());
  const api = await openTestServer({ haft: { log: store.audit }, parts: { store } });
  const client = await openCheckedClient(api, "read", "call");
  return { store, api, client };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("the audit log", () => {
  test("is searched with facets and by pages, and one entry is found by its id", async () => {
    const { client, store } = await openAudited();
    for (const text of ["a", "needle", "c"])
      await client.calls.execute({ tool: "echo", input: { text }, session: "s" });
    await client.calls.execute({ tool: "echo", input: { wrong: 1 } });
    await store.audit.flush();
    const page = await client.audit.search({ tool: "echo", limit: 3 });
    expect(page.items).toHaveLength(3);
    expect(page.items[0]).toMatchObject({
      type: "call_refused",
      status: "failed",
      errorCode: "invalid_input",
      caller: { user: "read+call" },
    });
    expect(page.facets.find(({ name }) => name === "status")?.values).toContainEqual({ value: "completed", count: 3 });
    const rest = await client.audit.search({ tool: "echo", limit: 100, cursor: page.next! });
    expect(rest.items.map(({ id }) => id)).not.toContain(page.items[0]!.id);
    const { id } = page.items[1]!;
    expect(await client.audit.get(id)).toEqual(page.items[1]);
    await expect(client.audit.get("99999")).rejects.toMatchObject({ status: 404 });
    expect((await client.audit.search({ session: "s", search: "needle" })).items).toMatchObject([
      { type: "call_ended", input: { text: "needle" } },
    ]);
    await expect(client.audit.search({ cursor: "'; DROP TABLE audit" })).rejects.toMatchObject({ status: 400 });
    expect((await client.audit.search({ errorCode: "invalid_input" })).items).toHaveLength(1);
  });

  test("is exported whole and by filter, one entry a line, and its chain is verified", async () => {
    const { client, store, api } = await openAudited();
    for (let i = 0; i < 20; i++) await client.calls.execute({ tool: "echo", input: { text: String(i) } });
    await store.audit.flush();
    const entries = await collect(client.audit.export());
    expect(entries).toHaveLength(20);
    expect(entries[0]).toMatchObject({ id: "1", type: "call_ended" });
    expect(await collect(client.audit.export({ status: "completed" }))).toHaveLength(20);
    const { headers, text } = await ask(api, "GET", "/api/audit/export", { token: await api.tokenFor("read") });
    expect(headers).toMatchObject({
      "content-type": "application/jsonl; charset=utf-8",
      "content-disposition": 'attachment; filename="haft-audit.jsonl"',
    });
    expect(text.trim().split("\n")).toHaveLength(20);
    const checked = await client.audit.verify();
    expect(checked).toEqual({ ok: true, entries: 20, head: expect.stringMatching(/^20:[\w-]{43}$/) });
    expect(await client.audit.verify({ sinceCheckpoint: true })).toMatchObject({
      ...{ ok: true, entries: 0, checkpoint: { seq: 20 } },
    });
    await store.database.run("UPDATE audit SET tool = 'other' WHERE seq = 7");
    expect(await client.audit.verify()).toMatchObject({ ok: false, broken: { id: "7" } });
  });

  test("that was removed is detected with an earlier head", async () => {
    const { client, store } = await openAudited();
    await client.calls.execute({ tool: "echo", input: { text: "a" } });
    await store.audit.flush();
    const { head } = await client.audit.verify();
    expect(await client.audit.verify({ head })).toMatchObject({ ok: true });
    await store.database.run("DELETE FROM audit");
    await store.database.run("UPDATE audit_head SET count = 0, hash = ''");
    expect(await client.audit.verify()).toMatchObject({ ok: true, entries: 0 });
    expect(await client.audit.verify({ head })).toMatchObject({
      ok: false,
      broken: { reason: expect.stringMatching(/rewritten or cut/) },
    });
    await expect(client.audit.verify({ head: "many" })).rejects.toMatchObject({ status: 400 });
  });
});

describe("changes of files", () => {
  test("are listed, shown and undone by call, with the scope approve", async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, "note.txt"), "old\n");
    const store = createMemoryUndo();
    const workspace = openWorkspace(folder, { journal: store });
    const undo = createUndo({ files: workspace.files, store });
    const api = await openTestServer({ haft: { workspace }, parts: { undo } });
    const caller = await openCheckedClient(api, "read", "call");
    const person = await openCheckedClient(api, "read", "approve");
    await caller.calls.execute({ tool: "read", input: { path: "note.txt" }, session: "s" });
    const requested = await caller.calls.execute({
      tool: "write",
      input: { path: "note.txt", content: "new\n" },
      id: "w",
      session: "s",
    });
    if (requested.status === "pending") await person.approvals.answer(requested.pending.id, { decision: "once" });
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("new\n");
    const { items } = await person.undo.list({ call: "w" });
    expect(items).toMatchObject([{ callId: "w", kind: "write", state: "done" }]);
    expect((await person.undo.get(items[0]!.id)).diff).toMatch(/-old\n\+new/);
    expect(await person.calls.get("w")).toMatchObject({ canUndo: true });
    await expect(caller.undo.run({ call: "w" })).rejects.toMatchObject({ status: 403 });
    writeFileSync(join(folder, "note.txt"), "mine\n");
    const texts = { now: "mine\n", restored: "old\n" };
    const conflicts = [{ path: "note.txt", reason: "changed", diff: expect.stringContaining("mine"), ...texts }];
    await expect(person.undo.run({ call: "w" })).rejects.toMatchObject({
      status: 409,
      code: "stale",
      data: { conflicts },
    });
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("mine\n");
    const forced = await person.undo.run({ call: "w", force: true });
    expect(forced).toMatchObject({ undone: [{ callId: "w", state: "undone", undoneBy: forced.undoId }] });
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("old\n");
    await expect(caller.undo.redo({ undo: forced.undoId })).rejects.toMatchObject({ status: 403 });
    await expect(person.undo.redo({})).rejects.toMatchObject({ status: 400 });
    await expect(person.undo.redo({ undo: "w" })).rejects.toMatchObject({ status: 404 });
    expect((await person.undo.redo({ call: "w" })).undone).toMatchObject([{ isUndo: true }]);
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("mine\n");
    await person.undo.run({ call: "w", force: true });
    expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("old\n");
    expect((await person.calls.get("w")).canUndo).toBeUndefined();
    await expect(person.undo.run({ call: "w" })).rejects.toMatchObject({ status: 409 });
    await expect(person.undo.run({ call: "never" })).rejects.toMatchObject({ status: 404 });
    await expect(person.undo.run({})).rejects.toMatchObject({ status: 400 });
    const long = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join("");
    await workspace.files.narrow(undefined, { callId: "long" }).writeFileAtomic("long.txt", Buffer.from(long));
    const [change] = (await person.undo.list({ call: "long" })).items;
    expect((await person.undo.get(change!.id)).diff).toMatch(/\n\[not shown: a part of these 20000 changed lines\]$/);
  });

  test("are undone by session, and all of them are listed", async () => {
    const store = createMemoryUndo();
    const workspace = openWorkspace(makeFolder(), { journal: store });
    const undo = createUndo({ files: workspace.files, store });
    const api = await openTestServer({ haft: { workspace }, parts: { undo } });
    const person = await openCheckedClient(api, "read", "call", "approve");
    for (const id of ["a", "b"]) {
      const input = { path: `${id}.txt`, content: id };
      await person.calls.execute({ tool: "write", input, id, session: "s", mode: "acceptEdits" });
    }
    const { undone, undoId } = await person.undo.run({ session: "s" });
    expect(undone).toMatchObject([
      { callId: "b", state: "undone" },
      { callId: "a", state: "undone" },
    ]);
    expect((await person.undo.redo({ undo: undoId })).undone).toHaveLength(2);
    expect((await person.undo.list({ call: "a" })).items).toMatchObject([{ state: "done" }]);
  });
});

describe("the rules", () => {
  test("are shown with their origin, explained, linted, and tried on past calls", async () => {
    const store = await openStore({ stateFolder: makeFolder() });
    onTestFinished(() => store.close());
    const ruleSet = new RuleSet([{ origin: "project", allow: ["echo"], deny: ["keep"], ask: ["nosuchtool"] }]);
    const api = await openTestServer({ haft: { log: store.audit, rules: ruleSet }, parts: { store } });
    const client = await openCheckedClient(api, "read");
    expect(await client.policy.show()).toMatchObject({ defaultPermission: "confirm" });
    expect((await client.policy.show()).rules).toContainEqual({
      rule: "keep",
      decision: "deny",
      origin: "project",
      lasts: "always",
      hits: 0,
      canEdit: false,
    });
    expect(await client.policy.explain({ tool: "keep", input: { text: "x" } })).toMatchObject({
      verdict: { decision: "deny", rule: "keep", origin: "project" },
    });
    await expect(client.policy.explain({ tool: "keep", input: { wrong: 1 } })).rejects.toMatchObject({ status: 400 });
    expect((await client.policy.lint()).items).toContainEqual(
      expect.objectContaining({ level: "warning", rule: "nosuchtool" }),
    );
    expect(await client.tools.get("keep")).toMatchObject({ verdict: { decision: "deny" } });
    for (const text of ["a", "b"]) await api.haft.execute("echo", { text });
    await store.audit.flush();
    expect(await client.policy.effect({ rule: "echo" })).toMatchObject({
      judged: 2,
      matched: 2,
      changed: 0,
      samples: [{ toolName: "echo" }, { toolName: "echo" }],
    });
    expect(await client.policy.effect({ rule: "echo(" })).toMatchObject({ matched: 0, problem: expect.any(String) });
    expect(await client.policy.simulate({ add: [{ rule: "echo", decision: "deny" }] })).toMatchObject({
      judged: 2,
      changed: [{ before: { decision: "allow" }, after: { decision: "deny" } }, {}],
    });
    const frames = [];
    for await (const frame of client.policy.simulateStream({ add: [{ rule: "echo", decision: "deny" }] }))
      frames.push(frame);
    expect(frames.at(-1)).toMatchObject({
      type: "result",
      simulation: { judged: 2, tools: [{ tool: "echo", before: "allow", after: "deny", count: 2 }] },
    });
    await expect(client.policy.simulate({ add: [{ rule: "(", decision: "deny" }] })).rejects.toMatchObject({
      status: 400,
    });
  });
});

test("rules are saved, changed and revoked, with how often each decided", async () => {
  const folder = makeFolder();
  const home = makeFolder();
  const host = await openHaft(folder, { home, env: {} });
  onTestFinished(() => host.close());
  const identity = { id: "1", name: "ada", scopes: ["read", "call", "approve"], kind: "token" } as const;
  const { handlersOf } = new HostApi(host);
  const client = createDirectClient(contracts, { identity, handlersOf });
  const find = async (text: string) => (await client.policy.show()).rules.find(({ rule }) => rule === text);
  const write = { tool: "write", input: { path: "a.txt", content: "x" } };
  await client.policy.addRule({ rule: "Edit(b.txt)", decision: "allow" });
  expect(await client.policy.explain(write)).toMatchObject({ verdict: { decision: "ask" } });
  const { origin } = (await find("Edit(b.txt)"))!;
  const to = { rule: "Edit(a.txt)", decision: "allow" } as const;
  await expect(
    client.policy.changeRule({ rule: "Edit(b.txt)", decision: "allow", origin, to: { ...to, rule: "Edit(" } }),
  ).rejects.toMatchObject({ code: "bad_request" });
  expect(await find("Edit(b.txt)")).toMatchObject({ canEdit: true });
  await client.policy.changeRule({ rule: "Edit(b.txt)", decision: "allow", origin, to });
  expect(await find("Edit(b.txt)")).toBeUndefined();
  expect(await client.calls.execute(write)).toMatchObject({ status: "completed" });
  await host.store.audit.flush();
  expect(await find("Edit(a.txt)")).toMatchObject({ hits: 1, lastHitAt: expect.any(Number), origin });
  expect(readFileSync(origin, "utf8")).toContain("- Edit(a.txt)");
  await client.policy.changeRule({ rule: "Edit(a.txt)", decision: "allow", origin });
  expect(await client.policy.explain(write)).toMatchObject({ verdict: { decision: "ask" } });
  // A rule of a session stays one when it is edited, and nothing is saved for a rule that does not exist.
  await host.haft.policy.grants.add("Edit(s.txt)", { session: "s" });
  await host.haft.policy.grants.add("Edit(n.txt)", {});
  const grant = { rule: "Edit(s.txt)", decision: "allow", origin: "session", session: "s" } as const;
  await client.policy.changeRule({ ...grant, to: { rule: "Edit(t.txt)", decision: "allow" } });
  expect(await find("Edit(t.txt)")).toMatchObject({ lasts: "session", session: "s" });
  await client.policy.changeRule({ rule: "Edit(n.txt)", decision: "allow", origin: "session" });
  expect(await find("Edit(n.txt)")).toBeUndefined();
  await expect(
    client.policy.changeRule({ ...grant, origin: "elsewhere.yml", to: { rule: "Edit(z.txt)", decision: "allow" } }),
  ).rejects.toMatchObject({ code: "not_found" });
  expect(await find("Edit(z.txt)")).toBeUndefined();
  const { entries } = await host.store.audit.query({ kind: "rule_removed" });
  expect(entries.map(({ caller }) => caller?.user)).toContain("ada");
  // A file name with line breaks cannot add rules to the one that is shown.
  const hostile = { path: "notes/x)\nBash\nEdit(y.txt", content: "z" };
  const asked = await client.calls.execute({ tool: "write", input: hostile });
  const { id: question } = (asked as PendingResult).pending;
  expect((await client.approvals.get(question)).rule).toBeUndefined();
  await expect(client.approvals.answer(question, { decision: "session", rule: "Bash" })).rejects.toThrow(
    "can only be approved once",
  );
  await client.approvals.answer(question, { decision: "deny" });
  expect(await client.approvals.get(question)).toMatchObject({ risk: { reasons: [{ key: "risk.changesFiles" }] } });
  await expect(client.policy.addRule({ rule: "Bash(echo a)\nBash(rm *)", decision: "allow" })).rejects.toMatchObject({
    code: "bad_request",
  });
  // A call that was asked about and denied counts once.
  const pending = await client.calls.execute({ tool: "write", input: { path: "c.txt", content: "x" } });
  await client.approvals.answer((pending as PendingResult).pending.id, { decision: "deny" });
  await host.store.audit.flush();
  const effect = await client.policy.effect({ rule: "Edit(c.txt)", tool: "write" });
  expect(effect).toMatchObject({ judged: 3, matched: 1, changed: 1, samples: [{ subject: { text: "c.txt" } }] });
  await expect(client.policy.changeRule({ rule: "Edit(a.txt)", decision: "allow", origin })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("the effect of a rule counts a call that waits for its answer", async () => {
  const host = await openHaft(makeFolder(), { home: makeFolder(), env: {}, approvalWaitMs: 60_000 });
  onTestFinished(() => host.close());
  const identity = { id: "1", name: "ada", scopes: ["read", "call", "approve"], kind: "token" } as const;
  const { handlersOf } = new HostApi(host);
  const client = createDirectClient(contracts, { identity, handlersOf });
  const call = host.haft.execute("write", { path: "a.txt", content: "x" });
  await expect.poll(() => host.haft.approvals.list("pending")).toHaveLength(1);
  const effectOf = (rule: string) => client.policy.effect({ rule, tool: "write" });
  expect(await effectOf("Edit(a.txt)")).toMatchObject({ judged: 1, matched: 1, changed: 1 });
  await client.policy.addRule({ rule: "Edit(*.txt)", decision: "ask" });
  expect(await effectOf("Edit(a.txt)")).toMatchObject({ judged: 1, matched: 0, changed: 0 });
  const [question] = await host.haft.approvals.list("pending");
  await client.approvals.answer(question!.id, { decision: "deny" });
  await call;
  await host.store.audit.flush();
  expect(await effectOf("Edit(b.txt)")).toMatchObject({ judged: 1, changed: 0 });
});

test("the effect of a rule counts calls of a tool whose schema is asynchronous", async () => {
  const parameters = z.object({ text: z.string().refine((text) => Promise.resolve(text !== "")) });
  const slow = createTool({ name: "slow", description: "", parameters, run: ({ text }) => text });
  const { api, client } = await openAudited();
  api.haft.register(slow);
  await client.calls.execute({ tool: "slow", input: { text: "a" } });
  expect(await client.policy.effect({ rule: "slow", tool: "slow" })).toMatchObject({ judged: 1, changed: 1 });
});

test("statistics have the figures of tools and of an hour", async () => {
  const api = await openTestServer();
  const client = await openCheckedClient(api, "read", "call");
  for (let i = 0; i < 3; i++) await client.calls.execute({ tool: "echo", input: { text: "x" } });
  await client.calls.execute({ tool: "echo" });
  await client.calls.execute({ tool: "echo", input: { text: "x" }, policy: { deny: ["echo"] } });
  await api.haft.clock.advance(1);
  const shown = await client.statistics.show({ buckets: 12 });
  expect(shown.tools).toMatchObject([{ tool: "echo", count: 5, failures: 1, denials: 1 }]);
  expect(shown.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(5);
  expect((await client.tools.get("echo")).statistics).toMatchObject({ count: 5, denials: 1 });
  await expect(client.statistics.show({ from: 5, to: 5 })).rejects.toMatchObject({ status: 400 });
});

test("the token report has the definitions of tools, which of them are shown, and their results", async () => {
  const many = Array.from({ length: 40 }, (_, at) => ({
    name: `extra_${at}`,
    description: { short: "Does something more.", long: "And this is told of it only where it is shown whole." },
    parameters: { type: "object", properties: { a: { type: "string", description: "What to do it with" } } } as const,
    origin: { type: "mcp" as const, server: "more" },
    needsApproval: false,
    run: () => "",
  }));
  const api = await openTestServer({ haft: { toolSearch: { budget: 1500 } } });
  for (const tool of many) api.haft.register(tool);
  const client = await openCheckedClient(api, "read", "call");
  await client.calls.execute({ tool: "echo", input: { text: "word ".repeat(400) } });
  await api.haft.clock.advance(1);
  const { counter, allTokens, shownTokens, resultTokens, tools } = await client.statistics.tokens();
  expect(counter).toBe("o200k_base");
  const of = (name: string) => tools.find(({ tool }) => tool === name)!;
  expect(of("echo")).toMatchObject({ isShown: true, calls: 1 });
  expect(of("echo").resultTokens).toBeGreaterThan(300);
  expect(resultTokens).toBe(of("echo").resultTokens);
  expect(of("extra_1")).toMatchObject({ isShown: true, calls: 0, resultTokens: 0 });
  expect(of("extra_39")).toMatchObject({ isShown: false, calls: 0, resultTokens: 0 });
  expect(of("extra_1").compactTokens).toBeLessThan(of("extra_1").definitionTokens);
  expect(allTokens).toBe(tools.reduce((sum, { definitionTokens }) => sum + definitionTokens, 0));
  expect(shownTokens).toBeLessThanOrEqual(1500);
  expect(tools[0]!.tool).toBe("echo");
  await expect(client.statistics.tokens({ from: 5, to: 5 })).rejects.toMatchObject({ status: 400 });
});

test("the tools that the policy allows are listed, searched and filtered", async () => {
  const api = await openTestServer({ haft: { policy: { deny: ["wait"] } } });
  const client = await openCheckedClient(api, "read");
  const { items } = await client.tools.list();
  expect(items.map(({ name }) => name).sort()).toEqual(["echo", "keep"]);
  expect((await client.tools.list({ kind: "write" })).items.map(({ name }) => name)).toEqual(["keep"]);
  expect((await client.tools.list({ search: "keeps a text" })).items[0]).toMatchObject({
    name: "keep",
    permission: "confirm",
  });
  await expect(client.tools.get("wait")).rejects.toMatchObject({ status: 404 });
  await expect(client.tools.list({ grp: "x" } as never)).rejects.toMatchObject({ status: 400 });
});

test("a client without a server fails with unreachable", async () => {
  const { createClient } = await import("../../src/client.ts");
  const client = createClient({ url: "http://127.0.0.1:9", token: "x" });
  await expect(client.server.info()).rejects.toMatchObject({ status: 0, code: "unreachable" });
});
