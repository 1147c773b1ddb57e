// The states of a call between the requests of its client: what happens if the client cancels, returns twice, returns late, or
// never, and if the server is closed meanwhile.
import { createTool, type ToolContext } from "haft";
import { createTestHaft, type TestHaft } from "haft/testing";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { McpEndpoint } from "../../src/mcp/server/streamable-http.ts";
import { accept, connectDirectly, connectV2, post, serveOverHttp, type ClientWishes } from "./serve-haft.ts";

const STATE_KEY = new Uint8Array(32).fill(7);
const YES = { approval: { action: "accept", content: { decision: "once" } } };
const SIZE = { size: { action: "accept", content: { size: "L" } } };
const form = (message: string) => ({
  method: "elicitation/create" as const,
  params: { mode: "form" as const, message, requestedSchema: { type: "object" as const, properties: {} } },
});

/** `order` asks its client for a size, `send` needs an approval, `send_two` makes two calls of it at once. */
function createShop({ gateWaits = false, background = false } = {}) {
  const endings: string[] = [];
  const sent: string[] = [];
  let served: McpEndpoint | undefined;
  const order = createTool({
    name: "order",
    description: "Orders a shirt",
    kind: "readonly",
    mode: background ? "background" : "inline",
    parameters: z.object({}),
    async run(_input, { callId, update }: ToolContext) {
      update({ progress: { done: 1, total: 2, message: "measuring" } });
      try {
        const answers = await served!.clientOf(callId)!.ask({ size: form("Which size?") });
        endings.push("ordered");
        return JSON.stringify(answers);
      } catch (error) {
        endings.push((error as Error).message);
        throw error;
      }
    },
  });
  const send = createTool({
    name: "send",
    description: "Sends a letter",
    kind: "write",
    parameters: z.object({ text: z.string() }),
    permission: () => "confirm",
    run: ({ text }) => (sent.push(text), `sent ${text}`),
  });
  const sendTwo = createTool({
    name: "send_two",
    description: "Sends two letters",
    kind: "readonly",
    parameters: z.object({}),
    async run(_input, { call }: ToolContext) {
      const letters = await Promise.all(["one", "two"].map((text) => call("send", { text })));
      return letters.map(({ status }) => status).join(" ");
    },
  });
  const options = gateWaits ? { approvalWaitMs: 60_000 } : {};
  const haft = createTestHaft({ tools: [order, send, sendTwo], ...options });
  return {
    haft,
    endings,
    sent,
    async serve(stateKey?: Uint8Array) {
      const server = await serveOverHttp(haft, { stateKey, holdMs: 5000, call: { timeoutMs: 3_600_000 } });
      served = server.endpoint;
      return server;
    },
  };
}

const ORDER = { name: "order", arguments: {} };
const SEND = { name: "send", arguments: { text: "hello" } };

async function suspend(url: URL, params: Record<string, unknown>): Promise<string> {
  const { result } = await post(url, { params });
  expect(result).toMatchObject({ resultType: "input_required" });
  return result!["requestState"] as string;
}

async function firstQuestion(haft: TestHaft): Promise<string> {
  await vi.waitFor(async () => expect(await haft.approvals.list("pending")).toHaveLength(1));
  return (await haft.approvals.list("pending"))[0]!.id;
}

/** Makes a call whose client cannot ask, until it is told that the call is pending. Returns the question. */
async function becomePending(haft: TestHaft, client: Client): Promise<string> {
  let isHeld = true;
  const calling = client.callTool(SEND).finally(() => (isHeld = false));
  const id = await firstQuestion(haft);
  await vi.waitFor(async () => {
    await haft.clock.advance(1000);
    expect(isHeld).toBe(false);
  });
  expect(await calling).toMatchObject({ _meta: { "haft/pending": { kind: "approval", id } } });
  return id;
}

describe("a tool that waits for inputs", () => {
  test("gets the first answer, and every repetition gets its result, also after the end", async () => {
    const shop = createShop();
    const { url } = await shop.serve();
    const requestState = await suspend(url, ORDER);
    const again = { params: { ...ORDER, requestState, inputResponses: SIZE } };
    const all = await Promise.all([post(url, again), post(url, again)]);
    const other = { size: { action: "accept", content: { size: "S" } } };
    all.push(await post(url, { params: { ...ORDER, requestState, inputResponses: other } }));
    for (const { result } of all) expect(result).toMatchObject({ content: [{ text: JSON.stringify(SIZE) }] });
    expect(shop.endings).toEqual(["ordered"]);
  });

  test("is asked for again if the client returns without the answer", async () => {
    const shop = createShop();
    const { url } = await shop.serve();
    const first = await suspend(url, ORDER);
    const requestState = await suspend(url, { ...ORDER, requestState: first, inputResponses: { size: 7 } });
    const { result } = await post(url, { params: { ...ORDER, requestState, inputResponses: SIZE } });
    expect(result).toMatchObject({ content: [{ text: JSON.stringify(SIZE) }] });
    expect(shop.endings).toEqual(["ordered"]);
  });

  test("is aborted if its client does not return in time", async () => {
    const shop = createShop();
    const { url } = await shop.serve();
    const requestState = await suspend(url, ORDER);
    await shop.haft.clock.advance(600_000);
    await vi.waitFor(() => expect(shop.endings).toEqual(["The client no longer answers"]));
    expect(shop.haft.calls.load().running).toBe(0);
    const { error } = await post(url, { params: { ...ORDER, requestState, inputResponses: SIZE } });
    expect(error).toMatchObject({ code: -32_602 });
  });

  test("is aborted when the server is closed, and another server does not run it again", async () => {
    const shop = createShop();
    const first = await shop.serve(STATE_KEY);
    const requestState = await suspend(first.url, ORDER);
    await first.endpoint.close();
    await vi.waitFor(() => expect(shop.endings).toEqual(["The client no longer answers"]));
    const second = await shop.serve(STATE_KEY);
    const { error } = await post(second.url, { params: { ...ORDER, requestState, inputResponses: SIZE } });
    expect(error).toMatchObject({ code: -32_602, message: "Invalid or expired requestState" });
    expect(shop.endings).toHaveLength(1);
  });

  test("is no longer known as a call after its end", async () => {
    const shop = createShop();
    const { url, endpoint } = await shop.serve();
    const client = await connectV2(url, { era: "legacy", answer: () => accept({ size: "L" }) });
    const { _meta } = await client.callTool(ORDER);
    expect(endpoint.clientOf(_meta!["haft/callId"] as string)).toBeUndefined();
  });

  test("asks a client without tasks also if it runs as a job", async () => {
    const shop = createShop({ background: true });
    const { url } = await shop.serve();
    const requestState = await suspend(url, ORDER);
    const { result } = await post(url, { params: { ...ORDER, requestState, inputResponses: SIZE } });
    expect(result).toMatchObject({ content: [{ text: JSON.stringify(SIZE) }] });
    expect(shop.endings).toEqual(["ordered"]);
  });
});

