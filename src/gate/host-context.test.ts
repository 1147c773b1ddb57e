import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import { MemoryCallStore } from "../calls/call-store.ts";
import type { Caller } from "../core/call.ts";
import { createTool } from "../core/create-tool.ts";
import { text, textOf } from "../core/content.ts";
import { createHaft } from "../runtime.ts";
import { openStore } from "../store/store.ts";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";

const Host = z.object({ tenant: z.string(), refund: z.function().optional() });

function refundTool(ran: unknown[] = []) {
  return createTool({
    name: "refund",
    description: "Refunds an order",
    inputSchema: z.object({ order: z.string() }),
    contextSchema: Host,
    needsApproval: ({ order }, { host }) => host.tenant === "strict" || order === "big",
    preview: async ({ order }, { host }) => ({ title: `Refund ${order} of ${host.tenant}`, content: [text("-1")] }),
    execute({ order }, { host }) {
      expectTypeOf(host.tenant).toEqualTypeOf<string>();
      ran.push([host.tenant, order]);
      return `${host.tenant}: ${order}`;
    },
  });
}

describe("the data of the host", () => {
  test("reach execute, needsApproval and preview, in the type of the schema", async () => {
    const ran: unknown[] = [];
    const refund = refundTool(ran);
    const haft = createHaft({ tools: [refund] });
    expect(await haft.execute(refund, { order: "1" }, { context: { tenant: "acme" } })).toMatchObject({
      details: "acme: 1",
    });
    // @ts-expect-error The schema says that `tenant` is a string.
    void haft.execute(refund, { order: "1" }, { context: { tenant: 1 } });
    const asked = await haft.execute("refund", { order: "2" }, { id: "a", context: { tenant: "strict" } });
    expect(asked).toMatchObject({ status: "pending" });
    const id = asked.status === "pending" ? asked.pending.id : "";
    expect((await haft.approvals.get(id))?.preview?.title).toBe("Refund 2 of strict");
    expect(await haft.approvals.approve(id)).toMatchObject({ details: "strict: 2" });
    expect(ran).toEqual([
      ["acme", "1"],
      ["strict", "2"],
    ]);
  });

  test.each([
    ["missing", undefined, /"refund" needs data of its host, and this call has none.*Nothing was done.*contextFor/s],
    ["of another shape", { tenant: 7 }, /The data of the host does not fit "refund": tenant.*Nothing was done/s],
  ])("that are %s fail the call before it has an effect or asks", async (_case, context, message) => {
    const ran: unknown[] = [];
    const haft = createHaft({ tools: [refundTool(ran)], rules: { allow: ["refund"] } });
    const result = await haft.execute("refund", { order: "1" }, { context });
    expect(result).toMatchObject({ status: "failed", error: { code: "unavailable" } });
    expect(textOf(result.content)).toMatch(message);
    expect(ran).toEqual([]);
  });

  test("are not known to an explanation: it says that the tool asks", async () => {
    const haft = createHaft({ tools: [refundTool()] });
    expect(await haft.policy.explain("refund", { order: "1" })).toMatchObject({ verdict: { decision: "ask" } });
  });

  test("come from contextFor if the call has none, also as a promise, and its failure is the call's", async () => {
    const contextFor = vi.fn(async (caller: Readonly<Caller>) => {
      if (caller.user === "nobody") throw new Error("no such user");
      return { tenant: `of ${caller.user}` };
    });
    const haft = createHaft({ tools: [refundTool()], contextFor });
    expect(await haft.execute("refund", { order: "1" }, { caller: { user: "ann" } })).toMatchObject({
      details: "of ann: 1",
    });
    expect(await haft.execute("refund", { order: "1" }, { context: { tenant: "own" } })).toMatchObject({
      details: "own: 1",
    });
    expect(contextFor).toHaveBeenCalledTimes(1);
    const failed = await haft.execute("refund", { order: "1" }, { caller: { user: "nobody" } });
    expect(failed).toMatchObject({ status: "failed", error: { code: "unavailable" } });
    expect(failed.display).toContain("contextFor failed");
  });

  test("are those of the calling call in a nested call and in a subagent", async () => {
    const outer = createTool({
      name: "outer",
      description: "Calls another tool",
      kind: "readonly",
      inputSchema: [],
      execute: async (_input, { call }) => (await call("refund", { order: "3" })).display,
    });
    const haft = createHaft({ tools: [refundTool(), outer] });
    expect(await haft.execute("outer", {}, { context: { tenant: "acme" } })).toMatchObject({ details: "acme: 3" });
    // Also if a person is asked about the nested call, and it goes on alone.
    const ids: string[] = [];
    haft.on("permission_requested", ({ approvalId }) => ids.push(approvalId));
    await haft.execute("outer", {}, { context: { tenant: "strict" } });
    expect(await haft.approvals.approve(ids[0]!)).toMatchObject({ details: "strict: 3" });
  });

  test("go on with a job of this process, and a worker without them fails before the effect", async () => {
    const ran: unknown[] = [];
    const haft = createHaft({ tools: [refundTool(ran)] });
    const options = { background: true, context: { tenant: "acme" } };
    const submitted = await haft.execute("refund", { order: "4" }, options);
    expect(submitted).toMatchObject({ status: "pending", pending: { kind: "job" } });
    await vi.waitFor(() => expect(ran).toEqual([["acme", "4"]]));
  });

  test("are no part of events and of what a store keeps", async () => {
    const secret = "host-secret-9f2";
    const folder = temporaryFolder("haft-context-");
    const store = await openStore({ stateFolder: folder });
    const haft = createHaft({ tools: [refundTool()], log: store.audit, calls: store.calls });
    const seen: unknown[] = [];
    haft.on("*", (event) => seen.push(event));
    const context = { tenant: "strict", refund: () => secret, secret };
    const asked = await haft.execute("refund", { order: "5" }, { id: "r", context });
    await haft.approvals.deny(asked.status === "pending" ? asked.pending.id : "");
    await haft.execute("refund", { order: "6" }, { context: { ...context, tenant: "acme" } });
    expect(JSON.stringify(seen)).not.toContain(secret);
    await haft.shutdown();
    await store.close();
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    expect(files.some((bytes) => bytes.includes("refund"))).toBe(true);
    expect(files.some((bytes) => bytes.includes(secret))).toBe(false);
  });

  test("are gone in another process: there contextFor makes them, or the call fails before its effect", async () => {
    const folder = temporaryFolder("haft-context-");
    const ran: unknown[] = [];
    const ask = async (): Promise<string> => {
      const store = await openStore({ stateFolder: folder });
      const haft = createHaft({ tools: [refundTool()], log: store.audit, calls: store.calls });
      const asked = await haft.execute("refund", { order: "big" }, { context: { tenant: "acme" } });
      await haft.shutdown();
      await store.close();
      return asked.status === "pending" ? asked.pending.id : "";
    };
    const approve = async (id: string, contextFor?: () => unknown) => {
      const store = await openStore({ stateFolder: folder });
      const haft = createHaft({ tools: [refundTool(ran)], log: store.audit, calls: store.calls, contextFor });
      const result = await haft.approvals.approve(id);
      await haft.shutdown();
      await store.close();
      return result;
    };
    const failed = await approve(await ask());
    expect(failed).toMatchObject({ status: "failed", error: { code: "unavailable" } });
    expect(ran).toEqual([]);
    expect(await approve(await ask(), () => ({ tenant: "acme" }))).toMatchObject({ details: "acme: big" });
    // The preview shows other data than the person saw.
    expect(await approve(await ask(), () => ({ tenant: "other" }))).toMatchObject({ status: "pending" });
    expect(ran).toEqual([["acme", "big"]]);
  });

  test("keep a result out of the cache, and a tool with a schema of them has no cache", async () => {
    let runs = 0;
    const look = createTool({
      name: "look",
      description: "Looks",
      kind: "readonly",
      inputSchema: [],
      cache: { ttlMs: 60_000 },
      execute: (_input, { host }) => [runs++, host],
    });
    const haft = createHaft({ tools: [look] });
    for (const tenant of ["a", "b"]) {
      expect(await haft.execute(look, {}, { context: tenant })).toMatchObject({ details: [expect.anything(), tenant] });
    }
    expect(runs).toBe(2);
    expect(() =>
      createTool({
        ...{ name: "x", description: "d", kind: "readonly", inputSchema: [], cache: { ttlMs: 1 } },
        contextSchema: Host,
        execute: () => 1,
      }),
    ).toThrow(/a cache and a contextSchema/);
  });
});

