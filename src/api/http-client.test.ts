import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { contracts } from "../contracts/index.ts";
import { ApiError } from "../contracts/errors.ts";
import { createHttpClient } from "./http-client.ts";

interface Sent {
  method: string;
  address: string;
  headers: Record<string, string>;
  body: unknown;
}

/** Answers each request with the next response, and keeps what was sent. */
function serverOf(...responses: (Response | Error)[]) {
  const sent: Sent[] = [];
  const fetch = async (address: URL, { method, headers, body, signal, redirect }: RequestInit): Promise<Response> => {
    signal?.throwIfAborted();
    expect(redirect).toBe("error");
    sent.push({
      method: String(method),
      address: `${address.pathname}${address.search}`,
      headers: headers as Record<string, string>,
      body: typeof body === "string" ? JSON.parse(body) : undefined,
    });
    const response = responses.shift();
    if (!response) throw new Error("No response is left");
    if (response instanceof Error) throw response;
    return response;
  };
  const client = createHttpClient(contracts, {
    url: "http://127.0.0.1:4117/console",
    token: "secret",
    fetch: fetch as typeof globalThis.fetch,
  });
  return { client, sent };
}

const json = (value: unknown, status = 200): Response => new Response(JSON.stringify(value), { status });

/** A response that ends, or fails, after these chunks. */
function chunks(texts: string[], failure?: Error): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = texts.shift();
      if (text !== undefined) controller.enqueue(new TextEncoder().encode(text));
      else if (failure) controller.error(failure);
      else controller.close();
    },
  });
  return new Response(body);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test("path parameters, query and body go where the contract says", async () => {
  const { client, sent } = serverOf(json({ id: "1" }), json({ items: [] }), json({}), json({}), json({}));
  expect(await client.jobs.get("a/b ?")).toEqual({ id: "1" });
  await client.jobs.list({ state: ["failed", "queued"], limit: 5, tool: undefined });
  await client.jobs.cancel("1", { reason: "no longer needed" });
  await client.jobs.cancel("1");
  await client.jobs.retry("1");
  const authorization = "Bearer secret";
  const typed = { authorization, "content-type": "application/json" };
  expect(sent).toEqual([
    { method: "GET", address: "/api/jobs/a%2Fb%20%3F", headers: { authorization }, body: undefined },
    { method: "GET", address: "/api/jobs?state=failed%2Cqueued&limit=5", headers: { authorization }, body: undefined },
    { method: "POST", address: "/api/jobs/1/cancel", headers: typed, body: { reason: "no longer needed" } },
    { method: "POST", address: "/api/jobs/1/cancel", headers: typed, body: {} },
    { method: "POST", address: "/api/jobs/1/retry", headers: { authorization }, body: undefined },
  ]);
});

test("the method of the client selects the variant", async () => {
  const { client, sent } = serverOf(json({}), json({ callId: "1" }, 202), chunks([]));
  await client.calls.execute({ tool: "read" });
  await client.calls.start({ tool: "read" });
  await collect(client.calls.stream({ tool: "read" }));
  expect(sent.map(({ body }) => body)).toEqual([
    { tool: "read" },
    { tool: "read", answer: "background" },
    { tool: "read", answer: "events" },
  ]);
});

test("a missing or empty path parameter is refused before anything is sent", () => {
  const { client, sent } = serverOf();
  expect(() => client.jobs.get("")).toThrow('jobs.get needs "id"');
  expect(() => client.jobs.get(undefined as unknown as string)).toThrow('jobs.get needs "id"');
  expect(sent).toEqual([]);
});

test("text and lines are read as such", async () => {
  const { client } = serverOf(new Response("whole output"), chunks(['{"id":"1"}\n{"i', 'd":"2"}\n']));
  expect(await client.calls.output("1", { offset: 2 })).toBe("whole output");
  expect(await collect(client.audit.export())).toEqual([{ id: "1" }, { id: "2" }]);
});

test("an error of the server keeps its code, status, next step and data", async () => {
  const error = { code: "conflict", message: "Answered already", next: "Look.", data: { by: "ann" } };
  const { client } = serverOf(json({ error }, 409));
  const thrown = await client.approvals.get("1").catch((caught: unknown) => caught);
  expect(thrown).toBeInstanceOf(ApiError);
  expect(thrown).toMatchObject({ ...error, status: 409 });
});

test("an answer of another server is an error too", async () => {
  const { client } = serverOf(new Response("<html>", { status: 502 }));
  await expect(client.server.health()).rejects.toMatchObject({
    code: "internal",
    status: 502,
    message: "The server answered with 502",
  });
});

