import { createServer, request } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type ForwardProxy, startForwardProxy } from "./forward-proxy.ts";
import { createOpenSocket } from "./connections.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(): Promise<number> {
  const server = createServer((requested, answer) => {
    answer.setHeader("x-seen", JSON.stringify(requested.headers));
    let body = "";
    requested
      .on("data", (chunk) => (body += chunk))
      .on("end", () => answer.end(`${requested.method} ${requested.url} ${body}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function start(exceptions: string[]): Promise<{ proxy: ForwardProxy; refused: string[] }> {
  const refused: string[] = [];
  const proxy = await startForwardProxy({
    openSocket: createOpenSocket({ exceptions }),
    onRefused: (address) => refused.push(address),
  });
  closers.push(() => proxy.close());
  return { proxy, refused };
}

function send(port: number, url: string, options: { method?: string; body?: string } = {}) {
  return new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
    const requested = request({
      port,
      host: "127.0.0.1",
      path: url,
      method: options.method,
      headers: { "proxy-authorization": "x" },
    });
    requested.on("error", reject).on("response", (answer) => {
      let text = "";
      answer
        .on("data", (chunk) => (text += chunk))
        .on("end", () => resolve({ status: answer.statusCode!, text, headers: answer.headers }));
    });
    requested.end(options.body);
  });
}

function connectTo(port: number, authority: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`);
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.includes("200 Connection") && !text.includes("GET /t"))
        socket.write("GET /tunnel HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    });
    socket.on("close", () => resolve(text)).on("error", reject);
  });
}

test("forwards a request to an allowed address without the proxy headers", async () => {
  const port = await serve();
  const { proxy } = await start([`127.0.0.1:${port}`]);
  const answer = await send(proxy.port!, `http://127.0.0.1:${port}/a?b=1`, { method: "POST", body: "body" });
  expect(answer).toMatchObject({ status: 200, text: "POST /a?b=1 body" });
  expect(answer.headers["x-seen"]).not.toContain("proxy-authorization");
});

test("opens a tunnel to an allowed address", async () => {
  const port = await serve();
  const { proxy } = await start([`127.0.0.1:${port}`]);
  expect(await connectTo(proxy.port!, `127.0.0.1:${port}`)).toContain("GET /tunnel");
});

test("refuses private addresses for requests and tunnels, and reports them", async () => {
  const port = await serve();
  const { proxy, refused } = await start([]);
  expect(await send(proxy.port!, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 403 });
  expect(await connectTo(proxy.port!, `localhost:${port}`)).toContain("403 Forbidden");
  expect(await connectTo(proxy.port!, "169.254.169.254:80")).toContain("403 Forbidden");
  expect(refused).toHaveLength(3);
});

test("refuses requests that are not meant for a proxy", async () => {
  const { proxy } = await start([]);
  expect(await send(proxy.port!, "/path")).toMatchObject({ status: 400 });
  expect(await connectTo(proxy.port!, "nonsense")).toContain("400");
});

test("checks the port that it connects to, not another part of the address", async () => {
  const port = await serve();
  const openSocket = createOpenSocket({ exceptions: ["good.test:443"], resolver: async () => ["127.0.0.1"] });
  const proxy = await startForwardProxy({ openSocket });
  closers.push(() => proxy.close());
  expect(await connectTo(proxy.port!, `good.test?:${port}`)).toContain("403 Forbidden");
});

test.each(["099 x", "000 x", "101 x\r\nupgrade: x\r\nconnection: upgrade"])(
  "answers 502 if a server answers with the status %s",
  async (status) => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined).once("data", () => socket.end(`HTTP/1.1 ${status}\r\n\r\n`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { proxy } = await start([`127.0.0.1:${port}`]);
    expect(await send(proxy.port!, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 502 });
  },
);

test("serves a bounded number of connections", async () => {
  const { proxy } = await start([]);
  const clients = Array.from({ length: 300 }, () => connect(proxy.port!, "127.0.0.1").on("error", () => undefined));
  closers.push(() => clients.forEach((client) => client.destroy()));
  await expect.poll(() => clients.filter(({ closed }) => closed).length, { timeout: 10_000 }).toBe(44);
});
