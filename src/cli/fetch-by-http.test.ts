import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { server as contract } from "../contracts/server.ts";
import { createHttpClient } from "../api/http-client.ts";
import { fetchByHttp } from "./fetch-by-http.ts";

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("it sends method, headers and body, and gives status, text, JSON and a stream", async () => {
  const url = await serve((incoming, outgoing) => {
    let sent = "";
    incoming.on("data", (chunk) => (sent += chunk));
    incoming.on("end", () => {
      outgoing.statusCode = incoming.url === "/busy" ? 503 : 200;
      outgoing.end(JSON.stringify({ sent, method: incoming.method, token: incoming.headers.authorization }));
    });
  });
  const init = { method: "POST", body: "读", headers: { authorization: "Bearer t" } };
  const answer = { sent: "读", method: "POST", token: "Bearer t" };
  const response = await fetchByHttp(url, init);
  expect([response.ok, response.status, await response.json()]).toEqual([true, 200, answer]);
  expect(JSON.parse(await (await fetchByHttp(new URL(url), init)).text())).toEqual(answer);
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await fetchByHttp(url, init)).body!) chunks.push(chunk);
  expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual(answer);
  expect(await fetchByHttp(`${url}/busy`)).toMatchObject({ ok: false, status: 503 });
});

test("it fails like fetch: refused, cut off, redirected or aborted", async () => {
  const url = await serve((incoming, outgoing) => {
    if (incoming.url === "/redirect") return void outgoing.writeHead(302, { location: "/" }).end();
    if (incoming.url === "/hang") return;
    outgoing.write("half");
    outgoing.socket?.destroySoon();
  });
  await expect(fetchByHttp("http://127.0.0.1:1/")).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  await expect(fetchByHttp(`${url}/redirect`)).rejects.toThrow("fetch failed");
  await expect(fetchByHttp(url).then((response) => response.text())).rejects.toThrow("aborted");
  const abort = new AbortController();
  const waiting = fetchByHttp(`${url}/hang`, { signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  const client = createHttpClient({ server: contract }, { url: "http://127.0.0.1:1", fetch: fetchByHttp });
  await expect(client.server.info()).rejects.toMatchObject({ code: "unreachable" });
});
