import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openHaft } from "../host.ts";

/** Records what it gets, and answers with these statuses in turn, then with 200. */
async function openReceiver(statuses: number[] = []) {
  const received: unknown[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      received.push({ authorization: request.headers.authorization, body });
      response.writeHead(statuses.shift() ?? 200).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function openHost(webhook: { url: string; headers?: Record<string, string>; details?: boolean }) {
  const onWarning = vi.fn();
  const options = { home: temporaryFolder("haft-hook-home-"), env: {}, onWarning };
  const host = await openHaft(temporaryFolder("haft-hook-"), { ...options, overrides: { approvals: { webhook } } });
  onTestFinished(() => host.close());
  return { host, onWarning };
}

const call = { path: "secret-name.txt", content: "x" };

test("a waiting call is announced once, without what it is about", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url, headers: { authorization: "Bearer t" } });
  await host.haft.execute("read", { path: "missing.txt" });
  const result = await host.haft.execute("write", call, { caller: { session: "s" } });
  expect(result).toMatchObject({ status: "pending" });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
  expect(received[0]).toMatchObject({
    authorization: "Bearer t",
    body: { type: "approval_requested", tool: "write", risk: "medium", text: "Approval needed (risk: medium): write" },
  });
  expect(JSON.stringify(received)).not.toContain("secret-name");
});

test("details are sent if they are wanted, and a failed request is repeated", async () => {
  const { received, url } = await openReceiver([500]);
  const { host, onWarning } = await openHost({ url, details: true });
  await host.haft.execute("write", call, { caller: { session: "s" } });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(2);
  expect(received[1]).toMatchObject({ body: { subject: "secret-name.txt", session: "s" } });
  expect(onWarning.mock.calls.flat().filter((text: string) => text.includes("webhook"))).toEqual([]);
});

test("a receiver that is not there stops neither the call nor the end of the host", async () => {
  const { host } = await openHost({ url: "http://127.0.0.1:1/" });
  expect(await host.haft.execute("write", call)).toMatchObject({ status: "pending" });
  await host.close();
});

test("a host that closes at once still announces the call that waits", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url });
  await host.haft.execute("write", call);
  await host.close();
  expect(received).toMatchObject([{ body: { tool: "write" } }]);
});
