import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../client/create-client.ts";
import { createTestHaft } from "../testing/test-haft.ts";
import { openInProcess } from "./open-in-process.ts";
import { issueToken, MemoryTokenStore, SCOPES } from "./tokens.ts";

async function open() {
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
    ],
  });
  const tokens = new MemoryTokenStore();
  const { token } = await issueToken(tokens, haft.clock, { name: "ann", scopes: SCOPES });
  const api = openInProcess(haft, { tokens, log: () => undefined });
  onTestFinished(() => api.close());
  const clientWith = (presented: string) =>
    createClient({ url: "http://embedded", token: presented, fetch: api.fetch });
  return { haft, api, stopped, client: clientWith(token), clientWith };
}

test("the client finds the whole API, without a port, and says who calls", async () => {
  const { client, haft, clientWith } = await open();
  expect(await client.tools.get("wait")).toMatchObject({ name: "wait" });
  await expect(client.tools.get("a/b ü?")).rejects.toMatchObject({ code: "not_found" });
  await expect(client.policy.show()).rejects.toMatchObject({ code: "not_here" });
  await expect(clientWith("w".repeat(43)).tools.list()).rejects.toMatchObject({ status: 401 });
  await client.calls.run("nothing");
  expect(await haft.log.recent()).toMatchObject([{ caller: { user: "ann" } }]);
});

test("updates come as they happen, and an asker that goes away cancels its call", async () => {
  const { client, stopped } = await open();
  const gone = new AbortController();
  const seen: string[] = [];
  const streaming = (async () => {
    for await (const frame of client.calls.stream("wait", {}, { signal: gone.signal })) {
      seen.push(frame.type);
      if (frame.type === "update") gone.abort();
    }
  })();
  await expect(streaming).rejects.toThrow(/./);
  expect(seen).toEqual(["started", "update"]);
  while (stopped.length === 0) await new Promise((done) => setTimeout(done, 5));
});

test("closing it ends what is open, and the call with it", async () => {
  const { client, api, stopped } = await open();
  const frames = client.calls.stream("wait");
  await frames.next();
  api.close();
  const later: string[] = [];
  for await (const { type } of frames) later.push(type);
  expect(later).not.toContain("result");
  while (stopped.length === 0) await new Promise((done) => setTimeout(done, 5));
});
