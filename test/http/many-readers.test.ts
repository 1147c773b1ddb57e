import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { openSocket, openTestServer, until } from "./open-server.ts";

describe("sv-019: a client that stops reading", () => {
  const limits = { maxUnread: 64 * 1024 };

  async function flood(api: Awaited<ReturnType<typeof openTestServer>>, isGone: () => boolean): Promise<void> {
    for (let i = 0; i < 400 && !isGone(); i++) await api.haft.execute("echo", { text: "x".repeat(40_000) });
    await until(isGone);
  }

  test("of a WebSocket is closed, and memory stays bounded", async () => {
    const api = await openTestServer({ limits });
    const authorization = `Bearer ${await api.tokenFor("read")}`;
    const socket = new WebSocket(`ws://${api.host}/api/socket`, { headers: { authorization } });
    onTestFinished(() => socket.terminate());
    await new Promise((resolve) => socket.once("open", resolve));
    socket.pause();
    await flood(api, () => api.server.openStreams === 0);
    expect(api.server.api.feed.readers).toBe(0);
  });

  test("of server-sent events is closed, and memory stays bounded", async () => {
    const api = await openTestServer({ limits });
    const token = await api.tokenFor("read");
    const socket = await openSocket(api);
    socket.pause();
    socket.write(`GET /api/events HTTP/1.1\r\nHost: ${api.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await until(() => api.server.openStreams === 1);
    await flood(api, () => api.server.openStreams === 0);
    expect(api.server.api.feed.readers).toBe(0);
  });
});

test("events go to a thousand readers at once, and to none above the limit", async () => {
  const api = await openTestServer({ limits: { maxStreams: 1000 } });
  const token = await api.tokenFor("read");
  const responses = await Promise.all(
    Array.from({ length: 1000 }, () =>
      fetch(`${api.server.url}/api/events`, { headers: { authorization: `Bearer ${token}` } }),
    ),
  );
  const readers = responses.map(({ body }) => body!.pipeThrough(new TextDecoderStream()).getReader());
  expect((await fetch(`${api.server.url}/api/events`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
    429,
  );
  await api.haft.execute("echo", { text: "to all" });
  const received = await Promise.all(
    readers.map(async (reader) => {
      let text = "";
      while (!text.includes("tool_call_completed")) text += (await reader.read()).value ?? "";
      return text.match(/^event: /gm)?.length;
    }),
  );
  expect(received).toEqual(Array<number>(1000).fill(4));
  await Promise.all(readers.map((reader) => reader.cancel()));
  await until(() => api.server.openStreams === 0);
});