describe("a call that waits for an approval", () => {
  test("is withdrawn if a legacy client cancels while it shows the form", async () => {
    const shop = createShop();
    const shown = vi.fn(() => new Promise<never>(() => undefined));
    const client = await connectDirectly(shop.haft, { era: "legacy", answer: shown } as ClientWishes);
    const controller = new AbortController();
    const calling = client.callTool(SEND, { signal: controller.signal });
    const id = await firstQuestion(shop.haft);
    await vi.waitFor(() => expect(shown).toHaveBeenCalledTimes(1));
    controller.abort(new Error("never mind"));
    await expect(calling).rejects.toThrow("never mind");
    await vi.waitFor(async () => expect((await shop.haft.approvals.get(id))?.state).toBe("cancelled"));
    expect(shop.sent).toEqual([]);
  });

  test("ends while its client is away, and the client gets the result when it returns", async () => {
    const shop = createShop({ gateWaits: true });
    const { url } = await shop.serve();
    const requestState = await suspend(url, SEND);
    await shop.haft.approvals.approve(await firstQuestion(shop.haft), "eve");
    await vi.waitFor(() => expect(shop.sent).toEqual(["hello"]));
    for (const inputResponses of [YES, {}]) {
      const { result } = await post(url, { params: { ...SEND, requestState, inputResponses } });
      expect(result).toMatchObject({ content: [{ text: "sent hello" }] });
    }
    expect(shop.sent).toEqual(["hello"]);
  });

  test.each([false, true])(
    "is one call for equal requests after it was pending; the gate waits: %s",
    async (gateWaits) => {
      const shop = createShop({ gateWaits });
      const { url } = await shop.serve();
      const client = await connectV2(url, { era: "legacy" });
      const id = await becomePending(shop.haft, client);
      const onprogress = vi.fn();
      const both = [client.callTool(SEND, { onprogress }), client.callTool(SEND, { onprogress })];
      await vi.waitFor(() => expect(onprogress, "both wait for the approval").toHaveBeenCalledTimes(2));
      await shop.haft.approvals.approve(id, "eve");
      for (const result of await Promise.all(both)) expect(result).toMatchObject({ content: [{ text: "sent hello" }] });
      expect(shop.sent).toEqual(["hello"]);
    },
  );

  test("ends for both of two equal requests if the client cancels one", async () => {
    const shop = createShop();
    const { url } = await shop.serve();
    const client = await connectV2(url, { era: "legacy" });
    const id = await becomePending(shop.haft, client);
    const onprogress = vi.fn();
    const controller = new AbortController();
    const kept = client.callTool(SEND, { onprogress });
    await vi.waitFor(() => expect(onprogress).toHaveBeenCalledTimes(1));
    const cancelled = client.callTool(SEND, { onprogress, signal: controller.signal });
    await vi.waitFor(() => expect(onprogress).toHaveBeenCalledTimes(2));
    controller.abort(new Error("never mind"));
    await expect(cancelled).rejects.toThrow("never mind");
    expect(await kept).toMatchObject({ isError: true, _meta: { "haft/error": { code: "cancelled" } } });
    expect(await shop.haft.approvals.get(id)).toMatchObject({ state: "cancelled" });
    expect(shop.sent).toEqual([]);
  });

  test.each(["modern", "legacy"] as const)(
    "asks a %s client about each of two calls that its tool makes at once",
    async (era) => {
      const shop = createShop({ gateWaits: true });
      const { url } = await shop.serve();
      const answer = vi.fn(() => accept({ decision: "once" }));
      const client = await connectV2(url, { era, answer });
      expect(await client.callTool({ name: "send_two", arguments: {} })).toMatchObject({
        content: [{ text: "completed completed" }],
      });
      expect(answer).toHaveBeenCalledTimes(2);
      expect(shop.sent.toSorted()).toEqual(["one", "two"]);
    },
  );
});
