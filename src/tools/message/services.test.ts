// Each service as documented, on a local server; the real services were not called.
import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import {
  type RequestHandler,
  type ReceivedRequest,
  startServer,
  startSocket,
} from "../../../test/setup/local-server.ts";
import type { ChannelSettings } from "./channel.ts";
import { openMessage } from "./open-message.fixture.ts";

const reply = (response: Parameters<RequestHandler>[1], body: unknown, status = 200, headers = {}): void =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

const bodyOf = ({ body }: ReceivedRequest): unknown => (body === "" ? undefined : JSON.parse(body));
const asCalls = (requests: readonly ReceivedRequest[]) => requests.map((one) => [one.method, one.path, bodyOf(one)]);

interface Service {
  settings: Omit<ChannelSettings, "type" | "endpoint">;
  authorization: string | undefined;
  answer: RequestHandler;
  /** The response to an unknown key. */
  noKey: RequestHandler;
  /** The requests for send, reply, edit, delete, react and read. */
  wire: Record<string, [method: string, path: string, body: unknown]>;
  id: string;
  read?: object[];
}

const SERVICES: Record<string, Service> = {
  slack: {
    settings: { token: "xoxb-1", targets: { general: "C1" } },
    authorization: "Bearer xoxb-1",
    answer: ({ path }, response) =>
      reply(
        response,
        path.includes("history")
          ? { ok: true, messages: [{ type: "message", user: "U2", text: "hi &lt;you&gt;", ts: "1700000000.000100" }] }
          : { ok: true, channel: "C1", ts: "1700000000.000200" },
      ),
    noKey: (_request, response) => reply(response, { ok: false, error: "invalid_auth" }),
    id: "1700000000.000200",
    wire: {
      send: ["POST", "/chat.postMessage", { channel: "C1", text: "&lt;!channel&gt; a &amp; b" }],
      reply: ["POST", "/chat.postMessage", { channel: "C1", text: "&lt;!channel&gt; a &amp; b", thread_ts: "ID" }],
      edit: ["POST", "/chat.update", { channel: "C1", ts: "ID", text: "&lt;!channel&gt; a &amp; b" }],
      delete: ["POST", "/chat.delete", { channel: "C1", ts: "ID" }],
      react: ["POST", "/reactions.add", { channel: "C1", timestamp: "ID", name: "tada" }],
      read: ["GET", "/conversations.history?channel=C1&limit=5", undefined],
    },
    read: [{ id: "1700000000.000100", from: "U2", text: "hi <you>", at: "2023-11-14T22:13:20.000Z" }],
  },
  discord: {
    settings: { token: "abc", targets: { general: "42" } },
    authorization: "Bot abc",
    answer: ({ method }, response) => {
      if (method === "DELETE" || method === "PUT") return void response.writeHead(204).end();
      const one = { id: "99", content: "hello", author: { username: "bob" }, timestamp: "2026-11-01T00:00:00Z" };
      reply(response, method === "GET" ? [one] : one);
    },
    noKey: (_request, response) => reply(response, { message: "401: Unauthorized", code: 0 }, 401),
    id: "99",
    wire: {
      send: ["POST", "/channels/42/messages", { content: "<!channel> a & b", allowed_mentions: { parse: [] } }],
      reply: [
        "POST",
        "/channels/42/messages",
        {
          content: "<!channel> a & b",
          allowed_mentions: { parse: [] },
          message_reference: { message_id: "ID", fail_if_not_exists: true },
        },
      ],
      edit: ["PATCH", "/channels/42/messages/ID", { content: "<!channel> a & b", allowed_mentions: { parse: [] } }],
      delete: ["DELETE", "/channels/42/messages/ID", undefined],
      react: ["PUT", "/channels/42/messages/ID/reactions/%3Atada%3A/@me", undefined],
      read: ["GET", "/channels/42/messages?limit=5", undefined],
    },
    read: [{ id: "99", from: "bob", text: "hello", at: "2026-11-01T00:00:00Z" }],
  },
  telegram: {
    settings: { token: "123:abc", targets: { general: "-100" } },
    authorization: undefined,
    answer: (_request, response) => reply(response, { ok: true, result: { message_id: 7 } }),
    noKey: (_request, response) => reply(response, { ok: false, error_code: 401, description: "Unauthorized" }, 401),
    id: "7",
    wire: {
      send: ["POST", "/bot123:abc/sendMessage", { chat_id: "-100", text: "<!channel> a & b" }],
      reply: [
        "POST",
        "/bot123:abc/sendMessage",
        { chat_id: "-100", text: "<!channel> a & b", reply_parameters: { message_id: 7 } },
      ],
      edit: ["POST", "/bot123:abc/editMessageText", { chat_id: "-100", message_id: 7, text: "<!channel> a & b" }],
      delete: ["POST", "/bot123:abc/deleteMessage", { chat_id: "-100", message_id: 7 }],
      react: [
        "POST",
        "/bot123:abc/setMessageReaction",
        { chat_id: "-100", message_id: 7, reaction: [{ type: "emoji", emoji: ":tada:" }] },
      ],
    },
  },
};