describe("a call that goes on later", () => {
  const made = (more: object, execute: (host: unknown) => unknown) =>
    createTool({
      ...{ name: "later", description: "d", inputSchema: z.object({}), needsApproval: false, ...more },
      execute: (_input: unknown, { host }: { host: unknown }) => execute(host),
    } as never);
  const other = { contextFor: () => ({ tenant: "other" }) };

  test("keeps its data when it is tried again", async () => {
    const seen: unknown[] = [];
    const tool = made({ mode: "background", idempotent: true, kind: "write" }, (host) => {
      seen.push(host);
      if (seen.length === 1) return { content: "x", error: { code: "unavailable", message: "later" } };
      return "done";
    });
    const haft = createHaft({ tools: [tool], ...other });
    const submitted = await haft.execute("later", {}, { context: { tenant: "a" } });
    if (submitted.status !== "pending") throw new Error(submitted.display);
    expect((await haft.jobs.wait(submitted.pending.id)).status).toBe("completed");
    expect(seen).toEqual([{ tenant: "a" }, { tenant: "a" }]);
    await haft.shutdown();
  }, 60_000);

  test("keeps its data in a program that waits for a person", async () => {
    const seen: unknown[] = [];
    const who = made({ name: "who", kind: "readonly" }, (host) => seen.push(host));
    const pay = made({ name: "pay", needsApproval: true }, (host) => seen.push(host));
    const haft = createHaft({ tools: [who, pay], code: {}, ...other });
    const code = "await tools.who({}); await tools.pay({}); await tools.who({}); return 1";
    await haft.execute("run_code", { code }, { context: { tenant: "a" }, caller: { session: "s" }, id: "p" });
    const [question] = await haft.approvals.list("pending");
    await haft.approvals.approve(question!.id);
    await expect.poll(() => seen.length).toBe(3);
    expect(seen).toEqual([{ tenant: "a" }, { tenant: "a" }, { tenant: "a" }]);
    await haft.shutdown();
  });

  test("does not run without data if it was made with some, also if the schema of its tool would take none", async () => {
    const seen: unknown[] = [];
    const contextSchema = z.object({ tenant: z.string() }).optional();
    const tool = made({ needsApproval: true, contextSchema }, (host) => seen.push(host));
    const calls = new MemoryCallStore();
    const first = createHaft({ tools: [tool], calls });
    const asked = await first.execute("later", {}, { context: { tenant: "a" } });
    if (asked.status !== "pending") throw new Error(asked.display);
    const elsewhere = createHaft({ tools: [tool], calls });
    const result = await elsewhere.approvals.approve(asked.pending.id);
    expect(result).toMatchObject({
      status: "failed",
      error: { next: expect.stringContaining("The answer stays valid") },
    });
    expect(seen).toEqual([]);
  });

  test("shares its question with nobody who has other data, but with a later request of its own", async () => {
    const contextSchema = z.object({ tenant: z.string(), db: z.custom<() => void>() });
    const tool = made({ needsApproval: true, contextSchema }, (host) => `for ${(host as { tenant: string }).tenant}`);
    const haft = createHaft({ tools: [tool] });
    const run = (tenant: string) =>
      haft.execute("later", {}, { idempotencyKey: "k", context: { tenant, db: () => {} } });
    const asked = await run("a");
    if (asked.status !== "pending") throw new Error(asked.display);
    expect(await run("b")).toMatchObject({ status: "failed", error: { code: "conflict" } });
    expect(await run("a")).toMatchObject({ status: "pending", pending: { id: asked.pending.id } });
    expect((await haft.approvals.approve(asked.pending.id)).display).toBe("for a");
    expect((await run("a")).display).toBe("for a");
  });

  test("gives its result to nobody with other data", async () => {
    const contextSchema = z.object({ tenant: z.string() });
    const tool = made({ kind: "write", contextSchema }, (host) => `for ${(host as { tenant: string }).tenant}`);
    const haft = createHaft({ tools: [tool] });
    let requests = 0;
    const run = (tenant: string) =>
      haft.execute("later", {}, { idempotencyKey: "k", context: { tenant, request: ++requests } });
    expect((await run("a")).display).toBe("for a");
    expect((await run("a")).display).toBe("for a");
    expect(await run("b")).toMatchObject({ status: "failed", error: { code: "conflict" } });
  });
});

test("data that do not fit are not quoted", async () => {
  const contextSchema = { type: "object", properties: { key: { type: "string", pattern: "^x$" } } };
  const config = {
    name: "keyed",
    description: "d",
    kind: "readonly",
    inputSchema: [],
    contextSchema,
    execute: () => 1,
  };
  const haft = createHaft({ tools: [createTool(config as never)] });
  const result = await haft.execute("keyed", {}, { context: { key: "s3cret" } });
  expect(result).toMatchObject({ status: "failed", error: { message: expect.stringContaining("key") } });
  expect(JSON.stringify(result)).not.toContain("s3cret");
});
