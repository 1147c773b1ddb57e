import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createStreamingNet } from "./streaming-fetch.ts";

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(...exceptions: string[]) {
  const net = createStreamingNet({ exceptions });
  onTestFinished(() => net.close());
  return net;
}

describe("the streaming fetch", () => {
  test("reaches only the allowed host and port of this machine", async () => {
    const named = await serve((_request, response) => response.end("here"));
    const other = await serve((_request, response) => response.end("there"));
    const net = open(named);
    expect(await (await net.fetch(`http://${named}/`)).text()).toBe("here");
    await expect(net.fetch(`http://${other}/`)).rejects.toMatchObject({ code: "denied" });
    await expect(net.fetch("http://169.254.169.254/latest/")).rejects.toMatchObject({ code: "denied" });
  });

  test("never reaches a metadata address, even as an exception", async () => {
    const net = open("169.254.169.254:80");
    await expect(net.fetch("http://169.254.169.254/latest/")).rejects.toMatchObject({ code: "denied" });
  });

  test("follows no redirect to a refused address, and sends no credentials to another origin", async () => {
    const seen: IncomingMessage["headers"][] = [];
    const other = await serve(({ headers }, response) => (seen.push(headers), void response.end("moved")));
    const named = await serve((_request, response) => response.writeHead(302, { location: `http://${other}/` }).end());
    await expect(open(named).fetch(`http://${named}/`)).rejects.toMatchObject({ code: "denied" });
    const headers = { authorization: "Bearer secret", accept: "text/plain" };
    const moved = await open(named, other).fetch(`http://${named}/`, { headers });
    expect(await moved.text()).toBe("moved");
    expect(seen[0]).toMatchObject({ accept: "text/plain" });
    expect(seen[0]).not.toHaveProperty("authorization");
  });

  test("does not send a body to another origin, and returns redirects to callers that handle them", async () => {
    const bodies: string[] = [];
    const other = await serve((request, response) => {
      request.on("data", (chunk) => bodies.push(String(chunk)));
      response.end();
    });
    const named = await serve((_request, response) => response.writeHead(307, { location: `http://${other}/` }).end());
    const net = open(named, other);
    expect((await net.fetch(`http://${named}/`, { method: "POST", body: "secret" })).status).toBe(307);
    expect((await net.fetch(`http://${named}/`, { redirect: "manual" })).status).toBe(307);
    expect(bodies).toEqual([]);
  });

  test("delivers chunks as they arrive, and ends on abort", async () => {
    let isGone = false;
    const named = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      response.on("close", () => (isGone = true));
    });
    const stop = new AbortController();
    const response = await open(named).fetch(`http://${named}/`, { signal: stop.signal });
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("data: 1\n\n");
    stop.abort();
    await expect(reader.read()).rejects.toThrow(/abort/i);
    await expect.poll(() => isGone).toBe(true);
  });

  test("sends forms with their content type, and stops in a redirect loop", async () => {
    const named = await serve((request, response) => {
      if (request.method === "POST") response.end(request.headers["content-type"]);
      else response.writeHead(302, { location: "/" }).end();
    });
    const net = open(named);
    const posted = await net.fetch(`http://${named}/`, { method: "post", body: new URLSearchParams({ a: "1" }) });
    expect(await posted.text()).toContain("application/x-www-form-urlencoded");
    await expect(net.fetch(`http://${named}/`)).rejects.toMatchObject({ code: "failed" });
  });
});