test.each([400, 414, 431])("status %d without an answer of Haft says that the request is too long", async (status) => {
  const { client } = serverOf(new Response("", { status }));
  await expect(client.server.health()).rejects.toMatchObject({
    code: "too_large",
    status,
    next: "It is probably too long: shorten the search or the input.",
  });
});

test("a connection that is lost within the answer is unreachable", async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("network error")) });
  const { client } = serverOf(new Response(body));
  await expect(client.server.health()).rejects.toMatchObject({ code: "unreachable", status: 0 });
});

test("no server at all is unreachable, with the cause", async () => {
  const cause = new TypeError("fetch failed");
  const { client } = serverOf(cause);
  await expect(client.server.health()).rejects.toMatchObject({
    code: "unreachable",
    status: 0,
    message: "No Haft server responds at http://127.0.0.1:4117",
    cause,
  });
});

test("an abort is thrown as it is", async () => {
  const { client } = serverOf();
  const reason = new Error("the user left");
  await expect(client.server.health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test("a stream that cannot be resumed ends, and reports a lost connection", async () => {
  const frame = 'event: started\ndata: {"type":"started","callId":"1"}\n\n';
  const { client } = serverOf(chunks([": \n\n", frame]), chunks([frame], new TypeError("terminated")));
  expect(await collect(client.calls.watch("1"))).toEqual([{ type: "started", callId: "1" }]);
  const seen: unknown[] = [];
  const reading = (async () => {
    for await (const each of client.calls.watch("1")) seen.push(each);
  })();
  await expect(reading).rejects.toMatchObject({ code: "unreachable", status: 0 });
  expect(seen).toEqual([{ type: "started", callId: "1" }]);
});

test("a stream that can be resumed is opened again after the last id", async () => {
  vi.useFakeTimers();
  try {
    const { client, sent } = serverOf(
      chunks(['id: 7-1\nevent: hello\ndata: {"startedAt":7}\n\n'], new TypeError("terminated")),
      new TypeError("fetch failed"),
      chunks(['id: 7-3\nevent: heartbeat\ndata: {"at":9}\n\n']),
      json({ error: { code: "unauthorized", message: "Revoked" } }, 401),
    );
    const reasons: unknown[] = [];
    const seen: unknown[] = [];
    const reading = (async () => {
      const options = { onReconnect: (error: unknown) => void reasons.push(error) };
      for await (const message of client.events.subscribe({ tool: "read" }, options)) seen.push(message);
    })();
    const ended = reading.catch((error: unknown) => error);
    // Not all timers: another file of this worker may have one that starts itself again.
    await vi.advanceTimersByTimeAsync(300_000);
    expect(await ended).toMatchObject({ code: "unauthorized", status: 401 });
    expect(seen).toEqual([
      { id: "7-1", type: "hello", data: { startedAt: 7 } },
      { id: "7-3", type: "heartbeat", data: { at: 9 } },
    ]);
    expect(sent.map(({ address }) => address)).toEqual([
      "/api/events?tool=read",
      "/api/events?tool=read&after=7-1",
      "/api/events?tool=read&after=7-1",
      "/api/events?tool=read&after=7-3",
    ]);
    expect(reasons.map((reason) => (reason as ApiError | undefined)?.code)).toEqual([
      "unreachable",
      "unreachable",
      undefined,
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test("the signal ends a stream that waits to be opened again", async () => {
  const { client, sent } = serverOf(new TypeError("fetch failed"));
  const controller = new AbortController();
  const options = { signal: controller.signal, onReconnect: () => controller.abort() };
  expect(await collect(client.events.subscribe({}, options))).toEqual([]);
  expect(sent).toHaveLength(1);
});

test("the signal ends a stream although the garbage of its request was collected", async () => {
  const server = createServer((_request, response) => void response.write("id: 1-1\nevent: hello\ndata: {}\n\n"));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient(contracts, { url: `http://127.0.0.1:${port}` });
  const stop = new AbortController();
  const events = client.events.subscribe({}, { signal: stop.signal })[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  for (let times = 0; times < 10; times++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  stop.abort();
  expect(await next).toMatchObject({ done: true });
});

test("a reader that stops early closes the connection", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      controller.enqueue(new TextEncoder().encode('event: started\ndata: {"type":"started","callId":"1"}\n\n')),
    cancel: () => void (isCancelled = true),
  });
  const { client } = serverOf(new Response(body));
  for await (const frame of client.calls.watch("1")) {
    expect(frame.type).toBe("started");
    break;
  }
  expect(isCancelled).toBe(true);
});
