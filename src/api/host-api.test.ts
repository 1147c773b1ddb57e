import { expect, onTestFinished, test } from "vitest";
import type { Identity } from "../contracts/identity.ts";
import { contracts } from "../contracts/index.ts";
import { createTestHaft } from "../testing/test-haft.ts";
import { createDirectClient } from "./direct-client.ts";
import { HostApi } from "./host-api.ts";

const ANN: Identity = { id: "1", name: "ann", scopes: ["read", "call", "approve", "admin"], kind: "token" };

function open(scopes = ANN.scopes) {
  const stopped: unknown[] = [];
  const haft = createTestHaft({
    tools: [
      {
        name: "wait",
        description: "Waits until it is stopped",
        kind: "readonly",
        parameters: [] as never,
        async run(_input: unknown, context: { signal: AbortSignal; update(text: string): void }) {
          context.update("waiting");
          await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
          stopped.push("stopped");
        },
      } as never,
      {
        name: "keep",
        description: "Needs an approval",
        kind: "write",
        permission: "confirm",
        parameters: [] as never,
        run: () => "kept",
      } as never,
    ],
  });
  const api = new HostApi({ haft });
  onTestFinished(() => api.close());
  const identity = { ...ANN, scopes };
  const client = createDirectClient(contracts, { identity, handlersOf: api.handlersOf });
  return { haft, api, stopped, client };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("the direct client reaches the handlers of a runtime, and calls are those of the identity", async () => {
  const { client, haft } = open();
  expect(await client.tools.get("wait")).toMatchObject({ name: "wait" });
  await expect(client.tools.get("a/b ü?")).rejects.toMatchObject({ code: "not_found" });
  await expect(client.policy.show()).rejects.toMatchObject({ code: "not_here" });
  await client.calls.execute({ tool: "nothing" });
  expect(await haft.calls.log.recent()).toMatchObject([{ caller: { user: "ann" } }]);
  expect(await client.server.info()).toMatchObject({ parts: [], load: { running: 0 } });
});

test("two calls without an id are two calls, and each has its own", async () => {
  const { client } = open();
  const first = await client.calls.start({ tool: "nothing" });
  const second = await client.calls.start({ tool: "nothing" });
  expect(first.callId).not.toBe(second.callId);
  expect((await client.calls.list()).items.map(({ callId }) => callId)).toEqual([second.callId, first.callId]);
});

test("updates arrive as they happen, and a client that leaves cancels its call", async () => {
  const { client, stopped } = open();
  const leave = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const frame of client.calls.stream({ tool: "wait" }, { signal: leave.signal })) {
      seen.push(frame.type);
      if (frame.type === "update") leave.abort();
    }
  })();
  await expect(reading).rejects.toThrow(/abort/i);
  expect(seen).toEqual(["started", "update"]);
  await until(() => stopped.length === 1);
});

test("a call that keeps running is not cancelled by its client", async () => {
  const { client, stopped } = open();
  for await (const frame of client.calls.stream({ tool: "wait", id: "kept", keepRunning: true })) {
    if (frame.type === "update") break;
  }
  expect(await client.calls.get("kept")).toMatchObject({ status: "running" });
  expect(stopped).toEqual([]);
  await client.calls.cancel("kept");
  await until(() => stopped.length === 1);
});

test("an approval has the words of the contract, is answered once, and needs the scope", async () => {
  const { client, api } = open();
  const pending = await client.calls.execute({ tool: "keep" });
  const id = pending.status === "pending" ? pending.pending.id : "";
  expect((await client.approvals.list({ state: "pending" })).items).toMatchObject([{ id, state: "pending" }]);
  const reader = createDirectClient(contracts, {
    identity: { ...ANN, scopes: ["read"] },
    handlersOf: api.handlersOf,
  });
  await expect(reader.approvals.answer(id, { decision: "once" })).rejects.toMatchObject({ code: "forbidden" });
  expect(await client.approvals.answer(id, { decision: "deny", reason: "no" })).toMatchObject({
    approval: { state: "denied", answeredBy: "ann", note: "no" },
  });
  const { items } = await client.approvals.answerMany({ answers: [{ id: "unknown", decision: "once" }] });
  expect(items).toMatchObject([{ id: "unknown", error: { code: "not_found" } }]);
});

test("events are read in process too, and the subscription ends with its reader", async () => {
  const { client, api } = open();
  const types: string[] = [];
  for await (const message of client.events.subscribe({ types: ["tool_call_failed"] })) {
    types.push(message.type);
    if (message.type === "hello") void client.calls.execute({ tool: "nothing" });
    else break;
  }
  expect(types).toEqual(["hello", "tool_call_failed"]);
  expect(api.feed.readers).toBe(0);
});
