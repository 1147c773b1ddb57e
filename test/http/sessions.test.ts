// Sessions of a real host over HTTP; every response is checked against its contract.
import { describe, expect, onTestFinished, test } from "vitest";
import { createTool } from "haft";
import type { api, HaftClient } from "haft/client";
import { openHaft } from "haft/host";
import { createScriptedLanguageModel, type LanguageScript } from "haft/testing";
import { createAgent } from "../../src/capabilities/create-agent.ts";
import { serveHttp } from "../../src/server/http-server.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openCheckedClient } from "./checked-client.ts";

async function open(script?: LanguageScript) {
  const folder = temporaryFolder("haft-sessions-");
  const kept: string[] = [];
  const model = script && createScriptedLanguageModel(script);
  const host = await openHaft(folder, {
    home: folder,
    env: {},
    approvalWaitMs: false,
    tools: [
      createTool({
        name: "keep",
        description: "Keeps a text",
        kind: "write",
        permission: "confirm",
        parameters: [{ name: "text", type: "string", required: true }],
        run: ({ text }: { text: string }) => (kept.push(text), `kept ${text}`),
      }),
    ],
    ...(model
      ? { agentFor: ({ agent = "main" }, haft) => createAgent({ haft, model, name: agent, systemPrompt: "" }) }
      : {}),
  });
  const server = await serveHttp(host, { port: 0 });
  onTestFinished(async () => {
    await server.close();
    await host.close();
  });
  const tokenFor = (...scopes: api.Scope[]): Promise<string> => server.issueToken({ name: scopes.join("+"), scopes });
  const clientFor = (...scopes: api.Scope[]): Promise<HaftClient> => openCheckedClient({ server, tokenFor }, ...scopes);
  return { host, kept, clientFor };
}

const LONG = 20_000;

describe("sessions over HTTP", () => {
  test("are created, get messages, and are read and watched", async () => {
    const { clientFor } = await open([{ text: "Hello there." }, { text: "Good bye." }]);
    const client = await clientFor("read", "call");
    const { key } = await client.sessions.create({ label: "talk" });
    expect(await client.sessions.send(key, { text: "Hi", waitMs: LONG })).toEqual({
      status: "ok",
      reply: "Hello there.",
    });
    expect(await client.sessions.list()).toMatchObject({
      canAnswer: true,
      items: [{ key, label: "talk", state: "idle", turns: 1, lastText: "Hello there.", caller: { user: "read+call" } }],
    });
    const page = await client.sessions.history(key, { limit: 2 });
    expect(page).toMatchObject({ items: [{ seq: 1, message: { content: "Hi" } }, { seq: 2 }], next: "2" });
    const stop = new AbortController();
    const frames: string[] = [];
    const watching = (async () => {
      for await (const frame of client.sessions.watch(key, { after: 3 }, { signal: stop.signal })) {
        frames.push(frame.type);
        if (frame.type === "entry" && frame.entry.end) return;
      }
    })();
    await client.sessions.send(key, { text: "Bye", waitMs: LONG });
    await watching;
    stop.abort();
    expect(frames).toEqual(["entry", "text", "text", "entry", "entry"]);
  });

  test("wait for a person, and go on after the yes", async () => {
    const { clientFor, kept } = await open([
      { calls: [{ name: "keep", input: { text: "this" } }] },
      { text: "It is kept." },
    ]);
    const client = await clientFor("read", "call", "approve");
    const { key } = await client.sessions.create();
    expect(await client.sessions.send(key, { text: "Keep this", waitMs: LONG })).toEqual({ status: "accepted" });
    const waiting = await client.sessions.get(key);
    expect(waiting).toMatchObject({ state: "waiting", pending: [{ name: "keep", pending: { kind: "approval" } }] });
    const frames: api.SessionFrame[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const frame of client.sessions.watch(key, { after: 4 }, { signal: stop.signal })) {
        frames.push(frame);
        if (frame.type === "entry" && frame.entry.end) return;
      }
    })();
    await client.approvals.answer(waiting.pending[0]!.pending.id, { decision: "once" });
    await watching;
    stop.abort();
    expect(kept).toEqual(["this"]);
    expect(await client.sessions.get(key)).toMatchObject({ state: "idle", pending: [], lastText: "It is kept." });
  });

  test("of another user can be read, and not controlled", async () => {
    const { clientFor } = await open([{ text: "yes" }]);
    const { key } = await (await clientFor("read", "call")).sessions.create();
    const other = await clientFor("read", "call", "approve");
    expect(await other.sessions.get(key)).toMatchObject({ key, waiting: 0 });
    await expect(other.sessions.send(key, { text: "Hi" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(other.sessions.stop(key)).rejects.toMatchObject({ code: "forbidden" });
    const admin = await clientFor("read", "call", "admin");
    expect(await admin.sessions.stop(key)).toEqual({ stopped: 0 });
    await expect(other.sessions.create({ mode: "bypassPermissions" })).resolves.toMatchObject({
      mode: "bypassPermissions",
    });
    await expect(admin.sessions.create({ mode: "bypassPermissions" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(other.sessions.get("nobody")).rejects.toMatchObject({ code: "not_found" });
  });

  test("without a model are there to read, and say that nobody answers", async () => {
    const { clientFor } = await open();
    const client = await clientFor("read", "call");
    const { key } = await client.sessions.create();
    expect(await client.sessions.list()).toMatchObject({ canAnswer: false, items: [{ key }] });
    await expect(client.sessions.send(key, { text: "Hi" })).rejects.toMatchObject({
      code: "conflict",
      next: expect.stringContaining("agent.model"),
    });
  });
});