describe.each(Object.entries(SERVICES))("%s", (type, { settings, authorization, answer, noKey, wire, id, read }) => {
  const open = async (speaks: RequestHandler = answer) => {
    const server = await startServer(speaks);
    return { server, ...openMessage({ team: { type, endpoint: server.origin, ...settings } }) };
  };
  const TEXT = "<!channel> a & b";

  test.each(Object.entries(wire))("%s sends the documented request", async (action, [method, path, body]) => {
    const { message, server } = await open();
    const input = { action, text: TEXT, messageId: id, emoji: ":tada:", limit: 5 };
    const result = await message(input);
    expect(result).toMatchObject({ success: true, details: { action, channel: "team", to: "general" } });
    const said = JSON.parse(
      JSON.stringify([method, path, body]).replaceAll('"ID"', `"${id}"`).replaceAll("/ID", `/${id}`),
    );
    expect(JSON.parse(JSON.stringify(asCalls(server.requests)))).toEqual([said]);
    expect(server.requests[0]!.headers.authorization).toBe(authorization);
  });

  test("a sent message has an id, and is not reported as read", async () => {
    const { message } = await open();
    const result = await message({ text: TEXT });
    expect(result.details).toMatchObject({ messageId: id });
    expect(textOf(result.content)).toContain("is not known");
  });

  if (read)
    test("received messages have one shape", async () => {
      const { message } = await open();
      expect((await message({ action: "read" })).details).toMatchObject({ messages: read });
    });

  test("a wrong key is reported and never shown", async () => {
    const { message } = await open(noKey);
    const result = await message({ text: "hi" });
    expect(result).toMatchObject({ success: false, error: { code: "failed" } });
    expect(JSON.stringify(result)).toContain("The key is wrong");
    expect(JSON.stringify(result)).not.toContain(settings.token);
  });

  test("a busy service sends nothing, and the error says when to retry", async () => {
    const { message, server } = await open((_request, response) => reply(response, {}, 429, { "retry-after": "12" }));
    const result = await message({ text: "hi" });
    expect(result).toMatchObject({ error: { code: "unavailable", retryable: true } });
    expect(textOf(result.content)).toMatch(/nothing was sent.*12 seconds/);
    expect(server.requests).toHaveLength(1);
  });

  test("a failure or a lost connection is an unknown outcome, without a retry", async () => {
    const { message, server } = await open((_request, response) => reply(response, {}, 500));
    expect(await message({ text: "hi" })).toMatchObject({ error: { code: "unknown_outcome", retryable: false } });
    expect(server.requests).toHaveLength(1);
    const port = await startSocket((socket) => socket.once("data", () => socket.destroy()));
    const broken = openMessage({ team: { type, endpoint: `http://127.0.0.1:${port}`, ...settings } });
    const result = await broken.message({ text: "hi" });
    expect(result).toMatchObject({ error: { code: "unknown_outcome" } });
    expect(JSON.stringify(result)).not.toContain(settings.token);
  });

  test("a missing service has sent nothing", async () => {
    const { message } = openMessage({ team: { type, endpoint: "http://127.0.0.1:9", ...settings } });
    const result = await message({ text: "hi" });
    expect(result).toMatchObject({ error: { code: "unavailable" } });
    expect(textOf(result.content)).toContain("nothing was sent");
  });

  test("a redirect is not followed, not even to the service itself", async () => {
    const { message, server } = await open(({ path }, response) =>
      path === "/elsewhere"
        ? reply(response, { ok: true })
        : void response.writeHead(302, { location: "/elsewhere" }).end(),
    );
    expect(await message({ text: "hi" })).toMatchObject({ success: false, error: { code: "failed" } });
    expect(server.requests).toHaveLength(1);
  });

  test("without a key it is not ready, and the error says what to set", async () => {
    const { message } = openMessage({ team: { type, targets: settings.targets } });
    expect(textOf((await message({ text: "hi" })).content)).toMatch(/not ready: set `token`/);
  });
});

test("a message to a person in Slack opens their channel once, and edits use it", async () => {
  const { requests, origin } = await startServer(({ path }, response) =>
    reply(
      response,
      path.endsWith("open") ? { ok: true, channel: { id: "D9" } } : { ok: true, channel: "D9", ts: "1.2" },
    ),
  );
  const { message } = openMessage({ me: { type: "slack", endpoint: origin, token: "x", targets: { ada: "U1" } } });
  await message({ text: "hi" });
  await message({ action: "edit", text: "ho", messageId: "1.2" });
  expect(asCalls(requests)).toEqual([
    ["POST", "/conversations.open", { users: "U1" }],
    ["POST", "/chat.postMessage", { channel: "D9", text: "hi" }],
    ["POST", "/chat.update", { channel: "D9", ts: "1.2", text: "ho" }],
  ]);
});

test("a webhook gets JSON with its headers, and its response is reported", async () => {
  const { requests, origin } = await startServer(({ path }, response) =>
    path === "/no" ? reply(response, { why: "closed" }, 410) : void response.writeHead(202).end(),
  );
  const settings = { headers: { "x-key": "k" }, targets: { ops: `${origin}/hook?key=secret`, gone: `${origin}/no` } };
  const { message } = openMessage({ hook: { type: "webhook", ...settings } });
  const sent = await message({ to: "ops", text: "hi", subject: "Build" });
  expect(textOf(sent.content)).toContain("accepted it (202)");
  expect(requests).toMatchObject([{ method: "POST", path: "/hook?key=secret", headers: { "x-key": "k" } }]);
  expect(bodyOf(requests[0]!)).toEqual({ text: "hi", subject: "Build", sentAt: expect.stringMatching(/^20\d\d-/) });
  expect(textOf((await message({ to: "gone", text: "hi" })).content)).toContain('410 {"why":"closed"}');
});
